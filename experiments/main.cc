#include "experiments/cli/cli.h"

int main(int argc, char** argv) { return syncopate::experiments::cli::run(argc, argv); }

// What standard output is: a terminal or not, how wide, and whether it takes colours.
#pragma once

#include <cstddef>

namespace syncopate::experiments::cli {

/// Columns of the terminal; else what COLUMNS says, up to 10,000; else 100.
std::size_t output_width();

/// True on a terminal, unless NO_COLOR is set to something.
bool output_takes_colour();

}  // namespace syncopate::experiments::cli

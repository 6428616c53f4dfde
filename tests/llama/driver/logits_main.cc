// Writes the logits of a checkpoint for given token ids, so that another implementation's can be
// laid beside them (llama_checkpoint_test.py).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "backend/runtime/error.h"
#include "tests/llama/paged_runner.h"

namespace {

using namespace syncopate::models;
using namespace syncopate::models::llama;

struct Arguments {
  std::string checkpoint, output;
  std::vector<std::int32_t> ids;     // of all rows, one after the other
  std::vector<std::int32_t> splits;  // tokens of each step, the same in every row
  std::uint32_t rows = 1;
  std::uint32_t page_tokens = 4;
  bool invariant = false;
};

/// fp32 [steps, rows, vocab]: after each step, the logits of each row's last token.
void write_logits(const Arguments& arguments) {
  const auto model = load_llama(arguments.checkpoint, {.invariant = arguments.invariant});
  const std::uint32_t length = static_cast<std::uint32_t>(arguments.ids.size()) / arguments.rows;
  BatchLimits limits;
  limits.rows = arguments.rows;
  limits.tokens = length * arguments.rows;
  limits.page_tokens = arguments.page_tokens;
  limits.pages_per_row = (length + limits.page_tokens - 1) / limits.page_tokens;
  limits.pages = limits.pages_per_row * limits.rows;
  llama::PagedRunner runner(*model, limits);

  std::ofstream output(arguments.output, std::ios::binary);
  output.exceptions(std::ios::failbit | std::ios::badbit);
  std::int32_t position = 0;
  for (const std::int32_t tokens : arguments.splits) {
    std::vector<RunnerRow> rows;
    for (std::uint32_t r = 0; r < limits.rows; ++r) {
      RunnerRow& row = rows.emplace_back();
      // Pages are dealt in turns, so that no request's lie one after the other.
      for (std::uint32_t p = 0; p < limits.pages_per_row; ++p)
        row.pages.push_back(static_cast<std::int32_t>(p * limits.rows + r));
      row.position = position;
      const auto first = arguments.ids.begin() + r * length + position;
      row.ids.assign(first, first + tokens);
    }
    for (const auto& logits : runner.step(rows))
      output.write(reinterpret_cast<const char*>(logits.data()),
                   static_cast<std::streamsize>(logits.size() * sizeof(float)));
    position += tokens;
  }
  output.close();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes fp32 logits [steps, rows, vocab] of a checkpoint");
  Arguments arguments;
  app.add_option("checkpoint", arguments.checkpoint)->required();
  app.add_option("output", arguments.output)->required();
  app.add_option("--ids", arguments.ids)->delimiter(',')->required();
  app.add_option("--splits", arguments.splits)->delimiter(',')->required();
  app.add_option("--rows", arguments.rows)->check(CLI::PositiveNumber);
  app.add_option("--page-tokens", arguments.page_tokens)->check(CLI::PositiveNumber);
  app.add_flag("--invariant", arguments.invariant);
  CLI11_PARSE(app, argc, argv);
  const auto length =
      std::accumulate(arguments.splits.begin(), arguments.splits.end(), std::size_t{0});
  try {
    if (arguments.ids.size() != length * arguments.rows)
      throw syncopate::runtime::UsageError("--ids must be --rows times the sum of --splits");
    write_logits(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

// Tables of text for a terminal.
#pragma once

#include <string>
#include <vector>

namespace syncopate::experiments::cli {

struct Column {
  std::string title;
  bool right = true;  ///< Numbers stand to the right.
};

/// Columns two spaces apart, each as wide as its widest cell (UTF-8 counted by characters). Rows
/// have one cell a column. `bold_head`: for terminals.
std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, bool bold_head);

}  // namespace syncopate::experiments::cli

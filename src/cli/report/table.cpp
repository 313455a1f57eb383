#include "cli/report/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace shunt::cli {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  return right ? fmt::format("{:>{}}", text, width) : fmt::format("{:<{}}", text, width);
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].name.size());
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::string Table::plain() const {
  const auto wide = widths();
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded(cell(i), wide[i], columns_[i].right);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return columns_[i].name; });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return text;
}

std::string Table::markdown() const {
  std::string text;
  const auto add_line = [&](const auto& cell) {
    for (std::size_t i = 0; i < columns_.size(); ++i) text += "| " + cell(i) + " ";
    text += "|\n";
  };
  add_line([&](std::size_t i) { return columns_[i].name; });
  add_line([&](std::size_t i) { return std::string(columns_[i].right ? "---:" : "---"); });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace shunt::cli

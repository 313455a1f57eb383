// Rows of words and numbers, as lines for people or as Markdown.
#pragma once

#include <string>
#include <vector>

namespace shunt::cli {

class Table {
 public:
  struct Column {
    std::string name;
    bool right = true;  ///< aligned right, for numbers; else left, for words
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// A line with the columns' names, then one for each row.
  std::string plain() const;
  std::string markdown() const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace shunt::cli

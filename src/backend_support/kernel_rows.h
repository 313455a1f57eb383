// Kernels that differ only in the row of a table.
#pragma once

#include <deque>
#include <span>
#include <vector>

namespace shunt {

/// Constructs a kernel K from each row of a table. list() is the list of a kernel file. The rows
/// must outlive it.
template <class K, class Base>
class KernelRows {
 public:
  template <class Rows>
  explicit KernelRows(const Rows& rows) {
    for (const auto& row : rows) list_.push_back(&kernels_.emplace_back(row));
  }
  std::span<const Base* const> list() const { return list_; }

 private:
  std::deque<K> kernels_;
  std::vector<const Base*> list_;
};

}  // namespace shunt

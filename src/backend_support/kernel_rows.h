// Kernels that differ only in the row of a table that each is made of.
#pragma once

#include <deque>
#include <span>
#include <vector>

namespace shunt {

/// A kernel K for each row, constructed with it, and the list of them: what a kernel file gives.
/// The rows must outlive it.
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

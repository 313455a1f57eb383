// A test case of an op, made ready to be computed on a device and held against the op's plain
// reference.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "conformance/case.h"
#include "graph/op.h"
#include "shunt/device.h"

namespace shunt {

/// What a device made of a case.
struct ComputedCase {
  /// By node id, what lies in its memory afterwards; empty but for the case's result and leaves.
  std::vector<std::vector<std::byte>> bytes;
  /// Where a device wrote what it has no business to write; empty if nowhere.
  std::string stray;
};

/// A graph of a leaf for each source, seen as the case says, and the op; the result of a view is
/// copied, so that there is something to compute. Const after it has been made.
class OpCase {
 public:
  /// An error is the op's: a case that its shape rule refuses.
  static Result<OpCase> create(const Op& op, const Case& each);

  const Graph& graph() const { return *graph_; }
  /// What a device is asked to compute: the op, or the copy of a view.
  NodeId node() const { return node_; }

  /// Computes it on a device, alone, from memory of the device. `cancel` may be null; once it is
  /// true, Cancelled within a node, as far as the device keeps to that.
  Result<ComputedCase> compute(Device& device, const std::atomic<bool>* cancel = nullptr) const;
  /// Empty, if that is what the plain reference gives; or what is wrong with it. `rounding`: the
  /// error that the numbers of the device may cause beyond that of the case; `largest`: what finite
  /// ones beyond it become there.
  Result<std::string> judge(const ComputedCase& computed, double rounding = 0,
                            double largest = std::numeric_limits<double>::infinity()) const;

 private:
  OpCase() = default;
  Result<Value> add_source(GraphBuilder& g, const CaseSource& source, std::size_t number,
                           bool written);

  std::unique_ptr<const Graph> graph_;
  NodeId node_ = 0;
  double max_error_ = 0;
  std::vector<std::vector<std::byte>> bytes_;  // of the leaves, by node id
};

}  // namespace shunt

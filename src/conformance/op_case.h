// A test case of an op, prepared to be computed on a device and compared with the op's plain
// reference.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/case.h"
#include "graph/op.h"
#include "shunt/device.h"

namespace shunt {

/// The result of a case on a device.
struct ComputedCase {
  /// By node id, the content of its memory afterwards; empty but for the case's result and leaves.
  std::vector<std::vector<std::byte>> bytes;
  /// Where a device wrote without being allowed to; empty if nowhere.
  std::string stray;
};

/// A graph of a leaf for each source, seen as the case says, and the op; the result of a view is
/// copied, so that there is something to compute. Const after make_data().
class OpCase {
 public:
  /// Without data, which a device that refuses the case does not need. An error is the op's: a case
  /// that its shape rule refuses.
  static Result<OpCase> create(const Op& op, const Case& each);
  /// Fills the leaves and computes the plain reference. Does nothing if that is done.
  Status make_data();

  const Graph& graph() const { return *graph_; }
  /// The node that a device is asked to compute: the op, or the copy of a view.
  NodeId node() const { return node_; }

  // After make_data():

  /// Computes it on a device, alone, from memory of the device. `cancel` may be null; once it is
  /// true, Cancelled within a node, as far as the device keeps to that.
  Result<ComputedCase> compute(Device& device, const std::atomic<bool>* cancel = nullptr) const;
  /// Empty, if that agrees with the plain reference; otherwise a description of the fault.
  /// `rounding`: the error that the numbers of the device may cause beyond that of the case.
  /// `largest`: the value that finite numbers beyond it become there.
  Result<std::string> judge(const ComputedCase& computed, double rounding = 0,
                            double largest = std::numeric_limits<double>::infinity()) const;

 private:
  OpCase() = default;
  Result<Value> add_source(GraphBuilder& g, const CaseSource& source, std::size_t number,
                           bool written);
  /// The tensor that is compared: that of the node, or the whole tensor that the node writes into.
  NodeId compared() const;
  RefTensor values(NodeId id, const std::byte* data) const;

  std::unique_ptr<const Graph> graph_;
  NodeId node_ = 0;
  double max_error_ = 0;
  struct Leaf {
    NodeId id = 0;
    CaseSource source;
    std::uint64_t seed = 0;
  };
  std::vector<Leaf> leaves_;
  // After make_data():
  std::vector<std::vector<std::byte>> bytes_;  // of the leaves, by node id
  RefTensor before_;                           // of compared(), if the node writes into it
  RefTensor reference_;                        // of compared()
};

/// Cases of one op with their data, so that several devices compute the same ones. Not for several
/// threads.
class OpCaseStore {
 public:
  /// A case by its name, made if it is not there. Forgets the cases of other ops.
  Result<std::shared_ptr<OpCase>> get(const Op& op, const Case& each);

 private:
  const Op* op_ = nullptr;
  std::map<std::string, std::shared_ptr<OpCase>> cases_;
};

}  // namespace shunt

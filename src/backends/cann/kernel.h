// A kernel of this backend: the vendor's operators that compute a node.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "backends/cann/calls.h"
#include "backends/cann/target.h"
#include "device/kernel_table.h"

namespace shunt::cann {

/// A node of a segment that writes into the memory of another one.
struct MemoryWrite {
  NodeId storage = 0;
  NodeId writer = 0;
};

/// The operands of a node at the sizes of a run. Views have the four dimensions of a tensor.
class Operands {
 public:
  /// Of a node at the dynamic dimensions' maximum, without addresses.
  explicit Operands(const NodeView& view) : view_(view), sources_(view.node().sources) {}
  /// `sources`, `result`: of the node, or of the nodes that are fused with it. `addresses`: by node
  /// id, or none.
  Operands(const NodeView& view, std::span<const NodeId> sources, NodeId result,
           const DynamicDimValues* dims, std::span<const DevicePointer> addresses,
           std::span<const MemoryWrite> writes = {})
      : view_(view),
        sources_(sources),
        result_(result),
        result_tensor_(&view.graph().node(result).result),
        dims_(dims),
        addresses_(addresses),
        writes_(writes) {}

  const NodeView& view() const { return view_; }
  template <class P>
  const P& params() const {
    return view_.params<P>();
  }
  NodeId source_id(std::size_t i) const { return sources_[i]; }
  /// A key of the value that a source has when this node reads it. It consists of the node and the
  /// number of earlier writes of the segment into its memory. Nodes share results by such keys.
  std::string content(std::size_t i) const;
  bool has_source(std::size_t i) const { return i < sources_.size() && sources_[i] != kNoNode; }
  const Tensor& tensor(std::size_t i) const { return view_.graph().node(sources_[i]).result; }
  const Tensor& result_tensor() const { return result_tensor_ ? *result_tensor_ : view_.result(); }
  DType dtype(std::size_t i) const { return tensor(i).dtype; }
  /// Sizes in this run.
  Sizes sizes(std::size_t i) const { return sizes_of(tensor(i)); }
  Sizes result_sizes() const { return sizes_of(result_tensor()); }
  /// Whether the result has no elements in this run.
  bool is_empty() const;
  /// The address of a source's first byte; null without addresses.
  DevicePointer data(std::size_t i) const { return address(sources_[i]); }
  DevicePointer result_data() const { return address(result_); }

  /// A source of a type that the vendor has (has_data_type()).
  View source(std::size_t i) const { return plain_view(tensor(i), data(i)); }
  View result() const { return plain_view(result_tensor(), result_data()); }

 private:
  DevicePointer address(NodeId id) const {
    return id < addresses_.size() ? addresses_[id] : nullptr;
  }
  Sizes sizes_of(const Tensor& tensor) const;
  View plain_view(const Tensor& tensor, DevicePointer data) const;

  const NodeView& view_;
  std::span<const NodeId> sources_;
  NodeId result_ = kNoNode;
  const Tensor* result_tensor_ = nullptr;
  const DynamicDimValues* dims_ = nullptr;
  std::span<const DevicePointer> addresses_;
  std::span<const MemoryWrite> writes_;
};

class CannKernel : public Kernel<CannTarget> {
 public:
  /// Whether accepts() does, and the chip has the operators that compute() calls.
  Support supports(const NodeView& view, const CannTarget& target) const final;
  /// What compute() can't do, whatever the chip. By default all that the op allows, of types that
  /// the vendor has.
  virtual Support accepts(const NodeView& view, const CannTarget& target) const;
  /// Whether compute() reads a source of such a node that is_rearranged().
  virtual bool reads_rearranged(const NodeView&, std::size_t) const { return false; }
  /// Whether compute() reads a source of such a node that is_fractal().
  virtual bool reads_fractal(const NodeView&, std::size_t) const { return false; }
  /// Calls the operators. The result is not empty; sources may be.
  virtual void compute(Calls& calls, const Operands& node, const CannTarget& target) const = 0;
  /// Device::rounding_error() of a node: above 0 where numbers are coarser than F32.
  virtual double rounding_error(const NodeView&, const CannTarget&) const { return 0; }
  /// Device::largest_number() of a node.
  virtual double largest_number(const NodeView&, const CannTarget&) const;
  /// Whether a chip without BF16 computes no node that has it. False where it is only moved, or
  /// the upper half of F32.
  virtual bool needs_bf16() const { return true; }
  /// The source whose memory the result may take, if it has the same type, shape and strides; -1:
  /// none.
  virtual int in_place_source() const { return -1; }
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const CannKernel* const>;

/// No, with the type, unless it is one of these.
Support expect_types(std::string_view what, DType type, std::span<const DType> known);
/// Types of single elements that kernels read and write.
inline constexpr std::array kSingleTypes = {DType::kF32, DType::kF16, DType::kBF16};

}  // namespace shunt::cann

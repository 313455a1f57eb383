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

/// The operands of a node at the sizes of a run. Views have the four dimensions of a tensor.
class Operands {
 public:
  /// At the dynamic dimensions' maximum, without addresses.
  explicit Operands(const NodeView& view) : view_(view) {}
  /// `addresses`, by node id, may be empty. `id`: the node's.
  Operands(const NodeView& view, NodeId id, const DynamicDimValues* dims,
           std::span<const DevicePointer> addresses)
      : view_(view), id_(id), dims_(dims), addresses_(addresses) {}

  const NodeView& view() const { return view_; }
  template <class P>
  const P& params() const {
    return view_.params<P>();
  }
  NodeId id() const { return id_; }
  NodeId source_id(std::size_t i) const { return view_.node().sources[i]; }
  bool has_source(std::size_t i) const { return view_.has_source(i); }
  const Tensor& tensor(std::size_t i) const { return view_.source(i); }
  DType dtype(std::size_t i) const { return view_.source(i).dtype; }
  /// Sizes in this run.
  Sizes sizes(std::size_t i) const { return sizes_of(view_.source(i)); }
  Sizes result_sizes() const { return sizes_of(view_.result()); }
  /// The address of a source's first byte; null without addresses.
  DevicePointer data(std::size_t i) const { return address(view_.node().sources[i]); }
  DevicePointer result_data() const { return address(id_); }

  /// A source of a type that the vendor has (has_data_type()).
  View source(std::size_t i) const { return plain_view(view_.source(i), data(i)); }
  View result() const { return plain_view(view_.result(), result_data()); }

 private:
  DevicePointer address(NodeId id) const {
    return id < addresses_.size() ? addresses_[id] : nullptr;
  }
  Sizes sizes_of(const Tensor& tensor) const;
  View plain_view(const Tensor& tensor, DevicePointer data) const;

  const NodeView& view_;
  NodeId id_ = 0;
  const DynamicDimValues* dims_ = nullptr;
  std::span<const DevicePointer> addresses_;
};

class CannKernel : public Kernel<CannTarget> {
 public:
  /// Whether accepts() does, and the chip has the operators that compute() calls.
  Support supports(const NodeView& view, const CannTarget& target) const final;
  /// What compute() can't do, whatever the chip. By default all that the op allows, of types that
  /// the vendor has.
  virtual Support accepts(const NodeView& view, const CannTarget& target) const;
  /// Calls the operators. The result is not empty; sources may be.
  virtual void compute(Calls& calls, const Operands& node, const CannTarget& target) const = 0;
  /// Device::rounding_error() of a node: above 0 where numbers are coarser than F32.
  virtual double rounding_error(const NodeView&, const CannTarget&) const { return 0; }
  /// Device::largest_number() of a node.
  virtual double largest_number(const NodeView&, const CannTarget&) const;
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

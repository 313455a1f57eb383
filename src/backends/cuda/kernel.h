// A kernel of this backend: which nodes it computes, and the launches that do so.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string>

#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/target.h"
#include "device/kernel_table.h"

namespace shunt::cuda {

/// A launch as a kernel describes it.
struct LaunchPlan {
  std::string module = {};     ///< empty: CudaKernel::module()
  std::string kernel;          ///< its name in the PTX
  std::int64_t items = 0;      ///< work at the dynamic dimensions' maximum
  std::int64_t per_block = 1;  ///< items of a block
  unsigned threads = 256;      ///< of a block
  std::vector<std::byte> parameters;
};

/// The node of a binding, with the addresses of its tensors.
class BoundNode {
 public:
  /// `sources`, `result`: those of the node, or of the nodes that are fused with it.
  BoundNode(const Graph& graph, NodeId id, std::span<const NodeId> sources, NodeId result,
            const Addresses& addresses, DevicePointer run, DevicePointer scratch)
      : view_(graph, id),
        graph_(graph),
        id_(id),
        sources_(sources),
        result_(result),
        addresses_(addresses),
        run_(run),
        scratch_(scratch) {}
  const NodeView& view() const { return view_; }
  /// The first member of the parameters.
  gpu::Common common() const;
  /// A source that is not given has no data.
  gpu::TensorArg source(std::size_t i) const;
  gpu::IdsArg ids(std::size_t i) const;
  gpu::TensorArg result() const;
  /// The address of Kernel::scratch() bytes, a multiple of 256.
  gpu::Pointer<gpu::u8> scratch() const { return {scratch_}; }

 private:
  gpu::TensorArg tensor(NodeId id) const;

  NodeView view_;
  const Graph& graph_;
  NodeId id_;
  std::span<const NodeId> sources_;
  NodeId result_;
  const Addresses& addresses_;
  DevicePointer run_;
  DevicePointer scratch_;
};

class CudaKernel : public Kernel<CudaTarget> {
 public:
  /// The file of kernels that plan() names: "rms_norm" for kernels/rms_norm.cu, "matmul_q4_0" for
  /// kernels/matmul/q4_0.cu.
  virtual std::string_view module() const { return {}; }
  /// All files, where there are several.
  virtual std::vector<std::string> modules(const NodeView&) const {
    return {std::string(module())};
  }
  /// The node's launches in order. Each one sees the results of those before it.
  virtual std::vector<LaunchPlan> plan(const BoundNode& node) const = 0;
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const CudaKernel* const>;

template <class Parameters>
std::vector<std::byte> bytes_of(const Parameters& parameters) {
  std::vector<std::byte> bytes(sizeof parameters);
  std::memcpy(bytes.data(), &parameters, sizeof parameters);
  return bytes;
}

/// Rows of a tensor at the dynamic dimensions' maximum.
std::int64_t row_count(const Tensor& tensor);

/// Threads of a block that computes a row: no more warps than the row has use for.
unsigned threads_for_row(const Tensor& tensor);

/// "F32_F16", as names of kernels end.
std::string type_suffix(std::initializer_list<DType> types);

/// Types of single elements that kernels read and write.
inline constexpr std::array kSingleTypes = {DType::kF32, DType::kF16, DType::kBF16};

/// How many elements of a type a thread reads at once (gpu/block_formats.h).
std::int64_t elements_read_at_once(DType type);

/// No, with the type, unless it is one of these.
Support expect_types(std::string_view what, DType type, std::span<const DType> known);

}  // namespace shunt::cuda

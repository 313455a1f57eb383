// A kernel of this backend. It is launched node by node, in host memory.
#pragma once

#include <shunt/backend/host_device.h>

#include <algorithm>
#include <span>
#include <vector>

namespace sample {

/// The data that launches share: a real backend has its vendor's library here.
struct Context {};

/// Takes results of type F32, from sources of any type.
class SampleKernel : public shunt::NodeKernel<Context> {
 public:
  shunt::Support supports(const shunt::NodeView& node, const shunt::NoTarget&) const override {
    if (node.result().dtype == shunt::DType::kF32) return shunt::Support::yes();
    return shunt::Support::no(shunt::Refusal::kType, "sample0 computes F32 only");
  }
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const SampleKernel* const>;

/// The values of a source, repeated to the sizes of the result.
inline std::vector<float> read(const shunt::HostTensor& source, const shunt::Sizes& sizes) {
  std::vector<float> values(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  shunt::gather(source, sizes, values.data());
  return values;
}

/// Writes values to a result, row by row: rows need not follow each other.
inline void write(const std::vector<float>& values, const shunt::HostTensor& result) {
  const shunt::Sizes& sizes = result.sizes;
  const float* from = values.data();
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1, from += sizes[0]) {
        std::copy_n(from, sizes[0], result.floats(i1, i2, i3));
      }
    }
  }
}

}  // namespace sample

#include "backends/cuda/kernel.h"

#include <algorithm>

#include "backends/cuda/memory.h"
#include "base/ceil_div.h"

namespace shunt::cuda {

gpu::Common BoundNode::common() const {
  return {.run = {run_}, .node = id_};
}

gpu::TensorArg BoundNode::source(std::size_t i) const {
  const bool is_given = i < sources_.size() && sources_[i] != kNoNode;
  return is_given ? tensor(sources_[i]) : gpu::TensorArg{};
}

gpu::IdsArg BoundNode::ids(std::size_t i) const {
  const bool wide = view_.has_source(i) && view_.source(i).dtype == DType::kI64;
  return {source(i), wide ? 1U : 0U};
}

gpu::TensorArg BoundNode::result() const {
  return tensor(result_);
}

gpu::TensorArg BoundNode::tensor(NodeId id) const {
  const Tensor& tensor = graph_.node(id).result;
  gpu::TensorArg arg = {};
  arg.data.address = device_address(addresses_.nodes[id]);
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    const Dim& dim = tensor.shape[d];
    arg.sizes[d] = {dim.max, dim.is_fixed() ? 0 : dim.factor, dim.dynamic_dim};
    arg.strides[d] = tensor.strides[d];
  }
  return arg;
}

std::int64_t row_count(const Tensor& tensor) {
  return tensor.size(1) * tensor.size(2) * tensor.size(3);
}

unsigned threads_for_row(const Tensor& tensor) {
  constexpr std::int64_t kWarp = 32, kMost = 256;
  return static_cast<unsigned>(std::clamp(ceil_div(tensor.size(0), kWarp) * kWarp, kWarp, kMost));
}

std::string type_suffix(std::initializer_list<DType> types) {
  std::string suffix;
  for (const DType type : types) {
    if (!suffix.empty()) suffix += '_';
    suffix += to_string(type);
  }
  return suffix;
}

std::int64_t elements_read_at_once(DType type) {
  return trait(type).quantized ? gpu::kGroup : 1;
}

Support expect_types(std::string_view what, DType type, std::span<const DType> known) {
  if (std::ranges::find(known, type) != known.end()) return Support::yes();
  return Support::no(Refusal::kType, "no CUDA kernel for " + std::string(what) + " of type " +
                                         std::string(to_string(type)));
}

}  // namespace shunt::cuda

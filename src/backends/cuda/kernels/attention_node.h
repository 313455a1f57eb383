// The inputs that attention and paged attention share, from a node.
#pragma once

#include <algorithm>

#include "backends/cuda/gpu/attention_inputs.h"
#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"

namespace shunt::cuda {

/// In the order of gpu::CacheType.
inline constexpr std::array kAttentionTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0,
                                               DType::kQ4_0};

/// Of an op whose first sources are q, k and v.
inline Support supports_attention(const NodeView& node) {
  for (const std::size_t cache : {1, 2}) {
    const Support answer =
        expect_types("keys and values", node.source(cache).dtype, kAttentionTypes);
    if (!answer) return answer;
  }
  return Support::yes();
}

/// `mask`: the number of this source; the sinks follow it.
template <class OpParams>
gpu::AttentionInputs attention_inputs(const BoundNode& node, std::size_t mask) {
  const NodeView& view = node.view();
  const auto& params = view.params<OpParams>();
  const auto type_of = [&](std::size_t source) {
    const auto found = std::ranges::find(kAttentionTypes, view.source(source).dtype);
    return static_cast<gpu::u64>(found - kAttentionTypes.begin());
  };
  return {.q = node.source(0),
          .k = node.source(1),
          .v = node.source(2),
          .mask = node.source(mask),
          .sinks = node.source(mask + 1),
          .y = node.result(),
          .k_type = type_of(1),
          .v_type = type_of(2),
          .has_mask = view.has_source(mask) ? 1U : 0U,
          .f16_mask = view.has_source(mask) && view.source(mask).dtype == DType::kF16 ? 1U : 0U,
          .scale = params.scale,
          .max_bias = params.max_bias,
          .softcap = params.softcap};
}

inline LaunchPlan plan_attention(std::string kernel, const NodeView& node,
                                 std::vector<std::byte> parameters) {
  const Tensor& y = node.result();
  return {.kernel = std::move(kernel),
          .items = ceil_div(y.size(0), std::int64_t{gpu::kValuePart}) * row_count(y),
          .threads = gpu::kAttentionThreads,
          .parameters = std::move(parameters)};
}

}  // namespace shunt::cuda

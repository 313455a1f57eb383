#include "backends/cann/fusion.h"

#include <algorithm>
#include <utility>

#include "backends/cann/kernels/rms_norm.h"
#include "shunt/ops/norm.h"

namespace shunt::cann {

namespace {

/// The only row of a source.
View row_of(const View& source) {
  return source.without(3).without(2).without(1);
}

/// rms_norm(x) times a row that all rows share: sources are x and the row.
class ScaledRmsNorm final : public CannKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    rms_norm(calls, node, node.source(0), row_of(node.source(1)), node.result());
  }
};

/// rms_norm(a + b) times such a row: sources are a, b, the row and where the sum goes.
class AddedRmsNorm final : public CannKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    add_rms_norm(calls, node, node.source(0), node.source(1), row_of(node.source(2)),
                 node.source(3), node.result());
  }
};

/// Whether a node is F32: kernels of groups read no other sources.
auto f32_sources(const Surroundings& around) {
  return [&around](NodeId id) { return around.node(id).result.dtype == DType::kF32; };
}

std::optional<Fused> scaled_rms_norm(const Surroundings& around, NodeId norm) {
  static const ScaledRmsNorm kKernel;
  return with_kernel<CannKernel>(norm_and_scale(around, norm), kKernel, f32_sources(around));
}

std::optional<Fused> added_rms_norm(const Surroundings& around, NodeId sum) {
  static const AddedRmsNorm kKernel;
  return with_kernel<CannKernel>(sum_norm_and_scale(around, sum), kKernel, f32_sources(around));
}

}  // namespace

std::span<const Pattern> fused_patterns() {
  static constexpr Pattern kPatterns[] = {added_rms_norm, scaled_rms_norm};
  return kPatterns;
}

}  // namespace shunt::cann

#include "backends/cuda/fusion.h"

#include <algorithm>

#include "backends/cuda/kernels/rms_norm.h"
#include "shunt/ops/norm.h"

namespace shunt::cuda {

namespace {

/// rms_norm(x) times a row that all rows share: sources are x and the row.
class ScaledRmsNorm : public CudaKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  std::string_view module() const override { return "rms_norm"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    return launch(node, {}, {}, node.source(1));
  }

 protected:
  /// `added`, `sum`: not given for a norm of the first source.
  static std::vector<LaunchPlan> launch(const BoundNode& node, const gpu::TensorArg& added,
                                        const gpu::TensorArg& sum, const gpu::TensorArg& scale) {
    const gpu::ScaledRmsNormArgs params = {node.common(),
                                           node.source(0),
                                           added,
                                           sum,
                                           scale,
                                           node.result(),
                                           node.view().params<RmsNormParams>().eps};
    return {{.kernel = "rms_norm_scaled",
             .items = row_count(node.view().result()),
             .parameters = bytes_of(params)}};
  }
};

/// rms_norm(a + b) times such a row: sources are a, b, the row and where the sum goes.
class AddedRmsNorm final : public ScaledRmsNorm {
 public:
  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    return launch(node, node.source(1), node.source(3), node.source(2));
  }
};

/// Whether a node is F32: kernels of groups read no other sources.
auto f32_sources(const Surroundings& around) {
  return [&around](NodeId id) { return around.node(id).result.dtype == DType::kF32; };
}

std::optional<Fused> scaled_rms_norm(const Surroundings& around, NodeId norm) {
  static const ScaledRmsNorm kKernel;
  return with_kernel<CudaKernel>(norm_and_scale(around, norm), kKernel, f32_sources(around));
}

std::optional<Fused> added_rms_norm(const Surroundings& around, NodeId sum) {
  static const AddedRmsNorm kKernel;
  return with_kernel<CudaKernel>(sum_norm_and_scale(around, sum), kKernel, f32_sources(around));
}

}  // namespace

std::span<const Pattern> fused_patterns() {
  static constexpr Pattern kPatterns[] = {added_rms_norm, scaled_rms_norm};
  return kPatterns;
}

}  // namespace shunt::cuda

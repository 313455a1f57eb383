#include <cmath>

#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

/// An item is a row. In double precision, as angles may be large.
class TimestepEmbedding final : public AnyCaseKernel {
 public:
  const Op& op() const override { return timestep_embedding_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.sizes[1]; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const auto& params = call.params->get<TimestepEmbeddingParams>();
    const std::int64_t half = params.dim / 2;
    const double log_step =
        -std::log(double{params.max_period}) / static_cast<double>(std::max<std::int64_t>(half, 1));
    for (std::int64_t n = begin; n < end; ++n) {
      float t = 0;
      read_f32(call.sources[0], call.sources[0].data, n, 1, &t);
      float* y = as_f32(call.result.row(n));
      for (std::int64_t j = 0; j < half; ++j) {
        const double angle = double{t} * std::exp(log_step * static_cast<double>(j));
        y[j] = static_cast<float>(std::cos(angle));
        y[half + j] = static_cast<float>(std::sin(angle));
      }
      if (params.dim % 2 != 0) y[params.dim - 1] = 0;
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList timestep_embedding_kernels() {
  return list_kernels<CpuKernel, TimestepEmbedding>();
}

}  // namespace shunt::cpu

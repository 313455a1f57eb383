#include <cmath>

#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class TimestepEmbedding final : public OpWith<TimestepEmbeddingParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "timestep_embedding",
        .family = "data",
        .summary =
            "Sinusoidal embedding of a time step, as in diffusion models: y[j] = cos(t f(j)) and "
            "y[half + j] = sin(t f(j)) for j below half = floor(dim / 2), with f(j) = "
            "max_period^(-j / half); the last element is 0 where dim is odd.",
        .sources = {"t"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const TimestepEmbeddingParams& params) const override {
    const Tensor& t = *sources[0];
    SHUNT_TRY(expect_type("t", t, {DType::kF32, DType::kI32}));
    SHUNT_TRY(expect_dims("t", t, 1));
    if (params.dim < 1) return invalid("dim is {}, but must be at least 1", params.dim);
    SHUNT_TRY(expect_positive("max_period", params.max_period));
    return contiguous(DType::kF32, {params.dim, t.shape[0]});
  }

  void plain_reference(RefSources sources, const TimestepEmbeddingParams& params,
                       RefTensor& result) const override {
    const std::int64_t half = params.dim / 2;
    for (std::int64_t n = 0; n < result.sizes[1]; ++n) {
      for (std::int64_t j = 0; j < half; ++j) {
        const double exponent = -static_cast<double>(j) / static_cast<double>(half);
        const double angle = sources[0]->at(n) * std::pow(double{params.max_period}, exponent);
        result.at(j, n) = std::cos(angle);
        result.at(half + j, n) = std::sin(angle);
      }
      if (params.dim % 2 != 0) result.at(params.dim - 1, n) = 0;
    }
  }
};

}  // namespace

const Op& timestep_embedding_op() {
  static const TimestepEmbedding kOp;
  return kOp;
}

Result<Value> timestep_embedding(GraphBuilder& g, Operand t, TimestepEmbeddingParams params) {
  return g.apply(timestep_embedding_op(), Params::of(params), {&t});
}

}  // namespace shunt

#include <cmath>

#include "ops/attention/attention.h"
#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/common/type_lists.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

Status check_sections(const RopeParams& params) {
  const std::array<std::int64_t, 4>& s = params.sections;
  const auto fail_with = [&s](std::string_view why) {
    return invalid("sections are [{}, {}, {}, {}]; {}", s[0], s[1], s[2], s[3], why);
  };
  if (!has_sections(params.mode)) {
    if (s == std::array<std::int64_t, 4>{}) return ok();
    return fail_with(fmt::format("mode {} has none", to_string(params.mode)));
  }
  std::int64_t left = params.dims / 2;
  bool fit = true;
  for (const std::int64_t section : s) {
    fit = fit && section >= 0 && section <= left;
    if (fit) left -= section;
  }
  if (fit && left == 0) return ok();
  return fail_with(
      fmt::format("they must be at least 0, and {} together, half of dims", params.dims / 2));
}

Status check_params(const RopeParams& params, const Dim& row) {
  const std::int64_t smallest_row = row.is_fixed() ? row.max : row.factor;
  if (params.dims < 2 || params.dims % 2 != 0 || params.dims > smallest_row) {
    return invalid("dims is {}, which is not an even number from 2 to the row's size, {}",
                   params.dims, to_string(row));
  }
  SHUNT_TRY(check_sections(params));
  SHUNT_TRY(expect_positive("freq_base", params.freq_base));
  SHUNT_TRY(expect_positive("freq_scale", params.freq_scale));
  SHUNT_TRY(expect_finite("attn_factor", params.attn_factor));
  if (!(params.ext_factor >= 0 && params.ext_factor <= 1)) {
    return invalid("ext_factor is {}, which is not a number from 0 to 1", params.ext_factor);
  }
  if (params.ext_factor == 0) return ok();
  SHUNT_TRY(expect_positive("beta_fast", params.beta_fast));
  SHUNT_TRY(expect_positive("beta_slow", params.beta_slow));
  if (params.freq_base <= 1) {
    return invalid("freq_base is {}; YaRN (ext_factor is {}) needs one above 1", params.freq_base,
                   params.ext_factor);
  }
  if (params.original_context <= 0) {
    return invalid("original_context is {}; YaRN (ext_factor is {}) needs one above 0",
                   params.original_context, params.ext_factor);
  }
  return ok();
}

/// Of a token.
std::int64_t position_count(const RopeParams& params) {
  return has_sections(params.mode) ? static_cast<std::int64_t>(params.sections.size()) : 1;
}

class Rope final : public Differentiable<RopeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "rope",
        .family = "attention",
        .summary =
            "Rotary position embedding: pair i of a row, elements 2i and 2i + 1 (normal) or i "
            "and i + dims / 2 (all other modes), turns by the angle positions[t] * freq_scale * "
            "freq_base^(-2i / dims) / freq_factors[i], and is multiplied by attn_factor; "
            "elements from dims on are copied. With ext_factor, angle and factor are those of "
            "YaRN (arXiv 2309.00071). In the modes multi (M-RoPE, arXiv 2409.12191) and vision "
            "a token has four positions, and the pairs of section c turn by positions[t, c]; in "
            "vision each section counts i from 0 in an angle of dims / 2.",
        .sources = {"x", "positions", "freq_factors?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RopeParams& params) const override {
    const Tensor& x = *sources[0];
    const Tensor& positions = *sources[1];
    SHUNT_TRY(expect_type("x", x, kFloatTypes));
    SHUNT_TRY(expect_type("positions", positions, {DType::kI32}));
    SHUNT_TRY(check_params(params, x.shape[0]));
    SHUNT_TRY(expect_dims("positions", positions, 2));
    SHUNT_TRY(expect_dim("positions", positions, 0, x.shape[2], "dimension 2 of x"));
    SHUNT_TRY(expect_dim(
        "positions", positions, 1, position_count(params),
        fmt::format("the number of a token's positions in mode {}", to_string(params.mode))));
    if (sources[2] != nullptr) {
      const Tensor& factors = *sources[2];
      SHUNT_TRY(expect_type("freq_factors", factors, {DType::kF32}));
      SHUNT_TRY(expect_dims("freq_factors", factors, 1));
      SHUNT_TRY(expect_dim("freq_factors", factors, 0, params.dims / 2, "dims / 2"));
    }
    return contiguous(DType::kF32, x.shape);
  }

  void plain_reference(RefSources sources, const RopeParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const bool normal = params.mode == RopeMode::kNormal;
    const double magnitude = rope_magnitude(params);
    result.data = x.data;
    for_each_row(x.sizes, [&](std::int64_t h, std::int64_t t, std::int64_t s) {
      for (std::int64_t i = 0; i < params.dims / 2; ++i) {
        const double factor = sources[2] != nullptr ? sources[2]->at(i) : 1;
        const auto which = static_cast<std::int64_t>(rope_position(params, i));
        const double angle = sources[1]->at(t, which) * rope_frequency(params, i) / factor;
        const std::int64_t first = normal ? 2 * i : i;
        const std::int64_t second = normal ? 2 * i + 1 : i + params.dims / 2;
        const double u = x.at(first, h, t, s);
        const double v = x.at(second, h, t, s);
        result.at(first, h, t, s) = magnitude * (u * std::cos(angle) - v * std::sin(angle));
        result.at(second, h, t, s) = magnitude * (u * std::sin(angle) + v * std::cos(angle));
      }
    });
  }

  Status gradient_rule(Backward& node, const RopeParams& params) const override {
    if (!node.needs_gradient(0)) return ok();
    return node.add_gradient(0,
                             rope_back(node.g, node.dy(), node.source(1), node.source(2), params));
  }
};

}  // namespace

const Op& rope_op() {
  static const Rope kOp;
  return kOp;
}

Result<Value> rope(GraphBuilder& g, Operand x, Operand positions, Operand freq_factors,
                   RopeParams params) {
  return g.apply(rope_op(), Params::of(params), {&x, &positions, &freq_factors});
}

}  // namespace shunt

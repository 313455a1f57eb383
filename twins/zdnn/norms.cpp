// Norms: zdnn_norm over dim1, moments over dims 3, 2 and 1, layer norm with them, batch norm by
// channel (dim1).
#include <cmath>
#include <vector>

#include "op.h"
#include "sum.h"

using namespace zdnn_twin;

namespace {

// All elements of one dim4 index, in order.
std::vector<double> slice(const Rows& rows, std::uint64_t e4) {
  const zdnn_tensor_desc& d = rows.desc();
  const std::size_t row = d.dim1;
  std::vector<double> out(std::size_t{d.dim3} * d.dim2 * row);
  for (std::size_t e3 = 0; e3 < d.dim3; ++e3)
    for (std::size_t e2 = 0; e2 < d.dim2; ++e2)
      rows.read(e4, e3, e2, std::span(out).subspan((e3 * d.dim2 + e2) * row, row));
  return out;
}

zdnn_status expect_number(double dlf, zdnn_status otherwise) {
  if (std::isnan(dlf)) return refuse(otherwise, "it is no DLFLOAT16 number");
  return ZDNN_OK;
}

}  // namespace

extern "C" {

zdnn_status zdnn_norm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                      zdnn_ztensor* output) {
  return perform(
      {"zdnn_norm", NNPA_NORM, 1, {input_a, input_b}, {output}},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& d = desc_of(input_a);
        ZDNN_TWIN_TRY(expect_alike({input_a, input_b}));
        ZDNN_TWIN_TRY(expect(d.dim3 == 1 && has_dims(output, d.dim4, 1, d.dim2, 1),
                             ZDNN_INVALID_SHAPE, "dim3 must be 1, and dim1 of the result"));
        return expect_features({output});
      },
      no_response,
      [&](Range& range) {
        const Rows left(*input_a);
        const Rows right(*input_b);
        const Rows result(*output);
        std::vector<double> x(desc_of(input_a).dim1);
        std::vector<double> y(x.size());
        for_each_row(desc_of(input_a), [&](auto e4, auto e3, auto e2) {
          left.read(e4, e3, e2, x);
          right.read(e4, e3, e2, y);
          const double sum =
              sum_of(x.size(), [&](std::size_t i) { return (x[i] - y[i]) * (x[i] - y[i]); });
          result.put(e4, e3, e2, 0, std::sqrt(sum), range);
        });
      });
}

zdnn_status zdnn_moments(const zdnn_ztensor* input, zdnn_moments_bessel bessel_correction_type,
                         zdnn_ztensor* output_a, zdnn_ztensor* output_b) {
  return perform(
      {"zdnn_moments", NNPA_MOMENTS, 1, {input}, {output_a, output_b}},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& d = desc_of(input);
        const bool fits =
            has_dims(output_a, d.dim4, 1, 1, 1) && has_dims(output_b, d.dim4, 1, 1, 1);
        ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "the results are (dim4, 1, 1, 1)"));
        ZDNN_TWIN_TRY(expect_features({input, output_a, output_b}));
        const bool alone = std::uint64_t{d.dim3} * d.dim2 * d.dim1 == 1;
        if (bessel_correction_type > MOMENTS_BESSEL_SAMPLE ||
            (bessel_correction_type == MOMENTS_BESSEL_SAMPLE && alone))
          return refuse(ZDNN_INVALID_BESSEL_CORRECTION, "unknown, or a sample of one");
        return ZDNN_OK;
      },
      no_response,
      [&](Range& range) {
        const Rows source(*input);
        const Rows means(*output_a);
        const Rows variances(*output_b);
        for (std::uint64_t e4 = 0; e4 < desc_of(input).dim4; ++e4) {
          const std::vector<double> x = slice(source, e4);
          const auto count = static_cast<double>(x.size());
          const double mean = sum_of(x.size(), [&](std::size_t i) { return x[i]; }) / count;
          const double squares =
              sum_of(x.size(), [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); });
          const bool sample = bessel_correction_type == MOMENTS_BESSEL_SAMPLE;
          means.put(e4, 0, 0, 0, mean, range);
          variances.put(e4, 0, 0, 0, squares / (sample ? count - 1 : count), range);
        }
      });
}

zdnn_status zdnn_layernorm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                           const zdnn_ztensor* input_c, const float beta_value,
                           const float gamma_value, const float epsilon_value,
                           zdnn_ztensor* output) {
  const double beta = as_dlf(beta_value);
  const double gamma = as_dlf(gamma_value);
  const double epsilon = as_dlf(epsilon_value);
  return perform(
      {.name = "zdnn_layernorm",
       .function = NNPA_LAYERNORM,
       .format = 1,
       .inputs = {input_a, input_b, input_c},
       .outputs = {output},
       .last_input_marked = false},  // zdnn_moments doesn't mark the variance
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& d = desc_of(input_a);
        ZDNN_TWIN_TRY(expect_alike({input_a, output}));
        const bool fits = has_dims(input_b, d.dim4, 1, 1, 1) && same_dims(input_b, input_c);
        ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "mean and variance are (dim4, 1, 1, 1)"));
        ZDNN_TWIN_TRY(expect_features({input_b, input_c}));
        ZDNN_TWIN_TRY(expect_number(beta, ZDNN_INVALID_BETA));
        ZDNN_TWIN_TRY(expect_number(gamma, ZDNN_INVALID_GAMMA));
        return expect_number(epsilon, ZDNN_INVALID_EPSILON);
      },
      no_response,
      [&](Range& range) {
        const Rows source(*input_a);
        const Rows means(*input_b);
        const Rows variances(*input_c);
        const Rows result(*output);
        std::vector<double> x(desc_of(input_a).dim1);
        for_each_row(desc_of(input_a), [&](auto e4, auto e3, auto e2) {
          const double mean = means.at(e4, 0, 0, 0);
          const double deviation = std::sqrt(variances.at(e4, 0, 0, 0) + epsilon);
          source.read(e4, e3, e2, x);
          for (double& element : x) element = (element - mean) / deviation * gamma + beta;
          result.write(e4, e3, e2, x, range);
        });
      });
}

zdnn_status zdnn_batchnorm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                           const zdnn_ztensor* input_c, zdnn_ztensor* output) {
  return perform(
      {"zdnn_batchnorm", NNPA_BATCHNORMALIZATION, 0, {input_a, input_b, input_c}, {output}},
      [&]() -> zdnn_status {
        const zdnn_tensor_desc& d = desc_of(input_a);
        ZDNN_TWIN_TRY(expect_alike({input_a, output}));
        const bool fits = has_dims(input_b, 1, 1, 1, d.dim1) && same_dims(input_b, input_c);
        ZDNN_TWIN_TRY(expect(fits, ZDNN_INVALID_SHAPE, "scale and bias are (1, 1, 1, channels)"));
        return expect_features({input_b, input_c});
      },
      no_response,
      [&](Range& range) {
        const Rows source(*input_a);
        const Rows result(*output);
        std::vector<double> x(desc_of(input_a).dim1);
        std::vector<double> scale(x.size());
        std::vector<double> bias(x.size());
        Rows(*input_b).read(0, 0, 0, scale);
        Rows(*input_c).read(0, 0, 0, bias);
        for_each_row(desc_of(input_a), [&](auto e4, auto e3, auto e2) {
          source.read(e4, e3, e2, x);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale[i] * x[i] + bias[i];
          result.write(e4, e3, e2, x, range);
        });
      });
}

}  // extern "C"

// Operations element by element: no broadcasting, all tensors of the same dimensions.
#include <cmath>
#include <vector>

#include "common/reals.h"
#include "op.h"

using namespace zdnn_twin;

namespace {

template <class F>
zdnn_status binary(const char* name, nnpa_function_code code, const zdnn_ztensor* a,
                   const zdnn_ztensor* b, zdnn_ztensor* out, F f) {
  return perform(
      {name, code, 0, {a, b}, {out}},
      [&] {
        return expect_alike({a, b, out});
      },
      no_response,
      [&](Range& range) {
        const Rows left(*a);
        const Rows right(*b);
        const Rows result(*out);
        std::vector<double> x(desc_of(a).dim1);
        std::vector<double> y(x.size());
        for_each_row(desc_of(a), [&](auto e4, auto e3, auto e2) {
          left.read(e4, e3, e2, x);
          right.read(e4, e3, e2, y);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], y[i]);
          result.write(e4, e3, e2, x, range);
        });
      });
}

struct NoCheck {
  zdnn_status operator()() const { return ZDNN_OK; }
};

template <class F, class Check = NoCheck>
zdnn_status unary(const char* name, nnpa_function_code code, int format, const zdnn_ztensor* in,
                  zdnn_ztensor* out, F f, Check check = {}) {
  return perform(
      {name, code, format, {in}, {out}},
      [&]() -> zdnn_status {
        ZDNN_TWIN_TRY(expect_alike({in, out}));
        return check();
      },
      no_response,
      [&](Range& range) {
        const Rows source(*in);
        const Rows result(*out);
        std::vector<double> x(desc_of(in).dim1);
        for_each_row(desc_of(in), [&](auto e4, auto e3, auto e2) {
          source.read(e4, e3, e2, x);
          for (double& element : x) element = f(element);
          result.write(e4, e3, e2, x, range);
        });
      });
}

// No number in, no number out, also where a comparison would hide it.
double smaller(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? x + y : y < x ? y : x;
}
double larger(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? x + y : y > x ? y : x;
}

/// The host's clipping value as the machine sees it; 0 is none.
struct Clip {
  explicit Clip(const void* host) : value(host == nullptr ? 0 : as_dlf(load<float>(host))) {}
  zdnn_status check() const {
    if (!(value >= 0)) return refuse(ZDNN_INVALID_CLIPPING_VALUE, "it is negative or no number");
    return ZDNN_OK;
  }
  double operator()(double x) const { return value > 0 ? smaller(x, value) : x; }
  double value;
};

}  // namespace

extern "C" {

zdnn_status zdnn_add(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_add", NNPA_ADD, input_a, input_b, output,
                [](double x, double y) { return x + y; });
}

zdnn_status zdnn_sub(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_sub", NNPA_SUB, input_a, input_b, output,
                [](double x, double y) { return x - y; });
}

zdnn_status zdnn_mul(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_mul", NNPA_MUL, input_a, input_b, output,
                [](double x, double y) { return x * y; });
}

zdnn_status zdnn_div(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_div", NNPA_DIV, input_a, input_b, output,
                [](double x, double y) { return x / y; });
}

zdnn_status zdnn_min(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_min", NNPA_MIN, input_a, input_b, output, smaller);
}

zdnn_status zdnn_max(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output) {
  return binary("zdnn_max", NNPA_MAX, input_a, input_b, output, larger);
}

zdnn_status zdnn_log(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_log", NNPA_LOG, 0, input, output, twin::log_of);
}

zdnn_status zdnn_exp(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_exp", NNPA_EXP, 0, input, output, twin::exp_of);
}

zdnn_status zdnn_sqrt(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_sqrt", NNPA_SQRT, 1, input, output, [](double x) { return std::sqrt(x); });
}

zdnn_status zdnn_invsqrt(const zdnn_ztensor* input, float epsilon, zdnn_ztensor* output) {
  const double added = as_dlf(epsilon);
  return unary(
      "zdnn_invsqrt", NNPA_INVSQRT, 1, input, output,
      [&](double x) { return 1 / std::sqrt(x + added); },
      [&]() -> zdnn_status {
        if (std::isnan(added)) return refuse(ZDNN_INVALID_EPSILON, "it is no DLFLOAT16 number");
        return ZDNN_OK;
      });
}

zdnn_status zdnn_relu(const zdnn_ztensor* input, const void* clipping_value, zdnn_ztensor* output) {
  const Clip clip(clipping_value);
  return unary(
      "zdnn_relu", NNPA_RELU, 0, input, output, [&](double x) { return clip(larger(x, 0)); },
      [&] { return clip.check(); });
}

zdnn_status zdnn_leaky_relu(const zdnn_ztensor* input, const void* clipping_value,
                            float adjustment_factor, zdnn_ztensor* output) {
  const Clip clip(clipping_value);
  const double factor = as_dlf(adjustment_factor);
  return unary(
      "zdnn_leaky_relu", NNPA_RELU, 1, input, output,
      [&](double x) { return x < 0 ? factor * x : clip(x); },
      [&]() -> zdnn_status {
        ZDNN_TWIN_TRY(clip.check());
        if (!(adjustment_factor >= 0 && adjustment_factor <= 1))
          return refuse(ZDNN_INVALID_ADJUSTMENT_FACTOR, "it is not between 0 and 1");
        return ZDNN_OK;
      });
}

zdnn_status zdnn_tanh(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_tanh", NNPA_TANH, 0, input, output, twin::tanh_of);
}

zdnn_status zdnn_sigmoid(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_sigmoid", NNPA_SIGMOID, 0, input, output, twin::sigmoid_of);
}

zdnn_status zdnn_gelu(const zdnn_ztensor* input, zdnn_ztensor* output) {
  return unary("zdnn_gelu", NNPA_GELU, 1, input, output, twin::gelu_of);
}

}  // extern "C"

// Element by element: every DLFLOAT16 number against the C library's functions in double precision.
#include <functional>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinElementwise : public TwinTest {};

using Real = std::function<double(double)>;
using Call = std::function<zdnn_status(zdnn_ztensor*, zdnn_ztensor*)>;

// All patterns in one tensor: row i / 64, column i % 64.
struct AllNumbers {
  AllNumbers() : in(ZDNN_2D, {1024, 64}), out(ZDNN_2D, {1024, 64}) {
    for (std::uint32_t i = 0; i < 65536; ++i) in.set_cell(2 * i, static_cast<std::uint16_t>(i));
    in.tensor.is_transformed = true;
  }
  Tensor in, out;
};

bool is_rounding_of(std::uint16_t dlf, double exact) {
  // The result may be next to a border between two numbers.
  if (exact == 0 || std::isnan(exact)) return (dlf & 0x7FFF) == (exact == 0 ? 0 : kNinf);
  return dlf == nearest(exact * (1 - 1e-13)) || dlf == nearest(exact * (1 + 1e-13));
}

void check_all(const char* name, const Call& call, const Real& f) {
  AllNumbers all;
  EXPECT_EQ(call(all.in, all.out), ZDNN_ELEMENT_RANGE_VIOLATION) << name;  // NINF is among them
  EXPECT_TRUE(all.out.tensor.is_transformed);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const double x = value_of(static_cast<std::uint16_t>(i));
    const double expected = std::isnan(x) ? x : f(x);
    const bool right = is_rounding_of(all.out.cell(2 * i), expected);
    ASSERT_TRUE(right) << name << "(" << x << ") = " << std::hex << all.out.cell(2 * i)
                       << ", expected " << expected;
  }
}

TEST_F(ZdnnTwinElementwise, UnaryFunctionsMatchExactValuesForAllNumbers) {
  check_all("exp", zdnn_exp, [](double x) { return std::exp(x); });
  check_all("log", zdnn_log, [](double x) { return std::log(x); });
  check_all("sqrt", zdnn_sqrt, [](double x) { return std::sqrt(x); });
  check_all("tanh", zdnn_tanh, [](double x) { return std::tanh(x); });
  check_all("sigmoid", zdnn_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  check_all("gelu", zdnn_gelu, [](double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
  });
  check_all(
      "invsqrt", [](auto* in, auto* out) { return zdnn_invsqrt(in, 0.001f, out); },
      [](double x) { return 1 / std::sqrt(x + rounded(static_cast<double>(0.001f))); });
  check_all(
      "relu", [](auto* in, auto* out) { return zdnn_relu(in, nullptr, out); },
      [](double x) { return x > 0 ? x : 0; });
  const float six = 6.01f;
  check_all(
      "relu6", [&](auto* in, auto* out) { return zdnn_relu(in, &six, out); },
      [&](double x) { return x > 0 ? std::fmin(x, rounded(static_cast<double>(six))) : 0; });
  check_all(
      "leaky relu", [&](auto* in, auto* out) { return zdnn_leaky_relu(in, &six, 0.1f, out); },
      [&](double x) {
        return x >= 0 ? std::fmin(x, rounded(static_cast<double>(six)))
                      : x * rounded(static_cast<double>(0.1f));
      });
}

TEST_F(ZdnnTwinElementwise, UnaryBitsAreTheSameOnEveryMachine) {
  const auto digest = [](const Call& call) {
    AllNumbers all;
    call(all.in, all.out);
    return digest_of({&all.out});
  };
  EXPECT_EQ(digest(zdnn_exp), 3745035179u);
  EXPECT_EQ(digest(zdnn_log), 3764479392u);
  EXPECT_EQ(digest(zdnn_tanh), 1565680741u);
  EXPECT_EQ(digest(zdnn_sigmoid), 685875856u);
  EXPECT_EQ(digest(zdnn_gelu), 3680638254u);
  EXPECT_EQ(digest(zdnn_sqrt), 3463089589u);
  EXPECT_EQ(digest([](auto* in, auto* out) { return zdnn_invsqrt(in, 0.001f, out); }), 2275259696u);
  EXPECT_EQ(digest([](auto* in, auto* out) { return zdnn_leaky_relu(in, nullptr, 0.1f, out); }),
            878392116u);
}

using Binary = zdnn_status (*)(const zdnn_ztensor*, const zdnn_ztensor*, zdnn_ztensor*);

TEST_F(ZdnnTwinElementwise, BinaryFunctionsMatchExactValues) {
  const struct {
    const char* name;
    Binary call;
    std::function<double(double, double)> f;
  } cases[] = {
      {"add", zdnn_add, [](double x, double y) { return x + y; }},
      {"sub", zdnn_sub, [](double x, double y) { return x - y; }},
      {"mul", zdnn_mul, [](double x, double y) { return x * y; }},
      {"div", zdnn_div, [](double x, double y) { return x / y; }},
      {"min", zdnn_min,
       [](double x, double y) { return std::isnan(x + y) ? x + y : std::fmin(x, y); }},
      {"max", zdnn_max,
       [](double x, double y) { return std::isnan(x + y) ? x + y : std::fmax(x, y); }},
  };
  Tensor a(ZDNN_4D, {2, 3, 34, 67});
  Tensor b(ZDNN_3D, {6, 34, 67});  // not alike, see below
  Tensor c(ZDNN_NHWC, {2, 3, 34, 67});
  Tensor out(ZDNN_NHWC, {2, 3, 34, 67});
  std::uint32_t seed = 7;
  for (std::uint64_t byte = 0; byte < a.tensor.buffer_size; byte += 2) {
    for (Tensor* t : {&a, &c}) {
      seed = seed * 1664525u + 1013904223u;
      t->set_cell(byte, static_cast<std::uint16_t>(seed >> 16));
    }
  }
  a.set_cell(0, kNinf);
  a.tensor.is_transformed = c.tensor.is_transformed = true;
  for (const auto& op : cases) {
    EXPECT_EQ(op.call(a, c, out), ZDNN_ELEMENT_RANGE_VIOLATION) << op.name;
    for (std::uint64_t e4 = 0; e4 < 2; ++e4)
      for (std::uint64_t e3 = 0; e3 < 3; ++e3)
        for (std::uint64_t e2 = 0; e2 < 34; ++e2)
          for (std::uint64_t e1 = 0; e1 < 67; ++e1) {
            const std::uint64_t byte =
                ((((e4 * 2 + e1 / 64) * 3 + e3) * 64 + e2) * 64 + e1 % 64) * 2;
            const double x = value_of(a.cell(byte));
            const double y = value_of(c.cell(byte));
            ASSERT_TRUE(is_rounding_of(out.cell(byte), op.f(x, y)))
                << op.name << " " << x << " " << y << " " << std::hex << out.cell(byte);
          }
    EXPECT_EQ(op.call(a, b, out), ZDNN_INVALID_SHAPE) << op.name;
    EXPECT_EQ(op.call(a, c, b), ZDNN_INVALID_SHAPE) << op.name;
  }
}

TEST_F(ZdnnTwinElementwise, BinaryBitsAreTheSameOnEveryMachine) {
  // Each number with another one, and zeros of either sign.
  const auto digest = [](Binary call) {
    AllNumbers x, y;
    Tensor out(ZDNN_2D, {1024, 64});
    for (std::uint32_t i = 0; i < 65536; ++i)
      y.in.set_cell(2 * i, static_cast<std::uint16_t>(i * 40503u + (i >> 8)));
    x.in.set_cell(0, 0x8000);
    y.in.set_cell(0, 0);
    x.in.set_cell(2, 0);
    y.in.set_cell(2, 0x8000);
    call(x.in, y.in, out);
    return digest_of({&out});
  };
  EXPECT_EQ(digest(zdnn_add), 1307463336u);
  EXPECT_EQ(digest(zdnn_sub), 2333715544u);
  EXPECT_EQ(digest(zdnn_mul), 1207649980u);
  EXPECT_EQ(digest(zdnn_div), 2082654823u);
  EXPECT_EQ(digest(zdnn_min), 1881465325u);
  EXPECT_EQ(digest(zdnn_max), 3074824421u);
}

TEST_F(ZdnnTwinElementwise, RoundsOnceAtTheEnd) {
  Tensor x(ZDNN_1D, {2}, {1, -1});
  Tensor y(ZDNN_1D, {2}, {1.0f / 1024, -1.0f / 1024});  // half of the last place of 1
  Tensor out(ZDNN_1D, {2});
  EXPECT_EQ(zdnn_add(x, y, out), ZDNN_OK);
  EXPECT_EQ(out.cell(0), 0x3E01);  // away from zero
  EXPECT_EQ(out.cell(2), 0xBE01);
}

TEST_F(ZdnnTwinElementwise, OverflowIsARangeViolationAndNinf) {
  // 0.75 of the largest number, as the vendor's tests call it, added to itself.
  Tensor x(ZDNN_1D, {2}, {0.75f * 8581545984.0f, 1});
  Tensor out(ZDNN_1D, {2});
  EXPECT_EQ(zdnn_add(x, x, out), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(out.tensor.is_transformed);
  EXPECT_EQ(out.cell(0), kNinf);
  EXPECT_EQ(value_of(out.cell(2)), 2);
  // It stays: the next operation warns again, and the way back fails.
  Tensor next(ZDNN_1D, {2});
  EXPECT_EQ(zdnn_min(out, x, next), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(next.cell(0), kNinf);
  float host[2];
  EXPECT_EQ(zdnn_transform_origtensor(next, host), ZDNN_CONVERT_FAILURE);
  EXPECT_TRUE(std::isnan(host[0]));
  EXPECT_EQ(host[1], 1.0f);
}

TEST_F(ZdnnTwinElementwise, RejectsParametersOutOfRange) {
  Tensor x(ZDNN_1D, {2}, {1, -1});
  Tensor out(ZDNN_1D, {2});
  for (const float bad : {-1.0f, NAN, INFINITY, 1e10f}) {
    EXPECT_EQ(zdnn_relu(x, &bad, out), ZDNN_INVALID_CLIPPING_VALUE) << bad;
    EXPECT_EQ(zdnn_leaky_relu(x, &bad, 0.5f, out), ZDNN_INVALID_CLIPPING_VALUE) << bad;
  }
  for (const float bad : {-0.001f, 1.001f, NAN, INFINITY})
    EXPECT_EQ(zdnn_leaky_relu(x, nullptr, bad, out), ZDNN_INVALID_ADJUSTMENT_FACTOR) << bad;
  EXPECT_EQ(zdnn_leaky_relu(x, nullptr, 1, out), ZDNN_OK);
  for (const float bad : {NAN, INFINITY, 1e10f})
    EXPECT_EQ(zdnn_invsqrt(x, bad, out), ZDNN_INVALID_EPSILON) << bad;
  const float zero = 0;
  EXPECT_EQ(zdnn_relu(x, &zero, out), ZDNN_OK);  // no clipping
  EXPECT_EQ(value_of(out.cell(0)), 1);
}

// The same checks stand before every operation; here they are in their order.
TEST_F(ZdnnTwinElementwise, ChecksAreMadeInTheDocumentedOrder) {
  Tensor x(ZDNN_1D, {2}, {1, -1});
  Tensor out(ZDNN_1D, {2});
  const zdnn_tensor_desc good = x.desc;
  const zdnn_ztensor tensor = x.tensor;
  const auto status = [&] { return zdnn_gelu(x, out); };
  x.tensor.buffer_size = 0;
  x.tensor.buffer = static_cast<char*>(tensor.buffer) + 64;
  x.desc.dim4 = 0;
  x.desc.type = ZDNN_BINARY_INT8;
  x.desc.format = ZDNN_FORMAT_4DKERNEL;
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(status(), ZDNN_UNAVAILABLE_FUNCTION);  // gelu is format 1
  set("ZDNN_TWIN_PROFILE", "z17");
  EXPECT_EQ(status(), ZDNN_INVALID_SHAPE);
  x.desc.dim4 = 1;
  EXPECT_EQ(status(), ZDNN_INVALID_TYPE);
  x.desc.type = ZDNN_DLFLOAT16;
  EXPECT_EQ(status(), ZDNN_INVALID_FORMAT);
  x.desc = good;
  EXPECT_EQ(status(), ZDNN_MISALIGNED_TENSOR);
  x.tensor.buffer = nullptr;
  EXPECT_EQ(status(), ZDNN_INVALID_BUFFER);
  x.tensor.buffer = tensor.buffer;
  EXPECT_EQ(status(), ZDNN_INVALID_BUFFER);
  x.tensor.buffer_size = 4096;
  EXPECT_FALSE(out.tensor.is_transformed);
  EXPECT_EQ(out.cell(0), kNinf);  // untouched so far
  EXPECT_EQ(status(), ZDNN_OK);
}

TEST_F(ZdnnTwinElementwise, CallerMadeBuffersRespectTheLimitsOfTheMachine) {
  alignas(4096) static char page[4096];
  zdnn_tensor_desc desc{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 2097153};
  zdnn_ztensor t{};
  t.transformed_desc = &desc;
  t.buffer = page;
  t.buffer_size = std::uint64_t{1} << 40;  // not true, but nothing is touched
  EXPECT_EQ(zdnn_exp(&t, &t), ZDNN_EXCEEDS_MDIS);
  desc.dim1 = 0;
  EXPECT_EQ(zdnn_exp(&t, &t), ZDNN_EXCEEDS_MDIS);
  desc.dim1 = 1;
  desc.dim4 = 32768;
  desc.dim3 = 33;
  EXPECT_EQ(zdnn_exp(&t, &t), ZDNN_EXCEEDS_MTS);
  desc.dim4 = 1;
  desc.dim3 = 1;
  desc.dim1 = 32769;
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(zdnn_exp(&t, &t), ZDNN_EXCEEDS_MDIS);
}

TEST_F(ZdnnTwinElementwise, Z17FunctionsAreUnavailableOnZ16) {
  set("ZDNN_TWIN_PROFILE", "z16");
  Tensor x(ZDNN_1D, {2}, {1, 2});
  Tensor out(ZDNN_1D, {2});
  EXPECT_EQ(zdnn_sqrt(x, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_invsqrt(x, 0, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_gelu(x, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_leaky_relu(x, nullptr, 0, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_FALSE(out.tensor.is_transformed);
  for (const auto old : {zdnn_exp, zdnn_log, zdnn_tanh, zdnn_sigmoid})
    EXPECT_EQ(old(x, out), ZDNN_OK);
  EXPECT_EQ(zdnn_relu(x, nullptr, out), ZDNN_OK);
}

}  // namespace

// The .approx instructions against long double: within the error that the PTX document grants, and
// near it where the settings ask for the worst.
#include <algorithm>
#include <bit>
#include <functional>

#include "floats.h"

namespace approximate_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using Real = long double;

/// The error of a result in units of its bound.
using Error = std::function<Real(Real result, Real exact)>;

Real ulp_of(Real exact, const Format& f) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int least = 2 - f.bias();
  return std::ldexp(1.0L, std::max(exponent, least) - 1 - static_cast<int>(f.fraction));
}
Error in_ulps(Real bound, const Format& f = kF32) {
  return
      [=](Real result, Real exact) { return std::fabs(result - exact) / ulp_of(exact, f) / bound; };
}
Error relative(Real bound) {
  return
      [=](Real result, Real exact) { return std::fabs(result - exact) / std::fabs(exact) / bound; };
}
Error absolute(Real bound) {
  return [=](Real result, Real exact) { return std::fabs(result - exact) / bound; };
}

/// Values of both signs from 2^least on, evenly in the exponent.
std::vector<uint32_t> spread(int least, int most, bool negative, std::size_t count = 8192) {
  std::vector<uint32_t> values;
  RandomNumbers numbers(7);
  for (std::size_t i = 0; i < count; ++i) {
    const auto exponent = static_cast<uint64_t>(127 + least) +
                          numbers.next() % static_cast<uint64_t>(most - least + 1);
    const auto sign = negative && (numbers.next() & 4) != 0 ? 0x80000000u : 0u;
    values.push_back(sign | static_cast<uint32_t>(exponent << 23) |
                     static_cast<uint32_t>(numbers.next() & 0x7FFFFF));
  }
  return values;
}

Real worst_error(const std::string& code, const std::vector<uint32_t>& values,
                 const std::function<Real(Real)>& exact, const Error& error) {
  const auto results = lanes<uint32_t>(code, values);
  Real most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Real truth = exact(decode(values[i], kF32));
    const Real size = error(decode(results[i], kF32), truth);
    if (!(size <= 1)) {
      ADD_FAILURE() << code << " of " << f32(values[i]) << " is " << f32(results[i]) << ", not "
                    << static_cast<double>(truth) << ": " << static_cast<double>(size)
                    << " times the bound";
      return size;
    }
    most = std::max(most, size);
  }
  return most;
}

/// Within the bound, and nearly at it in worst mode.
void expect_bound(const std::string& code, const std::vector<uint32_t>& values,
                  const std::function<Real(Real)>& exact, const Error& error) {
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "documented"), 1);
  const Real usual = worst_error(code, values, exact, error);
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "worst"), 1);
  const Real worst = worst_error(code, values, exact, error);
  EXPECT_GT(worst, 0.75L) << code;
  EXPECT_LT(usual, 0.75L) << code;
  EXPECT_GT(usual, 0.05L) << code;  // it is not exact either
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "documented"), 1);
}

TEST(CudaApproximate, PowersOfTwo) {
  Gpu gpu;
  const auto power = [](Real x) { return std::exp2(x); };
  expect_bound("ex2.approx.f32 %d, %a", spread(-20, 6, true), power, in_ulps(2));
  expect_bound("ex2.approx.ftz.f32 %d, %a", spread(-20, 5, true), power, relative(0x1p-22L));
}

TEST(CudaApproximate, Logarithms) {
  Gpu gpu;
  const auto log = [](Real x) { return std::log2(x); };
  expect_bound("lg2.approx.f32 %d, %a", spread(1, 127, false), log, relative(0x1p-22L));
  expect_bound("lg2.approx.ftz.f32 %d, %a", spread(-126, -2, false), log, relative(0x1p-22L));
  expect_bound("lg2.approx.f32 %d, %a", spread(-1, 0, false), log, absolute(0x1p-22L));
  std::vector<uint32_t> subnormals;
  for (uint32_t i = 1; i < 0x800000u; i += 1234) subnormals.push_back(i);
  expect_bound("lg2.approx.f32 %d, %a", subnormals, log, relative(0x1p-22L));
}

TEST(CudaApproximate, ReciprocalsAndRoots) {
  Gpu gpu;
  const auto reciprocal = [](Real x) { return 1 / x; };
  expect_bound("rcp.approx.f32 %d, %a", spread(-126, 127, true), reciprocal, in_ulps(1));
  expect_bound("rcp.approx.ftz.f32 %d, %a", spread(-120, 120, true), reciprocal, in_ulps(1));
  expect_bound(
      "sqrt.approx.f32 %d, %a", spread(-126, 127, false), [](Real x) { return std::sqrt(x); },
      relative(0x1p-23L));
  expect_bound(
      "rsqrt.approx.f32 %d, %a", spread(-126, 127, false), [](Real x) { return 1 / std::sqrt(x); },
      relative(std::exp2(-22.9L)));
  expect_bound(
      "rsqrt.approx.ftz.f32 %d, %a", spread(-126, 127, false),
      [](Real x) { return 1 / std::sqrt(x); }, relative(std::exp2(-22.9L)));
}

TEST(CudaApproximate, SinesAndCosines) {
  Gpu gpu;
  const auto sine = [](Real x) { return std::sin(x); };
  const auto cosine = [](Real x) { return std::cos(x); };
  std::vector<uint32_t> near;
  std::vector<uint32_t> far;
  RandomNumbers numbers(1);
  for (int i = 0; i < 8192; ++i) {
    const auto unit =
        static_cast<float>(static_cast<int>(numbers.next() % 2000001) - 1000000) / 1e6f;
    near.push_back(std::bit_cast<uint32_t>(unit * 6.283185f));
    far.push_back(std::bit_cast<uint32_t>(unit < 0 ? unit * 307.8f - 6.3f : unit * 307.8f + 6.3f));
  }
  expect_bound("sin.approx.f32 %d, %a", near, sine, absolute(std::exp2(-20.5L)));
  expect_bound("cos.approx.ftz.f32 %d, %a", near, cosine, absolute(std::exp2(-20.5L)));
  expect_bound("sin.approx.ftz.f32 %d, %a", far, sine, absolute(std::exp2(-14.7L)));
  expect_bound("cos.approx.f32 %d, %a", far, cosine, absolute(std::exp2(-14.7L)));
  // Beyond, without a bound: still a sine.
  for (const uint32_t bits : lanes<uint32_t>("sin.approx.f32 %d, %a", spread(9, 127, true))) {
    ASSERT_LE(std::fabs(f32(bits)), 1.001f);
  }
  const std::vector<uint32_t> million = {std::bit_cast<uint32_t>(3e6f)};
  EXPECT_NEAR(f32(lanes<uint32_t>("cos.approx.f32 %d, %a", million)[0]), std::cos(3e6), 1e-3);
}

TEST(CudaApproximate, HyperbolicTangents) {
  Gpu gpu;
  expect_bound(
      "tanh.approx.f32 %d, %a", spread(-126, 6, true), [](Real x) { return std::tanh(x); },
      relative(0x1p-11L));
  std::vector<uint32_t> subnormals;
  for (uint32_t i = 0; i < 0x800000u; i += 4321) subnormals.push_back(i | (i % 2 << 31));
  expect_lanes<uint32_t>(
      "tanh.approx.f32 %d, %a", [](uint32_t x) { return x; }, subnormals);
}

Real worst_quotient(const std::string& code, const std::vector<uint32_t>& a,
                    const std::vector<uint32_t>& b) {
  const auto results = lanes<uint32_t>(code, a, b);
  Real most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Real exact = decode(a[i], kF32) / decode(b[i], kF32);
    if (std::fabs(exact) >= 0x1.fffffp127L) continue;
    const Real error = in_ulps(2)(decode(results[i], kF32), exact);
    EXPECT_LE(error, 1) << code << " " << f32(a[i]) << " / " << f32(b[i]);
    most = std::max(most, error);
  }
  return most;
}

TEST(CudaApproximate, Quotients) {
  Gpu gpu;
  const auto a = spread(-126, 127, true);
  auto b = spread(-126, 125, true);
  std::rotate(b.begin(), b.begin() + 100, b.end());
  auto wide = spread(-126, 127, true);
  std::rotate(wide.begin(), wide.begin() + 100, wide.end());
  for (const char* setting : {"documented", "worst"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", setting), 1);
    const Real approx = worst_quotient("div.approx.f32 %d, %a, %b", a, b);
    const Real full = worst_quotient("div.full.f32 %d, %a, %b", a, wide);
    EXPECT_EQ(approx > 0.75L, setting[0] == 'w') << setting;
    EXPECT_EQ(full > 0.75L, setting[0] == 'w') << setting;
    EXPECT_GT(std::min(approx, full), 0.05L);
  }
}

TEST(CudaApproximate, QuotientsByHugeDivisorsAreZero) {
  Gpu gpu;
  const std::vector<uint32_t> b = {0x7E800001u, 0x7F7FFFFFu, 0xFF000000u, 0x7E800000u};
  const std::vector<uint32_t> a(4, std::bit_cast<uint32_t>(-0x1p127f));
  const auto finite = lanes<uint32_t>("div.approx.f32 %d, %a, %b", a, b);
  EXPECT_EQ(finite[0], 0x80000000u);
  EXPECT_EQ(finite[1], 0x80000000u);
  EXPECT_EQ(finite[2], 0u);
  EXPECT_EQ(finite[3], std::bit_cast<uint32_t>(-2.0f));
  const std::vector<uint32_t> infinite(4, 0x7F800000u);
  const auto of_infinity = lanes<uint32_t>("div.approx.f32 %d, %a, %b", infinite, b);
  EXPECT_EQ(of_infinity[0], 0x7FFFFFFFu);
  EXPECT_EQ(of_infinity[2], 0x7FFFFFFFu);
  EXPECT_EQ(of_infinity[3], 0x7F800000u);
  EXPECT_EQ(lanes<uint32_t>("div.full.f32 %d, %a, %b", infinite, b)[0], 0x7F800000u);
  EXPECT_EQ(lanes<uint32_t>("div.full.f32 %d, %a, %b", a, b)[2], std::bit_cast<uint32_t>(1.0f));
}

// --- The document's tables of special inputs, in both settings

constexpr uint32_t kInf = 0x7F800000u, kMinusInf = 0xFF800000u, kMinusZero = 0x80000000u;
constexpr uint32_t kNan = 0x7FFFFFFFu, kOne = 0x3F800000u, kMinusOne = 0xBF800000u;

struct Table {
  const char* instruction;
  uint32_t minus_infinity, minus_normal, minus_zero, zero, infinity;
  bool has_negative;  // minus_normal is a special case
};
constexpr Table kTables[] = {
    {"ex2.approx.f32", 0, 0, kOne, kOne, kInf, false},
    {"ex2.approx.ftz.f32", 0, 0, kOne, kOne, kInf, false},
    {"lg2.approx.f32", kNan, kNan, kMinusInf, kMinusInf, kInf, true},
    {"lg2.approx.ftz.f32", kNan, kNan, kMinusInf, kMinusInf, kInf, true},
    {"rcp.approx.f32", kMinusZero, 0, kMinusInf, kInf, 0, false},
    {"rcp.approx.ftz.f32", kMinusZero, 0, kMinusInf, kInf, 0, false},
    {"sqrt.approx.f32", kNan, kNan, kMinusZero, 0, kInf, true},
    {"rsqrt.approx.f32", kNan, kNan, kMinusInf, kInf, 0, true},
    {"rsqrt.approx.ftz.f32", kNan, kNan, kMinusInf, kInf, 0, true},
    {"sin.approx.f32", kNan, 0, kMinusZero, 0, kNan, false},
    {"cos.approx.f32", kNan, 0, kOne, kOne, kNan, false},
    {"tanh.approx.f32", kMinusOne, 0, kMinusZero, 0, kOne, false},
};

TEST(CudaApproximate, SpecialInputs) {
  Gpu gpu;
  const std::vector<uint32_t> inputs = {kMinusInf, 0xC0490FDBu, kMinusZero, 0,
                                        kInf,      0x7FC00000u, 0xFF800001u};
  for (const char* setting : {"documented", "worst"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", setting), 1);
    for (const Table& t : kTables) {
      const auto d = lanes<uint32_t>(std::string(t.instruction) + " %d, %a", inputs);
      EXPECT_EQ(d[0], t.minus_infinity) << t.instruction;
      if (t.has_negative) {
        EXPECT_EQ(d[1], t.minus_normal) << t.instruction;
      }
      EXPECT_EQ(d[2], t.minus_zero) << t.instruction;
      EXPECT_EQ(d[3], t.zero) << t.instruction;
      EXPECT_EQ(d[4], t.infinity) << t.instruction;
      EXPECT_EQ(d[5], kNan) << t.instruction;
      EXPECT_EQ(d[6], kNan) << t.instruction;
    }
  }
}

TEST(CudaApproximate, FtzFlushesSubnormals) {
  Gpu gpu;
  const std::vector<uint32_t> inputs = {0x00400000u, 0x80000001u};
  const auto of = [&](const char* code) { return lanes<uint32_t>(code, inputs); };
  EXPECT_EQ(of("rcp.approx.ftz.f32 %d, %a"), (std::vector<uint32_t>{kInf, kMinusInf}));
  EXPECT_EQ(of("rcp.approx.f32 %d, %a")[0], std::bit_cast<uint32_t>(0x1p127f));
  EXPECT_EQ(of("rsqrt.approx.ftz.f32 %d, %a"), (std::vector<uint32_t>{kInf, kMinusInf}));
  EXPECT_EQ(of("rsqrt.approx.f32 %d, %a")[1], kNan);
  EXPECT_EQ(of("lg2.approx.ftz.f32 %d, %a"), (std::vector<uint32_t>{kMinusInf, kMinusInf}));
  EXPECT_EQ(of("sqrt.approx.ftz.f32 %d, %a"), (std::vector<uint32_t>{0, kMinusZero}));
  EXPECT_EQ(of("sin.approx.ftz.f32 %d, %a"), (std::vector<uint32_t>{0, kMinusZero}));
  // Results: 2^-130 and 1 / 2^127.
  const std::vector<uint32_t> small = {std::bit_cast<uint32_t>(-130.0f)};
  EXPECT_EQ(lanes<uint32_t>("ex2.approx.ftz.f32 %d, %a", small)[0], 0u);
  EXPECT_EQ(lanes<uint32_t>("ex2.approx.f32 %d, %a", small)[0], std::bit_cast<uint32_t>(0x1p-130f));
  const std::vector<uint32_t> huge = {0xFF000000u};
  EXPECT_EQ(lanes<uint32_t>("rcp.approx.ftz.f32 %d, %a", huge)[0], kMinusZero);
  EXPECT_EQ(lanes<uint32_t>("rcp.approx.f32 %d, %a", huge)[0], std::bit_cast<uint32_t>(-0x1p-127f));
}

TEST(CudaApproximate, ExactResultsStayExactUnlessTheWorstIsAskedFor) {
  Gpu gpu;
  std::vector<uint32_t> powers;
  for (int n = -60; n <= 60; ++n) powers.push_back(std::bit_cast<uint32_t>(std::ldexp(1.0f, n)));
  expect_lanes<uint32_t>(
      "rcp.approx.f32 %d, %a", [](uint32_t x) { return std::bit_cast<uint32_t>(1 / f32(x)); },
      powers);
  expect_lanes<uint32_t>(
      "lg2.approx.f32 %f0, %a; ex2.approx.f32 %d, %f0", [](uint32_t x) { return x; }, powers);
  expect_lanes<uint32_t>(
      "mul.f32 %f0, %a, %a; sqrt.approx.f32 %d, %f0", [](uint32_t x) { return x; }, powers);
}

TEST(CudaApproximate, OverflowAndUnderflowOfPowers) {
  Gpu gpu;
  for (const char* setting : {"documented", "worst"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", setting), 1);
    const std::vector<float> inputs = {128.0f, 1e30f, -160.0f, -1e30f, -1e38f};
    std::vector<uint32_t> bits;
    bits.reserve(inputs.size());
    for (const float x : inputs) bits.push_back(std::bit_cast<uint32_t>(x));
    EXPECT_EQ(lanes<uint32_t>("ex2.approx.f32 %d, %a", bits),
              (std::vector<uint32_t>{kInf, kInf, 0, 0, 0}));
    for (const uint32_t result : lanes<uint32_t>("ex2.approx.f32 %d, %a", spread(7, 8, true))) {
      EXPECT_LT(result, 0x80000000u);  // never negative
    }
  }
}

// --- 16-bit forms, for all inputs

struct HalfForm {
  const char* name;
  const char* pair;
  Format format;
  bool power;
  Real bound;
  bool is_relative;
};
const HalfForm kHalfForms[] = {
    {"ex2.approx.f16", "ex2.approx.f16x2", kF16, true, std::exp2(-9.9L), true},
    {"ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16x2", kBf16, true, std::exp2(-7.0L), true},
    {"tanh.approx.f16", "tanh.approx.f16x2", kF16, false, std::exp2(-10.987L), false},
    {"tanh.approx.bf16", "tanh.approx.bf16x2", kBf16, false, std::exp2(-8.0L), false},
};

/// In units of the bound; a subnormal or overflowing result may be the nearest one or its
/// neighbour.
Real half_error(const HalfForm& form, uint16_t input, uint16_t result) {
  const Real x = decode(input, form.format);
  const Real exact = form.power ? std::exp2(x) : std::tanh(x);
  const Real value = decode(result, form.format);
  const bool tiny = std::fabs(exact) < std::ldexp(1.0L, 1 - form.format.bias());
  if (form.is_relative && tiny) {
    const bool flushes = form.format.fraction == kBf16.fraction;
    const Real allowed = flushes ? std::ldexp(1.0L, 1 - form.format.bias())
                                 : std::max(0x1p-24L, form.bound * std::fabs(exact));
    return std::fabs(value - exact) <= allowed ? 0 : 2;
  }
  if (std::isinf(value)) return encode(exact, form.format) == result ? 0 : 2;
  const Real error = std::fabs(value - exact) / form.bound;
  return form.is_relative ? error / std::fabs(exact) : error;
}

Real worst_half(const HalfForm& form) {
  const auto all = all16<uint16_t>();
  const auto results = lanes<uint16_t>(std::string(form.name) + " %d, %a", all);
  std::vector<uint32_t> pairs;
  pairs.reserve(all.size());
  for (const uint16_t x : all) {
    pairs.push_back(x | static_cast<uint32_t>(static_cast<uint16_t>(~x)) << 16);
  }
  const auto both = lanes<uint32_t>(std::string(form.pair) + " %d, %a", pairs);
  Real most = 0;
  for (const uint16_t x : all) {
    const auto other = static_cast<uint16_t>(~x);
    EXPECT_EQ(both[x], results[x] | static_cast<uint32_t>(results[other]) << 16) << x;
    if (is_nan(x, form.format)) {
      EXPECT_EQ(results[x], 0x7FFF) << x;
      continue;
    }
    const Real error = half_error(form, x, results[x]);
    if (error > 1) {
      ADD_FAILURE() << form.name << " of " << x << " is " << results[x];
      return error;
    }
    most = std::max(most, error);
  }
  return most;
}

TEST(CudaApproximate, HalfFormsOfAllValues) {
  Gpu gpu;
  for (const HalfForm& form : kHalfForms) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "documented"), 1);
    const Real usual = worst_half(form);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "worst"), 1);
    const Real worst = worst_half(form);
    EXPECT_GT(worst, 0.75L) << form.name;
    EXPECT_LT(usual, worst) << form.name;
  }
}

TEST(CudaApproximate, HalfSpecialInputs) {
  Gpu gpu;
  for (const char* setting : {"documented", "worst"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", setting), 1);
    const std::vector<uint16_t> halves = {0xFC00, 0x8000, 0, 0x7C00};
    EXPECT_EQ(lanes<uint16_t>("ex2.approx.f16 %d, %a", halves),
              (std::vector<uint16_t>{0, 0x3C00, 0x3C00, 0x7C00}));
    EXPECT_EQ(lanes<uint16_t>("tanh.approx.f16 %d, %a", halves),
              (std::vector<uint16_t>{0xBC00, 0x8000, 0, 0x3C00}));
    const std::vector<uint16_t> brains = {0xFF80, 0x8001, 0x8000, 0, 0x007F, 0x7F80};
    EXPECT_EQ(lanes<uint16_t>("ex2.approx.ftz.bf16 %d, %a", brains),
              (std::vector<uint16_t>{0, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x7F80}));
  }
}

// --- f64

TEST(CudaApproximate, GrossFormsOfDoubleUseTheUpperWord) {
  Gpu gpu;
  constexpr uint64_t kNan64 = 0x7FFFFFFF00000000u;
  constexpr uint64_t kInf64 = 0x7FF0000000000000u;
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const std::vector<uint64_t> inputs = {kInf64 | kSign, kSign | 1,     kSign, 0, 5,
                                        kInf64,         kInf64 | 12345};
  EXPECT_EQ(
      lanes<uint64_t>("rcp.approx.ftz.f64 %d, %a", inputs),
      (std::vector<uint64_t>{kSign, kInf64 | kSign, kInf64 | kSign, kInf64, kInf64, 0, kNan64}));
  EXPECT_EQ(
      lanes<uint64_t>("rsqrt.approx.ftz.f64 %d, %a", inputs),
      (std::vector<uint64_t>{kNan64, kInf64 | kSign, kInf64 | kSign, kInf64, kInf64, 0, kNan64}));
  RandomNumbers numbers(9);
  std::vector<uint64_t> values;
  values.reserve(4096);
  for (int i = 0; i < 4096; ++i) values.push_back((numbers.next() >> 1) % kInf64);
  const auto reciprocals = lanes<uint64_t>("rcp.approx.ftz.f64 %d, %a", values);
  const auto roots = lanes<uint64_t>("rsqrt.approx.ftz.f64 %d, %a", values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::fabs(f64(values[i])) > 0x1p1021 || f64(values[i]) < 0x1p-1022) continue;
    const double x = f64(values[i] & 0xFFFFFFFF00000000u);
    EXPECT_EQ(reciprocals[i] & 0xFFFFFFFFu, 0u);
    EXPECT_NEAR(f64(reciprocals[i]) * x, 1, 0x1p-19) << x;
    EXPECT_EQ(roots[i] & 0xFFFFFFFFu, 0u);
    EXPECT_NEAR(f64(roots[i]) * std::sqrt(x), 1, 0x1p-19) << x;
  }
  // Results below the normal numbers are flushed.
  EXPECT_EQ(lanes<uint64_t>("rcp.approx.ftz.f64 %d, %a",
                            std::vector<uint64_t>{std::bit_cast<uint64_t>(-0x1p1023)})[0],
            kSign);
}

TEST(CudaApproximate, RsqrtOfDouble) {
  Gpu gpu;
  const auto values = float_edges<uint64_t>(kF64, 500);
  const auto results = lanes<uint64_t>("rsqrt.approx.f64 %d, %a", values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = f64(values[i]);
    const double d = f64(results[i]);
    if (std::isnan(x) || x < 0) {
      EXPECT_TRUE(std::isnan(d)) << x;
    } else if (x == 0 || std::isinf(x)) {
      EXPECT_EQ(d, x == 0 ? std::copysign(INFINITY, x) : 0.0);
    } else {
      const Real exact = 1 / std::sqrt(static_cast<Real>(x));
      EXPECT_LE(std::fabs(static_cast<Real>(d) - exact), exact * 0x1p-52L) << x;
    }
  }
}

TEST(CudaApproximate, WorstResultsOfDoubleAreOneUnitOff) {
  constexpr uint64_t kInfinity = 0x7FF0000000000000u;
  const std::pair<const char*, uint64_t> forms[] = {
      {"rcp.approx.ftz.f64 %d, %a", uint64_t{1} << 32},
      {"rsqrt.approx.ftz.f64 %d, %a", uint64_t{1} << 32},
      {"rsqrt.approx.f64 %d, %a", 1},
  };
  auto values = float_edges<uint64_t>(kF64, 500);
  values.push_back(std::bit_cast<uint64_t>(0x1p1022));  // its reciprocal is the least normal number
  for (const auto& [form, unit] : forms) {
    Gpu gpu;
    const auto good = lanes<uint64_t>(form, values);
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_APPROXIMATE", "worst"), 1);
    const auto worst = lanes<uint64_t>(form, values);
    std::size_t up = 0, down = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double result = f64(good[i]);
      if (result == 0 || !std::isfinite(result) || std::fabs(result) == 0x1p-1022) {
        EXPECT_EQ(worst[i], good[i]) << form << " " << f64(values[i]);
      } else {
        EXPECT_TRUE(worst[i] == good[i] + unit || worst[i] == good[i] - unit)
            << form << " " << f64(values[i]);
        EXPECT_LT(worst[i] & (kInfinity | (kInfinity - 1)), kInfinity);
        ++(worst[i] > good[i] ? up : down);
      }
    }
    EXPECT_GT(up, values.size() / 8) << form;
    EXPECT_GT(down, values.size() / 8) << form;
  }
}

TEST(CudaApproximate, FormsThatPtxDoesNotHaveAreRefused) {
  Gpu gpu;
  expect_refused({"ex2.f32 %f0, %f1", "sin.f32 %f0, %f1", "lg2.rn.f32 %f0, %f1",
                  "sin.approx.f64 %g0, %g1", "tanh.approx.ftz.f32 %f0, %f1", "tanh.f32 %f0, %f1",
                  "ex2.approx.ftz.f16 %h0, %h1", "ex2.approx.bf16 %h0, %h1", "rsqrt.f32 %f0, %f1",
                  "rsqrt.rn.f32 %f0, %f1", "cos.approx.sat.f32 %f0, %f1",
                  "sqrt.approx.ftz.f64 %g0, %g1", "lg2.approx.f16 %h0, %h1"});
  expect_needs("6.5", "sm_90", {"tanh.approx.f32 %f0, %f1", "ex2.approx.f16 %h0, %h1"});
  expect_needs("8.0", "sm_70", {"tanh.approx.f32 %f0, %f1", "ex2.approx.f16x2 %r0, %r1"});
  expect_needs("8.0", "sm_80", {"tanh.approx.bf16 %h0, %h1", "ex2.approx.ftz.bf16 %h0, %h1"});
}

}  // namespace
}  // namespace approximate_test

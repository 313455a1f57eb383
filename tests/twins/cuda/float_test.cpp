// Arithmetic of f32 and f64 against the host's, in its rounding modes.
#include <algorithm>

#include "host_floats.h"

namespace float_test {
namespace {

using namespace twin_test;
using std::uint32_t;
using std::uint64_t;

template <class Bits>
void expect_binary(const std::string& name,
                   typename Host<Bits>::Float (*operation)(typename Host<Bits>::Float,
                                                           typename Host<Bits>::Float)) {
  const auto [a, b] = float_pairs<Bits>();
  for (const Mode& mode : kModes) {
    expect_lanes<Bits>(
        name + "." + mode.name + "." + Host<Bits>::kName + " %d, %a, %b",
        [&](Bits x, Bits y) { return on_host<Bits>(mode.fenv, operation, x, y); }, a, b);
  }
}

TEST(CudaFloat, SumsInAllRoundings) {
  Gpu gpu;
  expect_binary<uint32_t>("add", sum_of<float>);
  expect_binary<uint64_t>("add", sum_of<double>);
  expect_binary<uint32_t>("sub", difference_of<float>);
  expect_binary<uint64_t>("sub", difference_of<double>);
}

TEST(CudaFloat, ProductsInAllRoundings) {
  Gpu gpu;
  expect_binary<uint32_t>("mul", product_of<float>);
  expect_binary<uint64_t>("mul", product_of<double>);
}

TEST(CudaFloat, QuotientsInAllRoundings) {
  Gpu gpu;
  expect_binary<uint32_t>("div", quotient_of<float>);
  expect_binary<uint64_t>("div", quotient_of<double>);
}

template <class Bits>
void expect_fma() {
  using Float = typename Host<Bits>::Float;
  auto [a, b] = float_pairs<Bits>();
  auto c = repeated(float_edges<Bits>(Host<Bits>::kFormat, 12), a.size());
  // Sums that cancel to the error of the product.
  const auto near = float_edges<Bits>(Host<Bits>::kFormat, 40);
  for (std::size_t i = 0; i + 1 < near.size(); ++i) {
    const Float product = std::bit_cast<Float>(near[i]) * std::bit_cast<Float>(near[i + 1]);
    a.push_back(near[i]);
    b.push_back(near[i + 1]);
    c.push_back(std::bit_cast<Bits>(-product));
  }
  for (const Mode& mode : kModes) {
    for (const char* name : {"fma", "mad"}) {
      expect_lanes<Bits>(
          std::string(name) + "." + mode.name + "." + Host<Bits>::kName + " %d, %a, %b, %c",
          [&](Bits x, Bits y, Bits z) { return on_host<Bits>(mode.fenv, fma_of<Float>, x, y, z); },
          a, b, c);
    }
  }
}

TEST(CudaFloat, FusedMultiplyAddRoundsOnce) {
  Gpu gpu;
  expect_fma<uint32_t>();
  expect_fma<uint64_t>();
}

template <class Bits>
void expect_roots() {
  using Float = typename Host<Bits>::Float;
  auto values = float_edges<Bits>(Host<Bits>::kFormat, 400);
  // Roots that are next to a number of the type.
  for (const Bits x : float_edges<Bits>(Host<Bits>::kFormat, 4000)) {
    const Float root = std::bit_cast<Float>(x);
    values.push_back(std::bit_cast<Bits>(product_of(root, root)));
  }
  for (const Mode& mode : kModes) {
    const std::string type = std::string(".") + mode.name + "." + Host<Bits>::kName;
    expect_lanes<Bits>(
        "sqrt" + type + " %d, %a",
        [&](Bits x) { return on_host<Bits>(mode.fenv, root_of<Float>, x); }, values);
    expect_lanes<Bits>(
        "rcp" + type + " %d, %a",
        [&](Bits x) {
          return on_host<Bits>(
              mode.fenv, [](Float v) { return quotient_of<Float>(1, v); }, x);
        },
        values);
  }
}

TEST(CudaFloat, ReciprocalsAndRootsInAllRoundings) {
  Gpu gpu;
  expect_roots<uint32_t>();
  expect_roots<uint64_t>();
}

TEST(CudaFloat, FtzFlushesOperandsAndResults) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  for (const Mode& mode : kModes) {
    const auto flushing = [&](float (*operation)(float, float)) {
      return [&mode, operation](uint32_t x, uint32_t y) {
        return flushed(on_host<uint32_t>(mode.fenv, operation, flushed(x), flushed(y)));
      };
    };
    const std::string rest = std::string(".") + mode.name + ".ftz.f32 %d, %a, %b";
    expect_lanes<uint32_t>("add" + rest, flushing(sum_of<float>), a, b);
    expect_lanes<uint32_t>("sub" + rest, flushing(difference_of<float>), a, b);
    expect_lanes<uint32_t>("mul" + rest, flushing(product_of<float>), a, b);
    expect_lanes<uint32_t>("div" + rest, flushing(quotient_of<float>), a, b);
    expect_lanes<uint32_t>(
        std::string("fma.") + mode.name + ".ftz.f32 %d, %a, %b, %b",
        [&](uint32_t x, uint32_t y) {
          return flushed(
              on_host<uint32_t>(mode.fenv, fma_of<float>, flushed(x), flushed(y), flushed(y)));
        },
        a, b);
    const std::string one = std::string(".") + mode.name + ".ftz.f32 %d, %a";
    expect_lanes<uint32_t>(
        "sqrt" + one,
        [&](uint32_t x) {
          return flushed(on_host<uint32_t>(mode.fenv, root_of<float>, flushed(x)));
        },
        a);
    const auto inverse = [](float x) { return quotient_of(1.0f, x); };
    expect_lanes<uint32_t>(
        "rcp" + one,
        [&](uint32_t x) { return flushed(on_host<uint32_t>(mode.fenv, +inverse, flushed(x))); }, a);
  }
}

TEST(CudaFloat, SatClampsToZeroAndOneAndNanToZero) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  for (const Mode& mode : kModes) {
    expect_lanes<uint32_t>(
        std::string("add.") + mode.name + ".sat.f32 %d, %a, %b",
        [&](uint32_t x, uint32_t y) {
          return saturated(on_host<uint32_t>(mode.fenv, sum_of<float>, x, y));
        },
        a, b);
    expect_lanes<uint32_t>(
        std::string("sub.") + mode.name + ".sat.f32 %d, %a, %b",
        [&](uint32_t x, uint32_t y) {
          return saturated(on_host<uint32_t>(mode.fenv, difference_of<float>, x, y));
        },
        a, b);
    expect_lanes<uint32_t>(
        std::string("mul.") + mode.name + ".sat.f32 %d, %a, %b",
        [&](uint32_t x, uint32_t y) {
          return saturated(on_host<uint32_t>(mode.fenv, product_of<float>, x, y));
        },
        a, b);
    expect_lanes<uint32_t>(
        std::string("mad.") + mode.name + ".sat.f32 %d, %a, %b, %a",
        [&](uint32_t x, uint32_t y) {
          return saturated(on_host<uint32_t>(mode.fenv, fma_of<float>, x, y, x));
        },
        a, b);
    expect_lanes<uint32_t>(
        std::string("fma.") + mode.name + ".ftz.sat.f32 %d, %a, %b, %a",
        [&](uint32_t x, uint32_t y) {
          return saturated(flushed(
              on_host<uint32_t>(mode.fenv, fma_of<float>, flushed(x), flushed(y), flushed(x))));
        },
        a, b);
  }
}

TEST(CudaFloat, WithoutARoundingIsToNearestAndNotFused) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  const auto c = repeated(float_edges<uint32_t>(kF32, 12), a.size());
  expect_lanes<uint32_t>(
      "mul.f32 %f0, %a, %b; add.f32 %d, %f0, %c",
      [](uint32_t x, uint32_t y, uint32_t z) {
        return with_nan<uint32_t>(sum_of(product_of(f32(x), f32(y)), f32(z)));
      },
      a, b, c);
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 only where it is fused.
  const uint32_t x = std::bit_cast<uint32_t>(1 + 0x1p-12f);
  const uint32_t z = std::bit_cast<uint32_t>(-(1 + 0x1p-11f));
  EXPECT_EQ(lanes<uint32_t>("mul.f32 %f0, %a, %a; add.f32 %d, %f0, %b", std::vector<uint32_t>{x},
                            std::vector<uint32_t>{z})[0],
            0u);
  EXPECT_EQ(lanes<uint32_t>("fma.rn.f32 %d, %a, %a, %b", std::vector<uint32_t>{x},
                            std::vector<uint32_t>{z})[0],
            std::bit_cast<uint32_t>(0x1p-24f));
  expect_lanes<uint64_t>(
      "mul.f64 %d, %a, %b",
      [](uint64_t p, uint64_t q) { return with_nan<uint64_t>(product_of(f64(p), f64(q)), p, q); },
      float_pairs<uint64_t>().first, float_pairs<uint64_t>().second);
}

TEST(CudaFloat, ModifiersWithoutARounding) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  const auto [p, q] = float_pairs<uint64_t>();
  const struct {
    std::string name;
    float (*single)(float, float);
    double (*wide)(double, double);
  } operations[] = {{"add", sum_of<float>, sum_of<double>},
                    {"sub", difference_of<float>, difference_of<double>},
                    {"mul", product_of<float>, product_of<double>}};
  for (const auto& operation : operations) {
    for (const bool ftz : {false, true}) {
      for (const bool sat : {false, true}) {
        expect_lanes<uint32_t>(
            operation.name + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + ".f32 %d, %a, %b",
            [&](uint32_t x, uint32_t y) {
              if (ftz) x = flushed(x), y = flushed(y);
              uint32_t result = with_nan<uint32_t>(operation.single(f32(x), f32(y)));
              if (ftz) result = flushed(result);
              return sat ? saturated(result) : result;
            },
            a, b);
      }
    }
    expect_lanes<uint64_t>(
        operation.name + ".f64 %d, %a, %b",
        [&](uint64_t x, uint64_t y) {
          return with_nan<uint64_t>(operation.wide(f64(x), f64(y)), x, y);
        },
        p, q);
  }
}

TEST(CudaFloat, InactiveLanesKeepTheirValues) {
  Gpu gpu;
  std::vector<uint32_t> index;
  index.reserve(32);
  for (uint32_t i = 0; i < 32; ++i) index.push_back(i);
  expect_lanes<uint32_t>(
      "mov.f32 %d, 0f3F800000; setp.lt.u32 %p0, %a, 7; @%p0 add.rp.f32 %d, %d, %d;"
      "setp.gt.u32 %p1, %a, 20; @%p1 mul.f32 %d, 0f40400000, %d",
      [](uint32_t i) {
        return std::bit_cast<uint32_t>(i < 7 ? 2.0f : i > 20 ? 3.0f : 1.0f);
      },
      index);
}

// --- min, max and the operations on signs

template <class Bits>
Bits chosen(Bits a, Bits b, bool max, bool nan_wins, const Format& f, Bits both) {
  const bool nan_a = is_nan(a, f);
  const bool nan_b = is_nan(b, f);
  if (nan_wins ? nan_a || nan_b : nan_a && nan_b) return both;
  if (nan_a) return b;
  if (nan_b) return a;
  const long double x = decode(a, f);
  const long double y = decode(b, f);
  if (x == y) return std::signbit(x) == max ? b : a;  // -0 is below +0
  return (x > y) == max ? a : b;
}

TEST(CudaFloat, MinAndMaxPreferNumbersAndOrderZeros) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  const auto [p, q] = float_pairs<uint64_t>();
  for (const bool max : {false, true}) {
    const std::string name = max ? "max" : "min";
    const auto pick = [&](bool nan_wins, bool ftz) {
      return [=](uint32_t x, uint32_t y) {
        return chosen<uint32_t>(ftz ? flushed(x) : x, ftz ? flushed(y) : y, max, nan_wins, kF32,
                                0x7FFFFFFFu);
      };
    };
    expect_lanes<uint32_t>(name + ".f32 %d, %a, %b", pick(false, false), a, b);
    expect_lanes<uint32_t>(name + ".ftz.f32 %d, %a, %b", pick(false, true), a, b);
    expect_lanes<uint32_t>(name + ".NaN.f32 %d, %a, %b", pick(true, false), a, b);
    expect_lanes<uint32_t>(name + ".ftz.NaN.f32 %d, %a, %b", pick(true, true), a, b);
    expect_lanes<uint32_t>(
        name + ".xorsign.abs.f32 %d, %a, %b",
        [&](uint32_t x, uint32_t y) {
          const auto size =
              chosen<uint32_t>(x & 0x7FFFFFFFu, y & 0x7FFFFFFFu, max, false, kF32, 0x7FFFFFFFu);
          return is_nan(size, kF32) ? size : size | ((x ^ y) & 0x80000000u);
        },
        a, b);
    expect_lanes<uint64_t>(
        name + ".f64 %d, %a, %b",
        [&](uint64_t x, uint64_t y) {
          return chosen<uint64_t>(x, y, max, false, kF64, x | 0x0008000000000000u);
        },
        p, q);
  }
}

TEST(CudaFloat, MinAndMaxOfThree) {
  Gpu gpu("b200");
  const auto [a, b] = float_pairs<uint32_t>();
  const auto c = repeated(float_edges<uint32_t>(kF32, 12), a.size(), 5);
  const std::size_t total = (a.size() + 31) / 32 * 32;
  Buffer<uint32_t> in[] = {Buffer<uint32_t>(detail::whole_warps(a, total)),
                           Buffer<uint32_t>(detail::whole_warps(b, total)),
                           Buffer<uint32_t>(detail::whole_warps(c, total))};
  Buffer<uint32_t> out(total, 0u);
  const auto run = [&](const std::string& form) {
    const auto text = frame<uint32_t, uint32_t, uint32_t, uint32_t>(form + ".f32 %d, %a, %b, %c",
                                                                    "8.8", "sm_100");
    std::string log;
    EXPECT_EQ(launch(text, "lanes", Dim(static_cast<unsigned>(total / 32)), Dim(32),
                     {&in[0].address, &in[1].address, &in[2].address, &out.address}, 0, &log),
              CUDA_SUCCESS)
        << form << ": " << log;
    return out.read();
  };
  for (const bool max : {false, true}) {
    for (const std::string ftz : {"", ".ftz"}) {
      for (const std::string nan : {"", ".NaN"}) {
        for (const std::string abs : {"", ".abs"}) {
          const std::string form = (max ? "max" : "min") + ftz + nan + abs;
          const auto seen = [&](uint32_t x) {
            if (!ftz.empty()) x = flushed(x);
            return abs.empty() ? x : x & 0x7FFFFFFFu;
          };
          const auto pick = [&](uint32_t x, uint32_t y) {
            return chosen<uint32_t>(x, y, max, !nan.empty(), kF32, 0x7FFFFFFFu);
          };
          const auto results = run(form);
          for (std::size_t i = 0; i < a.size(); ++i) {
            ASSERT_EQ(results[i], pick(pick(seen(a[i]), seen(b[i])), seen(c[i])))
                << form << " " << a[i] << " " << b[i] << " " << c[i];
          }
        }
      }
    }
  }
}

TEST(CudaFloat, AbsNegAndCopysignWorkOnTheSign) {
  Gpu gpu;
  const auto [a, b] = float_pairs<uint32_t>();
  const auto [p, q] = float_pairs<uint64_t>();
  expect_lanes<uint32_t>(
      "abs.f32 %d, %a", [](uint32_t x) { return x % 0x80000000u; }, a);
  expect_lanes<uint32_t>(
      "neg.f32 %d, %a", [](uint32_t x) { return x + 0x80000000u; }, a);
  expect_lanes<uint32_t>(
      "abs.ftz.f32 %d, %a", [](uint32_t x) { return flushed(x) % 0x80000000u; }, a);
  expect_lanes<uint32_t>(
      "neg.ftz.f32 %d, %a", [](uint32_t x) { return flushed(x) + 0x80000000u; }, a);
  expect_lanes<uint64_t>(
      "abs.f64 %d, %a", [](uint64_t x) { return x % (uint64_t{1} << 63); }, p);
  expect_lanes<uint64_t>(
      "neg.f64 %d, %a", [](uint64_t x) { return x + (uint64_t{1} << 63); }, p);
  expect_lanes<uint32_t>(
      "copysign.f32 %d, %a, %b",
      [](uint32_t x, uint32_t y) { return y % 0x80000000u + (x >= 0x80000000u ? 0x80000000u : 0); },
      a, b);
  expect_lanes<uint64_t>(
      "copysign.f64 %d, %a, %b",
      [](uint64_t x, uint64_t y) {
        return y % (uint64_t{1} << 63) + (static_cast<int64_t>(x) < 0 ? uint64_t{1} << 63 : 0);
      },
      p, q);
}

template <class Bits>
void expect_tests() {
  using Float = typename Host<Bits>::Float;
  const auto values = float_edges<Bits>(Host<Bits>::kFormat, 200);
  const auto is = [&](const char* property, auto holds) {
    expect_lanes<uint32_t>(
        std::string("testp.") + property + "." + Host<Bits>::kName +
            " %p0, %a; selp.u32 %d, 1, 0, %p0",
        [&](Bits x) { return holds(std::fpclassify(std::bit_cast<Float>(x))) ? 1 : 0; }, values);
  };
  is("finite", [](int c) { return c != FP_INFINITE && c != FP_NAN; });
  is("infinite", [](int c) { return c == FP_INFINITE; });
  is("number", [](int c) { return c != FP_NAN; });
  is("notanumber", [](int c) { return c == FP_NAN; });
  is("normal", [](int c) { return c == FP_NORMAL || c == FP_ZERO; });
  is("subnormal", [](int c) { return c == FP_SUBNORMAL; });
}

TEST(CudaFloat, TestpKnowsThePropertiesOfNumbers) {
  Gpu gpu;
  expect_tests<uint32_t>();
  expect_tests<uint64_t>();
}

TEST(CudaFloat, FormsThatPtxDoesNotHaveAreRefused) {
  Gpu gpu;
  expect_refused({"fma.f32 %f0, %f1, %f2, %f3",
                  "mad.f32 %f0, %f1, %f2, %f3",
                  "div.f32 %f0, %f1, %f2",
                  "sqrt.f32 %f0, %f1",
                  "rcp.f32 %f0, %f1",
                  "add.rn.sat.f64 %g0, %g1, %g2",
                  "add.ftz.f64 %g0, %g1, %g2",
                  "mul.sat.f64 %g0, %g1, %g2",
                  "add.rn.rn.f32 %f0, %f1, %f2",
                  "add.rna.f32 %f0, %f1, %f2",
                  "div.rn.sat.f32 %f0, %f1, %f2",
                  "div.approx.f64 %g0, %g1, %g2",
                  "div.full.f64 %g0, %g1, %g2",
                  "rcp.approx.f64 %g0, %g1",
                  "sqrt.approx.f64 %g0, %g1",
                  "add.f32 %f0, %f1, %g2",
                  "add.f32 %f0, %f1",
                  "add.relu.f32 %f0, %f1, %f2",
                  "add.f32 %f0, %f1, %f2, %f3",
                  "min.abs.f32 %f0, %f1, %f2",
                  "min.xorsign.f32 %f0, %f1, %f2",
                  "max.NaN.f64 %g0, %g1, %g2",
                  "min.ftz.f64 %g0, %g1, %g2",
                  "testp.f32 %p0, %f1",
                  "testp.zero.f32 %p0, %f1",
                  "copysign.ftz.f32 %f0, %f1, %f2",
                  "fma.rn.oob.f32 %f0, %f1, %f2, %f3",
                  "abs.sat.f32 %f0, %f1",
                  "add.f32x2 %l0, %l1, %l2",
                  "add.f32.f16 %f0, %h1, %f2"});
}

TEST(CudaFloat, NewerFormsNeedTheirVersionAndTarget) {
  Gpu gpu;
  expect_needs("8.0", "sm_75", {"max.NaN.f32 %f0, %f1, %f2"});
  expect_needs("6.5", "sm_90", {"max.NaN.f32 %f0, %f1, %f2"});
  expect_needs("8.0", "sm_80", {"min.xorsign.abs.f32 %f0, %f1, %f2"});
  std::string log;
  EXPECT_EQ(compile_error("min.f32 %f0, %f1, %f2, %f3", &log), CUDA_ERROR_INVALID_PTX);
}

}  // namespace
}  // namespace float_test

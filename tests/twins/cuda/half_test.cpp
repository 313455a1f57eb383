// Arithmetic of f16, bf16 and their pairs: exact values in long double, rounded once.
#include <array>

#include "floats.h"

namespace half_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;

struct HalfType {
  const char* name;
  const char* pair;
  Format format;
};
constexpr HalfType kTypes[] = {{"f16", "f16x2", kF16}, {"bf16", "bf16x2", kBf16}};

/// decode(), which is slow, of all values.
long double value_of(uint16_t bits, const Format& f) {
  static const auto all = [] {
    std::array<std::vector<long double>, 2> values;
    for (unsigned i = 0; i < 65536; ++i) {
      for (std::size_t type = 0; type < 2; ++type) {
        values[type].push_back(decode(i, kTypes[type].format));
      }
    }
    return values;
  }();
  return all[f.fraction == kF16.fraction ? 0 : 1][bits];
}

/// The exact sum of two values of few bits, rounded once: toward zero in long double, with the rest
/// as one more bit.
uint16_t rounded_sum(long double a, long double b, const Format& f) {
  volatile long double x = a;
  volatile long double y = b;
  volatile long double sum = x + y;
  const bool nan = std::isnan(sum);
  if (nan || std::isinf(sum)) return static_cast<uint16_t>(encode(sum, f));
  std::feclearexcept(FE_INEXACT);
  {
    const HostRounding rounding(FE_TOWARDZERO);
    sum = x + y;
  }
  const bool more = std::fetestexcept(FE_INEXACT) != 0;
  if (sum == 0) {
    const HostRounding rounding(FE_TONEAREST);
    sum = x + y;  // the sign of a zero
  }
  return static_cast<uint16_t>(encode(sum, f, FE_TONEAREST, more));
}

uint16_t sum(uint16_t a, uint16_t b, const Format& f) {
  return rounded_sum(value_of(a, f), value_of(b, f), f);
}
uint16_t difference(uint16_t a, uint16_t b, const Format& f) {
  return rounded_sum(value_of(a, f), -value_of(b, f), f);
}
uint16_t product(uint16_t a, uint16_t b, const Format& f) {
  return static_cast<uint16_t>(encode(value_of(a, f) * value_of(b, f), f));  // 22 bits
}
uint16_t fused(uint16_t a, uint16_t b, uint16_t c, const Format& f) {
  return rounded_sum(value_of(a, f) * value_of(b, f), value_of(c, f), f);
}

uint16_t flushed(uint16_t bits, const Format& f) {
  return static_cast<uint16_t>(flush(bits, f));
}
uint16_t clamped(uint16_t bits, const Format& f) {
  const auto one = static_cast<uint16_t>(f.bias() << f.fraction);
  if (is_nan(bits, f) || (bits & 0x8000) != 0) return 0;
  return bits > one ? one : bits;
}
uint16_t with_relu(uint16_t bits, const Format& f) {
  return (bits & 0x8000) != 0 && !is_nan(bits, f) ? uint16_t{0} : bits;
}

/// All values with an edge value each, edges with edges, and random pairs.
std::pair<std::vector<uint16_t>, std::vector<uint16_t>> half_pairs(const Format& f) {
  const auto edges = float_edges<uint16_t>(f, 20);
  auto result = crossed(edges, edges);
  for (const std::size_t step : {0, 17, 41}) {
    const auto all = all16<uint16_t>();
    const auto partners = repeated(edges, all.size(), step);
    result.first.insert(result.first.end(), all.begin(), all.end());
    result.second.insert(result.second.end(), partners.begin(), partners.end());
  }
  RandomNumbers numbers(3);
  for (int i = 0; i < 30000; ++i) {
    result.first.push_back(static_cast<uint16_t>(numbers.next()));
    result.second.push_back(static_cast<uint16_t>(numbers.next() >> 7));
  }
  return result;
}

using Binary = uint16_t (*)(uint16_t, uint16_t, const Format&);

uint32_t in_both(uint32_t a, uint32_t b, const Format& f, Binary operation) {
  const uint32_t low = operation(static_cast<uint16_t>(a), static_cast<uint16_t>(b), f);
  const uint32_t high =
      operation(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16), f);
  return high << 16 | low;
}

/// Pairs of values, from the singles: one and the one after it.
std::vector<uint32_t> paired(const std::vector<uint16_t>& values) {
  std::vector<uint32_t> result;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    result.push_back(values[i] | static_cast<uint32_t>(values[i + 1]) << 16);
  }
  return result;
}

void expect_half(const std::string& name, Binary operation) {
  for (const HalfType& type : kTypes) {
    const auto [a, b] = half_pairs(type.format);
    expect_lanes<uint16_t>(
        name + "." + type.name + " %d, %a, %b",
        [&](uint16_t x, uint16_t y) { return operation(x, y, type.format); }, a, b);
    expect_lanes<uint32_t>(
        name + "." + type.pair + " %d, %a, %b",
        [&](uint32_t x, uint32_t y) { return in_both(x, y, type.format, operation); }, paired(a),
        paired(b));
  }
}

TEST(CudaHalf, Sums) {
  Gpu gpu;
  expect_half("add", sum);
  expect_half("add.rn", sum);
}
TEST(CudaHalf, Differences) {
  Gpu gpu;
  expect_half("sub", difference);
}
TEST(CudaHalf, Products) {
  Gpu gpu;
  expect_half("mul.rn", product);
  for (const HalfType& type : kTypes) {
    const auto edges = float_edges<uint16_t>(type.format, 20);
    const auto [a, b] = crossed(edges, edges);
    expect_lanes<uint16_t>(
        std::string("mul.") + type.name + " %d, %a, %b",
        [&](uint16_t x, uint16_t y) { return product(x, y, type.format); }, a, b);
  }
}

TEST(CudaHalf, FtzAndSat) {
  Gpu gpu;
  const auto [a, b] = half_pairs(kF16);
  expect_lanes<uint16_t>(
      "add.ftz.f16 %d, %a, %b",
      [](uint16_t x, uint16_t y) {
        return flushed(sum(flushed(x, kF16), flushed(y, kF16), kF16), kF16);
      },
      a, b);
  expect_lanes<uint16_t>(
      "sub.rn.sat.f16 %d, %a, %b",
      [](uint16_t x, uint16_t y) { return clamped(difference(x, y, kF16), kF16); }, a, b);
  expect_lanes<uint16_t>(
      "mul.ftz.sat.f16 %d, %a, %b",
      [](uint16_t x, uint16_t y) {
        return clamped(flushed(product(flushed(x, kF16), flushed(y, kF16), kF16), kF16), kF16);
      },
      a, b);
  expect_lanes<uint32_t>(
      "add.sat.f16x2 %d, %a, %b",
      [](uint32_t x, uint32_t y) {
        return in_both(x, y, kF16, [](uint16_t p, uint16_t q, const Format& f) {
          return clamped(sum(p, q, f), f);
        });
      },
      paired(a), paired(b));
}

TEST(CudaHalf, FusedMultiplyAddRoundsOnce) {
  Gpu gpu;
  for (const HalfType& type : kTypes) {
    const Format& f = type.format;
    auto [a, b] = half_pairs(f);
    auto c = repeated(float_edges<uint16_t>(f, 31), a.size(), 3);
    // Sums at a tie of the product, and a little beside it.
    for (std::size_t i = 0; i < 60000; i += 3)
      c[i] = static_cast<uint16_t>(product(a[i], b[i], f) ^ 0x8000);
    expect_lanes<uint16_t>(
        std::string("fma.rn.") + type.name + " %d, %a, %b, %c",
        [&](uint16_t x, uint16_t y, uint16_t z) { return fused(x, y, z, f); }, a, b, c);
    expect_lanes<uint16_t>(
        std::string("fma.rn.relu.") + type.name + " %d, %a, %b, %c",
        [&](uint16_t x, uint16_t y, uint16_t z) { return with_relu(fused(x, y, z, f), f); }, a, b,
        c);
    const auto both = [&](uint32_t x, uint32_t y, uint32_t z, auto operation) {
      const uint32_t low =
          operation(static_cast<uint16_t>(x), static_cast<uint16_t>(y), static_cast<uint16_t>(z));
      const uint32_t high =
          operation(static_cast<uint16_t>(x >> 16), static_cast<uint16_t>(y >> 16),
                    static_cast<uint16_t>(z >> 16));
      return high << 16 | low;
    };
    expect_lanes<uint32_t>(
        std::string("fma.rn.") + type.pair + " %d, %a, %b, %c",
        [&](uint32_t x, uint32_t y, uint32_t z) {
          return both(x, y, z,
                      [&](uint16_t p, uint16_t q, uint16_t r) { return fused(p, q, r, f); });
        },
        paired(a), paired(b), paired(c));
  }
}

TEST(CudaHalf, FusedMultiplyAddWithFtzAndSat) {
  Gpu gpu;
  const auto [a, b] = half_pairs(kF16);
  const auto c = repeated(float_edges<uint16_t>(kF16, 31), a.size(), 3);
  const auto flushing = [](uint16_t x, uint16_t y, uint16_t z) {
    return flushed(fused(flushed(x, kF16), flushed(y, kF16), flushed(z, kF16), kF16), kF16);
  };
  expect_lanes<uint16_t>("fma.rn.ftz.f16 %d, %a, %b, %c", flushing, a, b, c);
  expect_lanes<uint16_t>(
      "fma.rn.sat.f16 %d, %a, %b, %c",
      [](uint16_t x, uint16_t y, uint16_t z) { return clamped(fused(x, y, z, kF16), kF16); }, a, b,
      c);
  expect_lanes<uint16_t>(
      "fma.rn.ftz.relu.f16 %d, %a, %b, %c",
      [&](uint16_t x, uint16_t y, uint16_t z) { return with_relu(flushing(x, y, z), kF16); }, a, b,
      c);
}

TEST(CudaHalf, ATieOfTheProductIsBrokenByTheSummand) {
  Gpu gpu;
  // (1 + 2^-10) * (1 + 2^-10) = 1 + 2^-9 + 2^-20; with 2^-11 - 2^-20 it is a tie, with less or more
  // it is not. A product that was rounded first would give other results.
  const auto one_and = static_cast<uint16_t>(0x3C01);
  const auto in = [](uint16_t x) { return std::vector<uint16_t>{x}; };
  const auto at = [&](long double c) {
    return lanes<uint16_t>("fma.rn.f16 %d, %a, %a, %b", in(one_and),
                           in(static_cast<uint16_t>(encode(c, kF16))))[0];
  };
  EXPECT_EQ(at(0x1p-11L), 0x3C03);
  EXPECT_EQ(at(0x1.ffp-12L), 0x3C02);
  EXPECT_EQ(at(-0x1p-11L), 0x3C02);
}

uint16_t chosen(uint16_t a, uint16_t b, bool max, bool nan_wins, const Format& f) {
  const bool nan_a = is_nan(a, f);
  const bool nan_b = is_nan(b, f);
  if (nan_wins ? nan_a || nan_b : nan_a && nan_b) return 0x7FFF;
  if (nan_a) return b;
  if (nan_b) return a;
  const long double x = value_of(a, f);
  const long double y = value_of(b, f);
  if (x == y) return std::signbit(x) == max ? b : a;
  return (x > y) == max ? a : b;
}

TEST(CudaHalf, MinAndMax) {
  Gpu gpu;
  for (const HalfType& type : kTypes) {
    const Format& f = type.format;
    const auto [a, b] = half_pairs(f);
    for (const bool max : {false, true}) {
      const std::string name = max ? "max" : "min";
      const auto both = [&](uint32_t x, uint32_t y, auto operation) {
        const uint32_t low = operation(static_cast<uint16_t>(x), static_cast<uint16_t>(y));
        const uint32_t high =
            operation(static_cast<uint16_t>(x >> 16), static_cast<uint16_t>(y >> 16));
        return high << 16 | low;
      };
      const auto plain = [&](uint16_t x, uint16_t y) { return chosen(x, y, max, false, f); };
      const auto nan = [&](uint16_t x, uint16_t y) { return chosen(x, y, max, true, f); };
      const auto xorsign = [&](uint16_t x, uint16_t y) {
        const uint16_t size = chosen(x & 0x7FFF, y & 0x7FFF, max, false, f);
        return static_cast<uint16_t>(is_nan(size, f) ? size : size | ((x ^ y) & 0x8000));
      };
      expect_lanes<uint16_t>(name + "." + type.name + " %d, %a, %b", plain, a, b);
      expect_lanes<uint16_t>(name + ".NaN." + type.name + " %d, %a, %b", nan, a, b);
      expect_lanes<uint16_t>(name + ".xorsign.abs." + type.name + " %d, %a, %b", xorsign, a, b);
      expect_lanes<uint32_t>(
          name + "." + type.pair + " %d, %a, %b",
          [&](uint32_t x, uint32_t y) { return both(x, y, plain); }, paired(a), paired(b));
      expect_lanes<uint32_t>(
          name + ".NaN." + type.pair + " %d, %a, %b",
          [&](uint32_t x, uint32_t y) { return both(x, y, nan); }, paired(a), paired(b));
    }
  }
  const auto [a, b] = half_pairs(kF16);
  expect_lanes<uint16_t>(
      "max.ftz.f16 %d, %a, %b",
      [](uint16_t x, uint16_t y) {
        return chosen(flushed(x, kF16), flushed(y, kF16), true, false, kF16);
      },
      a, b);
}

TEST(CudaHalf, AbsAndNegOfAllValues) {
  Gpu gpu;
  const auto all = all16<uint16_t>();
  for (const HalfType& type : kTypes) {
    expect_lanes<uint16_t>(
        std::string("abs.") + type.name + " %d, %a", [](uint16_t x) { return x % 0x8000; }, all);
    expect_lanes<uint16_t>(
        std::string("neg.") + type.name + " %d, %a", [](uint16_t x) { return x + 0x8000; }, all);
    const std::string pair = type.pair;
    expect_lanes<uint32_t>(
        "abs." + pair + " %d, %a",
        [](uint32_t x) { return x / 65536 % 0x8000 * 65536 + x % 0x8000; }, paired(all));
    expect_lanes<uint32_t>(
        "neg." + pair + " %d, %a", [](uint32_t x) { return x ^ 0x80008000u; }, paired(all));
  }
  expect_lanes<uint16_t>(
      "abs.ftz.f16 %d, %a", [](uint16_t x) { return flushed(x, kF16) % 0x8000; }, all);
  expect_lanes<uint16_t>(
      "neg.ftz.f16 %d, %a", [](uint16_t x) { return flushed(x, kF16) + 0x8000; }, all);
  expect_lanes<uint32_t>(
      "neg.ftz.f16x2 %d, %a",
      [](uint32_t x) {
        const uint32_t high = flushed(static_cast<uint16_t>(x >> 16), kF16);
        return (high << 16 | flushed(static_cast<uint16_t>(x), kF16)) ^ 0x80008000u;
      },
      paired(all));
}

TEST(CudaHalf, FormsThatTheTwinLacksAreRefused) {
  Gpu gpu;
  expect_refused({"fma.rn.oob.f16 %h0, %h1, %h2, %h3", "fma.rn.oob.relu.bf16 %h0, %h1, %h2, %h3"});
}

TEST(CudaHalf, FormsThatPtxDoesNotHaveAreRefused) {
  Gpu gpu;
  expect_refused({"add.rz.f16 %h0, %h1, %h2", "add.ftz.bf16 %h0, %h1, %h2",
                  "mul.sat.bf16x2 %r0, %r1, %r2", "fma.f16 %h0, %h1, %h2, %h3",
                  "fma.rn.sat.relu.f16 %h0, %h1, %h2, %h3", "fma.rn.sat.bf16 %h0, %h1, %h2, %h3",
                  "add.relu.f16 %h0, %h1, %h2", "mad.rn.f16 %h0, %h1, %h2, %h3",
                  "div.rn.f16 %h0, %h1, %h2", "min.ftz.bf16 %h0, %h1, %h2", "neg.ftz.bf16 %h0, %h1",
                  "add.f16x2 %h0, %h1, %h2", "add.f16 %r0, %r1, %r2", "copysign.f16 %h0, %h1, %h2",
                  "min.f16 %h0, %h1, %h2, %h3"});
}

TEST(CudaHalf, NewerFormsNeedTheirVersionAndTarget) {
  Gpu gpu;
  expect_needs("8.0", "sm_80", {"add.bf16 %h0, %h1, %h2", "mul.bf16x2 %r0, %r1, %r2"});
  expect_needs("7.5", "sm_90", {"sub.bf16 %h0, %h1, %h2"});
  expect_needs("8.0", "sm_75",
               {"fma.rn.bf16 %h0, %h1, %h2, %h3", "fma.rn.relu.f16x2 %r0, %r1, %r2, %r3",
                "min.f16 %h0, %h1, %h2", "neg.bf16 %h0, %h1", "max.bf16x2 %r0, %r1, %r2"});
  expect_needs("8.0", "sm_50", {"add.f16 %h0, %h1, %h2", "fma.rn.f16 %h0, %h1, %h2, %h3"});
  expect_needs("6.0", "sm_70", {"abs.f16 %h0, %h1"});
  expect_needs("8.0", "sm_80", {"max.xorsign.abs.f16 %h0, %h1, %h2"});
}

}  // namespace
}  // namespace half_test

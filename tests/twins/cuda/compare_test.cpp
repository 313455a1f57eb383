// setp and set of all types, against comparisons of exact numbers.
#include <functional>

#include "comparisons.h"

namespace compare_test {
namespace {

using namespace twin_test;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

/// setp and set of one type. `value` gives the number that the bits of an operand are.
template <class Bits, class Value>
void expect_operators(const std::string& type, const std::vector<Operator>& operators,
                      const std::vector<Bits>& a, const std::vector<Bits>& b, Value value,
                      const std::string& ftz = "") {
  for (const Operator& op : operators) {
    const auto holds = [&](Bits x, Bits y) {
      const auto left = value(x);
      const auto right = value(y);
      return op.holds(left < right, left == right, left != left || right != right);
    };
    const std::string name = op.name + ftz;
    expect_lanes<uint32_t>(
        "setp." + name + "." + type + " %p0, %a, %b; selp.u32 %d, 1, 0, %p0",
        [&](Bits x, Bits y) { return holds(x, y) ? 1u : 0u; }, a, b);
    expect_lanes<uint32_t>(
        "set." + name + ".u32." + type + " %d, %a, %b",
        [&](Bits x, Bits y) { return holds(x, y) ? 0xFFFFFFFFu : 0u; }, a, b);
  }
}

TEST(CudaCompare, Integers) {
  Gpu gpu;
  for_integers([](auto number) {
    using T = decltype(number);
    const auto [a, b] = pairs<T>();
    expect_operators(type_name<T>(), operators_of(false, !std::is_signed_v<T>), a, b,
                     [](T x) { return Big{x}; });
  });
  for_types<uint16_t, uint32_t, uint64_t>([](auto number) {
    using T = decltype(number);
    const auto [a, b] = pairs<T>();
    expect_operators("b" + std::to_string(sizeof(T) * 8),
                     std::vector<Operator>(std::begin(kSigned), std::begin(kSigned) + 2), a, b,
                     [](T x) { return Big{x}; });
  });
}

TEST(CudaCompare, FloatsOf32And64Bits) {
  Gpu gpu;
  const auto all = operators_of(true, false);
  const auto [a, b] = crossed(floats<uint32_t>(23), floats<uint32_t>(23));
  expect_operators("f32", all, a, b, [](uint32_t x) { return decoded(x, 8, 23, false); });
  expect_operators(
      "f32", all, a, b, [](uint32_t x) { return decoded(x, 8, 23, true); }, ".ftz");
  const auto [c, e] = crossed(floats<uint64_t>(52), floats<uint64_t>(52));
  expect_operators("f64", all, c, e, [](uint64_t x) { return decoded(x, 11, 52, false); });
}

std::pair<std::vector<uint16_t>, std::vector<uint16_t>> half_pairs(int fraction_bits) {
  auto result = crossed(floats<uint16_t>(fraction_bits), floats<uint16_t>(fraction_bits));
  const auto all = all16<uint16_t>();
  const auto partners = repeated(floats<uint16_t>(fraction_bits), all.size());
  result.first.insert(result.first.end(), all.begin(), all.end());
  result.second.insert(result.second.end(), partners.begin(), partners.end());
  return result;
}

TEST(CudaCompare, FloatsOf16Bits) {
  Gpu gpu;
  const auto all = operators_of(true, false);
  const auto [a, b] = half_pairs(10);
  expect_operators("f16", all, a, b, [](uint16_t x) { return decoded(x, 5, 10, false); });
  expect_operators(
      "f16", all, a, b, [](uint16_t x) { return decoded(x, 5, 10, true); }, ".ftz");
  const auto [c, e] = half_pairs(7);
  expect_operators("bf16", all, c, e, [](uint16_t x) { return decoded(x, 8, 7, false); });
}

/// Both halves of packed operands, by setp and by set.
void expect_packed(const std::string& type, int exponent_bits, int fraction_bits, bool flush) {
  const auto [low_a, low_b] =
      crossed(floats<uint16_t>(fraction_bits), floats<uint16_t>(fraction_bits));
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
  const std::size_t count = low_a.size();
  for (std::size_t i = 0; i < count; ++i) {
    a.push_back(uint32_t{low_a[(i * 7 + 5) % count]} << 16 | low_a[i]);
    b.push_back(uint32_t{low_b[(i * 7 + 5) % count]} << 16 | low_b[i]);
  }
  const uint32_t one = fraction_bits == 10 ? 0x3C00 : 0x3F80;
  for (const Operator& op : operators_of(true, false)) {
    const auto holds = [&](uint32_t x, uint32_t y, unsigned shift) {
      const double left = decoded(x >> shift & 0xFFFF, exponent_bits, fraction_bits, flush);
      const double right = decoded(y >> shift & 0xFFFF, exponent_bits, fraction_bits, flush);
      return op.holds(left < right, left == right, left != left || right != right);
    };
    const auto both = [&](uint32_t yes) {
      return [&, yes](uint32_t x, uint32_t y) {
        return (holds(x, y, 0) ? yes : 0) | (holds(x, y, 16) ? yes << 16 : 0);
      };
    };
    const std::string name = std::string(op.name) + (flush ? ".ftz" : "");
    expect_lanes<uint32_t>("setp." + name + "." + type +
                               " %p0|%p1, %a, %b; selp.u32 %r0, 1, 0, %p0;"
                               "selp.u32 %r1, 0x10000, 0, %p1; or.b32 %d, %r0, %r1",
                           both(1), a, b);
    expect_lanes<uint32_t>("set." + name + ".u32." + type + " %d, %a, %b", both(0xFFFF), a, b);
    expect_lanes<uint32_t>("set." + name + "." + type + "." + type + " %d, %a, %b", both(one), a,
                           b);
  }
}

TEST(CudaCompare, PackedFloats) {
  Gpu gpu;
  expect_packed("f16x2", 5, 10, false);
  expect_packed("f16x2", 5, 10, true);
  expect_packed("bf16x2", 8, 7, false);
}

TEST(CudaCompare, BooleanOperatorsAndBothResults) {
  Gpu gpu;
  // %a < %b, combined with a predicate that is bit 0 of %c.
  const std::vector<uint32_t> a = {1, 1, 5, 5};
  const std::vector<uint32_t> b = {3, 3, 3, 3};
  const std::vector<uint32_t> c = {0, 1, 0, 1};
  const std::function<bool(bool, bool)> results[] = {[](bool t, bool with) { return t && with; },
                                                     [](bool t, bool with) { return t || with; },
                                                     [](bool t, bool with) { return t != with; }};
  const char* names[] = {"and", "or", "xor"};
  for (unsigned k = 0; k < 3; ++k) {
    for (const bool negated : {false, true}) {
      const auto f = results[k];
      const std::string with = negated ? "!%p2" : "%p2";
      const std::string op = std::string("lt.") + names[k];
      const std::string load = "setp.ne.u32 %p2, %c, 0; ";
      const std::string store =
          "; selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1; or.b32 %d, %r0, %r1";
      const auto p = [=](uint32_t x, uint32_t y, uint32_t z) {
        return f(x < y, (z != 0) != negated);
      };
      const auto q = [=](uint32_t x, uint32_t y, uint32_t z) {
        return f(!(x < y), (z != 0) != negated);
      };
      expect_lanes<uint32_t>(
          load + "setp." + op + ".u32 %p0|%p1, %a, %b, " + with + store,
          [=](uint32_t x, uint32_t y, uint32_t z) {
            return (p(x, y, z) ? 1 : 0) | (q(x, y, z) ? 2 : 0);
          },
          a, b, c);
      expect_lanes<uint32_t>(
          load + "setp." + op + ".s32 %p2, %a, %b, " + with + "; selp.u32 %d, 1, 0, %p2", p, a, b,
          c);
      expect_lanes<uint32_t>(
          load + "set." + op + ".s32.u32 %d, %a, %b, " + with,
          [=](uint32_t x, uint32_t y, uint32_t z) { return p(x, y, z) ? ~0u : 0u; }, a, b, c);
      expect_lanes<uint32_t>(
          load + "set." + op + ".f32.s32 %d, %a, %b, " + with,
          [=](uint32_t x, uint32_t y, uint32_t z) { return p(x, y, z) ? 0x3F800000u : 0u; }, a, b,
          c);
    }
  }
}

TEST(CudaCompare, PackedBooleanOperatorsUseOnePredicate) {
  Gpu gpu;
  // Halves 1.0 and 2.0 against 2.0 and 1.0.
  const std::vector<uint32_t> a = {0x40003C00u, 0x40003C00u};
  const std::vector<uint32_t> b = {0x3C004000u, 0x3C004000u};
  const std::vector<uint32_t> c = {0, 1};
  const std::string load = "setp.ne.u32 %p2, %c, 0; ";
  expect_lanes<uint32_t>(
      load + "set.lt.xor.f16x2.f16x2 %d, %a, %b, %p2",
      [](uint32_t, uint32_t, uint32_t z) { return z != 0 ? 0x3C000000u : 0x3C00u; }, a, b, c);
  expect_lanes<uint32_t>(
      load +
          "setp.lt.xor.f16x2 %p0|%p1, %a, %b, %p2; selp.u32 %r0, 1, 0, %p0;"
          "selp.u32 %r1, 2, 0, %p1; or.b32 %d, %r0, %r1",
      [](uint32_t, uint32_t, uint32_t z) { return z != 0 ? 2u : 1u; }, a, b, c);
}

TEST(CudaCompare, SecondResultIsTheComplementForNan) {
  Gpu gpu;
  const std::vector<uint32_t> a = {0x7FC00000u, 0x3F800000u};
  expect_lanes<uint32_t>(
      "setp.lt.f32 %p0|%p1, %a, 0f40000000; selp.u32 %r0, 1, 0, %p0;"
      "selp.u32 %r1, 2, 0, %p1; or.b32 %d, %r0, %r1",
      [](uint32_t x) { return x == 0x3F800000u ? 1u : 2u; }, a);
}

TEST(CudaCompare, SinksAndInactiveLanes) {
  Gpu gpu;
  const auto values = edges<uint32_t>();
  expect_lanes<uint32_t>(
      "setp.eq.u32 _|%p0, %a, 7; selp.u32 %d, 1, 0, %p0",
      [](uint32_t x) { return x != 7 ? 1u : 0u; }, values);
  expect_lanes<uint32_t>(
      "setp.gt.u32 %p0, %a, 99; mov.pred %p1, 0; @%p0 setp.ne.u32 %p1, %a, 100;"
      "selp.u32 %d, 1, 0, %p1",
      [](uint32_t x) { return x > 100 ? 1u : 0u; }, values);
}

TEST(CudaCompare, ResultsOfEachType) {
  Gpu gpu;
  const auto values = edges<int32_t>();
  const auto halves = std::vector<uint16_t>{0x3C00, 0xBC00, 0x0000, 0x7E00};
  expect_lanes<uint32_t>(
      "set.lt.s32.s32 %d, %a, 5", [](int32_t x) { return x < 5 ? ~0u : 0u; }, values);
  expect_lanes<uint32_t>(
      "set.lt.f32.s32 %d, %a, 5", [](int32_t x) { return x < 5 ? 0x3F800000u : 0u; }, values);
  expect_lanes<uint16_t>(
      "set.lt.f16.s32 %d, %a, 5", [](int32_t x) { return x < 5 ? 0x3C00 : 0; }, values);
  expect_lanes<uint16_t>(
      "set.lt.bf16.s32 %d, %a, 5", [](int32_t x) { return x < 5 ? 0x3F80 : 0; }, values);
  for (const std::string type : {"u16", "s16"}) {
    expect_lanes<uint16_t>(
        "set.gt." + type + ".f16 %d, %a, %b",
        [](uint16_t x, uint16_t) { return x == 0x3C00 ? 0xFFFF : 0; }, halves,
        std::vector<uint16_t>(halves.size(), 0));
  }
  expect_lanes<uint16_t>(
      "set.nan.f16.f16 %d, %a, %a", [](uint16_t x) { return x == 0x7E00 ? 0x3C00 : 0; }, halves);
  expect_lanes<uint16_t>(
      "set.num.bf16.bf16 %d, %a, %a",
      [](uint16_t x) { return (x & 0x7FFF) <= 0x7F80 ? 0x3F80 : 0; }, all16<uint16_t>());
}

TEST(CudaCompare, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"set.lt.f16.bf16 %h0, %h1, %h2",
                  "set.eq.ftz.bf16.f32 %h0, %f1, %f2",
                  "set.lt.f32.f16 %f0, %h1, %h2",
                  "set.lt.u16.u16 %h0, %h1, %h2",
                  "setp.lt.b32 %p0, %a, %b",
                  "setp.lo.s32 %p0, %a, %b",
                  "setp.hi.f32 %p0, %f0, %f1",
                  "setp.equ.s32 %p0, %a, %b",
                  "setp.num.u32 %p0, %a, %b",
                  "setp.s32 %p0, %a, %b",
                  "setp.lt.s32 %d, %a, %b",
                  "setp.lt.s32 %p0, %a",
                  "setp.lt.and.s32 %p0, %a, %b",
                  "setp.lt.s32 %p0, %a, %b, %p1",
                  "setp.lt.not.s32 %p0, %a, %b, %p1",
                  "setp.lt.s64 %p0, %a, %b",
                  "setp.lt.ftz.s32 %p0, %a, %b",
                  "setp.lt.ftz.f64 %p0, %g0, %g1",
                  "setp.lt.ftz.bf16 %p0, %h0, %h1",
                  "setp.lt.f16x2 %p0, %a, %b",
                  "setp.lt.u8 %p0, %h0, %h1",
                  "setp.eq.pred %p0, %p1, %p2",
                  "set.lt.u32 %d, %a, %b",
                  "set.lt.u16.s32 %h0, %a, %b",
                  "set.lt.u64.s32 %l0, %a, %b",
                  "set.lt.f64.s32 %g0, %a, %b",
                  "set.lt.f32.f16 %f0, %h0, %h1",
                  "set.lt.u16.f16x2 %h0, %a, %b",
                  "set.lt.f16x2.bf16x2 %d, %a, %b",
                  "set.lt.f16x2.f16 %d, %h0, %h1",
                  "set.lt.u32.s32 %p0, %a, %b",
                  "set.lt.u32.s32 %d, %a, %b, %p0"});
}

TEST(CudaCompare, FormsNeedVersions) {
  Gpu gpu;
  expect_needs("4.1", "sm_53", {"setp.lt.f16 %p0, %h0, %h1", "set.lt.f16.s32 %h0, %a, %b"});
  expect_needs("8.5", "sm_50", {"setp.lt.f16 %p0, %h0, %h1", "setp.lt.f16x2 %p0|%p1, %a, %b"});
  expect_needs("7.7", "sm_80", {"setp.lt.bf16 %p0, %h0, %h1", "set.lt.bf16x2.bf16x2 %d, %a, %b"});
  expect_needs("8.5", "sm_80", {"setp.lt.bf16 %p0, %h0, %h1"});
  expect_needs("6.4", "sm_53", {"set.lt.u32.f16 %d, %h0, %h1", "set.lt.u32.f16x2 %d, %a, %b"});
}

}  // namespace
}  // namespace compare_test

// setp with .and, .or and .xor, and set with results of each type, for all types of operands.
#include "comparisons.h"

namespace compare_combined_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

/// The six results of a comparison `p` combined with a predicate: p and not p, by .and, .or, .xor.
uint32_t combined(bool p, bool with) {
  uint32_t bits = 0;
  unsigned at = 0;
  for (const bool result : {p && with, !p && with, p || with, !p || with, p != with, !p != with}) {
    bits |= result ? 1u << at : 0;
    ++at;
  }
  return bits;
}
constexpr uint32_t kFirstResults = 0x15;  // of p alone: 16-bit types have no second result

/// As PTX, with the predicate in the last bit of %c.
std::string combined_code(const std::string& op, const std::string& type, bool has_second) {
  std::string code =
      "{ .reg .pred p, q, w; .reg .b32 x;\n"
      "and.b32 x, %c, 1; setp.ne.u32 w, x, 0; mov.b32 %d, 0;\n";
  unsigned bit = 1;
  for (const char* combination : {".and", ".or", ".xor"}) {
    code += "setp." + op + combination + type + (has_second ? " p|q" : " p") + ", %a, %b, w;\n" +
            "@p or.b32 %d, %d, " + std::to_string(bit) + ";\n";
    if (has_second) code += "@q or.b32 %d, %d, " + std::to_string(2 * bit) + ";\n";
    bit *= 4;
  }
  return code + "}";
}

/// `value` gives the number that the bits of an operand are.
template <class Bits, class Value>
void expect_combined(const std::string& type, const std::vector<Operator>& operators,
                     const std::pair<std::vector<Bits>, std::vector<Bits>>& operands, Value value,
                     const std::string& ftz = "") {
  std::vector<uint32_t> with;
  for (uint32_t i = 0; i < operands.first.size(); ++i) with.push_back(i / 3);
  const bool has_second = type.find("f16") == std::string::npos;
  for (const Operator& op : operators) {
    expect_lanes<uint32_t>(
        combined_code(op.name, ftz + "." + type, has_second),
        [&](Bits x, Bits y, uint32_t z) {
          const auto left = value(x);
          const auto right = value(y);
          const bool unordered = left != left || right != right;
          const bool holds = op.holds(left < right, left == right, unordered);
          return combined(holds, z % 2 == 1) & (has_second ? ~0u : kFirstResults);
        },
        operands.first, operands.second, with);
  }
}

TEST(CudaCompareCombined, Integers) {
  Gpu gpu;
  for_integers([](auto number) {
    using T = decltype(number);
    expect_combined(type_name<T>(), operators_of(false, !std::is_signed_v<T>),
                    crossed(edges<T>(), edges<T>()), [](T x) { return Big{x}; });
  });
}

TEST(CudaCompareCombined, Floats) {
  Gpu gpu;
  const auto all = operators_of(true, false);
  const auto singles = crossed(floats<uint32_t>(23), floats<uint32_t>(23));
  const auto doubles = crossed(floats<uint64_t>(52), floats<uint64_t>(52));
  const auto halves = crossed(floats<uint16_t>(10), floats<uint16_t>(10));
  const auto brains = crossed(floats<uint16_t>(7), floats<uint16_t>(7));
  expect_combined("f64", all, doubles, [](uint64_t x) { return decoded(x, 11, 52, false); });
  expect_combined("bf16", all, brains, [](uint16_t x) { return decoded(x, 8, 7, false); });
  for (const bool ftz : {false, true}) {
    const std::string text = ftz ? ".ftz" : "";
    expect_combined(
        "f32", all, singles, [=](uint32_t x) { return decoded(x, 8, 23, ftz); }, text);
    expect_combined(
        "f16", all, halves, [=](uint16_t x) { return decoded(x, 5, 10, ftz); }, text);
  }
}

/// A predicate for each half, by .and, .or and .xor.
TEST(CudaCompareCombined, PackedFloats) {
  Gpu gpu;
  const auto [low, high] = crossed(floats<uint16_t>(10), floats<uint16_t>(10));
  std::vector<uint32_t> a, b, with;
  for (uint32_t i = 0; i < low.size(); ++i) {
    a.push_back(low[i] | uint32_t{high[i]} << 16);
    b.push_back(high[i] | uint32_t{low[(i * 7 + 5) % low.size()]} << 16);
    with.push_back(i / 3 % 2);
  }
  for (const Operator& op : operators_of(true, false)) {
    for (const bool ftz : {false, true}) {
      const auto holds = [&](uint32_t x, uint32_t y, unsigned shift) {
        const double left = decoded(x >> shift & 0xFFFF, 5, 10, ftz);
        const double right = decoded(y >> shift & 0xFFFF, 5, 10, ftz);
        return op.holds(left < right, left == right, left != left || right != right);
      };
      expect_lanes<uint32_t>(
          combined_code(op.name, ftz ? ".ftz.f16x2" : ".f16x2", true),
          [&](uint32_t x, uint32_t y, uint32_t z) {
            const uint32_t first = combined(holds(x, y, 0), z != 0) & kFirstResults;
            return first | (combined(holds(x, y, 16), z != 0) & kFirstResults) << 1;
          },
          a, b, with);
    }
  }
}

TEST(CudaCompareCombined, SetGivesAllOnesOrOne) {
  Gpu gpu;
  const auto [a, b] = crossed(floats<uint32_t>(23), floats<uint32_t>(23));
  for (const Operator& op : operators_of(true, false)) {
    for (const bool ftz : {false, true}) {
      const auto result = [&](uint32_t yes) {
        return [&, yes](uint32_t x, uint32_t y) {
          const double left = decoded(x, 8, 23, ftz), right = decoded(y, 8, 23, ftz);
          const bool unordered = left != left || right != right;
          return op.holds(left < right, left == right, unordered) ? yes : 0;
        };
      };
      const std::string name = std::string("set.") + op.name + (ftz ? ".ftz" : "");
      expect_lanes<uint32_t>(name + ".s32.f32 %d, %a, %b", result(~0u), a, b);
      expect_lanes<uint32_t>(name + ".f32.f32 %d, %a, %b", result(0x3F800000), a, b);
    }
  }
}

/// -3 < 5 for each signed type and 3 < 5 for each: as bits of the types, with 16-bit results.
TEST(CudaCompareCombined, SetWith16BitResults) {
  Gpu gpu;
  const struct {
    const char* type;
    uint64_t smaller, larger;
  } types[] = {{"u16", 3, 5},
               {"s16", 0xFFFD, 5},
               {"u32", 3, 5},
               {"s32", 0xFFFFFFFD, 5},
               {"u64", 3, 5},
               {"s64", ~uint64_t{2}, 5},
               {"f32", 0xC0400000, 0x40A00000},
               {"f64", 0xC008000000000000, 0x4014000000000000}};
  for (const auto& type : types) {
    const std::string bits = std::string(".b") + (type.type + 1);
    for (const auto& [result, one] : {std::pair("f16", 0x3C00), std::pair("bf16", 0x3F80)}) {
      const std::string code = "{ .reg " + bits + " x, y; cvt.u" + (type.type + 1) +
                               ".u64 x, %a; cvt.u" + (type.type + 1) + ".u64 y, %b;\nset.lt." +
                               result + "." + type.type + " %d, x, y; }";
      expect_lanes<uint16_t>(
          code,
          [&, yes = one](uint64_t x, uint64_t y) {
            return x == type.smaller && y == type.larger ? yes : 0;
          },
          std::vector<uint64_t>{type.smaller, type.larger, type.larger},
          std::vector<uint64_t>{type.larger, type.larger, type.smaller});
    }
  }
}

/// A subnormal of f16 is below 1, and equal to zero with .ftz.
TEST(CudaCompareCombined, SetOfHalvesWithIntegerResults) {
  Gpu gpu;
  const std::vector<uint16_t> a = {0x0001, 0x8001, 0x3C00}, b = {0x0002, 0x0000, 0x3C00};
  for (const std::string type : {"u16", "s16"}) {
    expect_lanes<uint16_t>(
        "set.lt." + type + ".bf16 %d, %a, %b",
        [](uint16_t x, uint16_t) { return x == 0x3C00 ? 0 : 0xFFFF; }, a, b);
    expect_lanes<uint16_t>(
        "set.lt.ftz." + type + ".f16 %d, %a, %b", [](uint16_t, uint16_t) { return 0; }, a, b);
  }
  expect_lanes<uint32_t>(
      "set.lt.s32.f16 %d, %a, %b", [](uint16_t x, uint16_t) { return x == 0x3C00 ? 0 : ~0u; }, a,
      b);
  expect_lanes<uint32_t>(
      "set.lt.ftz.s32.f16 %d, %a, %b", [](uint16_t, uint16_t) { return 0; }, a, b);
  expect_lanes<uint32_t>(
      "set.le.ftz.s32.f16 %d, %a, %b", [](uint16_t, uint16_t) { return ~0u; }, a, b);
}

}  // namespace
}  // namespace compare_combined_test

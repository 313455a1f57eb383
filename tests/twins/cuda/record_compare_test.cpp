// Every recorded form of set and slct, for each of its operands, computed with long double.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "floats.h"
#include "recorded.h"

namespace record_compare_test {
namespace {

using namespace twin_test;
using Bits = std::uint64_t;
using Real = long double;

struct TypeRow {
  unsigned bits;  // of an element
  bool is_signed = false, is_pair = false;
  const Format* format = nullptr;
  Bits one = 0;  // "true" as a result of set
};
const std::map<std::string, TypeRow> kTypes = {{"b16", {16}},
                                               {"u16", {16}},
                                               {"s16", {16, true}},
                                               {"b32", {32}},
                                               {"u32", {32, false, false, nullptr, 0xFFFFFFFF}},
                                               {"s32", {32, true, false, nullptr, 0xFFFFFFFF}},
                                               {"b64", {64}},
                                               {"u64", {64}},
                                               {"s64", {64, true}},
                                               {"f32", {32, false, false, &kF32, 0x3F800000}},
                                               {"f64", {64, false, false, &kF64}},
                                               {"f16", {16, false, false, &kF16, 0x3C00}},
                                               {"f16x2", {16, false, true, &kF16, 0x3C00}},
                                               {"bf16", {16, false, false, &kBf16, 0x3F80}}};

/// Exact: a long double has 64 bits.
Real number(Bits bits, const TypeRow& type, bool ftz) {
  if (type.format != nullptr) return decode(ftz ? flush(bits, *type.format) : bits, *type.format);
  if (type.bits < 64) bits &= (Bits{1} << type.bits) - 1;
  if (!type.is_signed) return static_cast<Real>(bits);
  const unsigned up = 64 - type.bits;
  return static_cast<Real>(static_cast<std::int64_t>(bits << up) >> up);
}

bool holds(const std::string& compare, Real a, Real b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  if (compare == "num") return !unordered;
  if (compare == "nan") return unordered;
  if (compare.size() == 3 && unordered) return true;  // equ and others
  const std::string plain = compare.substr(0, 2);
  if (plain == "eq") return a == b;
  if (plain == "ne") return !unordered && a != b;
  if (plain == "lt" || plain == "lo") return a < b;
  if (plain == "le" || plain == "ls") return a <= b;
  if (plain == "gt" || plain == "hi") return a > b;
  return a >= b;  // ge, hs
}

std::vector<std::string> words_of(const std::string& code) {
  std::istringstream parts(code.substr(0, code.find(' ')));
  std::vector<std::string> words;
  for (std::string word; std::getline(parts, word, '.');) words.push_back(word);
  return words;
}

/// The last word and the one before it are types; .ftz is one of the others.
struct Form {
  TypeRow to, from;
  bool ftz = false;
};
Form read(const std::vector<std::string>& words) {
  Form form{kTypes.at(words[words.size() - 2]), kTypes.at(words.back()), false};
  for (const std::string& word : words) form.ftz |= word == "ftz";
  return form;
}

Bits expected_set(const std::string& compare, const Form& form, const Lane& lane) {
  Bits result = 0;
  for (unsigned half = 0; half < (form.from.is_pair ? 2u : 1u); ++half) {
    const unsigned shift = 16 * half;
    const Bits mask = form.from.is_pair ? 0xFFFF : ~Bits{0};
    const Real a = number(lane.operands[0] >> shift & mask, form.from, form.ftz);
    const Real b = number(lane.operands[1] >> shift & mask, form.from, form.ftz);
    if (holds(compare, a, b)) result |= form.to.one << shift;
  }
  return result;
}

TEST(RecordedComparisons, SetIsAsNumbersCompare) {
  unsigned forms = 0;
  for (const auto& [code, lanes] : recorded_lanes()) {
    const auto words = words_of(code);
    if (words[0] != "set") continue;
    const Form form = read(words);
    ++forms;
    for (const Lane& lane : lanes) {
      const Bits wanted = expected_set(words[1], form, lane);
      if (lane.result == wanted) continue;
      ADD_FAILURE() << lane.line << ", not " << std::hex << wanted;
      break;
    }
  }
  EXPECT_GT(forms, 250u);
}

TEST(RecordedComparisons, SlctTakesTheSecondBelowZeroAndForNan) {
  unsigned forms = 0;
  for (const auto& [code, lanes] : recorded_lanes()) {
    const auto words = words_of(code);
    if (words[0] != "slct") continue;
    const Form form = read(words);
    ++forms;
    for (const Lane& lane : lanes) {
      const bool first = number(lane.operands[2], form.from, form.ftz) >= 0;
      ASSERT_EQ(lane.result, lane.operands[first ? 0 : 1]) << lane.line;
    }
  }
  EXPECT_EQ(forms, 33u);
}

}  // namespace
}  // namespace record_compare_test

// Every recorded form of the IEEE operations, for each of its operands, computed with long double:
// exact, or cut with the rest known, which decides the rounding. Then the modifiers in their order.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "floats.h"
#include "recorded.h"

namespace record_floats_test {
namespace {

using namespace twin_test;
using Bits = std::uint64_t;
using Real = long double;

/// A form by its words: "fma.rn.ftz.sat.f16x2".
struct Form {
  std::string operation;
  std::set<std::string> words;
  Format format;
  bool is_pair = false;

  bool has(const char* word) const { return words.contains(word); }
  int mode() const {
    for (const Mode& mode : kModes) {
      if (has(mode.name)) return mode.fenv;
    }
    return FE_TONEAREST;
  }
};

/// False if it is none of the IEEE operations.
bool read(const std::string& code, Form& form) {
  std::istringstream parts(code.substr(0, code.find(' ')));
  std::getline(parts, form.operation, '.');
  std::string type;
  for (std::string word; std::getline(parts, word, '.'); type = word) form.words.insert(word);
  static const std::map<std::string, Format> kTypes = {
      {"f16", kF16}, {"f16x2", kF16}, {"bf16", kBf16}, {"bf16x2", kBf16}, {"f32", kF32}};
  const std::set<std::string> operations = {"add", "sub",  "mul", "fma", "mad", "div",
                                            "rcp", "sqrt", "min", "max", "abs", "neg"};
  const auto found = kTypes.find(type);
  if (found == kTypes.end() || !operations.contains(form.operation)) return false;
  form.format = found->second;
  form.is_pair = type.ends_with("x2");
  return !form.has("approx") && !form.has("full") && code.find(';') == std::string::npos;
}

Real applied(const std::string& operation, Real a, Real b, Real c) {
  volatile Real x = a, y = b, z = c;  // so that the host's rounding is that of now
  if (operation == "add") return x + y;
  if (operation == "sub") return x - y;
  if (operation == "mul") return x * y;
  if (operation == "div") return x / y;
  if (operation == "rcp") return 1.0L / x;
  if (operation == "sqrt") return std::sqrt(static_cast<Real>(x));
  volatile Real product = x * y;  // exact: two numbers of 24 bits
  return product + z;
}

Bits arithmetic(const Form& form, const Bits* v) {
  const Real a = decode(v[0], form.format), b = decode(v[1], form.format);
  const Real c = decode(v[2], form.format);
  volatile Real cut = 0;
  bool inexact = false;
  {
    const HostRounding rounding(FE_TOWARDZERO);
    std::feclearexcept(FE_INEXACT);
    cut = applied(form.operation, a, b, c);
    inexact = std::fetestexcept(FE_INEXACT) != 0;
  }
  if (cut == 0) {  // the sign of an exact zero is the rounding's
    const HostRounding rounding(form.mode());
    cut = applied(form.operation, a, b, c);
  }
  return encode(cut, form.format, form.mode(), inexact && !std::isinf(cut));
}

/// The lesser of two numbers, with -0 below +0; of a number and a NaN the number.
Bits lesser(const Form& form, Bits a, Bits b, bool greater) {
  const Format& f = form.format;
  const bool a_nan = is_nan(a, f), b_nan = is_nan(b, f);
  if ((a_nan && b_nan) || (form.has("NaN") && (a_nan || b_nan))) return f.nan;
  if (a_nan || b_nan) return a_nan ? b : a;
  const Real x = decode(a, f), y = decode(b, f);
  const bool a_less = x < y || (x == y && std::signbit(x));
  return a_less != greater ? a : b;
}

Bits expected_half(const Form& form, const Bits* operands) {
  const Format& f = form.format;
  Bits v[3];
  for (unsigned k = 0; k < 3; ++k) v[k] = form.has("ftz") ? flush(operands[k], f) : operands[k];
  if (form.operation == "abs") return v[0] & ~f.sign();
  if (form.operation == "neg") return v[0] ^ f.sign();
  if (form.operation == "min" || form.operation == "max") {
    const bool greater = form.operation == "max";
    if (!form.has("xorsign")) return lesser(form, v[0], v[1], greater);
    const Bits magnitude = lesser(form, v[0] & ~f.sign(), v[1] & ~f.sign(), greater);
    return is_nan(magnitude, f) ? f.nan : magnitude | ((v[0] ^ v[1]) & f.sign());
  }
  Bits result = arithmetic(form, v);
  if (form.has("ftz")) result = flush(result, f);
  const Real value = decode(result, f);
  if (form.has("sat")) return value > 0 ? encode(std::min(value, 1.0L), f) : 0;
  if (form.has("relu") && !std::isnan(value) && !(value > 0)) return 0;
  return result;
}

Bits expected(const Form& form, const Lane& lane) {
  if (!form.is_pair) return expected_half(form, lane.operands);
  Bits pair = 0;
  for (const unsigned shift : {0u, 16u}) {
    Bits halves[3];
    for (unsigned k = 0; k < 3; ++k) halves[k] = lane.operands[k] >> shift & 0xFFFF;
    pair |= expected_half(form, halves) << shift;
  }
  return pair;
}

TEST(RecordedFloats, EveryFormRoundsAsLongDoubleDoes) {
  unsigned forms = 0;
  for (const auto& [code, lanes] : recorded_lanes()) {
    Form form;
    if (!read(code, form)) continue;
    ++forms;
    for (const Lane& lane : lanes) {
      const Bits wanted = expected(form, lane);
      if (lane.result == wanted) continue;
      ADD_FAILURE() << lane.line << ", not " << std::hex << wanted;
      break;
    }
  }
  EXPECT_GT(forms, 250u);
}

}  // namespace
}  // namespace record_floats_test

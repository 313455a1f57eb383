// cvt with .ftz and .sat, in all roundings and between all types that have them.
#include "conversions.h"

namespace convert_modifiers_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

struct Modifiers {
  const char* text;
  bool ftz, sat;
};
constexpr Modifiers kModifiers[] = {
    {".ftz", true, false}, {".sat", false, true}, {".ftz.sat", true, true}};

constexpr FloatType kHalf = kFloats[0], kSingle = kFloats[2], kDouble = kFloats[3];

bool is_single(const FloatType& type) {
  return type.format.bits() == 32;
}

/// The operand as the conversion reads it, and its result as it writes it: .ftz is of f32 only.
uint64_t read(uint64_t bits, const FloatType& type, const Modifiers& m) {
  return m.ftz && is_single(type) ? flush(bits, type.format) : bits;
}
uint64_t written(uint64_t bits, const FloatType& type, const Modifiers& m) {
  const uint64_t result = read(bits, type, m);
  return m.sat ? clamped(result, type.format) : result;
}

/// Some of the values of a format.
template <class Bits>
std::vector<Bits> some(const FloatType& type) {
  auto values = float_edges<Bits>(type.format, 8);
  for (const Bits bits : float_inputs<Bits>(type.format)) {
    if (bits % 3 == 0) values.push_back(bits);
  }
  return values;
}

template <class Bits>
void expect_integers(const FloatType& from) {
  const auto values = some<Bits>(from);
  for (const Modifiers& m : kModifiers) {
    if (m.ftz && !is_single(from)) continue;
    for (const IntegerType& to : kIntegers) {
      for (const Mode& mode : kModes) {
        expect_lanes<uint64_t>(
            std::string("cvt.") + mode.integer_name + m.text + "." + to.name + "." + from.name +
                " %d, %a",
            [&](Bits x) {
              return as_integer(decode(read(x, from, m), from.format), from, to, mode.fenv);
            },
            values);
      }
    }
  }
}

TEST(CudaConvertModifiers, FloatsToIntegers) {
  Gpu gpu;
  expect_integers<uint16_t>(kHalf);
  expect_integers<uint32_t>(kSingle);
  expect_integers<uint64_t>(kDouble);
}

TEST(CudaConvertModifiers, IntegersToFloats) {
  Gpu gpu;
  std::vector<uint64_t> inputs;
  for (const uint64_t x : integer_inputs()) {
    if (x % 3 == 0 || x < 4) inputs.push_back(x);
  }
  for (const FloatType& to : {kHalf, kSingle, kDouble}) {
    for (const IntegerType& from : kIntegers) {
      for (const Mode& mode : kModes) {
        expect_lanes<uint64_t>(
            std::string("cvt.") + mode.name + ".sat." + to.name + "." + from.name + " %d, %a",
            [&](uint64_t x) {
              const auto value = static_cast<Real>(value_of(x, from));
              return clamped(encode(value, to.format, mode.fenv), to.format);
            },
            inputs);
      }
    }
  }
}

/// `rounding`: of the values, by its name in PTX; nothing where the conversion is exact.
template <class Out, class In>
void expect_floats(const FloatType& to, const FloatType& from, const std::string& rounding,
                   int mode, const std::vector<In>& values) {
  for (const Modifiers& m : kModifiers) {
    if (m.ftz && !is_single(to) && !is_single(from)) continue;
    expect_lanes<Out>(
        "cvt" + rounding + m.text + "." + to.name + "." + from.name + " %d, %a",
        [&](In x) {
          return written(encode(decode(read(x, from, m), from.format), to.format, mode), to, m);
        },
        values);
  }
}

TEST(CudaConvertModifiers, FloatsToNarrowerFloats) {
  Gpu gpu;
  for (const Mode& mode : kModes) {
    const std::string rounding = std::string(".") + mode.name;
    expect_floats<uint16_t>(kHalf, kSingle, rounding, mode.fenv, some<uint32_t>(kSingle));
    expect_floats<uint16_t>(kHalf, kDouble, rounding, mode.fenv, some<uint64_t>(kDouble));
    expect_floats<uint32_t>(kSingle, kDouble, rounding, mode.fenv, around<uint64_t>(kF32, kF64));
  }
}

/// NaN of f64 has its own rule.
template <class Bits>
std::vector<Bits> numbers_of(const FloatType& type) {
  std::vector<Bits> values;
  for (const Bits bits : some<Bits>(type)) {
    if (!is_nan(bits, type.format)) values.push_back(bits);
  }
  return values;
}

TEST(CudaConvertModifiers, FloatsToWiderFloats) {
  Gpu gpu;
  expect_floats<uint32_t>(kSingle, kHalf, "", FE_TONEAREST, some<uint16_t>(kHalf));
  expect_floats<uint64_t>(kDouble, kHalf, "", FE_TONEAREST, numbers_of<uint16_t>(kHalf));
  expect_floats<uint64_t>(kDouble, kSingle, "", FE_TONEAREST, numbers_of<uint32_t>(kSingle));
}

template <class Bits>
void expect_same_type(const FloatType& type) {
  const auto values = numbers_of<Bits>(type);
  expect_floats<Bits>(type, type, "", FE_TONEAREST, values);
  const std::string types = std::string(".") + type.name + "." + type.name + " %d, %a";
  expect_lanes<Bits>(
      "cvt" + types, [](Bits x) { return x; }, values);
  for (const Modifiers& m : kModifiers) {
    if (m.ftz && !is_single(type)) continue;
    for (const Mode& mode : kModes) {
      expect_lanes<Bits>(
          std::string("cvt.") + mode.integer_name + m.text + types,
          [&](Bits x) {
            const Real value = decode(read(x, type, m), type.format);
            const Real near = std::copysign(integral(value, mode.fenv), value);
            return written(encode(near, type.format), type, m);
          },
          values);
    }
  }
}

TEST(CudaConvertModifiers, FloatsOfOneType) {
  Gpu gpu;
  expect_same_type<uint16_t>(kHalf);
  expect_same_type<uint32_t>(kSingle);
  expect_same_type<uint64_t>(kDouble);
  expect_lanes<uint16_t>(
      "cvt.bf16.bf16 %d, %a", [](uint16_t x) { return x; }, numbers_of<uint16_t>(kFloats[1]));
}

TEST(CudaConvertModifiers, Tf32) {
  Gpu gpu;
  const auto values = numbers_of<uint32_t>(kSingle);
  for (const Mode& mode : {kModes[0], kModes[1]}) {
    for (const bool relu : {false, true}) {
      expect_lanes<uint32_t>(
          std::string("cvt.") + mode.name + (relu ? ".relu" : "") + ".tf32.f32 %d, %a",
          [&](uint32_t x) {
            const uint64_t bits = encode(decode(x, kF32), kTf32, mode.fenv);
            return relu && (bits & kTf32.sign()) != 0 ? 0 : bits << 13;
          },
          values);
    }
  }
}

}  // namespace
}  // namespace convert_modifiers_test

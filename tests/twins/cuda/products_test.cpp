// Products of integers and sums of them, against 128-bit arithmetic.
#include "operands.h"

namespace products_test {
namespace {

using namespace twin_test;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

/// Bits `from` and above of the product of a and b. Products of 64-bit values need 128 bits of
/// either sign: unsigned ones are taken as such.
template <class T>
T product_bits(T a, T b, unsigned from) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>((Big{a} * Big{b}) >> from);
  } else {
    return static_cast<T>((UnsignedBig{a} * UnsignedBig{b}) >> from);
  }
}
template <class T>
T sum(T a, T b) {
  return static_cast<T>(Big{a} + Big{b});
}

TEST(CudaProducts, HalvesOfProducts) {
  Gpu gpu;
  for_integers([](auto value) {
    using T = decltype(value);
    const unsigned width = sizeof(T) * 8;
    const auto [a, b] = pairs<T>();
    const auto c = repeated(edges<T>(), a.size(), 3);
    const std::string type = type_name<T>();
    expect_lanes<T>(
        "mul.lo." + type + " %d, %a, %b", [](T x, T y) { return product_bits(x, y, 0); }, a, b);
    expect_lanes<T>(
        "mul.hi." + type + " %d, %a, %b", [=](T x, T y) { return product_bits(x, y, width); }, a,
        b);
    expect_lanes<T>(
        "mad.lo." + type + " %d, %a, %b, %c",
        [](T x, T y, T z) { return sum(product_bits(x, y, 0), z); }, a, b, c);
    expect_lanes<T>(
        "mad.hi." + type + " %d, %a, %b, %c",
        [=](T x, T y, T z) { return sum(product_bits(x, y, width), z); }, a, b, c);
  });
}

template <class T, class Wide>
void expect_wide() {
  const auto [a, b] = pairs<T>();
  const auto c = repeated(edges<Wide>(), a.size(), 3);
  expect_lanes<Wide>(
      "mul.wide." + type_name<T>() + " %d, %a, %b",
      [](Big x, Big y) { return static_cast<Wide>(x * y); }, a, b);
  expect_lanes<Wide>(
      "mad.wide." + type_name<T>() + " %d, %a, %b, %c",
      [](Big x, Big y, Big z) { return static_cast<Wide>(x * y + z); }, a, b, c);
}

TEST(CudaProducts, WideProductsHaveTwiceTheBits) {
  Gpu gpu;
  expect_wide<uint16_t, uint32_t>();
  expect_wide<int16_t, int32_t>();
  expect_wide<uint32_t, uint64_t>();
  expect_wide<int32_t, int64_t>();
}

int32_t clamped(Big value) {
  const Big most = std::numeric_limits<int32_t>::max();
  const Big least = std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value > most ? most : value < least ? least : value);
}

TEST(CudaProducts, SaturatedMadStopsAtTheLimits) {
  Gpu gpu;
  const auto [a, b] = pairs<int32_t>();
  const auto c = repeated(edges<int32_t>(), a.size(), 3);
  expect_lanes<int32_t>(
      "mad.hi.sat.s32 %d, %a, %b, %c",
      [](Big x, Big y, Big z) { return clamped(((x * y) >> 32) + z); }, a, b, c);
}

/// The low 24 bits, with their sign for signed types.
template <class T>
Big low24(T value) {
  const Big bits = Big{static_cast<uint32_t>(value)} % (1 << 24);
  return std::is_signed_v<T> && bits >= (1 << 23) ? bits - (1 << 24) : bits;
}

TEST(CudaProducts, ProductsOf24Bits) {
  Gpu gpu;
  for_types<uint32_t, int32_t>([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    const auto c = repeated(edges<T>(), a.size(), 3);
    const std::string type = type_name<T>();
    expect_lanes<T>(
        "mul24.lo." + type + " %d, %a, %b",
        [](T x, T y) { return static_cast<T>(low24(x) * low24(y)); }, a, b);
    expect_lanes<T>(
        "mul24.hi." + type + " %d, %a, %b",
        [](T x, T y) { return static_cast<T>((low24(x) * low24(y)) >> 16); }, a, b);
    expect_lanes<T>(
        "mad24.lo." + type + " %d, %a, %b, %c",
        [](T x, T y, T z) { return static_cast<T>(low24(x) * low24(y) + z); }, a, b, c);
    expect_lanes<T>(
        "mad24.hi." + type + " %d, %a, %b, %c",
        [](T x, T y, T z) { return static_cast<T>(((low24(x) * low24(y)) >> 16) + z); }, a, b, c);
  });
  const auto [a, b] = pairs<int32_t>();
  const auto c = repeated(edges<int32_t>(), a.size(), 3);
  expect_lanes<int32_t>(
      "mad24.hi.sat.s32 %d, %a, %b, %c",
      [](int32_t x, int32_t y, int32_t z) { return clamped(((low24(x) * low24(y)) >> 16) + z); }, a,
      b, c);
}

/// Part `index` of `bits` bits of a word.
Big part(uint32_t word, unsigned bits, unsigned index, bool is_signed) {
  const uint32_t raw = (word >> (bits * index)) & ((1u << bits) - 1);
  return is_signed && raw >> (bits - 1) != 0 ? Big{raw} - (Big{1} << bits) : Big{raw};
}

TEST(CudaProducts, Dp4aAddsFourProductsOfBytes) {
  Gpu gpu;
  const auto [a, b] = pairs<uint32_t>();
  const auto c = repeated(edges<uint32_t>(), a.size(), 3);
  for (const bool sa : {false, true}) {
    for (const bool sb : {false, true}) {
      const std::string types = std::string(sa ? ".s32" : ".u32") + (sb ? ".s32" : ".u32");
      expect_lanes<uint32_t>(
          "dp4a" + types + " %d, %a, %b, %c",
          [=](uint32_t x, uint32_t y, uint32_t z) {
            Big total = z;
            for (unsigned k = 0; k < 4; ++k) {
              total += part(x, 8, k, sa) * part(y, 8, k, sb);
            }
            return static_cast<uint32_t>(total);
          },
          a, b, c);
    }
  }
}

TEST(CudaProducts, Dp2aAddsTwoProductsOfHalvesAndBytes) {
  Gpu gpu;
  const auto [a, b] = pairs<uint32_t>();
  const auto c = repeated(edges<uint32_t>(), a.size(), 3);
  for (const unsigned first : {0u, 2u}) {
    for (const bool sa : {false, true}) {
      for (const bool sb : {false, true}) {
        const std::string types = std::string(first == 0 ? ".lo" : ".hi") + (sa ? ".s32" : ".u32") +
                                  (sb ? ".s32" : ".u32");
        expect_lanes<uint32_t>(
            "dp2a" + types + " %d, %a, %b, %c",
            [=](uint32_t x, uint32_t y, uint32_t z) {
              Big total = z;
              for (unsigned k = 0; k < 2; ++k) {
                total += part(x, 16, k, sa) * part(y, 8, first + k, sb);
              }
              return static_cast<uint32_t>(total);
            },
            a, b, c);
      }
    }
  }
}

TEST(CudaProducts, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"mul.s32 %d, %a, %b",
                  "mul.wide.u64 %l0, %l1, %l2",
                  "mul.wide.s32 %d, %a, %b",
                  "mul.lo.b32 %d, %a, %b",
                  "mul.lo.sat.s32 %d, %a, %b",
                  "mul.wide.u32 %l0, %a, %l1",
                  "mad.lo.sat.s32 %d, %a, %b, %c",
                  "mad.hi.sat.u32 %d, %a, %b, %c",
                  "mad.wide.u32 %l0, %a, %b, %c",
                  "mad.s32 %d, %a, %b, %c",
                  "mad.lo.u32 %d, %a, %b",
                  "mul24.wide.u32 %l0, %a, %b",
                  "mul24.lo.u64 %l0, %l1, %l2",
                  "mul24.u32 %d, %a, %b",
                  "mad24.lo.sat.s32 %d, %a, %b, %c",
                  "mad24.hi.sat.u32 %d, %a, %b, %c",
                  "dp4a.u32 %d, %a, %b, %c",
                  "dp4a.u8.u8 %d, %a, %b, %c",
                  "dp4a.lo.u32.u32 %d, %a, %b, %c",
                  "dp2a.u32.u32 %d, %a, %b, %c",
                  "dp2a.lo.u32.u32 %d, %a, %b"});
}

TEST(CudaProducts, DotProductsNeedLaterVersions) {
  Gpu gpu;
  const auto codes = {"dp4a.u32.u32 %d, %a, %b, %c", "dp2a.lo.s32.u32 %d, %a, %b, %c"};
  expect_needs("5.0", "sm_60", codes);
  expect_needs("4.3", "sm_61", codes);
}

}  // namespace
}  // namespace products_test

// Integer sums, differences, quotients and extremes, against 128-bit arithmetic.
#include "operands.h"

namespace integer_test {
namespace {

using namespace twin_test;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

constexpr Big kMost32 = std::numeric_limits<int32_t>::max();
constexpr Big kLeast32 = std::numeric_limits<int32_t>::min();

Big clamped(Big value) {
  return value > kMost32 ? kMost32 : value < kLeast32 ? kLeast32 : value;
}

TEST(CudaInteger, SumsAndDifferencesWrap) {
  Gpu gpu;
  for_integers([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    expect_lanes<T>(
        "add." + type_name<T>() + " %d, %a, %b", [](Big x, Big y) { return static_cast<T>(x + y); },
        a, b);
    expect_lanes<T>(
        "sub." + type_name<T>() + " %d, %a, %b", [](Big x, Big y) { return static_cast<T>(x - y); },
        a, b);
  });
}

TEST(CudaInteger, LiteralsAreOperands) {
  Gpu gpu;
  expect_lanes<int32_t>(
      "add.s32 %d, %a, -7", [](Big x) { return static_cast<int32_t>(x - 7); }, edges<int32_t>());
  expect_lanes<uint16_t>(
      "add.u16 %d, %a, 65535", [](Big x) { return static_cast<uint16_t>(x - 1); },
      edges<uint16_t>());
  expect_lanes<uint16_t>(
      "sub.s16 %d, 5, %a", [](Big x) { return static_cast<uint16_t>(5 - x); }, edges<uint16_t>());
  expect_lanes<uint64_t>(
      "add.u64 %d, 0x123456789ABCDEF0, %a",
      [](Big x) { return static_cast<uint64_t>(x + 0x123456789ABCDEF0); }, edges<uint64_t>());
}

TEST(CudaInteger, SaturatedSumsStopAtTheLimits) {
  Gpu gpu;
  const auto [a, b] = pairs<int32_t>();
  expect_lanes<int32_t>(
      "add.sat.s32 %d, %a, %b", [](Big x, Big y) { return clamped(x + y); }, a, b);
  expect_lanes<int32_t>(
      "sub.sat.s32 %d, %a, %b", [](Big x, Big y) { return clamped(x - y); }, a, b);
}

/// The function in both halves of 32 bits.
template <class Half, class F>
auto in_halves(F f) {
  return [f](uint32_t x, uint32_t y) {
    const auto low = static_cast<uint16_t>(f(static_cast<Half>(x), static_cast<Half>(y)));
    const auto high =
        static_cast<uint16_t>(f(static_cast<Half>(x >> 16), static_cast<Half>(y >> 16)));
    return uint32_t{high} << 16 | low;
  };
}

/// All values of 16 bits in the low half, and others in the high one.
std::pair<std::vector<uint32_t>, std::vector<uint32_t>> packed_pairs() {
  std::pair<std::vector<uint32_t>, std::vector<uint32_t>> result;
  RandomNumbers numbers(16);
  const auto partners = repeated(edges<uint16_t>(), 65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    result.first.push_back(static_cast<uint32_t>(numbers.next()) << 16 | i);
    result.second.push_back((i * 40503u) << 16 | partners[i]);
  }
  return result;
}

TEST(CudaInteger, PackedSumsDoNotCarryBetweenHalves) {
  Gpu gpu;
  const auto [a, b] = packed_pairs();
  const auto sum = [](int x, int y) { return x + y; };
  expect_lanes<uint32_t>("add.u16x2 %d, %a, %b", in_halves<uint16_t>(sum), a, b);
  expect_lanes<uint32_t>("add.s16x2 %d, %a, %b", in_halves<int16_t>(sum), a, b);
}

TEST(CudaInteger, PackedExtremesAreThoseOfEachHalf) {
  Gpu gpu;
  const auto [a, b] = packed_pairs();
  const auto least = [](int x, int y) { return x < y ? x : y; };
  const auto most = [](int x, int y) { return x > y ? x : y; };
  const auto relu = [](auto f) { return [f](int x, int y) { return f(x, y) > 0 ? f(x, y) : 0; }; };
  expect_lanes<uint32_t>("min.u16x2 %d, %a, %b", in_halves<uint16_t>(least), a, b);
  expect_lanes<uint32_t>("min.s16x2 %d, %a, %b", in_halves<int16_t>(least), a, b);
  expect_lanes<uint32_t>("max.u16x2 %d, %a, %b", in_halves<uint16_t>(most), a, b);
  expect_lanes<uint32_t>("max.s16x2 %d, %a, %b", in_halves<int16_t>(most), a, b);
  expect_lanes<uint32_t>("min.relu.s16x2 %d, %a, %b", in_halves<int16_t>(relu(least)), a, b);
  expect_lanes<uint32_t>("max.relu.s16x2 %d, %a, %b", in_halves<int16_t>(relu(most)), a, b);
}

TEST(CudaInteger, ExtremesFollowTheSign) {
  Gpu gpu;
  for_integers([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    expect_lanes<T>(
        "min." + type_name<T>() + " %d, %a, %b", [](Big x, Big y) { return x < y ? x : y; }, a, b);
    expect_lanes<T>(
        "max." + type_name<T>() + " %d, %a, %b", [](Big x, Big y) { return x > y ? x : y; }, a, b);
  });
  const auto [a, b] = pairs<int32_t>();
  expect_lanes<int32_t>(
      "min.relu.s32 %d, %a, %b", [](Big x, Big y) { return x < 0 || y < 0 ? 0
                                                           : x < y        ? x
                                                                          : y; }, a,
      b);
  expect_lanes<int32_t>(
      "max.relu.s32 %d, %a, %b", [](Big x, Big y) { return x < 0 && y < 0 ? 0
                                                           : x > y        ? x
                                                                          : y; }, a,
      b);
}

TEST(CudaInteger, NegationAndMagnitudeOfTheLeastNumberAreItself) {
  Gpu gpu;
  for_types<int16_t, int32_t, int64_t>([](auto value) {
    using T = decltype(value);
    const auto a = pairs<T>().first;
    expect_lanes<T>(
        "neg." + type_name<T>() + " %d, %a", [](Big x) { return static_cast<T>(-x); }, a);
    expect_lanes<T>(
        "abs." + type_name<T>() + " %d, %a", [](Big x) { return static_cast<T>(x < 0 ? -x : x); },
        a);
  });
}

TEST(CudaInteger, SadAddsTheDistance) {
  Gpu gpu;
  for_integers([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    const auto c = repeated(edges<T>(), a.size(), 5);
    expect_lanes<T>(
        "sad." + type_name<T>() + " %d, %a, %b, %c",
        [](Big x, Big y, Big z) { return static_cast<T>(z + (x < y ? y - x : x - y)); }, a, b, c);
  });
}

/// Quotients truncate. By zero, devices give all ones.
template <class T>
T quotient(Big a, Big b) {
  return static_cast<T>(b == 0 ? Big{-1} : a / b);
}
template <class T>
T remainder(Big a, Big b) {
  return static_cast<T>(b == 0 ? Big{-1} : a % b);
}

TEST(CudaInteger, QuotientsTruncateAndRemaindersHaveTheSignOfTheDividend) {
  Gpu gpu;
  for_integers([](auto value) {
    using T = decltype(value);
    const auto [a, b] = pairs<T>();
    expect_lanes<T>("div." + type_name<T>() + " %d, %a, %b", quotient<T>, a, b);
    expect_lanes<T>("rem." + type_name<T>() + " %d, %a, %b", remainder<T>, a, b);
  });
}

TEST(CudaInteger, QuotientsOfManyNumbers) {
  Gpu gpu;
  for_types<uint32_t, int32_t, uint64_t, int64_t>([](auto value) {
    using T = decltype(value);
    RandomNumbers numbers(99);
    std::vector<T> a;
    std::vector<T> b;
    for (int i = 0; i < 20000; ++i) {
      const unsigned shift = static_cast<unsigned>(numbers.next() % (sizeof(T) * 8));
      b.push_back(static_cast<T>(static_cast<T>(numbers.next()) >> shift));
      // Multiples of b, and their neighbours: where a rounded quotient would be wrong.
      const Big factor = static_cast<T>(numbers.next()) / (Big{b.back()} == 0 ? 1 : Big{b.back()});
      a.push_back(static_cast<T>(factor * b.back() + static_cast<int>(numbers.next() % 3) - 1));
    }
    expect_lanes<T>("div." + type_name<T>() + " %d, %a, %b", quotient<T>, a, b);
    expect_lanes<T>("rem." + type_name<T>() + " %d, %a, %b", remainder<T>, a, b);
  });
}

TEST(CudaInteger, InactiveLanesKeepTheirValues) {
  Gpu gpu;
  const auto values = edges<uint32_t>();
  expect_lanes<uint32_t>(
      "mov.b32 %d, %a; setp.gt.u32 %p0, %a, 99; @%p0 add.u32 %d, %d, 1; @!%p0 sub.u32 %d, %d, 1;",
      [](uint32_t x) { return x > 99 ? x + 1 : x - 1; }, values);
}

TEST(CudaInteger, OperandsMayBeTheDestination) {
  Gpu gpu;
  const auto [a, b] = pairs<uint32_t>();
  expect_lanes<uint32_t>(
      "add.u32 %a, %a, %b; add.u32 %b, %a, %b; add.u32 %b, %b, %b; mov.b32 %d, %b",
      [](uint32_t x, uint32_t y) { return 2 * (x + 2 * y); }, a, b);
}

TEST(CudaInteger, WrongFormsAreRefused) {
  Gpu gpu;
  expect_refused({"add.sat.u32 %d, %a, %b",
                  "add.sat.s64 %l0, %l1, %l2",
                  "add.u8 %h0, %h1, %h2",
                  "add.s32 %h0, %a, %b",
                  "add.s32 %d, %l0, %b",
                  "add.s32 %d, %a",
                  "add.s32 %d, %a, %b, %c",
                  "add.foo.s32 %d, %a, %b",
                  "add.sat.sat.s32 %d, %a, %b",
                  "add.b32 %d, %a, %b",
                  "add.s32 %f0, %a, %b",
                  "add.s32 5, %a, %b",
                  "add.s32 %d, %a, 0f3F800000",
                  "sub.sat.u32 %d, %a, %b",
                  "sub %d, %a, %b",
                  "sub.u16x2 %d, %a, %b",
                  "sub.s16x2 %d, %a, %b",
                  "neg.u32 %d, %a",
                  "abs.u32 %d, %a",
                  "min.b32 %d, %a, %b",
                  "min.relu.u32 %d, %a, %b",
                  "max.relu.s64 %l0, %l1, %l2",
                  "sad.s32 %d, %a, %b",
                  "div.b32 %d, %a, %b",
                  "div.rn.s32 %d, %a, %b",
                  "rem.f32 %f0, %f1, %f2",
                  "add.s32 %d, %a, %p0",
                  "add.s32 %d, %a, {%b, %c}",
                  "add.s32 _, %a, %b"});
}

TEST(CudaInteger, PackedFormsNeedLaterVersions) {
  Gpu gpu;
  const auto codes = {"add.u16x2 %d, %a, %b", "min.s16x2 %d, %a, %b", "max.relu.s32 %d, %a, %b"};
  expect_needs("8.0", "sm_89", codes);
  expect_needs("7.8", "sm_90", codes);
}

}  // namespace
}  // namespace integer_test

// Lanes of a warp that go different ways, wait for each other, and call functions.
#include <algorithm>
#include <bit>

#include "kernels.h"

namespace kernels_divergence_test {

using namespace twin_test;

class Divergence : public KernelTest {
 protected:
  /// y[i] = f(x[i]) for a kernel (x, y) on whole warps.
  template <class Out, class In, class Function>
  void expect_each(const char* kernel, const std::vector<In>& x, Function f) {
    std::vector<Out> expected;
    for (const In value : x) expected.push_back(f(value));
    const Buffer<In> device_x(x);
    const auto y = Buffer<Out>::unwritten(x.size());
    run("divergence", kernel, Dim(static_cast<unsigned>(x.size() / 64)), Dim(64), 0,
        device_x.address, y.address);
    EXPECT_EQ(y.read(), expected);
  }
};

TEST_P(Divergence, NestedIfs) {
  const std::vector<std::int32_t> x = Numbers(1).integers(128, -60, 60);
  std::vector<std::int32_t> expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int32_t v = x[i];
    const bool even = v % 2 == 0;
    const std::int32_t scaled = v * 5 - 1;
    if (even && v % 3 == 0) {
      expected.push_back(scaled > 100 ? scaled - x[i % 7] : scaled);
    } else if (even) {
      expected.push_back(v ^ 0x55);
    } else if (v % 5 == 1) {
      expected.push_back(v / 3 + x[static_cast<std::size_t>(v % 11)]);
    } else {
      expected.push_back(-v);
    }
  }
  const Buffer<std::int32_t> device_x(x);
  const auto y = Buffer<std::int32_t>::unwritten(x.size());
  run("divergence", "nested_ifs", Dim(2), Dim(64), 0, device_x.address, y.address);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Divergence, LoopsOfDifferentLengths) {
  std::vector<std::uint32_t> x;
  for (std::uint32_t i = 1; i <= 128; ++i) x.push_back(i);
  expect_each<std::uint32_t>("loop_counts", x, [](std::uint64_t v) {
    std::uint32_t steps = 0;
    for (; v != 1; ++steps) v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    return steps;
  });
}

TEST_P(Divergence, EarlyExits) {
  const std::vector<std::int32_t> x = Numbers(2).integers(256, -4, 30);
  constexpr std::uint32_t kCount = 200;
  std::vector<std::int32_t> expected(256, 77);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::int32_t sum = 0;
    for (std::int32_t j = 0; j < x[i] && sum <= 1000; ++j) sum += j * j;
    expected[i] = x[i] < 0 ? 1 : sum > 1000 ? -sum : sum;
  }
  const Buffer<std::int32_t> device_x(x), y(256, 77);
  run("divergence", "early_exit", Dim(2), Dim(128), 0, device_x.address, y.address, kCount);
  EXPECT_EQ(y.read(), expected);
}

std::uint32_t reversed(std::uint32_t v) {
  std::uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i);
  return r;
}

TEST_P(Divergence, SwitchCases) {
  Numbers numbers(3);
  std::vector<std::uint32_t> x(192);
  for (std::uint32_t& value : x) value = numbers.bits();
  x[5] = 8;
  expect_each<std::uint32_t>("switch_cases", x, [](std::uint32_t v) -> std::uint32_t {
    switch (v % 8) {
      case 0:
        return v * v;
      case 1:
        return std::rotl(v, 3);
      case 2:
        return ~v / 7;
      case 3:
        return v / 7;
      case 4:
        return static_cast<std::uint32_t>(std::popcount(v));
      case 5:
        return static_cast<std::uint32_t>(std::countl_zero(v));
      case 6:
        return reversed(v);
      default:
        return v - 1;
    }
  });
}

TEST_P(Divergence, LanesTakeALockInTurn) {
  const Buffer<std::uint32_t> lock(1, 0), number(1, 0);
  const auto order = Buffer<std::uint32_t>::unwritten(64);
  run("divergence", "lanes_spin", Dim(2), Dim(32), 0, lock.address, number.address, order.address);
  EXPECT_EQ(number.read()[0], 64u);
  std::vector<std::uint32_t> turns = order.read();
  std::sort(turns.begin(), turns.end());
  for (std::uint32_t i = 0; i < turns.size(); ++i) ASSERT_EQ(turns[i], i);
}

TEST_P(Divergence, CallsOfFunctions) {
  std::vector<std::uint32_t> x;
  for (std::uint32_t i = 0; i < 128; ++i) x.push_back(i);
  const auto power = [](std::uint32_t base, std::uint32_t exponent) {
    std::uint32_t result = 1;
    for (std::uint32_t i = 0; i < exponent; ++i) result *= base;
    return result;
  };
  expect_each<std::uint64_t>("calls", x, [&](std::uint32_t v) -> std::uint64_t {
    if (v % 3 != 0) return power(v, v % 5);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i <= v % 13; ++i) sum += power(v, i);
    return sum;
  });
}

TEST_P(Divergence, CallsThroughPointers) {
  Numbers numbers(4);
  const std::vector<float> x = numbers.reals(64);
  std::vector<std::uint32_t> which;
  std::vector<float> expected;
  for (const float value : x) {
    which.push_back(numbers.bits() % 3);
    const float results[] = {value * 2, value * value, -value};
    expected.push_back(results[which.back()]);
  }
  const Buffer<std::uint32_t> device_which(which);
  const Buffer<float> device_x(x);
  const auto y = Buffer<float>::unwritten(x.size());
  run("divergence", "indirect_calls", Dim(2), Dim(32), 0, device_which.address, device_x.address,
      y.address);
  EXPECT_EQ(y.read(), expected);
}

CUDA_TWIN_KERNEL_TEST(Divergence);

}  // namespace kernels_divergence_test

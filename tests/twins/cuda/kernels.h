// Runs the kernels of kernels/*.ptx with all checks on, for each order and each way to sum.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "support.h"

namespace twin_test {

inline std::string kernel_text(const std::string& file) {
  std::ifstream in(std::string(TWIN_TEST_FOLDER) + "/kernels/" + file + ".ptx");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str();
}

/// The seed of the order, and the setting of mma's sums.
using KernelSettings = std::tuple<const char*, const char*>;

class KernelTest : public ::testing::TestWithParam<KernelSettings> {
 protected:
  KernelTest() {
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", std::get<0>(GetParam())), 1);
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MMA_SUM", std::get<1>(GetParam())), 1);
  }
  ~KernelTest() override { EXPECT_EQ(finding(), ""); }

  static std::string finding() {
    const char* check = nullptr;
    const char* text = nullptr;
    if (cuda_twin_finding(0, &check, &text) == 0) return "";
    return std::string(check) + ": " + text;
  }

  /// Arguments are the kernel's parameters, with the types that it declares.
  template <class... Args>
  void run(const std::string& file, const char* kernel, Dim grid, Dim block, unsigned shared,
           Args... args) {
    std::string log;
    const CUresult result = launch(kernel_text(file), kernel, grid, block,
                                   {static_cast<void*>(&args)...}, shared, &log);
    EXPECT_EQ(result, CUDA_SUCCESS)
        << kernel << ": " << name_of(result) << ": " << log << cuda_twin_last_fault();
  }

  Gpu gpu_;
};

#define CUDA_TWIN_KERNEL_TEST(NAME)                                                                \
  INSTANTIATE_TEST_SUITE_P(Settings, NAME,                                                         \
                           ::testing::Combine(::testing::Values("0", "1", "77"),                   \
                                              ::testing::Values("single", "double", "truncated")), \
                           [](const auto& tested) {                                                \
                             return std::string("Order") + std::get<0>(tested.param) + "_" +       \
                                    std::get<1>(tested.param);                                     \
                           })

/// The same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  int integer(int least, int most) {
    return least + static_cast<int>(bits() % static_cast<unsigned>(most - least + 1));
  }
  /// A multiple of 2^-16 in [-1, 1).
  float real() { return static_cast<float>(integer(-65536, 65535)) / 65536.0f; }
  std::vector<float> reals(std::size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = real();
    return values;
  }
  std::vector<std::int32_t> integers(std::size_t n, int least, int most) {
    std::vector<std::int32_t> values(n);
    for (std::int32_t& value : values) value = integer(least, most);
    return values;
  }

 private:
  std::mt19937 engine_;
};

/// `value` with a significand of `bits`, to nearest even; no subnormals, no overflow.
inline double rounded(double value, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}
/// Bits of a normal number in a format of 16 bits, and back.
inline std::uint16_t narrow_bits(double value, int fraction_bits, int bias) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(rounded(value, fraction_bits + 1)), &exponent);
  const auto field = static_cast<unsigned>(exponent - 1 + bias);
  const auto low = static_cast<unsigned>(std::ldexp(2 * fraction - 1, fraction_bits));
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | field << fraction_bits | low);
}
inline double narrow_value(std::uint16_t bits, int fraction_bits, int bias) {
  const int field = (bits & 0x7FFF) >> fraction_bits;
  const int low = bits & ((1 << fraction_bits) - 1);
  if (field == 0) return 0;
  const double magnitude = std::ldexp(1 + std::ldexp(low, -fraction_bits), field - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
inline std::uint16_t f16_bits(double value) {
  return narrow_bits(value, 10, 15);
}
inline double f16_value(std::uint16_t bits) {
  return narrow_value(bits, 10, 15);
}
inline std::uint16_t bf16_bits(double value) {
  return narrow_bits(value, 7, 127);
}
inline double bf16_value(std::uint16_t bits) {
  return narrow_value(bits, 7, 127);
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& expected, double error) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], error) << "element " << i;
  }
}

}  // namespace twin_test

// Tensors of the twin for tests, and the meaning of DLFLOAT16, written down a second time.
#pragma once

#include <gtest/gtest.h>
#include <zdnn_twin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace zdnn_test {

inline constexpr std::uint16_t kNinf = 0x7FFF;

/// The definition: (-1)^s 2^(e-31) (1 + f/512); zero; NINF as NaN.
inline double value_of(std::uint16_t dlf) {
  const int exponent = (dlf >> 9) & 0x3F;
  const int fraction = dlf & 0x1FF;
  const double sign = (dlf & 0x8000) != 0 ? -1 : 1;
  if (exponent == 63 && fraction == 511) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0 && fraction == 0) return sign * 0.0;
  return sign * std::ldexp(1 + fraction / 512.0, exponent - 31);
}

/// The nearest pattern by search through the positive ones; a tie goes to the larger.
inline std::uint16_t nearest(double x) {
  if (std::isnan(x)) return kNinf;
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  int low = 0;  // value_of(low) <= size
  int high = kNinf;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(static_cast<std::uint16_t>(middle)) <= size ? low : high) = middle;
  }
  // The values that the patterns for zero and NINF would have in the format. Borders are half-way
  // to them.
  const double below = low == 0 ? std::ldexp(1, -31) : value_of(static_cast<std::uint16_t>(low));
  const double above = high == kNinf ? 8581545984.0 : value_of(static_cast<std::uint16_t>(high));
  return static_cast<std::uint16_t>(sign | (size - below < above - size ? low : high));
}
inline double rounded(double x) {
  return value_of(nearest(x));
}

/// Settings as they are at first, before and after each test.
class TwinTest : public testing::Test {
 protected:
  TwinTest() { reset(); }
  ~TwinTest() override { reset(); }
  static void set(const char* name, const char* value) {
    ASSERT_TRUE(zdnn_twin_set(name, value)) << name << "=" << value;
  }
  static void reset() {
    zdnn_twin_reset_settings();
    zdnn_twin_reset_counts();
  }
  using Digests = std::array<std::uint32_t, 3>;
  /// Its results with sums in single precision, in double, and of products in DLFLOAT16.
  template <class Digest>
  static Digests in_each_accumulation(Digest digest) {
    Digests digests{};
    std::size_t i = 0;
    for (const char* model : {"single", "double", "dlfloat"}) {
      set("ZDNN_TWIN_ACCUMULATE", model);
      digests[i++] = digest();
    }
    return digests;
  }
};

inline std::uint32_t pattern_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

class Tensor {
 public:
  Tensor(zdnn_data_layouts layout, zdnn_data_types type,
         std::initializer_list<std::uint32_t> dims) {
    describe(layout, type, dims);
    EXPECT_EQ(zdnn_generate_transformed_desc(&pre, &desc), ZDNN_OK);
    EXPECT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &tensor), ZDNN_OK);
    owns_ = tensor.buffer != nullptr;
  }
  Tensor(zdnn_data_layouts layout, std::initializer_list<std::uint32_t> dims,
         const std::vector<float>& values = {})
      : Tensor(layout, FP32, dims) {
    if (!values.empty()) put(values);
  }
  static Tensor quantized(zdnn_data_layouts layout, zdnn_data_types type,
                          std::initializer_list<std::uint32_t> dims,
                          zdnn_quantized_transform_types kind, float scale, float offset) {
    return Tensor(layout, type, dims, kind, scale, offset);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    if (owns_) zdnn_free_ztensor_buffer(&tensor);
  }

  void put(const std::vector<float>& values) {
    zdnn_reset_ztensor(&tensor);
    ASSERT_EQ(zdnn_transform_ztensor(&tensor, values.data()), ZDNN_OK) << zdnn_twin_last_message();
  }
  /// Host numbers from the buffer, whatever the status of fetching them.
  std::vector<float> get(std::size_t count) const {
    std::vector<float> values(count, -12345);
    zdnn_transform_origtensor(&tensor, values.data());
    return values;
  }
  std::uint16_t cell(std::uint64_t byte) const {
    std::uint16_t pattern = 0;
    std::memcpy(&pattern, static_cast<const char*>(tensor.buffer) + byte, sizeof pattern);
    return pattern;
  }
  void set_cell(std::uint64_t byte, std::uint16_t pattern) {
    std::memcpy(static_cast<char*>(tensor.buffer) + byte, &pattern, sizeof pattern);
  }

  operator zdnn_ztensor*() { return &tensor; }  // NOLINT: as the interface takes it

  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_ztensor tensor{};

 private:
  Tensor(zdnn_data_layouts layout, zdnn_data_types type, std::initializer_list<std::uint32_t> dims,
         zdnn_quantized_transform_types kind, float scale, float offset) {
    describe(layout, type, dims);
    EXPECT_EQ(zdnn_generate_quantized_transformed_desc(&pre, kind, &desc), ZDNN_OK);
    EXPECT_EQ(zdnn_init_quantized_ztensor_with_malloc(&pre, &desc, scale, offset, &tensor),
              ZDNN_OK);
    owns_ = tensor.buffer != nullptr;
  }
  void describe(zdnn_data_layouts layout, zdnn_data_types type,
                std::initializer_list<std::uint32_t> dims) {
    const std::vector<std::uint32_t> d(dims);
    switch (d.size()) {
      case 1:
        zdnn_init_pre_transformed_desc(layout, type, &pre, d[0]);
        break;
      case 2:
        zdnn_init_pre_transformed_desc(layout, type, &pre, d[0], d[1]);
        break;
      case 3:
        zdnn_init_pre_transformed_desc(layout, type, &pre, d[0], d[1], d[2]);
        break;
      default:
        zdnn_init_pre_transformed_desc(layout, type, &pre, d[0], d[1], d[2], d[3]);
        break;
    }
  }
  bool owns_ = false;
};

/// FNV-1a over the cells of tensors, padding included. The digest on x86-64 is the right one for
/// every machine.
inline std::uint32_t digest_of(std::initializer_list<const Tensor*> tensors) {
  std::uint32_t digest = 2166136261u;
  for (const Tensor* t : tensors)
    for (std::uint64_t byte = 0; byte < t->tensor.buffer_size; byte += 2)
      for (const unsigned half : {t->cell(byte) & 255u, static_cast<unsigned>(t->cell(byte)) >> 8})
        digest = (digest ^ half) * 16777619u;
  return digest;
}

/// Numbers that DLFLOAT16 has exactly, small and of both signs, the same every time.
inline std::vector<float> some_numbers(std::size_t count, unsigned seed = 1) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 24) - 128) / 64;
  }
  return values;
}

/// Numbers that DLFLOAT16 has exactly, with all their digits, of both signs and sizes from 1/32 to
/// 8: each way of summing rounds their products and sums elsewhere.
inline std::vector<float> rough_numbers(std::size_t count, unsigned seed = 1) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    const float digits = 1 + static_cast<float>(seed >> 23) / 512;
    value = std::ldexp((seed & 0x400000u) != 0 ? digits : -digits,
                       static_cast<int>(seed >> 19 & 7u) - 5);
  }
  return values;
}

}  // namespace zdnn_test

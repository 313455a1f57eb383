// Products with dp4a and with cp.async, ldmatrix and mma, and attention.
#include <bit>

#include "kernels.h"

namespace kernels_matrix_test {

using namespace twin_test;

class Matrices : public KernelTest {};

/// c[i][j] = sum over k of a[i][k] b[j][k].
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            std::size_t m, std::size_t n, std::size_t k) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[j * k + l];
    }
  }
  return c;
}

struct Operand {
  std::vector<std::uint16_t> bits;
  std::vector<double> values;
};
template <class ToBits, class ToValue>
Operand operand(std::size_t n, unsigned seed, ToBits to_bits, ToValue to_value) {
  Numbers numbers(seed);
  Operand made;
  for (std::size_t i = 0; i < n; ++i) {
    made.bits.push_back(to_bits(numbers.real()));
    made.values.push_back(to_value(made.bits.back()));
  }
  return made;
}

TEST_P(Matrices, ProductOfF16) {
  constexpr std::size_t kM = 64, kN = 128, kK = 96;
  const Operand a = operand(kM * kK, 1, f16_bits, f16_value);
  const Operand b = operand(kN * kK, 2, f16_bits, f16_value);
  const Buffer<std::uint16_t> device_a(a.bits), device_b(b.bits);
  const auto c = Buffer<float>::unwritten(kM * kN);
  run("product_f16", "product_f16", Dim(kN / 64, kM / 64), Dim(128), 0, device_a.address,
      device_b.address, c.address, static_cast<std::uint32_t>(kN), static_cast<std::uint32_t>(kK));
  // 6 truncated steps of sums below 16, an eighth of a unit in the last place for each addend.
  expect_near(c.read(), product(a.values, b.values, kM, kN, kK), 2e-5);
}

TEST_P(Matrices, ProductOfBf16) {
  constexpr std::size_t kM = 128, kN = 64, kK = 64;
  const Operand a = operand(kM * kK, 3, bf16_bits, bf16_value);
  const Operand b = operand(kN * kK, 4, bf16_bits, bf16_value);
  const Buffer<std::uint16_t> device_a(a.bits), device_b(b.bits);
  const auto c = Buffer<float>::unwritten(kM * kN);
  run("product_bf16", "product_bf16", Dim(kN / 64, kM / 64), Dim(128), 0, device_a.address,
      device_b.address, c.address, static_cast<std::uint32_t>(kN), static_cast<std::uint32_t>(kK));
  expect_near(c.read(), product(a.values, b.values, kM, kN, kK), 2e-5);
}

TEST_P(Matrices, ProductOfTf32IgnoresTheLowBits) {
  constexpr std::size_t kM = 32, kN = 48, kK = 64;
  Numbers numbers(5);
  std::vector<std::uint32_t> bits[2];
  std::vector<double> values[2];
  for (int side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < (side == 0 ? kM : kN) * kK; ++i) {
      const double value = rounded(numbers.real(), 11);
      const auto image = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      bits[side].push_back(image | numbers.bits() % 8192);
      values[side].push_back(value);
    }
  }
  const Buffer<std::uint32_t> a(bits[0]), b(bits[1]);
  const auto c = Buffer<float>::unwritten(kM * kN);
  run("product_tf32", "product_tf32", Dim(kN / 16, kM / 16), Dim(32), 0, a.address, b.address,
      c.address, static_cast<std::uint32_t>(kN), static_cast<std::uint32_t>(kK));
  expect_near(c.read(), product(values[0], values[1], kM, kN, kK), 2e-5);
}

TEST_P(Matrices, ProductOfBytes) {
  constexpr std::size_t kM = 64, kN = 32, kK = 128;
  Numbers numbers(6);
  std::vector<std::int8_t> bytes[2];
  std::vector<double> values[2];
  for (int side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < (side == 0 ? kM : kN) * kK; ++i) {
      bytes[side].push_back(static_cast<std::int8_t>(numbers.integer(-128, 127)));
      values[side].push_back(bytes[side].back());
    }
  }
  const Buffer<std::int8_t> a(bytes[0]), b(bytes[1]);
  const auto c = Buffer<std::int32_t>::unwritten(kM * kN);
  run("product_s8", "product_s8", Dim(kN / 16, kM / 32), Dim(64), 0, a.address, b.address,
      c.address, static_cast<std::uint32_t>(kN), static_cast<std::uint32_t>(kK));
  expect_near(c.read(), product(values[0], values[1], kM, kN, kK), 0);
}

TEST_P(Matrices, ProductWithDp4a) {
  constexpr std::size_t kRows = 12, kGroups = 40, kColumns = 32 * kGroups;
  Numbers numbers(7);
  std::vector<std::int8_t> w, x;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    w.push_back(static_cast<std::int8_t>(numbers.integer(-128, 127)));
  }
  for (std::size_t i = 0; i < kColumns; ++i) {
    x.push_back(static_cast<std::int8_t>(numbers.integer(-128, 127)));
  }
  const std::vector<float> w_scales = numbers.reals(kRows * kGroups);
  const std::vector<float> x_scales = numbers.reals(kGroups);
  std::vector<double> expected(kRows);
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    const std::size_t row = i / kColumns, column = i % kColumns;
    expected[row] +=
        static_cast<double>(w[i]) * x[column] * w_scales[i / 32] * x_scales[column / 32];
  }
  const Buffer<std::int8_t> device_w(w), device_x(x);
  const Buffer<float> device_w_scales(w_scales), device_x_scales(x_scales);
  const auto y = Buffer<float>::unwritten(kRows);
  run("product_dp4a", "product_dp4a", Dim(kRows / 4), Dim(128), 0, device_w.address,
      device_w_scales.address, device_x.address, device_x_scales.address, y.address,
      static_cast<std::uint32_t>(kGroups));
  expect_near(y.read(), expected, 0.5);  // of about 1e6
}

TEST_P(Matrices, Attention) {
  constexpr std::size_t kHeads = 2, kQueries = 64, kKeys = 48, kHead = 64;
  constexpr float kScale = 0.125f;
  Operand q = operand(kHeads * kQueries * kHead, 8, f16_bits, f16_value);
  const Operand k = operand(kHeads * kKeys * kHead, 9, f16_bits, f16_value);
  const Operand v = operand(kHeads * kKeys * kHead, 10, f16_bits, f16_value);
  std::vector<double> expected(q.values.size());
  for (std::size_t row = 0; row < kHeads * kQueries; ++row) {
    const std::size_t first = row / kQueries * kKeys;
    std::vector<double> weights(kKeys);
    double total = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      double score = 0;
      for (std::size_t i = 0; i < kHead; ++i) {
        score += q.values[row * kHead + i] * k.values[(first + key) * kHead + i];
      }
      weights[key] = std::exp(score * kScale);
      total += weights[key];
    }
    for (std::size_t key = 0; key < kKeys; ++key) {
      for (std::size_t i = 0; i < kHead; ++i) {
        expected[row * kHead + i] += weights[key] / total * v.values[(first + key) * kHead + i];
      }
    }
  }
  const Buffer<std::uint16_t> device_q(q.bits), device_k(k.bits), device_v(v.bits);
  const auto out = Buffer<float>::unwritten(expected.size());
  run("attention", "attention", Dim(kQueries / 64, kHeads), Dim(128), 0, device_q.address,
      device_k.address, device_v.address, out.address, static_cast<std::uint32_t>(kKeys), kScale);
  expect_near(out.read(), expected, 3e-4);  // probabilities are rounded to f16
}

CUDA_TWIN_KERNEL_TEST(Matrices);

}  // namespace kernels_matrix_test

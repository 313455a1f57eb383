// Norms, sort, scan, histograms, reductions, layouts and numbers.
#include <algorithm>
#include <numeric>

#include "kernels.h"

namespace kernels_test {

using namespace twin_test;

class Kernels : public KernelTest {};

constexpr std::uint32_t kRows = 5, kColumns = 300;

TEST_P(Kernels, RmsNorm) {
  Numbers numbers(1);
  const std::vector<float> x = numbers.reals(kRows * kColumns), weight = numbers.reals(kColumns);
  std::vector<double> expected;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      squares += std::pow(static_cast<double>(x[row * kColumns + i]), 2);
    }
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      const double value = x[row * kColumns + i];
      expected.push_back(value / std::sqrt(squares / kColumns + 1e-5f) * weight[i]);
    }
  }
  const Buffer<float> device_x(x), device_weight(weight);
  const auto y = Buffer<float>::unwritten(x.size());
  run("norms", "rms_norm", Dim(kRows), Dim(128), 0, device_x.address, device_weight.address,
      y.address, kColumns, 1e-5f);
  expect_near(y.read(), expected, 1e-6);
}

TEST_P(Kernels, LayerNorm) {
  Numbers numbers(2);
  const std::vector<float> x = numbers.reals(kRows * kColumns), weight = numbers.reals(kColumns),
                           bias = numbers.reals(kColumns);
  std::vector<double> expected;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const float* at = x.data() + row * kColumns;
    const double mean = std::accumulate(at, at + kColumns, 0.0) / kColumns;
    double squares = 0;
    for (std::uint32_t i = 0; i < kColumns; ++i) squares += (at[i] - mean) * (at[i] - mean);
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      expected.push_back((at[i] - mean) / std::sqrt(squares / kColumns + 1e-5f) * weight[i] +
                         bias[i]);
    }
  }
  const Buffer<float> device_x(x), device_weight(weight), device_bias(bias);
  const auto y = Buffer<float>::unwritten(x.size());
  run("norms", "layer_norm", Dim(kRows), Dim(96), 0, device_x.address, device_weight.address,
      device_bias.address, y.address, kColumns, 1e-5f);
  expect_near(y.read(), expected, 1e-6);
}

TEST_P(Kernels, Softmax) {
  Numbers numbers(3);
  std::vector<float> x = numbers.reals(kRows * kColumns);
  for (float& value : x) value *= 20;
  std::vector<double> expected;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const float* at = x.data() + row * kColumns;
    double total = 0;
    for (std::uint32_t i = 0; i < kColumns; ++i) total += std::exp(static_cast<double>(at[i]));
    for (std::uint32_t i = 0; i < kColumns; ++i) {
      expected.push_back(std::exp(static_cast<double>(at[i])) / total);
    }
  }
  const Buffer<float> device_x(x);
  const auto y = Buffer<float>::unwritten(x.size());
  run("norms", "softmax", Dim(kRows), Dim(64), 0, device_x.address, y.address, kColumns);
  expect_near(y.read(), expected, 2e-6);
}

TEST_P(Kernels, BitonicSort) {
  std::vector<std::int32_t> x = Numbers(4).integers(2 * 512, -1000000000, 1000000000);
  const Buffer<std::int32_t> device_x(x);
  run("sort", "bitonic_sort", Dim(2), Dim(256), 0, device_x.address);
  std::sort(x.begin(), x.begin() + 512);
  std::sort(x.begin() + 512, x.end());
  EXPECT_EQ(device_x.read(), x);
}

TEST_P(Kernels, Scan) {
  constexpr std::uint32_t kCount = 700;
  const std::vector<std::int32_t> x = Numbers(5).integers(kCount, -1000, 1000);
  std::vector<std::int32_t> expected(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    expected[i] = x[i] + (i % 256 == 0 ? 0 : expected[i - 1]);
  }
  const Buffer<std::int32_t> device_x(x);
  const auto y = Buffer<std::int32_t>::unwritten(kCount);
  run("scan", "scan", Dim(3), Dim(256), 0, device_x.address, y.address, kCount);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Kernels, Histograms) {
  constexpr std::uint32_t kCount = 3000;
  Numbers numbers(6);
  std::vector<std::uint8_t> x(kCount);
  std::vector<std::uint32_t> expected(256);
  for (std::uint8_t& value : x) {
    value = static_cast<std::uint8_t>(numbers.bits() % 16 * (numbers.bits() % 17));
    ++expected[value];
  }
  const Buffer<std::uint8_t> device_x(x);
  for (const char* kernel : {"histogram_global", "histogram_shared"}) {
    const Buffer<std::uint32_t> counts(256, 0);
    run("histogram", kernel, Dim(3), Dim(128), 0, device_x.address, counts.address, kCount);
    EXPECT_EQ(counts.read(), expected) << kernel;
  }
}

std::vector<double> sums_of(const std::vector<float>& x, std::size_t part) {
  std::vector<double> sums(x.size() / part);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / part] += x[i];
  return sums;
}

TEST_P(Kernels, SumsOfWarpsAndBlocks) {
  const std::vector<float> x = Numbers(7).reals(4 * 256);
  const Buffer<float> device_x(x);
  const auto warps = Buffer<float>::unwritten(32);
  const auto blocks = Buffer<float>::unwritten(4);
  run("reductions", "warp_sums", Dim(4), Dim(256), 0, device_x.address, warps.address);
  run("reductions", "block_sums", Dim(4), Dim(256), 0, device_x.address, blocks.address);
  expect_near(warps.read(), sums_of(x, 32), 1e-5);
  expect_near(blocks.read(), sums_of(x, 256), 1e-4);
}

TEST_P(Kernels, LargestOfAWarpAndItsLanes) {
  std::vector<std::int32_t> x = Numbers(8).integers(128, -5, 5);
  std::vector<std::int32_t> values;
  std::vector<std::uint32_t> lanes;
  for (std::size_t warp = 0; warp < 4; ++warp) {
    values.push_back(*std::max_element(x.begin() + static_cast<std::ptrdiff_t>(32 * warp),
                                       x.begin() + static_cast<std::ptrdiff_t>(32 * warp + 32)));
    lanes.push_back(0);
    for (unsigned i = 0; i < 32; ++i) {
      lanes.back() |= static_cast<std::uint32_t>(x[32 * warp + i] == values.back()) << i;
    }
  }
  const Buffer<std::int32_t> device_x(x);
  const auto got_values = Buffer<std::int32_t>::unwritten(4);
  const auto got_lanes = Buffer<std::uint32_t>::unwritten(4);
  run("reductions", "warp_largest_lanes", Dim(2), Dim(64), 0, device_x.address, got_values.address,
      got_lanes.address);
  EXPECT_EQ(got_values.read(), values);
  EXPECT_EQ(got_lanes.read(), lanes);
}

TEST_P(Kernels, LastBlockSumsThePartsOfAll) {
  const std::vector<float> x = Numbers(9).reals(12 * 64);
  const Buffer<float> device_x(x);
  const auto parts = Buffer<float>::unwritten(12);
  const Buffer<std::uint32_t> finished(1, 0);
  const auto y = Buffer<float>::unwritten(1);
  run("reductions", "last_block_sum", Dim(12), Dim(64), 0, device_x.address, parts.address,
      finished.address, y.address);
  expect_near(y.read(), sums_of(x, x.size()), 1e-4);
}

TEST_P(Kernels, CooperativeBlocksMeet) {
  constexpr unsigned kBlocks = 6;
  std::uint32_t n = 1000;
  const std::vector<float> x = Numbers(10).reals(n);
  const Buffer<float> device_x(x);
  const auto parts = Buffer<float>::unwritten(kBlocks);
  const Buffer<std::uint32_t> arrived(1, 0);
  const auto y = Buffer<float>::unwritten(kBlocks);
  CUdeviceptr addresses[] = {device_x.address, parts.address, arrived.address, y.address};
  void* args[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3], &n};
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(load(kernel_text("reductions"), &loaded), CUDA_SUCCESS) << cuda_twin_last_message();
  TWIN_OK(cuModuleGetFunction(&function, loaded, "cooperative_sum"));
  TWIN_OK(cuLaunchCooperativeKernel(function, kBlocks, 1, 1, 64, 1, 1, 0, nullptr, args));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << cuda_twin_last_fault();
  TWIN_OK(cuModuleUnload(loaded));
  expect_near(y.read(), std::vector<double>(kBlocks, sums_of(x, n)[0]), 1e-4);
  EXPECT_EQ(parts.read(), y.read());
}

TEST_P(Kernels, Argmax) {
  constexpr std::uint32_t kCount = 500;
  std::vector<float> x;
  for (const std::int32_t value : Numbers(11).integers(3 * kCount, 0, 100)) {
    x.push_back(static_cast<float>(value));
  }
  std::vector<std::uint32_t> expected;
  for (int row = 0; row < 3; ++row) {
    const auto first = x.begin() + row * static_cast<std::ptrdiff_t>(kCount);
    expected.push_back(static_cast<std::uint32_t>(std::max_element(first, first + kCount) - first));
  }
  const Buffer<float> device_x(x);
  const auto y = Buffer<std::uint32_t>::unwritten(3);
  run("reductions", "argmax", Dim(3), Dim(256), 0, device_x.address, y.address, kCount);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Kernels, Transpose) {
  constexpr std::uint32_t kHeight = 64, kWidth = 96;
  const std::vector<float> x = Numbers(12).reals(kHeight * kWidth);
  std::vector<float> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i % kWidth * kHeight + i / kWidth] = x[i];
  const Buffer<float> device_x(x);
  const auto y = Buffer<float>::unwritten(x.size());
  run("layouts", "transpose", Dim(kWidth / 32, kHeight / 32), Dim(128), 0, device_x.address,
      y.address, kHeight, kWidth);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Kernels, StridedCopyTouchesItsRowsOnly) {
  constexpr std::uint32_t kWidth = 37, kHeight = 11;
  constexpr std::uint64_t kFrom = 50, kTo = 41;
  Numbers numbers(13);
  std::vector<std::uint8_t> x(kFrom * kHeight);
  for (std::uint8_t& value : x) value = static_cast<std::uint8_t>(numbers.bits());
  std::vector<std::uint8_t> expected(kTo * kHeight, 7);
  for (std::uint32_t i = 0; i < kWidth * kHeight; ++i) {
    expected[i / kWidth * kTo + i % kWidth] = x[i / kWidth * kFrom + i % kWidth];
  }
  const Buffer<std::uint8_t> device_x(x), y(expected.size(), 7);
  run("layouts", "copy_strided", Dim(2), Dim(64), 0, device_x.address, y.address, kWidth, kHeight,
      kFrom, kTo);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Kernels, Gather) {
  constexpr std::uint32_t kQuads = 40, kTable = 9;
  const std::vector<float> table = Numbers(14).reals(kTable * kQuads * 4);
  const std::vector<std::int32_t> rows = {3, -1, 8, 0, 3};
  std::vector<float> expected;
  for (const std::int32_t row : rows) {
    for (std::uint32_t i = 0; i < kQuads * 4; ++i) {
      expected.push_back(row < 0 ? 0 : table[static_cast<std::uint32_t>(row) * kQuads * 4 + i]);
    }
  }
  const Buffer<float> device_table(table);
  const Buffer<std::int32_t> device_rows(rows);
  const auto y = Buffer<float>::unwritten(expected.size());
  run("layouts", "gather", Dim(5), Dim(32), 0, device_table.address, device_rows.address, y.address,
      kQuads);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(Kernels, DynamicSharedMemory) {
  constexpr std::uint32_t kThreads = 192;
  std::vector<std::uint32_t> x(2 * kThreads);
  std::iota(x.begin(), x.end(), 1000u);
  const Buffer<std::uint32_t> device_x(x);
  const auto y = Buffer<std::uint32_t>::unwritten(x.size());
  run("layouts", "reverse_dynamic", Dim(2), Dim(kThreads), kThreads * 4, device_x.address,
      y.address);
  std::reverse(x.begin(), x.begin() + kThreads);
  std::reverse(x.begin() + kThreads, x.end());
  EXPECT_EQ(y.read(), x);
}

TEST_P(Kernels, DoublesAreRoundedAsIeeeHasIt) {
  Numbers numbers(15);
  std::vector<double> x(128), expected;
  for (double& value : x) value = numbers.real() * 3.0 + numbers.real() * 0x1p-30;
  for (const double v : x) {
    double sum = std::fma(1.0 / 5040, v, 1.0 / 120);
    sum = std::fma(sum, v, -1.0 / 6);
    sum = std::fma(sum, v, 1.0);
    // fma with an addend of -0 is a product that no compiler fuses further.
    const double square = std::fma(v, v, -0.0), sums = std::fma(sum, sum, -0.0);
    expected.push_back(std::sqrt(square + 1) / (sums + 0.25));
  }
  const Buffer<double> device_x(x);
  const auto y = Buffer<double>::unwritten(x.size());
  run("numbers", "f64_polynomial", Dim(2), Dim(64), 0, device_x.address, y.address);
  EXPECT_EQ(y.read(), expected);
}

template <class ToBits, class ToValue>
std::vector<std::uint32_t> fused_pairs(const std::vector<std::uint32_t>& x, std::uint32_t a,
                                       const std::vector<std::uint32_t>& y, ToBits to_bits,
                                       ToValue to_value) {
  std::vector<std::uint32_t> results;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t pair = 0;
    for (int shift = 0; shift < 32; shift += 16) {
      const auto part = [&](std::uint32_t bits) {
        return to_value(static_cast<std::uint16_t>(bits >> shift));
      };
      const double exact = part(x[i]) * part(a) + part(y[i]);
      pair |= std::uint32_t{to_bits(exact)} << shift;
    }
    results.push_back(pair);
  }
  return results;
}

TEST_P(Kernels, PairsOfNarrowFloats) {
  Numbers numbers(16);
  for (const bool is_bf16 : {false, true}) {
    const auto to_bits = is_bf16 ? bf16_bits : f16_bits;
    const auto to_value = is_bf16 ? bf16_value : f16_value;
    const auto pairs = [&](std::size_t n) {
      std::vector<std::uint32_t> made(n);
      for (std::uint32_t& pair : made) {
        pair = std::uint32_t{to_bits(1 + numbers.real() / 2)} << 16 | to_bits(4 + numbers.real());
      }
      return made;
    };
    const std::vector<std::uint32_t> x = pairs(64), y = pairs(64);
    const std::uint32_t a = pairs(1)[0];
    const Buffer<std::uint32_t> device_x(x), device_y(y);
    run("numbers", is_bf16 ? "bf16_pairs" : "f16_pairs", Dim(1), Dim(64), 0, device_x.address,
        device_y.address, a);
    EXPECT_EQ(device_y.read(), fused_pairs(x, a, y, to_bits, to_value)) << is_bf16;
  }
}

std::int64_t integers_64(std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  std::uint64_t r = ua * ub;
  r ^= static_cast<std::uint64_t>(a / b) + ua / ub;
  r += static_cast<std::uint64_t>(a % b) - ua % ub;
  r ^= static_cast<std::uint64_t>(a >> (b & 63)) + (ua << (b & 31));
  // The upper half of the product, by halves of 32 bits.
  const std::uint64_t al = ua & 0xFFFFFFFF, ah = ua >> 32, bl = ub & 0xFFFFFFFF, bh = ub >> 32;
  const std::uint64_t middle = ah * bl + (al * bl >> 32);
  r += ah * bh + (middle >> 32) + ((al * bh + (middle & 0xFFFFFFFF)) >> 32);
  r ^= a < b ? ua : 0 - ub;
  return static_cast<std::int64_t>(r);
}

TEST_P(Kernels, IntegersOf64Bits) {
  Numbers numbers(17);
  std::vector<std::int64_t> x(128), y(128), expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto wide = [&] {
      const std::uint64_t bits = std::uint64_t{numbers.bits()} << 32 | numbers.bits();
      return static_cast<std::int64_t>(bits) >> numbers.bits() % 60;
    };
    x[i] = wide();
    y[i] = wide() | 1;
    if (y[i] == -1) y[i] = 3;
    expected.push_back(integers_64(x[i], y[i]));
  }
  const Buffer<std::int64_t> device_x(x), device_y(y);
  const auto out = Buffer<std::int64_t>::unwritten(x.size());
  run("numbers", "integers_64", Dim(2), Dim(64), 0, device_x.address, device_y.address,
      out.address);
  EXPECT_EQ(out.read(), expected);
}

CUDA_TWIN_KERNEL_TEST(Kernels);

}  // namespace kernels_test

// Pooling and convolution against loops over the padded input.
#include <algorithm>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinWindows : public TwinTest {};

constexpr std::uint32_t kHeight = 7, kWidth = 9, kChannels = 3;

double at(const std::vector<float>& x, std::uint32_t n, std::int64_t y, std::int64_t column,
          std::uint32_t channel) {  // NaN outside
  if (y < 0 || column < 0 || y >= kHeight || column >= kWidth) return NAN;
  const std::size_t index =
      ((n * kHeight + static_cast<std::size_t>(y)) * kWidth + static_cast<std::size_t>(column)) *
          kChannels +
      channel;
  return static_cast<double>(x[index]);
}

// SAME: ceil(in / stride) windows, the smaller half of the padding in front.
std::int64_t front(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return std::max<std::int64_t>(0, (out - 1) * stride + kernel - in) / 2;
}

TEST_F(ZdnnTwinWindows, PoolsMatchExactValues) {
  const auto x = some_numbers(2 * kHeight * kWidth * kChannels);
  Tensor in(ZDNN_NHWC, {2, kHeight, kWidth, kChannels}, x);
  const struct {
    zdnn_pool_padding padding;
    std::uint32_t kh, kw, sh, sw, oh, ow;
  } cases[] = {{VALID_PADDING, 2, 3, 1, 2, 6, 4},
               {SAME_PADDING, 2, 3, 1, 2, 7, 5},
               {SAME_PADDING, 3, 4, 3, 1, 3, 9},
               {VALID_PADDING, 7, 9, 0, 0, 1, 1}};
  for (const auto& c : cases) {
    Tensor average(ZDNN_NHWC, {2, c.oh, c.ow, kChannels});
    Tensor largest(ZDNN_NHWC, {2, c.oh, c.ow, kChannels});
    ASSERT_EQ(zdnn_avgpool2d(in, c.padding, c.kh, c.kw, c.sh, c.sw, average), ZDNN_OK);
    ASSERT_EQ(zdnn_maxpool2d(in, c.padding, c.kh, c.kw, c.sh, c.sw, largest), ZDNN_OK);
    const auto averages = average.get(2u * c.oh * c.ow * kChannels);
    const auto maxima = largest.get(averages.size());
    const bool same = c.padding == SAME_PADDING;
    const std::int64_t top = same ? front(kHeight, c.oh, c.kh, c.sh) : 0;
    const std::int64_t left = same ? front(kWidth, c.ow, c.kw, c.sw) : 0;
    std::size_t index = 0;
    for (std::uint32_t n = 0; n < 2; ++n)
      for (std::uint32_t y = 0; y < c.oh; ++y)
        for (std::uint32_t z = 0; z < c.ow; ++z)
          for (std::uint32_t channel = 0; channel < kChannels; ++channel, ++index) {
            double sum = 0, most = -INFINITY;
            int cells = 0;
            for (std::uint32_t ky = 0; ky < c.kh; ++ky)
              for (std::uint32_t kx = 0; kx < c.kw; ++kx) {
                const double value = at(x, n, std::int64_t{y} * c.sh + ky - top,
                                        std::int64_t{z} * c.sw + kx - left, channel);
                if (std::isnan(value)) continue;
                sum += value;
                most = std::max(most, value);
                ++cells;
              }
            ASSERT_EQ(static_cast<double>(maxima[index]), most);
            ASSERT_NEAR(static_cast<double>(averages[index]), sum / cells,
                        std::fabs(sum / cells) / 1000 + 1e-6);
          }
  }
}

TEST_F(ZdnnTwinWindows, MeanReduceIsOverHeightAndWidth) {
  const auto x = some_numbers(2 * kHeight * kWidth * kChannels);
  Tensor in(ZDNN_NHWC, {2, kHeight, kWidth, kChannels}, x);
  Tensor mean(ZDNN_NHWC, {2, 1, 1, kChannels});
  Tensor pooled(ZDNN_NHWC, {2, 1, 1, kChannels});
  ASSERT_EQ(zdnn_meanreduce2d(in, mean), ZDNN_OK);
  ASSERT_EQ(zdnn_avgpool2d(in, VALID_PADDING, kHeight, kWidth, 0, 0, pooled), ZDNN_OK);
  EXPECT_EQ(mean.get(6), pooled.get(6));
  Tensor high(ZDNN_NHWC, {1, 1025, 1, 1}, std::vector<float>(1025, 1));
  Tensor one(ZDNN_NHWC, {1, 1, 1, 1});
  EXPECT_EQ(zdnn_meanreduce2d(high, one), ZDNN_FUNC_RC_F001);
  EXPECT_EQ(zdnn_meanreduce2d(in, in), ZDNN_INVALID_SHAPE);
}

TEST_F(ZdnnTwinWindows, RejectsInvalidPools) {
  Tensor in(ZDNN_NHWC, {1, 100, 100, 1}, std::vector<float>(10000, 1));
  Tensor out(ZDNN_NHWC, {1, 1, 1, 1});
  const auto pool = [&](zdnn_pool_padding padding, std::uint32_t kernel, std::uint32_t down,
                        std::uint32_t across) {
    const zdnn_status status = zdnn_maxpool2d(in, padding, kernel, kernel, down, across, out);
    EXPECT_EQ(zdnn_avgpool2d(in, padding, kernel, kernel, down, across, out), status);
    return status;
  };
  EXPECT_EQ(pool(VALID_PADDING, 100, 0, 0), ZDNN_OK);
  EXPECT_EQ(pool(VALID_PADDING, 100, 0, 1), ZDNN_INVALID_STRIDES);
  EXPECT_EQ(pool(SAME_PADDING, 100, 0, 0), ZDNN_INVALID_STRIDE_PADDING);
  EXPECT_EQ(pool(VALID_PADDING, 99, 0, 0), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(pool(VALID_PADDING, 2, 1, 1), ZDNN_INVALID_SHAPE);  // for this output
  EXPECT_EQ(pool(VALID_PADDING, 0, 1, 1), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(pool(VALID_PADDING, 101, 1, 1), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(pool(VALID_PADDING, 65, 40, 40), ZDNN_FUNC_RC_F002);
  EXPECT_EQ(pool(VALID_PADDING, 64, 40, 40), ZDNN_FUNC_RC_F003);
  EXPECT_EQ(pool(static_cast<zdnn_pool_padding>(2), 64, 40, 40), ZDNN_FUNC_RC_F000);
}

TEST_F(ZdnnTwinWindows, ConvolutionMatchesExactValues) {
  constexpr std::uint32_t kOut = 70;
  const auto x = some_numbers(2 * kHeight * kWidth * kChannels, 1);
  const auto k = some_numbers(2 * 3 * kChannels * kOut, 2);
  const auto b = some_numbers(kOut, 3);
  Tensor in(ZDNN_NHWC, {2, kHeight, kWidth, kChannels}, x);
  Tensor kernel(ZDNN_HWCK, {2, 3, kChannels, kOut}, k);
  Tensor bias(ZDNN_1D, {kOut}, b);
  const float clip = 2;
  for (const auto padding : {VALID_PADDING, SAME_PADDING}) {
    const bool same = padding == SAME_PADDING;
    const std::uint32_t oh = same ? 7 : 6, ow = same ? 5 : 4;
    Tensor out(ZDNN_NHWC, {2, oh, ow, kOut});
    ASSERT_EQ(zdnn_conv2d(in, kernel, bias, padding, 1, 2, CONV2D_ACT_RELU, &clip, out), ZDNN_OK);
    const auto got = out.get(std::size_t{2} * oh * ow * kOut);
    const std::int64_t top = same ? front(kHeight, oh, 2, 1) : 0;
    const std::int64_t left = same ? front(kWidth, ow, 3, 2) : 0;
    std::size_t index = 0;
    for (std::uint32_t n = 0; n < 2; ++n)
      for (std::uint32_t y = 0; y < oh; ++y)
        for (std::uint32_t z = 0; z < ow; ++z)
          for (std::uint32_t o = 0; o < kOut; ++o, ++index) {
            double sum = static_cast<double>(b[o]);
            for (std::uint32_t ky = 0; ky < 2; ++ky)
              for (std::uint32_t kx = 0; kx < 3; ++kx)
                for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
                  const double value = at(x, n, std::int64_t{y} + ky - top,
                                          std::int64_t{z} * 2 + kx - left, channel);
                  if (std::isnan(value)) continue;
                  sum += value *
                         static_cast<double>(k[((ky * 3 + kx) * kChannels + channel) * kOut + o]);
                }
            ASSERT_EQ(static_cast<double>(got[index]), rounded(std::clamp(sum, 0.0, 2.0)));
          }
  }
}

TEST_F(ZdnnTwinWindows, RejectsInvalidConvolutions) {
  Tensor in(ZDNN_NHWC, {1, 80, 80, 1}, std::vector<float>(6400, 1));
  Tensor small(ZDNN_HWCK, {2, 2, 1, 1}, {1, 1, 1, 1});
  Tensor large(ZDNN_HWCK, {65, 65, 1, 1}, std::vector<float>(65 * 65, 1));
  Tensor bias(ZDNN_1D, {1}, {0});
  Tensor out(ZDNN_NHWC, {1, 1, 1, 1});
  Tensor many(ZDNN_NHWC, {1, 79, 79, 1});
  Tensor six(ZDNN_NHWC, {1, 6, 6, 1});
  const float negative = -1;
  const auto conv = [&](zdnn_ztensor* kernel, zdnn_pool_padding padding, std::uint32_t stride,
                        int act, const float* clip, zdnn_ztensor* result) {
    return zdnn_conv2d(in, kernel, bias, padding, stride, stride, static_cast<zdnn_conv2d_act>(act),
                       clip, result);
  };
  EXPECT_EQ(conv(small, VALID_PADDING, 1, 0, nullptr, many), ZDNN_OK);
  EXPECT_EQ(conv(small, VALID_PADDING, 1, 1, &negative, many), ZDNN_INVALID_CLIPPING_VALUE);
  EXPECT_EQ(conv(small, VALID_PADDING, 1, 2, nullptr, many), ZDNN_FUNC_RC_F001);
  EXPECT_EQ(conv(small, static_cast<zdnn_pool_padding>(2), 1, 0, nullptr, many), ZDNN_FUNC_RC_F000);
  EXPECT_EQ(conv(small, VALID_PADDING, 1, 0, nullptr, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(conv(small, VALID_PADDING, 0, 0, nullptr, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(conv(small, SAME_PADDING, 0, 0, nullptr, out), ZDNN_INVALID_STRIDE_PADDING);
  EXPECT_EQ(conv(large, VALID_PADDING, 16, 0, nullptr, out), ZDNN_FUNC_RC_F003);
  EXPECT_EQ(conv(small, VALID_PADDING, 14, 0, nullptr, six), ZDNN_FUNC_RC_F004);
  EXPECT_EQ(conv(bias, VALID_PADDING, 80, 0, nullptr, out), ZDNN_INVALID_FORMAT);
}

TEST_F(ZdnnTwinWindows, RejectsTooLargeWindows) {
  Tensor one(ZDNN_NHWC, {1, 1, 1, 1});
  Tensor high(ZDNN_NHWC, {1, 449, 1, 1}, std::vector<float>(449, 1));
  Tensor kernel(ZDNN_HWCK, {449, 1, 1, 1}, std::vector<float>(449, 1));
  Tensor less_high(ZDNN_NHWC, {1, 448, 1, 1}, std::vector<float>(448, 1));
  Tensor less(ZDNN_HWCK, {448, 1, 1, 1}, std::vector<float>(448, 1));
  Tensor bias(ZDNN_1D, {1}, {0});
  EXPECT_EQ(zdnn_conv2d(high, kernel, bias, VALID_PADDING, 0, 0, CONV2D_ACT_NONE, nullptr, one),
            ZDNN_FUNC_RC_F002);
  EXPECT_EQ(zdnn_conv2d(less_high, less, bias, VALID_PADDING, 0, 0, CONV2D_ACT_NONE, nullptr, one),
            ZDNN_OK);
  EXPECT_EQ(one.get(1)[0], 448.0f);
  Tensor higher(ZDNN_NHWC, {1, 1025, 1, 1}, std::vector<float>(1025, 1));
  Tensor pooled(ZDNN_NHWC, {1, 41, 1, 1});
  EXPECT_EQ(zdnn_avgpool2d(higher, SAME_PADDING, 1, 1, 25, 25, pooled), ZDNN_FUNC_RC_F004);
  EXPECT_EQ(zdnn_maxpool2d(higher, VALID_PADDING, 1025, 1, 0, 0, one), ZDNN_FUNC_RC_F001);
}

TEST_F(ZdnnTwinWindows, BitsAreTheSameOnEveryMachine) {
  constexpr std::uint32_t out_channels = 5;
  const auto x = rough_numbers(2 * kHeight * kWidth * kChannels);
  EXPECT_EQ(in_each_accumulation([&] {
              Tensor in(ZDNN_NHWC, {2, kHeight, kWidth, kChannels}, x);
              Tensor kernel(ZDNN_HWCK, {3, 4, kChannels, out_channels},
                            rough_numbers(3 * 4 * kChannels * out_channels, 2));
              Tensor bias(ZDNN_1D, {out_channels}, rough_numbers(out_channels, 3));
              Tensor out(ZDNN_NHWC, {2, kHeight, kWidth, out_channels});
              EXPECT_EQ(
                  zdnn_conv2d(in, kernel, bias, SAME_PADDING, 1, 1, CONV2D_ACT_NONE, nullptr, out),
                  ZDNN_OK);
              return digest_of({&out});
            }),
            (Digests{3955913115u, 3955913115u, 2105317166u}));
  EXPECT_EQ(in_each_accumulation([&] {
              Tensor in(ZDNN_NHWC, {2, kHeight, kWidth, kChannels}, x);
              Tensor windows(ZDNN_NHWC, {2, kHeight, kWidth, kChannels});
              Tensor all(ZDNN_NHWC, {2, 1, 1, kChannels});
              EXPECT_EQ(zdnn_avgpool2d(in, SAME_PADDING, 3, 3, 1, 1, windows), ZDNN_OK);
              EXPECT_EQ(zdnn_meanreduce2d(in, all), ZDNN_OK);
              return digest_of({&windows, &all});
            }),
            (Digests{4156118138u, 4156118138u, 4156118138u}));
}

}  // namespace

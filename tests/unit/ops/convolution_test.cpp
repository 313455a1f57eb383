// Windows over images by hand.
#include <numeric>

#include "unit/ops/values.h"

namespace shunt::ops_convolution_test {
namespace {

using testing::ElementsAre;

RefTensor convolve(const Leaf& w, const Leaf& x, const Conv2dParams& params = {}) {
  return evaluate({w, x},
                  [&](GraphBuilder& g, const Values& v) { return conv_2d(g, v[0], v[1], params); });
}

RefTensor pool(const Leaf& x, const Pool2dParams& params) {
  return evaluate({x}, [&](GraphBuilder& g, const Values& v) { return pool_2d(g, v[0], params); });
}

const Leaf kNine = {.sizes = {3, 3, 1, 1}, .data = {1, 2, 3, 4, 5, 6, 7, 8, 9}};

TEST(Conv2d, SumsTheElementsUnderTheKernel) {
  // 1*1 + 2*2 + 4*3 + 5*4 = 37, and so on.
  const auto y = convolve({.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}, kNine);
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(37, 47, 67, 77));
}

TEST(Conv2d, PadsWithZeros) {
  const Leaf ones = {.sizes = {3, 3, 1, 1}, .data = std::vector<double>(9, 1)};
  const auto y = convolve(ones, kNine, {.pad = {1, 1}});
  EXPECT_THAT(y.data, ElementsAre(12, 21, 16, 27, 45, 33, 24, 39, 28));
  const auto corners = convolve(ones, kNine, {.stride = {2, 2}, .pad = {1, 1}});
  EXPECT_THAT(corners.data, ElementsAre(12, 16, 24, 28));
}

TEST(Conv2d, AppliesDilation) {
  const auto y = convolve({.sizes = {2, 1, 1, 1}, .data = {1, 10}},
                          {.sizes = {5, 1, 1, 1}, .data = {1, 2, 3, 4, 5}}, {.dilation = {3, 1}});
  EXPECT_THAT(y.data, ElementsAre(41, 52));
}

TEST(Conv2d, SumsOverChannelsForEachOutputAndImage) {
  const auto y = convolve({.sizes = {1, 1, 2, 2}, .data = {1, 10, 100, 1000}},
                          {.sizes = {1, 1, 2, 2}, .data = {2, 3, 4, 5}});
  EXPECT_EQ(y.sizes, (Sizes{1, 1, 2, 2}));
  EXPECT_THAT(y.data, ElementsAre(32, 3200, 54, 5400));
}

TEST(Conv2dDepthwise, KeepsChannelsApart) {
  const auto y =
      evaluate({{.sizes = {2, 1, 1, 2}, .data = {1, 10, 100, 1000}},
                {.sizes = {2, 1, 2, 1}, .data = {2, 3, 4, 5}}},
               [](GraphBuilder& g, const Values& v) { return conv_2d_dw(g, v[0], v[1]); });
  EXPECT_EQ(y.sizes, (Sizes{1, 1, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(32, 5400));
}

TEST(Im2col, GivesARowForEachWindow) {
  const auto y = evaluate({{.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}},
                          [](GraphBuilder& g, const Values& v) {
                            return im2col(g, v[0], {.kernel = {2, 1}, .pad = {1, 0}});
                          });
  EXPECT_EQ(y.sizes, (Sizes{2, 3, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(0, 1, 1, 2, 2, 0, 0, 3, 3, 4, 4, 0));
}

TEST(Im2col, OrdersAWindowByXThenYThenChannels) {
  const auto y = evaluate({{.sizes = {2, 2, 2, 1}, .data = {1, 2, 3, 4, 5, 6, 7, 8}}},
                          [](GraphBuilder& g, const Values& v) {
                            return im2col(g, v[0], {.kernel = {2, 2}});
                          });
  EXPECT_EQ(y.sizes, (Sizes{8, 1, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Pool2d, TakesTheLargestOrTheMeanOfEachWindow) {
  const Leaf x = {.sizes = {4, 2, 1, 1}, .data = {1, 5, 2, 3, 4, 0, -1, 9}};
  EXPECT_THAT(pool(x, {.kernel = {2, 2}, .stride = {2, 2}}).data, ElementsAre(5, 9));
  EXPECT_THAT(pool(x, {Pooling::kAverage, {2, 2}, {2, 2}, {0, 0}}).data, ElementsAre(2.5, 3.25));
}

TEST(Pool2d, CountsPaddingForTheMeanButNotForTheMaximum) {
  const Leaf x = {.sizes = {2, 2, 1, 1}, .data = {-1, -2, -3, -4}};
  EXPECT_THAT(pool(x, {Pooling::kMax, {3, 3}, {2, 2}, {1, 1}}).data, ElementsAre(-1));
  EXPECT_THAT(pool(x, {Pooling::kAverage, {3, 3}, {2, 2}, {1, 1}}).data, is_near({-10.0 / 9}));
}

TEST(Pool1d, MovesAlongEachRow) {
  const Leaf x = {.sizes = {5, 2, 1, 1}, .data = {1, 5, 2, 3, 4, 0, -1, 9, -7, -8}};
  const auto pool_rows = [&](const Pool1dParams& params) {
    return evaluate({x}, [&](GraphBuilder& g, const Values& v) { return pool_1d(g, v[0], params); })
        .data;
  };
  EXPECT_THAT(pool_rows({Pooling::kMax, 2, 2, 0}), ElementsAre(5, 3, 0, 9));
  EXPECT_THAT(pool_rows({Pooling::kAverage, 2, 2, 1}), ElementsAre(0.5, 3.5, 3.5, 0, 4, -7.5));
}

TEST(Im2col3d, OrdersAWindowByXYZThenChannels) {
  const Leaf x = {.sizes = {2, 1, 2, 4},
                  .data = {1, 2, 3, 4, 5, 6, 7, 8,  // image 0: two channels
                           11, 12, 13, 14, 15, 16, 17, 18}};
  const auto whole = evaluate({x}, [](GraphBuilder& g, const Values& v) {
    return im2col_3d(g, v[0], {.channels = 2, .kernel = {2, 1, 2}});
  });
  EXPECT_EQ(whole.sizes, (Sizes{8, 1, 1, 2}));
  EXPECT_THAT(whole.data, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18));
  const auto along_z = evaluate({x}, [](GraphBuilder& g, const Values& v) {
    return im2col_3d(g, v[0],
                     {.channels = 2, .kernel = {1, 1, 2}, .stride = {2, 1, 1}, .pad = {0, 0, 1}});
  });
  EXPECT_EQ(along_z.sizes, (Sizes{4, 1, 1, 6}));
  EXPECT_THAT(along_z.data, ElementsAre(0, 1, 0, 5, 1, 3, 5, 7, 3, 0, 7, 0,  //
                                        0, 11, 0, 15, 11, 13, 15, 17, 13, 0, 17, 0));
}

TEST(Conv3d, SumsOverDepthAndChannelsForEachOutputAndImage) {
  // Of each output: a kernel for channel 0, then one for channel 1, two elements deep each.
  const Leaf w = {.sizes = {1, 1, 2, 4}, .data = {1, 10, 100, 1000, 2, 0, 0, 3}};
  const Leaf x = {.sizes = {1, 1, 3, 4}, .data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}};
  const auto y = evaluate({w, x}, [](GraphBuilder& g, const Values& v) {
    return conv_3d(g, v[0], v[1], {.channels = 2});
  });
  EXPECT_EQ(y.sizes, (Sizes{1, 1, 2, 4}));
  EXPECT_THAT(y.data, ElementsAre(1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000, 2 + 15, 4 + 18,  //
                                  7 + 80 + 100 + 2000, 8 + 90 + 200 + 3000, 14 + 6, 16 + 9));
}

TEST(Conv3d, WithDepthOneEqualsConv2d) {
  const Leaf w = {.sizes = {2, 2, 1, 3}, .data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}};
  const Leaf x = {.sizes = {3, 3, 1, 1}, .data = kNine.data};
  const auto flat =
      convolve({.sizes = {2, 2, 1, 3}, .data = w.data}, kNine, {.stride = {2, 1}, .pad = {1, 1}});
  const auto deep = evaluate({w, x}, [](GraphBuilder& g, const Values& v) {
    return conv_3d(g, v[0], v[1], {.stride = {2, 1, 1}, .pad = {1, 1, 0}});
  });
  EXPECT_EQ(deep.data, flat.data);
}

TEST(ConvTranspose1d, SpreadsEachElementOverItsWindow) {
  const Leaf w = {.sizes = {3, 1, 1, 1}, .data = {1, 2, 3}};
  const Leaf x = {.sizes = {2, 1, 1, 1}, .data = {1, 10}};
  const auto spread = [&](const Conv1dParams& params) {
    return evaluate({w, x},
                    [&](GraphBuilder& g, const Values& v) {
                      return conv_transpose_1d(g, v[0], v[1], params);
                    })
        .data;
  };
  EXPECT_THAT(spread({}), ElementsAre(1, 12, 23, 30));
  EXPECT_THAT(spread({.stride = 2}), ElementsAre(1, 2, 13, 20, 30));
  EXPECT_THAT(spread({.stride = 4}), ElementsAre(1, 2, 3, 0, 10, 20, 30));
  EXPECT_THAT(spread({.stride = 2, .pad = 1}), ElementsAre(2, 13, 20));
  EXPECT_THAT(spread({.dilation = 2}), ElementsAre(1, 10, 2, 20, 3, 30));
}

TEST(ConvTranspose1d, HasTheInputChannelsOutermostInTheKernel) {
  // [K 1, O 2, C 3]: output o takes w[o, c] times channel c.
  const auto y =
      evaluate({{.sizes = {1, 2, 3, 1}, .data = {1, 2, 10, 20, 100, 200}},
                {.sizes = {1, 3, 2, 1}, .data = {1, 2, 3, 4, 5, 6}}},
               [](GraphBuilder& g, const Values& v) { return conv_transpose_1d(g, v[0], v[1]); });
  EXPECT_EQ(y.sizes, (Sizes{1, 2, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(321, 642, 654, 1308));
}

TEST(ConvTranspose1d, EqualsMatmulThenCol2im) {
  const Leaf w = {.sizes = {2, 3, 2, 1}, .data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}};
  const Leaf x = {.sizes = {3, 2, 1, 1}, .data = {1, -2, 3, 4, 5, -6}};
  const auto direct = evaluate({w, x}, [](GraphBuilder& g, const Values& v) {
    return conv_transpose_1d(g, v[0], v[1], {.stride = 1, .pad = 1});
  });
  const auto by_product = evaluate({w, x}, [](GraphBuilder& g, const Values& v) {
    const auto kernels = cont(g, transpose(g, reshape(g, v[0], {6, 2})));
    return col2im_1d(g, matmul(g, kernels, cont(g, transpose(g, v[1]))),
                     {.kernel = 2, .stride = 1, .pad = 1});
  });
  EXPECT_EQ(direct.sizes, by_product.sizes);
  EXPECT_THAT(by_product.data, is_near(direct.data));
}

TEST(ConvTranspose2d, SpreadsEachElementOverItsWindow) {
  const auto y = evaluate({{.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}},
                           {.sizes = {2, 2, 1, 1}, .data = {1, 10, 100, 1000}}},
                          [](GraphBuilder& g, const Values& v) {
                            return conv_transpose_2d(g, v[0], v[1], {.stride = {1, 2}});
                          });
  EXPECT_EQ(y.sizes, (Sizes{3, 4, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 12, 20, 3, 34, 40, 100, 1200, 2000, 300, 3400, 4000));
}

/// <conv(x), y> = <x, conv_transpose(y)>, with the same kernels, whose outputs are now the inputs.
TEST(ConvTranspose2d, IsTheAdjointOfConv2d) {
  std::vector<double> w(std::size_t{3 * 2 * 2 * 3});
  std::vector<double> x(std::size_t{7 * 6 * 2});
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i * 7 % 11) - 5;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 5 % 13) - 6;
  const Conv2dParams params = {{2, 1}, {1, 2}, {1, 3}};
  const Leaf kernels = {.sizes = {3, 2, 2, 3}, .data = w};
  const auto forth = convolve(kernels, {.sizes = {7, 6, 2, 1}, .data = x}, params);
  std::vector<double> y(forth.data.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i * 3 % 7) - 3;
  const auto back = evaluate(
      {kernels, {.sizes = forth.sizes, .data = y}},
      [&](GraphBuilder& g, const Values& v) { return conv_transpose_2d(g, v[0], v[1], params); });
  ASSERT_EQ(back.sizes, (Sizes{7, 6, 2, 1}));
  EXPECT_DOUBLE_EQ(std::inner_product(y.begin(), y.end(), forth.data.begin(), 0.0),
                   std::inner_product(x.begin(), x.end(), back.data.begin(), 0.0));
}

TEST(Col2im1d, AddsUpWindowsWhereTheyOverlap) {
  const Leaf x = {.sizes = {4, 3, 1, 1}, .data = {1, 2, 10, 20, 3, 4, 30, 40, 5, 6, 50, 60}};
  const auto add_up = [&](const Col2im1dParams& params) {
    return evaluate({x},
                    [&](GraphBuilder& g, const Values& v) { return col2im_1d(g, v[0], params); });
  };
  const auto y = add_up({.kernel = 2});
  EXPECT_EQ(y.sizes, (Sizes{4, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 5, 9, 6, 10, 50, 90, 60));
  EXPECT_THAT(add_up({.kernel = 2, .stride = 3, .pad = 1}).data,
              ElementsAre(2, 0, 3, 4, 0, 5, 20, 0, 30, 40, 0, 50));
  EXPECT_THAT(add_up({.kernel = 4, .stride = 2}).data, ElementsAre(1, 2, 13, 24, 35, 46, 50, 60));
}

}  // namespace
}  // namespace shunt::ops_convolution_test

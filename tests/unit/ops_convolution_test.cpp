// Windows over images by hand.
#include "unit/ops_values.h"

namespace shunt {
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

TEST(Conv2d, AddsUpWhatTheKernelMeets) {
  // 1*1 + 2*2 + 4*3 + 5*4 = 37, and so on.
  const auto y = convolve({.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}}, kNine);
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(37, 47, 67, 77));
}

TEST(Conv2d, SeesZerosOutside) {
  const Leaf ones = {.sizes = {3, 3, 1, 1}, .data = std::vector<double>(9, 1)};
  const auto y = convolve(ones, kNine, {.pad = {1, 1}});
  EXPECT_THAT(y.data, ElementsAre(12, 21, 16, 27, 45, 33, 24, 39, 28));
  const auto corners = convolve(ones, kNine, {.stride = {2, 2}, .pad = {1, 1}});
  EXPECT_THAT(corners.data, ElementsAre(12, 16, 24, 28));
}

TEST(Conv2d, SkipsElementsBetweenThoseOfADilatedKernel) {
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

TEST(Im2col, NumbersAWindowAlongXThenYThenChannels) {
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

TEST(Pool2d, CountsWhatIsOutsideForTheMeanButNotForTheLargest) {
  const Leaf x = {.sizes = {2, 2, 1, 1}, .data = {-1, -2, -3, -4}};
  EXPECT_THAT(pool(x, {Pooling::kMax, {3, 3}, {2, 2}, {1, 1}}).data, ElementsAre(-1));
  EXPECT_THAT(pool(x, {Pooling::kAverage, {3, 3}, {2, 2}, {1, 1}}).data, is_near({-10.0 / 9}));
}

}  // namespace
}  // namespace shunt

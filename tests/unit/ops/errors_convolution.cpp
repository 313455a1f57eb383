// Calls that ops with windows refuse.
#include <cstdint>

#include "unit/ops/bad_calls.h"

namespace shunt {

namespace {

/// With one or two axes, from images to positions.
std::vector<BadCall> flat_calls() {
  using Convolution = Result<Value> (*)(GraphBuilder&, Operand, Operand, Conv2dParams);
  const auto call = [](Convolution f, const Shape& w, const Shape& x, Conv2dParams params = {},
                       DType type = kF32) {
    return [=](GraphBuilder& g) { return f(g, leaf(g, type, w), leaf(g, kF32, x), params); };
  };
  return {
      {"conv_2d",
       call(conv_2d, {3, 3, 4, 5}, {9, 9, 3}),
       {"dimension 2 of w is 4, but dimension 2 of x is 3"}},
      {"conv_2d",
       call(conv_2d, {3, 3, 4, 5}, {9, 2, 4}),
       {"reaches over 3 elements of dimension 1 of x, which has 2"}},
      {"conv_2d",
       call(conv_2d, {3, 3, 4, 5}, {4, 9, 4}, {.dilation = {2, 1}}),
       {"reaches over 5 elements of dimension 0"}},
      {"conv_2d", call(conv_2d, {3, 3, 4, 5}, {9, 9, 4}, {.stride = {0, 1}}), {"stride is [0, 1]"}},
      {"conv_2d", call(conv_2d, {3, 3, 4, 5}, {9, 9, 4}, {.pad = {0, -1}}), {"pad is [0, -1]"}},
      {"conv_2d",
       call(conv_2d, {3, 3, 4, 5}, {9, 9, 4}, {.pad = {INT64_MAX, 0}}),
       {"pad is [9223372036854775807, 0]"}},
      {"conv_2d",
       call(conv_2d, {3, 3, 4, 5}, {9, 9, 4}, {.dilation = {1, 0}}),
       {"dilation is [1, 0]"}},
      {"conv_2d", call(conv_2d, {0, 3, 4, 5}, {9, 9, 4}), {"the kernel is [0, 3]"}},
      {"conv_2d", call(conv_2d, {32, 3, 4, 5}, {99, 9, 4}, {}, kQ8_0), {"w is Q8_0 [32, 3, 4, 5]"}},
      {"conv_2d",
       [](GraphBuilder& g) {
         return conv_2d(g, leaf(g, kF32, {3, 3, 4}),
                        leaf(g, kF32, {*g.dynamic_dim("width", 9), 9, 4}));
       },
       {"dimension 0 of x is 9*, a dynamic dimension"}},
      {"conv_2d",
       [](GraphBuilder& g) {
         return conv_2d(g, leaf(g, kF32, {3, 3, 4, *g.dynamic_dim("n", 9)}),
                        leaf(g, kF32, {9, 9, 4}));
       },
       {"dimension 3 of w is 9*, a dynamic dimension"}},
      {"conv_2d",
       call(conv_2d, {1, 1, 1, 1}, {1, 1, 1}, {.pad = {0x7fffffff, 0x7fffffff}}),
       {"F32 [1], F32 [1]"}},
      {"conv_2d_dw", call(conv_2d_dw, {3, 3, 2, 4}, {9, 9, 4}), {"dimension 2 of w is 2"}},
      {"conv_2d_dw",
       call(conv_2d_dw, {3, 3, 1, 5}, {9, 9, 4}),
       {"dimension 3 of w is 5, but dimension 2 of x is 4"}},
      {"im2col",
       [](GraphBuilder& g) {
         return im2col(g, leaf(g, kI32, {9, 9, 4}), {.kernel = {3, 3}});
       },
       {"x is I32 [9, 9, 4], not F32, F16 or BF16"}},
      {"im2col",
       [](GraphBuilder& g) {
         return im2col(g, leaf(g, kF32, {9, 9, 4}), {.kernel = {10, 3}});
       },
       {"reaches over 10 elements of dimension 0"}},
      {"im2col",
       [](GraphBuilder& g) {
         constexpr std::int64_t kMost = 0x7fffffff;
         return im2col(g, leaf(g, kF32, {9, 9, 9}),
                       {.kernel = {kMost, kMost}, .pad = {kMost, kMost}});
       },
       {"too many"}},
      {"pool_1d",
       [](GraphBuilder& g) { return pool_1d(g, leaf(g, kQ8_0, {32}), {}); },
       {"x is Q8_0 [32], not F32, F16 or BF16"}},
      {"pool_2d",
       [](GraphBuilder& g) {
         return pool_2d(g, leaf(g, kI64, {9, 9}), {});
       },
       {"x is I64 [9, 9], not F32, F16 or BF16"}},
      {"conv_2d",
       [](GraphBuilder& g) {
         return conv_2d(g, leaf(g, kF32, {3, 3, 4, 5}), leaf(g, kI32, {9, 9, 4}));
       },
       {"x is I32 [9, 9, 4], not F32, F16 or BF16"}},
      {"pool_2d",
       [](GraphBuilder& g) {
         return pool_2d(g, leaf(g, kF32, {9, 9}), {.kernel = {2, 2}, .pad = {2, 0}});
       },
       {"pad is [2, 0], but must be below the kernel, [2, 2]"}},
      {"pool_2d",
       [](GraphBuilder& g) {
         return pool_2d(g, leaf(g, kF32, {0, 9}), {.kernel = {2, 2}, .pad = {1, 1}});
       },
       {"whose images have no element"}},
      {"pool_2d",
       [](GraphBuilder& g) {
         return pool_2d(g, leaf(g, kF32, {9, 9}), {.kernel = {-2, 2}});
       },
       {"the kernel is [-2, 2]"}},
      {"im2col",
       [](GraphBuilder& g) {
         return im2col(g, leaf(g, kF32, {9, 9, *g.dynamic_dim("c", 9)}), {});
       },
       {"dimension 2 of x is 9*, a dynamic dimension"}},
      {"im2col",
       [](GraphBuilder& g) {
         return im2col(g, leaf(g, kF32, {9, 9}), {.type = kQ8_0});
       },
       {"type is Q8_0, not F32, F16 or BF16"}},
      {"pool_2d",
       [](GraphBuilder& g) {
         return pool_2d(g, leaf(g, kF32, {9, 9, *g.dynamic_dim("c", 9)}), {});
       },
       {"dimension 2 of x is 9*, a dynamic dimension"}},
      {"pool_1d",
       [](GraphBuilder& g) { return pool_1d(g, leaf(g, kF32, {9}), {.kernel = 2, .pad = 2}); },
       {"pad is 2, but must be below the kernel, 2"}},
      {"pool_1d",
       [](GraphBuilder& g) {
         return pool_1d(g, leaf(g, kF32, {0, 9}), {.kernel = 2, .pad = 1});
       },
       {"F32 [0, 9], whose rows have no element"}},
      {"pool_1d",
       [](GraphBuilder& g) { return pool_1d(g, leaf(g, kF32, {9}), {.stride = 0}); },
       {"stride is 0, but it must be from 1"}},
      {"pool_1d",
       [](GraphBuilder& g) { return pool_1d(g, leaf(g, kF32, {*g.dynamic_dim("length", 9)}), {}); },
       {"dimension 0 of x is 9*, a dynamic dimension"}},
  };
}

/// With three axes.
std::vector<BadCall> deep_calls() {
  const auto conv = [](const Shape& w, const Shape& x, Conv3dParams params, DType type = kF32) {
    return [=](GraphBuilder& g) { return conv_3d(g, leaf(g, type, w), leaf(g, kF32, x), params); };
  };
  const auto columns = [](const Shape& x, Im2col3dParams params) {
    return [=](GraphBuilder& g) { return im2col_3d(g, leaf(g, kF32, x), params); };
  };
  constexpr std::int64_t kMost = 0x7fffffff;
  return {
      {"conv_3d",
       conv({3, 3, 3, 5}, {9, 9, 9, 4}, {.channels = 2}),
       {"dimension 3 of w is 5, which is not a multiple of the 2 channels"}},
      {"conv_3d",
       conv({3, 3, 3, 4}, {9, 9, 9, 5}, {.channels = 2}),
       {"dimension 3 of x is 5, which is not a multiple of the 2 channels"}},
      {"conv_3d", conv({3, 3, 3, 4}, {9, 9, 9, 4}, {.channels = 0}), {"channels is 0"}},
      {"conv_3d", conv({3, 3, 3, 4}, {9, 9, 9, 4}, {.channels = -1}), {"channels is -1"}},
      {"conv_3d", conv({32, 3, 3}, {99, 9, 9}, {}, kQ8_0), {"w is Q8_0 [32, 3, 3]"}},
      {"conv_3d",
       conv({3, 3, 3}, {9, 9, 2}, {}),
       {"reaches over 3 elements of dimension 2 of x, which has 2"}},
      {"conv_3d", conv({3, 3, 3}, {9, 9, 9}, {.pad = {0, 0, -1}}), {"pad is [0, 0, -1]"}},
      {"conv_3d",
       conv({3, 3, 3}, {9, 9, 9}, {.dilation = {1, 1, kMost + 1}}),
       {"dilation is [1, 1, 2147483648]"}},
      {"conv_3d",
       [](GraphBuilder& g) {
         return conv_3d(g, leaf(g, kF32, {3}), leaf(g, kF32, {9, 9, *g.dynamic_dim("depth", 9)}));
       },
       {"dimension 2 of x is 9*, a dynamic dimension"}},
      {"conv_3d",
       [](GraphBuilder& g) {
         return conv_3d(g, leaf(g, kF32, {3, 1, 1, *g.dynamic_dim("o", 9)}), leaf(g, kF32, {9}));
       },
       {"dimension 3 of w is 9*, a dynamic dimension"}},
      {"conv_3d",
       [](GraphBuilder& g) {
         const Dim images(g.dynamic_dim("n", 9)->dynamic_dim, 9, 3);
         return conv_3d(g, leaf(g, kF32, {3, 1, 1, 2}), leaf(g, kF32, {9, 1, 1, images}),
                        {.channels = 2});
       },
       {"dimension 3 of x is 27*, which is not a multiple of the 2 channels"}},
      {"conv_3d",
       conv({1, 1, 1, Dim(std::int64_t{1} << 40)}, {0, 1, 1, Dim(std::int64_t{1} << 40)},
            {.pad = {1, 0, 0}}),
       {"1099511627776 times 1099511627776 has more than 63 bits"}},
      {"im2col_3d",
       columns({9, 9, 9, 5}, {.channels = 2}),
       {"dimension 3 of x is 5, which is not a multiple of the 2 channels"}},
      {"im2col_3d",
       columns({9, 9, 9}, {.kernel = {1, 1, 10}}),
       {"reaches over 10 elements of dimension 2"}},
      {"im2col_3d", columns({9, 9, 9}, {.type = kI32}), {"type is I32, not F32, F16 or BF16"}},
      {"im2col_3d",
       columns({9, 9, 9}, {.kernel = {kMost, kMost, kMost}, .pad = {kMost, kMost, kMost}}),
       {"too many"}},
      {"im2col_3d",
       columns({0, 1, 1, Dim(std::int64_t{1} << 62)}, {.pad = {1, 1, 1}}),
       {"4611686018427387904 times 3 has more than 63 bits"}},
  };
}

/// From positions to images.
std::vector<BadCall> transposed_calls() {
  const auto signal = [](const Shape& w, const Shape& x, Conv1dParams params = {}) {
    return [=](GraphBuilder& g) {
      return conv_transpose_1d(g, leaf(g, kF32, w), leaf(g, kF32, x), params);
    };
  };
  const auto image = [](const Shape& w, const Shape& x, Conv2dParams params = {}) {
    return [=](GraphBuilder& g) {
      return conv_transpose_2d(g, leaf(g, kF32, w), leaf(g, kF32, x), params);
    };
  };
  const auto columns = [](const Shape& x, Col2im1dParams params, DType type = kF32) {
    return [=](GraphBuilder& g) { return col2im_1d(g, leaf(g, type, x), params); };
  };
  constexpr std::int64_t kMost = 0x7fffffff;
  return {
      {"conv_transpose_1d",
       signal({4, 5, 3}, {9, 2}),
       {"F32 [4, 5, 3], F32 [9, 2]", "dimension 2 of w is 3, but dimension 1 of x is 2"}},
      {"conv_transpose_1d",
       signal({4, 5, 2, 2}, {9, 2}),
       {"w is F32 [4, 5, 2, 2], which has more"}},
      {"conv_transpose_1d", signal({4, 5, 2}, {9, 2, 1, 3}), {"x is F32 [9, 2, 1, 3], which has"}},
      {"conv_transpose_1d", signal({4, 5, 2}, {0, 2}), {"the number of positions is 0"}},
      {"conv_transpose_1d", signal({0, 5, 2}, {9, 2}), {"the kernel is 0"}},
      {"conv_transpose_1d", signal({4, 5, 2}, {9, 2}, {.stride = 0}), {"stride is 0"}},
      {"conv_transpose_1d", signal({4, 5, 2}, {9, 2}, {.dilation = -3}), {"dilation is -3"}},
      {"conv_transpose_1d",
       signal({4, 5, 2}, {9, 2}, {.pad = 6}),
       {"cover 12 elements along axis 0, and a pad of 6 removes all of them"}},
      {"conv_transpose_1d",
       signal({4, 5, 2}, {9, 2}, {.stride = INT64_MAX}),
       {"stride is 9223372036854775807"}},
      {"conv_transpose_1d",
       [](GraphBuilder& g) {
         return conv_transpose_1d(g, leaf(g, kF16, {4, 5, 2}), leaf(g, kQ8_0, {32, 2}));
       },
       {"x is Q8_0 [32, 2], not F32, F16 or BF16"}},
      {"conv_transpose_1d",
       [](GraphBuilder& g) {
         return conv_transpose_1d(g, leaf(g, kI32, {4, 5, 2}), leaf(g, kF32, {9, 2}));
       },
       {"w is I32 [4, 5, 2]"}},
      {"conv_transpose_1d",
       [](GraphBuilder& g) {
         return conv_transpose_1d(g, leaf(g, kF32, {4}),
                                  leaf(g, kF32, {*g.dynamic_dim("length", 9)}));
       },
       {"dimension 0 of x is 9*, a dynamic dimension"}},
      {"conv_transpose_2d",
       image({3, 3, 5, 4}, {9, 9, 3}),
       {"dimension 3 of w is 4, but dimension 2 of x is 3"}},
      {"conv_transpose_2d", image({3, 3, 5, 4}, {9, 0, 4}), {"the number of positions is [9, 0]"}},
      {"conv_transpose_2d",
       image({3, 2, 5, 4}, {1, 1, 4}, {.pad = {0, 1}}),
       {"cover 2 elements along axis 1, and a pad of 1 removes all of them"}},
      {"conv_transpose_2d",
       image({3, 3, 5, 4}, {9, 9, 4}, {.stride = {1, -1}}),
       {"stride is [1, -1]"}},
      {"conv_transpose_2d",
       image({3, 3, 5, 4}, {9, 9, 4}, {.stride = {kMost, kMost}, .dilation = {kMost, kMost}}),
       {"more than 63 bits"}},
      {"conv_transpose_2d",
       [](GraphBuilder& g) {
         return conv_transpose_2d(g, leaf(g, kQ8_0, {32, 3, 5}), leaf(g, kF32, {9, 9}));
       },
       {"w is Q8_0 [32, 3, 5]"}},
      {"conv_transpose_2d",
       [](GraphBuilder& g) {
         return conv_transpose_2d(g, leaf(g, kF32, {3, 3}), leaf(g, kI32, {9, 9}));
       },
       {"x is I32 [9, 9], not F32"}},
      {"col2im_1d",
       columns({7, 5}, {.kernel = 3}),
       {"F32 [7, 5]", "dimension 0 of x is 7, which is not a multiple of the kernel's 3 elements"}},
      {"col2im_1d", columns({6, 5}, {.kernel = 0}), {"the kernel is 0"}},
      {"col2im_1d", columns({6, 0}, {.kernel = 3}), {"the number of positions is 0"}},
      {"col2im_1d", columns({6, 5, 1, 2}, {.kernel = 3}), {"more than 3 dimensions"}},
      {"col2im_1d", columns({6, 5}, {.kernel = 3, .pad = 4}), {"a pad of 4 removes all of them"}},
      {"col2im_1d", columns({32, 5}, {.kernel = 2}, kQ8_0), {"x is Q8_0 [32, 5]"}},
      {"col2im_1d",
       [](GraphBuilder& g) {
         return col2im_1d(g, leaf(g, kF32, {*g.dynamic_dim("columns", 9), 4}), {});
       },
       {"dimension 0 of x is 9*, a dynamic dimension"}},
      {"col2im_1d",
       [](GraphBuilder& g) {
         return col2im_1d(g, leaf(g, kF32, {4, *g.dynamic_dim("length", 9)}), {});
       },
       {"dimension 1 of x is 9*, a dynamic dimension"}},
  };
}

}  // namespace

std::vector<BadCall> convolution_calls() {
  std::vector<BadCall> calls = flat_calls();
  for (const auto& more : {deep_calls(), transposed_calls()}) {
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

}  // namespace shunt

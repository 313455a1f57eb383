// Sizes that are known only when a plan runs go through every shape rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"

namespace shunt::ops_dynamic_dims_test {
namespace {

using testing::HasSubstr;

class OpDynamicDims : public testing::Test {
 protected:
  Result<Value> leaf(DType dtype, const Shape& shape) {
    return g.cache("", *make_tensor(dtype, shape));
  }
  Shape shape_of(const Result<Value>& value) {
    EXPECT_TRUE(value.has_value()) << value.error().message();
    return value ? g.tensor(*value).shape : Shape{};
  }

  GraphBuilder g;
  Dim tokens = *g.dynamic_dim("tokens", 8);
  Dim rows = *g.dynamic_dim("rows", 8);
  Result<Value> x = leaf(DType::kF32, {64, tokens});
};

TEST_F(OpDynamicDims, AreCopiedFromTheSources) {
  EXPECT_EQ(shape_of(rms_norm(g, x)), (Shape{64, tokens}));
  EXPECT_EQ(shape_of(add(g, x, leaf(DType::kF32, {64}))), (Shape{64, tokens}));
  EXPECT_EQ(shape_of(add(g, x, x)), (Shape{64, tokens}));
  EXPECT_EQ(shape_of(matmul(g, leaf(DType::kQ4_0, {64, 5}), x)), (Shape{5, tokens}));
  EXPECT_EQ(shape_of(matmul_id(g, leaf(DType::kF16, {64, 5, 4}), reshape(g, x, {64, 1, tokens}),
                               leaf(DType::kI32, {2, tokens}))),
            (Shape{5, 2, tokens}));
  EXPECT_EQ(shape_of(argmax(g, x)), (Shape{tokens}));
  EXPECT_EQ(shape_of(argsort(g, x)), (Shape{64, tokens}));
  EXPECT_EQ(shape_of(top_k(g, x, {2})), (Shape{2, tokens}));
  EXPECT_EQ(shape_of(mean(g, x)), (Shape{1, tokens}));
  EXPECT_EQ(shape_of(get_rows(g, reshape(g, x, {1, 64, tokens}), top_k(g, x, {2}))),
            (Shape{1, 2, tokens}));
  EXPECT_EQ(shape_of(transpose(g, x)), (Shape{tokens, 64}));
  EXPECT_EQ(shape_of(get_rows(g, leaf(DType::kF16, {64, 99}), leaf(DType::kI32, {tokens}))),
            (Shape{64, tokens}));
  const auto heads = reshape(g, x, {16, 4, tokens});
  EXPECT_EQ(shape_of(rope(g, heads, leaf(DType::kI32, {tokens}), absent(), {.dims = 16})),
            (Shape{16, 4, tokens}));
  EXPECT_EQ(shape_of(rope(g, heads, leaf(DType::kI32, {tokens, 4}), absent(),
                          {.dims = 16, .mode = RopeMode::kMulti, .sections = {4, 2, 2, 0}})),
            (Shape{16, 4, tokens}));
  const auto cache = leaf(DType::kF16, {16, 2, rows});
  const auto mask = leaf(DType::kF16, {rows, tokens});
  EXPECT_EQ(shape_of(attention(g, heads, cache, cache, mask)), (Shape{16, 4, tokens}));
}

TEST_F(OpDynamicDims, MayBeTheNumberOfImages) {
  const Dim pairs(tokens.dynamic_dim, 8, 2);
  const auto kernels = leaf(DType::kF16, {3, 3, 3, 10});  // 5 of 2 channels
  const auto deep = leaf(DType::kF32, {6, 6, 6, pairs});
  const Dim outputs(tokens.dynamic_dim, 8, 5);
  EXPECT_EQ(shape_of(conv_3d(g, kernels, deep, {.channels = 2})), (Shape{4, 4, 4, outputs}));
  const Dim slices(tokens.dynamic_dim, 8, 4);
  EXPECT_EQ(shape_of(im2col_3d(g, deep, {.channels = 2, .kernel = {3, 3, 3}})),
            (Shape{54, 4, 4, slices}));
  const auto flat = leaf(DType::kF32, {6, 6, 2, tokens});
  EXPECT_EQ(shape_of(im2col(g, flat, {.kernel = {3, 3}})), (Shape{18, 4, 4, tokens}));
  EXPECT_EQ(shape_of(conv_transpose_2d(g, leaf(DType::kF32, {3, 3, 5, 2}), flat)),
            (Shape{8, 8, 5, tokens}));
  const auto signals = leaf(DType::kF32, {6, 2, tokens});
  EXPECT_EQ(shape_of(conv_transpose_1d(g, leaf(DType::kF32, {3, 5, 2}), signals)),
            (Shape{8, 5, tokens}));
  EXPECT_EQ(shape_of(col2im_1d(g, signals, {.kernel = 3})), (Shape{4, 2, tokens}));
  EXPECT_EQ(shape_of(pool_1d(g, leaf(DType::kF32, {6, tokens, 3, 3}), {.kernel = 2})),
            (Shape{5, tokens, 3, 3}));
}

TEST_F(OpDynamicDims, MayBeSlicesOfEitherMatmulOperand) {
  const auto many = leaf(DType::kF32, {8, 5, tokens});
  const auto one = leaf(DType::kF32, {8, 3});
  EXPECT_EQ(shape_of(matmul(g, many, one)), (Shape{5, 3, tokens}));
  EXPECT_EQ(shape_of(matmul(g, one, many)), (Shape{3, 5, tokens}));
  EXPECT_FALSE(matmul(g, many, leaf(DType::kF32, {8, 3, rows})).has_value());
  EXPECT_FALSE(matmul(g, many, leaf(DType::kF32, {8, 3, 8})).has_value());
}

TEST_F(OpDynamicDims, MayBeTheTokensAndSequencesOfARecurrence) {
  const auto keys = leaf(DType::kF32, {16, 2, tokens, rows});
  const auto values = leaf(DType::kF32, {20, 2, tokens, rows});
  const auto states = leaf(DType::kF32, {20, 16, 2, 9});
  const auto ids = leaf(DType::kI32, {rows});
  const auto made = gated_linear_attn(g, keys, keys, values, keys, states, ids);
  ASSERT_TRUE(made.has_value()) << made.error().message();
  EXPECT_EQ(shape_of(made->outputs), (Shape{20, 2, tokens, rows}));
  EXPECT_EQ(shape_of(made->states), (Shape{20, 16, 2, rows}));
  EXPECT_FALSE(gated_linear_attn(g, keys, keys, values, keys, states).has_value());
  const auto channels = leaf(DType::kF32, {64, tokens, rows});
  const auto conv =
      ssm_conv(g, channels, leaf(DType::kF32, {4, 64}), leaf(DType::kF32, {64, 3, rows}));
  ASSERT_TRUE(conv.has_value()) << conv.error().message();
  EXPECT_EQ(shape_of(conv->outputs), (Shape{64, tokens, rows}));
  const auto no_channels =
      ssm_conv(g, leaf(DType::kF32, {tokens, 5, rows}), leaf(DType::kF32, {4, tokens}),
               leaf(DType::kF32, {tokens, 3, rows}));
  ASSERT_FALSE(no_channels.has_value());
  EXPECT_THAT(no_channels.error().message(),
              HasSubstr("dimension 0 of x is 8*, a dynamic dimension"));
}

TEST_F(OpDynamicDims, MayBeTheTokensAndSequencesOfARecurrenceWithEnds) {
  const auto keys = leaf(DType::kF32, {16, 2, tokens});
  const auto values = leaf(DType::kF32, {20, 2, tokens});
  const auto states = leaf(DType::kF32, {20, 16, 2, 9});
  const auto ids = leaf(DType::kI32, {rows});
  const auto ends = leaf(DType::kI32, {rows});
  const auto made = gated_linear_attn(g, keys, keys, values, keys, states, ids, {}, ends);
  ASSERT_TRUE(made.has_value()) << made.error().message();
  EXPECT_EQ(shape_of(made->outputs), (Shape{20, 2, tokens}));
  EXPECT_EQ(shape_of(made->states), (Shape{20, 16, 2, rows}));
  EXPECT_FALSE(gated_linear_attn(g, keys, keys, values, keys, states, absent(), {}, ends));
  // One tap: states without elements.
  for (const std::int64_t taps : {4, 1}) {
    const auto conv = ssm_conv(g, leaf(DType::kF32, {64, tokens}), leaf(DType::kF32, {taps, 64}),
                               leaf(DType::kF32, {64, taps - 1, rows}), absent(), ends);
    ASSERT_TRUE(conv.has_value()) << conv.error().message();
    EXPECT_EQ(shape_of(conv->outputs), (Shape{64, tokens}));
    EXPECT_EQ(shape_of(conv->states), (Shape{64, taps - 1, rows}));
  }
}

TEST_F(OpDynamicDims, DoNotMatchOtherDimsOrNumbers) {
  const auto other = leaf(DType::kF32, {64, rows});
  const auto fixed = leaf(DType::kF32, {64, 8});
  const auto mixed = swiglu(g, x, other);
  ASSERT_FALSE(mixed.has_value());
  EXPECT_THAT(mixed.error().message(), HasSubstr("gate and up differ in their dynamic dimensions"));
  EXPECT_FALSE(add(g, x, other).has_value());
  EXPECT_FALSE(add(g, x, fixed).has_value());
  EXPECT_FALSE(add(g, fixed, x).has_value());
  EXPECT_FALSE(cpy(g, x, fixed).has_value());
}

TEST_F(OpDynamicDims, AreDivisibleOnlyByDivisorsOfTheirFactor) {
  const auto pairs = leaf(DType::kF32, {64, Dim(tokens.dynamic_dim, 8, 2)});
  EXPECT_EQ(shape_of(swiglu_fused(g, transpose(g, pairs))), (Shape{tokens, 64}));
  EXPECT_EQ(shape_of(swiglu_fused(g, x)), (Shape{32, tokens}));
  EXPECT_FALSE(swiglu_fused(g, transpose(g, x)).has_value());
  EXPECT_TRUE(add(g, pairs, leaf(DType::kF32, {64, 2})).has_value());
  EXPECT_FALSE(add(g, pairs, leaf(DType::kF32, {64, 4})).has_value());
}

TEST_F(OpDynamicDims, ReshapeMustKeepTheElementCount) {
  const auto y = leaf(DType::kF32, {64, 8, tokens});
  EXPECT_EQ(shape_of(reshape(g, y, {512, tokens})), (Shape{512, tokens}));
  const Dim times8(tokens.dynamic_dim, 8, 8);
  EXPECT_EQ(shape_of(reshape(g, y, {64, times8})), (Shape{64, times8}));
  const Dim times512(tokens.dynamic_dim, 8, 512);
  EXPECT_EQ(shape_of(reshape(g, y, {times512})), (Shape{times512}));
  EXPECT_EQ(shape_of(reshape(g, y, {64, 8, 1, tokens})), (Shape{64, 8, 1, tokens}));
  const auto moved = reshape(g, y, {tokens, 512});
  ASSERT_FALSE(moved.has_value());
  EXPECT_THAT(moved.error().message(), HasSubstr("divides the dynamic dimensions"));
  EXPECT_FALSE(reshape(g, y, {512, rows}).has_value());
  EXPECT_FALSE(reshape(g, y, {512, Dim(tokens.dynamic_dim, 9)}).has_value());  // not its maximum
  EXPECT_FALSE(reshape(g, y, {512, 8}).has_value());
}

TEST_F(OpDynamicDims, MayBeTheSizeOfAWindow) {
  const auto cache = leaf(DType::kF16, {64, 100});
  EXPECT_EQ(shape_of(view(g, cache, {0, 92, 0, 0}, {64, tokens})), (Shape{64, tokens}));
  EXPECT_FALSE(view(g, cache, {0, 93, 0, 0}, {64, tokens}).has_value());
}

}  // namespace
}  // namespace shunt::ops_dynamic_dims_test

// Rotary embeddings: each mode against pairs that are turned by hand, shapes of angles, limits.
#include <functional>

#include "products_support.h"

namespace ascend_test::attention_rope {
namespace {

using Rope = TwinTest;
using Sizes = std::vector<std::int64_t>;

/// A row of x after the mode: pairs (first, second) of places, whose results go to two places.
struct Pair {
  std::size_t first, second, first_to, second_to;
};
std::vector<Pair> pairs(std::int64_t mode, std::size_t width) {
  std::vector<Pair> result;
  for (std::size_t i = 0; i < width / 2; ++i) {
    const std::size_t half = width / 2, quarter = width / 4;
    if (mode == 0) result.push_back({i, i + half, i, i + half});
    if (mode == 1) result.push_back({2 * i, 2 * i + 1, 2 * i, 2 * i + 1});
    if (mode == 2) {
      const std::size_t first = i < quarter ? i : i + quarter;
      result.push_back({first, first + quarter, first, first + quarter});
    }
    if (mode == 3) result.push_back({2 * i, 2 * i + 1, i, i + half});
  }
  return result;
}

/// One row with its angles.
std::vector<float> turned_row(const float* x, const float* cos, const float* sin, std::int64_t mode,
                              std::size_t width) {
  std::vector<float> result(width);
  for (const Pair& pair : pairs(mode, width)) {
    const float a = x[pair.first], b = x[pair.second];
    result[pair.first_to] = a * cos[pair.first_to] - b * sin[pair.first_to];
    result[pair.second_to] = b * cos[pair.second_to] + a * sin[pair.second_to];
  }
  return result;
}

TEST_F(Rope, EachModeTurnsItsPairs) {
  // [B = 2][S = 3][N = 2][D = 8], angles of the positions alone; small whole numbers are exact.
  const std::vector<float> x = numbers(96, 9, 1), cos = numbers(24, 9, 2), sin = numbers(24, 9, 3);
  for (std::int64_t mode = 0; mode < 4; ++mode) {
    Tensor<float> tensor(ACL_FLOAT, {2, 3, 2, 8}, x);
    Tensor<float> cosines(ACL_FLOAT, {1, 3, 1, 8}, cos);
    Tensor<float> sines(ACL_FLOAT, {1, 3, 1, 8}, sin);
    Tensor<float> out(ACL_FLOAT, {2, 3, 2, 8}, std::vector<float>(96));
    ASSERT_EQ(
        RUN_OP(RotaryPositionEmbedding, tensor.get(), cosines.get(), sines.get(), mode, out.get()),
        ACL_SUCCESS)
        << ascend_twin_last_message();
    std::vector<float> expected;
    for (std::size_t row = 0; row < 12; ++row) {
      const std::size_t position = row / 2 % 3;
      const auto one = turned_row(&x[row * 8], &cos[position * 8], &sin[position * 8], mode, 8);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_EQ(out.values(), expected) << mode;
  }
}

TEST_F(Rope, ATurnByNinetyDegreesAndF16Rounding) {
  Tensor<Half> x(ACL_FLOAT16, {1, 1, 4}, halves({1, 2, 3, 4}));
  Tensor<Half> cos(ACL_FLOAT16, {1, 1, 4}, halves({0, 0, 0, 0}));
  Tensor<Half> sin(ACL_FLOAT16, {1, 1, 4}, halves({1, 1, 1, 1}));
  Tensor<Half> out(ACL_FLOAT16, {1, 1, 4}, std::vector<Half>(4));
  ASSERT_EQ(
      RUN_OP(RotaryPositionEmbedding, x.get(), cos.get(), sin.get(), std::int64_t{1}, out.get()),
      ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{-2, 1, -4, 3}));
  // 2048 + 1 - 0: rounds to even.
  Tensor<Half> large(ACL_FLOAT16, {1, 1, 2}, halves({2048, 1}));
  Tensor<Half> ones(ACL_FLOAT16, {1, 1, 2}, halves({1, 1}));
  Tensor<Half> sum(ACL_FLOAT16, {1, 1, 2}, std::vector<Half>(2));
  ASSERT_EQ(RUN_OP(RotaryPositionEmbedding, large.get(), ones.get(), ones.get(), std::int64_t{0},
                   sum.get()),
            ACL_SUCCESS);
  EXPECT_EQ(floats(sum.values()), (std::vector<float>{2047, 2048}));
}

TEST_F(Rope, AStridedOperandFromAnOffset) {
  Buffer memory(32 * 4);
  const std::vector<float> all = numbers(32, 9, 4);
  memory.put(all);
  // Two rows of 4 out of rows of 16, from element 3.
  const Described x(memory.address(), ACL_FLOAT, {1, 2, 4}, {32, 16, 1}, 3, {32});
  Tensor<float> cos(ACL_FLOAT, {1, 1, 4}, {1, 2, 3, 4});
  Tensor<float> sin(ACL_FLOAT, {1, 1, 4}, {5, 6, 7, 8});
  Tensor<float> out(ACL_FLOAT, {1, 2, 4}, std::vector<float>(8));
  ASSERT_EQ(
      RUN_OP(RotaryPositionEmbedding, x.get(), cos.get(), sin.get(), std::int64_t{0}, out.get()),
      ACL_SUCCESS);
  std::vector<float> expected = turned_row(&all[3], cos.values().data(), sin.values().data(), 0, 4);
  const auto second = turned_row(&all[19], cos.values().data(), sin.values().data(), 0, 4);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(out.values(), expected);
}

struct Form {
  Sizes x = {2, 3, 2, 8}, cos = {1, 3, 1, 8}, sin = {1, 3, 1, 8}, out = {2, 3, 2, 8};
  aclDataType type = ACL_FLOAT, angle_type = ACL_FLOAT, out_type = ACL_FLOAT;
  std::int64_t mode = 0;
};

aclError code_of(const Form& form) {
  const Sizes room{1 << 20};
  const Described x(nullptr, form.type, form.x, {}, 0, room);
  const Described cos(nullptr, form.angle_type, form.cos, {}, 0, room);
  const Described sin(nullptr, form.angle_type, form.sin, {}, 0, room);
  const Described out(nullptr, form.out_type, form.out, {}, 0, room);
  std::uint64_t bytes = 0;
  return first_phase(aclnnRotaryPositionEmbeddingGetWorkspaceSize, &bytes, x.get(), cos.get(),
                     sin.get(), form.mode, out.get());
}
Form with(const std::function<void(Form&)>& change) {
  Form form;
  change(form);
  return form;
}

TEST_F(Rope, FormsThatAreRefused) {
  constexpr auto kTiling = ACLNN_ERR_INNER_TILING_ERROR;
  EXPECT_EQ(code_of({}), ACL_SUCCESS);
  EXPECT_EQ(code_of(with([](Form& f) { f.angle_type = ACL_FLOAT16; })), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) { f.out_type = ACL_FLOAT16; })), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) { f.type = f.angle_type = f.out_type = ACL_INT32; })),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code_of(with([](Form& f) { f.mode = 4; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.mode = -1; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.cos = f.sin = {1, 2, 1, 8}; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.cos = f.sin = {3, 1, 8}; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.cos = f.sin = {1, 3, 1, 4}; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.sin = {2, 3, 1, 8}; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.out = {2, 3, 2, 4}; })), kTiling);
  EXPECT_EQ(code_of(with([](Form& f) { f.x = f.out = {6, 8}, f.cos = f.sin = {1, 8}; })), kTiling);
  const auto wide = [](std::int64_t width, std::int64_t mode) {
    return with([&](Form& f) {
      f.x = f.out = {1, 1, width}, f.cos = f.sin = {1, 1, width}, f.mode = mode;
    });
  };
  EXPECT_EQ(code_of(wide(7, 0)), kTiling);
  EXPECT_EQ(code_of(wide(6, 2)), kTiling);
  EXPECT_EQ(code_of(wide(896, 0)), ACL_SUCCESS);
  EXPECT_EQ(code_of(wide(898, 0)), kTiling);
  // Batches with angles of their own: not when interleaved.
  const auto batches = [](std::int64_t mode) {
    return with([&](Form& f) { f.cos = f.sin = {2, 3, 1, 8}, f.mode = mode; });
  };
  EXPECT_EQ(code_of(batches(0)), ACL_SUCCESS);
  EXPECT_EQ(code_of(batches(1)), kTiling);
  for (const char* const chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    EXPECT_EQ(code_of({}), ACLNN_ERR_INNER_NULLPTR) << chip;
  }
}

TEST_F(Rope, AnEmptyTensorLaunchesNothing) {
  const Described x(nullptr, ACL_FLOAT, {0, 3, 8}, {}, 0, {0, 3, 8});
  const Described angles(nullptr, ACL_FLOAT, {1, 3, 8}, {}, 0, {1, 3, 8});
  EXPECT_EQ(RUN_OP(RotaryPositionEmbedding, x.get(), angles.get(), angles.get(), std::int64_t{0},
                   x.get()),
            ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_TASKS), 0U);
}

TEST_F(Rope, QueryAndKeyAreTurnedInPlace) {
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    const std::vector<float> q = numbers(2 * 3 * 2 * 4, 9, 5), k = numbers(2 * 3 * 1 * 4, 9, 6);
    const std::vector<float> cos = numbers(24, 9, 7), sin = numbers(24, 9, 8);
    Tensor<float> query(ACL_FLOAT, {2, 3, 2, 4}, q);
    Tensor<float> key(ACL_FLOAT, {2, 3, 1, 4}, k);
    Tensor<float> cosines(ACL_FLOAT, {2, 3, 1, 4}, cos);
    Tensor<float> sines(ACL_FLOAT, {2, 3, 1, 4}, sin);
    ASSERT_EQ(RUN_OP(ApplyRotaryPosEmb, query.get(), key.get(), cosines.get(), sines.get(),
                     std::int64_t{1}),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    std::vector<float> queries, keys;
    for (std::size_t row = 0; row < 12; ++row) {
      const std::size_t at = row / 2 * 4;
      const auto one = turned_row(&q[row * 4], &cos[at], &sin[at], 0, 4);
      queries.insert(queries.end(), one.begin(), one.end());
    }
    for (std::size_t row = 0; row < 6; ++row) {
      const auto one = turned_row(&k[row * 4], &cos[row * 4], &sin[row * 4], 0, 4);
      keys.insert(keys.end(), one.begin(), one.end());
    }
    EXPECT_EQ(query.values(), queries);
    EXPECT_EQ(key.values(), keys);
    EXPECT_EQ(RUN_OP(ApplyRotaryPosEmb, query.get(), key.get(), cosines.get(), sines.get(),
                     std::int64_t{4}),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(RUN_OP(ApplyRotaryPosEmb, query.get(), key.get(), query.get(), sines.get(),
                     std::int64_t{1}),
              ACLNN_ERR_INNER_TILING_ERROR);
    EXPECT_EQ(
        RUN_OP(ApplyRotaryPosEmb, query.get(), nullptr, query.get(), sines.get(), std::int64_t{1}),
        ACLNN_ERR_PARAM_NULLPTR);
  }
  restart({{"PROFILE", "310b"}});
  Tensor<float> one(ACL_FLOAT, {1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(RUN_OP(ApplyRotaryPosEmb, one.get(), one.get(), one.get(), one.get(), std::int64_t{1}),
            ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::attention_rope

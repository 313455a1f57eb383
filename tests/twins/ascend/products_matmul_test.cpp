// Products of matrices and vectors: values, views, numbers of each chip, refusals.
#include "products_support.h"

namespace ascend_test::products_matmul {
namespace {

using Products = TwinTest;
using Sizes = std::vector<std::int64_t>;

constexpr std::int8_t kKeep = KEEP_DTYPE;

/// Code of aclnnMm with tensors of these types and of 2 x 2.
aclError code_of(aclDataType self, aclDataType mat2, aclDataType out, int type) {
  Buffer memory(64);
  const Described a(memory.address(), self, {2, 2}, {}, 0, {2, 2});
  const Described b(memory.address(), mat2, {2, 2}, {}, 0, {2, 2});
  const Described c(memory.address(), out, {2, 2}, {}, 0, {2, 2});
  return RUN_OP(Mm, a.get(), b.get(), c.get(), static_cast<std::int8_t>(type));
}

TEST_F(Products, MmEqualsSumsInDouble) {
  const std::vector<float> a = numbers(5 * 19, 9, 1);
  const std::vector<float> b = numbers(19 * 7, 9, 2);
  Tensor<float> self(ACL_FLOAT, {5, 19}, a);
  Tensor<float> mat2(ACL_FLOAT, {19, 7}, b);
  Tensor<float> out(ACL_FLOAT, {5, 7}, std::vector<float>(35));
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), product(a, b, 5, 19, 7));
}

TEST_F(Products, HalfResultsAreRoundedOnce) {
  // 2048 + 1 + 2 = 2051 rounds to 2052; step by step in F16 it would be 2050.
  Tensor<Half> self(ACL_FLOAT16, {1, 3}, halves({2048, 1, 2}));
  Tensor<Half> mat2(ACL_FLOAT16, {3, 1}, halves({1, 1, 1}));
  Tensor<Half> out(ACL_FLOAT16, {1, 1}, halves({0}));
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{2052}));
}

TEST_F(Products, AccumulationIsASetting) {
  Tensor<Half> self(ACL_FLOAT16, {1, 3}, halves({2048, 1, 2}));
  Tensor<Half> mat2(ACL_FLOAT16, {3, 1}, halves({1, 1, 1}));
  Tensor<Half> out(ACL_FLOAT16, {1, 1}, halves({0}));
  set("ACCUMULATE", "half");
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{2050}));
  set("ACCUMULATE", "double");
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{2052}));
}

TEST_F(Products, SinglePrecisionLosesWhatDoubleKeeps) {
  // 2^24 + 1 is no F32: it stays 2^24, twice.
  Tensor<float> self(ACL_FLOAT, {1, 3}, {0x1p24F, 1, 1});
  Tensor<float> mat2(ACL_FLOAT, {3, 1}, {1, 1, 1});
  Tensor<float> out(ACL_FLOAT, {1, 1}, {0});
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(out.values()[0], 16777216);
  set("ACCUMULATE", "double");
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(out.values()[0], 16777218);
}

TEST_F(Products, FactorsOfMixedTypesPromote) {
  Tensor<Half> self(ACL_FLOAT16, {1, 2}, halves({0.5F, 3}));
  Tensor<float> mat2(ACL_FLOAT, {2, 1}, {1.0F + 0x1p-20F, 0});
  Tensor<float> out(ACL_FLOAT, {1, 1}, {0});
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{0.5F + 0x1p-21F}));
}

TEST_F(Products, Hf32KeepsTwelveBitsOfTheFactors) {
  const std::vector<float> a{1.0F + 0x1p-12F + 0x1p-14F};
  Tensor<float> self(ACL_FLOAT, {1, 1}, a);
  Tensor<float> one(ACL_FLOAT, {1, 1}, {1});
  Tensor<float> out(ACL_FLOAT, {1, 1}, {0});
  for (const int type : {ALLOW_FP32_DOWN_PRECISION, USE_HF32}) {
    ASSERT_EQ(RUN_OP(Mm, self.get(), one.get(), out.get(), static_cast<std::int8_t>(type)),
              ACL_SUCCESS);
    EXPECT_EQ(out.values()[0], 1.0F + 0x1p-12F);
  }
  ASSERT_EQ(RUN_OP(Mm, self.get(), one.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(out.values(), a);
}

TEST_F(Products, UseFp16OverflowsOnA910BAndSaturatesOnA310P) {
  const auto result_on = [](const char* chip) {
    restart({{"PROFILE", chip}});
    Tensor<float> self(ACL_FLOAT, {1, 1}, {70000});
    Tensor<float> one(ACL_FLOAT, {1, 1}, {1});
    Tensor<float> out(ACL_FLOAT, {1, 1}, {0});
    EXPECT_EQ(RUN_OP(Mm, self.get(), one.get(), out.get(), std::int8_t{USE_FP16}), ACL_SUCCESS);
    return out.values()[0];
  };
  EXPECT_TRUE(std::isinf(result_on("910b")));
  EXPECT_EQ(result_on("310p"), 65504);
}

TEST_F(Products, TypesAndCubeTypesOfEachChip) {
  constexpr auto kBad = ACLNN_ERR_PARAM_INVALID;
  constexpr auto kNoKernel = ACLNN_ERR_INNER_NULLPTR;
  struct Row {
    const char* chip;
    aclDataType self, mat2, out;
    int type;
    aclError code;
  };
  const Row rows[] = {
      {"910b", ACL_BF16, ACL_BF16, ACL_BF16, USE_FP16, kBad},
      {"910b", ACL_BF16, ACL_FLOAT, ACL_FLOAT, USE_FP16, kBad},
      {"910b", ACL_BF16, ACL_BF16, ACL_FLOAT, KEEP_DTYPE, ACL_SUCCESS},
      {"910b", ACL_INT8, ACL_INT8, ACL_FLOAT, KEEP_DTYPE, kBad},
      {"910b", ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT, KEEP_DTYPE, kBad},
      {"910b", ACL_FLOAT, ACL_INT32, ACL_INT32, KEEP_DTYPE, kBad},
      {"910b", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, 5, kBad},
      {"910b", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, -1, kBad},
      {"310p", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, KEEP_DTYPE, kBad},
      {"310p", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, USE_HF32, kBad},
      {"310p", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ALLOW_FP32_DOWN_PRECISION, ACL_SUCCESS},
      {"310p", ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, KEEP_DTYPE, ACL_SUCCESS},
      {"310p", ACL_BF16, ACL_BF16, ACL_FLOAT, KEEP_DTYPE, kBad},
      {"310p", ACL_FLOAT16, ACL_BF16, ACL_FLOAT, ALLOW_FP32_DOWN_PRECISION, kBad},
      {"310p", ACL_FLOAT16, ACL_FLOAT16, ACL_BF16, KEEP_DTYPE, kBad},
      {"310b", ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, KEEP_DTYPE, ACL_SUCCESS},
      {"310b", ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, KEEP_DTYPE, kNoKernel},
      {"310b", ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, KEEP_DTYPE, kNoKernel},
      {"310b", ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, KEEP_DTYPE, kNoKernel},
      {"310b", ACL_BF16, ACL_BF16, ACL_BF16, KEEP_DTYPE, kNoKernel},
  };
  for (const Row& row : rows) {
    restart({{"PROFILE", row.chip}});
    EXPECT_EQ(code_of(row.self, row.mat2, row.out, row.type), row.code)
        << row.chip << " " << row.self << " " << row.mat2 << " " << row.out << " " << row.type;
  }
}

TEST_F(Products, ShapesThatDoNotFitAreRefused) {
  struct Row {
    Sizes self, mat2, out;
  };
  Buffer memory(1024);
  for (const Row& row : {Row{{2, 3}, {2, 3}, {2, 3}}, Row{{2, 3}, {3, 2}, {2, 3}},
                         Row{{2, 2, 3}, {3, 2}, {2, 2, 2}}, Row{{3}, {3, 2}, {2}}}) {
    const Described a(memory.address(), ACL_FLOAT, row.self, {}, 0, {64});
    const Described b(memory.address(), ACL_FLOAT, row.mat2, {}, 0, {64});
    const Described c(memory.address(), ACL_FLOAT, row.out, {}, 0, {64});
    EXPECT_EQ(RUN_OP(Mm, a.get(), b.get(), c.get(), kKeep), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(RUN_OP(Mm, nullptr, b.get(), c.get(), kKeep), ACLNN_ERR_PARAM_NULLPTR);
  }
}

TEST_F(Products, MatmulBroadcastsBatchesAndTakesVectors) {
  const std::vector<float> a = numbers(2 * 3 * 4 * 5, 5, 3);
  const std::vector<float> b = numbers(3 * 5 * 2, 5, 4);
  Tensor<float> self(ACL_FLOAT, {2, 3, 4, 5}, a);
  Tensor<float> mat2(ACL_FLOAT, {3, 5, 2}, b);
  Tensor<float> out(ACL_FLOAT, {2, 3, 4, 2}, std::vector<float>(48));
  ASSERT_EQ(RUN_OP(Matmul, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  std::vector<float> expected;
  for (std::size_t batch = 0; batch < 6; ++batch) {
    const std::size_t other = batch % 3;
    const auto part = product({a.begin() + static_cast<std::ptrdiff_t>(batch * 20),
                               a.begin() + static_cast<std::ptrdiff_t>(batch * 20 + 20)},
                              {b.begin() + static_cast<std::ptrdiff_t>(other * 10),
                               b.begin() + static_cast<std::ptrdiff_t>(other * 10 + 10)},
                              4, 5, 2);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(out.values(), expected);

  Tensor<float> row(ACL_FLOAT, {3}, {1, 2, 3});
  Tensor<float> matrix(ACL_FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor<float> result(ACL_FLOAT, {2}, {0, 0});
  ASSERT_EQ(RUN_OP(Matmul, row.get(), matrix.get(), result.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(result.values(), (std::vector<float>{22, 28}));
  Tensor<float> dot(ACL_FLOAT, {}, {0});
  ASSERT_EQ(RUN_OP(Matmul, row.get(), row.get(), dot.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(dot.values(), (std::vector<float>{14}));
}

TEST_F(Products, BatchMatMulTakesBatchesInOrderOnly) {
  // [M = 2][B = 3][K = 4] in memory, seen as (B, M, K): the batches are inside of the rows.
  Buffer memory(24 * sizeof(float));
  memory.put(numbers(24, 5, 5));
  Tensor<float> mat2(ACL_FLOAT, {3, 4, 2}, numbers(24, 5, 6));
  Tensor<float> out(ACL_FLOAT, {3, 2, 2}, std::vector<float>(12));
  const Described crossed(memory.address(), ACL_FLOAT, {3, 2, 4}, {4, 12, 1}, 0, {24});
  EXPECT_EQ(RUN_OP(BatchMatMul, crossed.get(), mat2.get(), out.get(), kKeep),
            ACLNN_ERR_INNER_NULLPTR);
  const Described expanded(memory.address(), ACL_FLOAT, {3, 2, 4}, {0, 4, 1}, 0, {24});
  EXPECT_EQ(RUN_OP(BatchMatMul, expanded.get(), mat2.get(), out.get(), kKeep),
            ACLNN_ERR_INNER_NULLPTR);
  // The last two dimensions may be swapped.
  const Described swapped(memory.address(), ACL_FLOAT, {3, 2, 4}, {8, 1, 2}, 0, {24});
  ASSERT_EQ(RUN_OP(BatchMatMul, swapped.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  const std::vector<float> a = memory.get<float>();
  const std::vector<float> b = mat2.values();
  std::vector<float> expected;
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    const auto part = product(turned<float>({a.begin() + i * 8, a.begin() + i * 8 + 8}, 4, 2),
                              {b.begin() + i * 8, b.begin() + i * 8 + 8}, 2, 4, 2);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(out.values(), expected);
  Tensor<float> flat(ACL_FLOAT, {2, 4}, std::vector<float>(8));
  EXPECT_EQ(RUN_OP(BatchMatMul, flat.get(), mat2.get(), out.get(), kKeep), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Products, ViewsReadFromTheirOffset) {
  Buffer memory(40 * sizeof(float));
  const std::vector<float> all = numbers(40, 9, 7);
  memory.put(all);
  // Rows 1 and 2 of [4][10], columns 3 to 7.
  const Described self(memory.address(), ACL_FLOAT, {2, 5}, {10, 1}, 13, {40});
  Tensor<float> mat2(ACL_FLOAT, {5, 1}, {1, 10, 100, 1000, 10000});
  Tensor<float> out(ACL_FLOAT, {2, 1}, {0, 0});
  ASSERT_EQ(RUN_OP(Mm, self.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  std::vector<float> part(all.begin() + 13, all.begin() + 18);
  part.insert(part.end(), all.begin() + 23, all.begin() + 28);
  EXPECT_EQ(out.values(), product(part, {1, 10, 100, 1000, 10000}, 2, 5, 1));
  const Described beyond(memory.address(), ACL_FLOAT, {2, 5}, {10, 1}, 33, {40});
  EXPECT_EQ(RUN_OP(Mm, beyond.get(), mat2.get(), out.get(), kKeep), ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(Products, EmptyResultsLaunchNothingAndEmptySumsAreZero) {
  const Described none(nullptr, ACL_FLOAT, {0, 3}, {}, 0, {0, 3});
  Tensor<float> mat2(ACL_FLOAT, {3, 2}, std::vector<float>(6));
  const Described out(nullptr, ACL_FLOAT, {0, 2}, {}, 0, {0, 2});
  std::uint64_t bytes = 1;
  EXPECT_EQ(first_phase(aclnnMmGetWorkspaceSize, &bytes, none.get(), mat2.get(), out.get(), kKeep),
            ACL_SUCCESS);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(RUN_OP(Mm, none.get(), mat2.get(), out.get(), kKeep), ACL_SUCCESS);
  const Described thin(nullptr, ACL_FLOAT, {2, 0}, {}, 0, {2, 0});
  const Described flat(nullptr, ACL_FLOAT, {0, 2}, {}, 0, {0, 2});
  Tensor<float> zeros(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  ASSERT_EQ(RUN_OP(Mm, thin.get(), flat.get(), zeros.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(zeros.values(), std::vector<float>(4, 0));
}

TEST_F(Products, WorkspacesAreNotMonotonicInTheRows) {
  const auto bytes_of = [](std::int64_t rows) {
    const Described self(nullptr, ACL_FLOAT, {rows, 32}, {}, 0, {rows, 32});
    const Described mat2(nullptr, ACL_FLOAT, {32, 64}, {}, 0, {32, 64});
    const Described out(nullptr, ACL_FLOAT, {rows, 64}, {}, 0, {rows, 64});
    std::uint64_t bytes = 0;
    EXPECT_EQ(
        first_phase(aclnnMmGetWorkspaceSize, &bytes, self.get(), mat2.get(), out.get(), kKeep),
        ACL_SUCCESS);
    return bytes;
  };
  EXPECT_GT(bytes_of(1), bytes_of(256));
  EXPECT_GT(bytes_of(256), 0U);
}

TEST_F(Products, MvEqualsMmWithAColumn) {
  const std::vector<float> a = numbers(6 * 11, 9, 8);
  const std::vector<float> v = numbers(11, 9, 9);
  Tensor<float> matrix(ACL_FLOAT, {6, 11}, a);
  Tensor<float> vector(ACL_FLOAT, {11}, v);
  Tensor<float> out(ACL_FLOAT, {6}, std::vector<float>(6));
  ASSERT_EQ(RUN_OP(Mv, matrix.get(), vector.get(), out.get(), kKeep), ACL_SUCCESS);
  EXPECT_EQ(out.values(), product(a, v, 6, 11, 1));
  EXPECT_EQ(RUN_OP(Mv, matrix.get(), matrix.get(), out.get(), kKeep), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Mv, matrix.get(), out.get(), out.get(), kKeep), ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310b"}});
  Tensor<float> small(ACL_FLOAT, {1, 1}, {1});
  Tensor<float> one(ACL_FLOAT, {1}, {1});
  EXPECT_EQ(RUN_OP(Mv, small.get(), one.get(), one.get(), kKeep), ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(Products, AddmmScalesBothTermsAndBroadcastsTheAddend) {
  Tensor<float> self(ACL_FLOAT, {2}, {10, 20});
  Tensor<float> mat1(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  Tensor<float> mat2(ACL_FLOAT, {2, 2}, {1, 0, 0, 1});
  Tensor<float> out(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  const Scalar beta(0.5F);
  const Scalar alpha(3);
  ASSERT_EQ(
      RUN_OP(Addmm, self.get(), mat1.get(), mat2.get(), beta.get(), alpha.get(), out.get(), kKeep),
      ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (std::vector<float>{8, 16, 14, 22}));
  const Scalar zero(0);
  Tensor<float> nans(ACL_FLOAT, {2, 2}, std::vector<float>(4, NAN));
  ASSERT_EQ(
      RUN_OP(Addmm, nans.get(), mat1.get(), mat2.get(), zero.get(), alpha.get(), out.get(), kKeep),
      ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{3, 6, 9, 12}));
  Tensor<float> three(ACL_FLOAT, {3}, {1, 2, 3});
  EXPECT_EQ(
      RUN_OP(Addmm, three.get(), mat1.get(), mat2.get(), beta.get(), alpha.get(), out.get(), kKeep),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      RUN_OP(Addmm, self.get(), mat1.get(), mat2.get(), nullptr, alpha.get(), out.get(), kKeep),
      ACLNN_ERR_PARAM_NULLPTR);
  Tensor<std::int32_t> integers(ACL_INT32, {2}, {1, 2});
  EXPECT_EQ(RUN_OP(Addmm, integers.get(), mat1.get(), mat2.get(), beta.get(), alpha.get(),
                   out.get(), kKeep),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Products, AddmmOnA310BTakesF16AlsoAsAddend) {
  restart({{"PROFILE", "310b"}});
  Tensor<Half> factor(ACL_FLOAT16, {1, 1}, halves({3}));
  Tensor<Half> half_addend(ACL_FLOAT16, {1}, halves({1}));
  Tensor<float> addend(ACL_FLOAT, {1}, {1});
  Tensor<Half> out(ACL_FLOAT16, {1, 1}, halves({0}));
  const Scalar one(1);
  EXPECT_EQ(RUN_OP(Addmm, addend.get(), factor.get(), factor.get(), one.get(), one.get(), out.get(),
                   kKeep),
            ACLNN_ERR_INNER_NULLPTR);
  ASSERT_EQ(RUN_OP(Addmm, half_addend.get(), factor.get(), factor.get(), one.get(), one.get(),
                   out.get(), kKeep),
            ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{10}));
}

TEST_F(Products, GerIsTheOuterProduct) {
  Tensor<Half> rows(ACL_FLOAT16, {2}, halves({2, 300}));
  Tensor<Half> columns(ACL_FLOAT16, {3}, halves({1, -1, 300}));
  Tensor<Half> out(ACL_FLOAT16, {2, 3}, std::vector<Half>(6));
  ASSERT_EQ(RUN_OP(Ger, rows.get(), columns.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(floats(out.values()), (std::vector<float>{2, -2, 600, 300, -300, INFINITY}));
  EXPECT_EQ(RUN_OP(Ger, columns.get(), rows.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> other(ACL_FLOAT, {3}, {1, 2, 3});
  EXPECT_EQ(RUN_OP(Ger, rows.get(), other.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310p"}, {"SUPPORT", "docs"}});
  Tensor<Half> one(ACL_FLOAT16, {1}, halves({1}));
  Tensor<Half> cell(ACL_FLOAT16, {1, 1}, halves({1}));
  EXPECT_EQ(RUN_OP(Ger, one.get(), one.get(), cell.get()), ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::products_matmul

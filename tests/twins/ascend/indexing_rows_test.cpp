// Gathering, scattering, orders and running sums of the CANN twin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "indexing_support.h"

namespace ascend_test::indexing {
namespace {

using IndexingRows = TwinTest;

TEST_F(IndexingRows, GathersRowsOfAnyDimension) {
  const Floats values = counted<float>(24);
  Tensor<float> self(ACL_FLOAT, {2, 3, 4}, values);
  Tensor<std::int32_t> index(ACL_INT32, {2, 2}, {2, 0, 1, 2});
  Tensor<float> out(ACL_FLOAT, {2, 2, 2, 4}, Floats(32));
  ASSERT_EQ(RUN_OP(GatherV2, self.get(), 1, index.get(), out.get()), ACL_SUCCESS);
  Floats expected;
  for (const std::size_t outer : {0U, 1U}) {
    for (const std::size_t row : {2U, 0U, 1U, 2U}) {
      for (std::size_t i = 0; i < 4; ++i) expected.push_back(values[outer * 12 + row * 4 + i]);
    }
  }
  EXPECT_EQ(out.values(), expected);
  ASSERT_EQ(RUN_OP(GatherV2, self.get(), -2, index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), expected);
}

TEST_F(IndexingRows, GathersFromAViewBitForBit) {
  restart({{"PROFILE", "310p"}});
  Buffer memory(12 * sizeof(std::uint16_t));
  memory.put(Halves{0, 0x7E01, 2, 3, 0x7C00, 5, 6, 7, 8, 9, 10, 11});
  // Three rows of two, the second and third element of rows of four.
  const Section table(ACL_FLOAT16, {3, 2}, {4, 1}, 1, 12, memory.address());
  Tensor<std::int64_t> index(ACL_INT64, {3}, {1, 0, 0});
  Tensor<std::uint16_t> out(ACL_FLOAT16, {3, 2}, Halves(6));
  ASSERT_EQ(RUN_OP(IndexSelect, table.get(), 0, index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{5, 6, 0x7E01, 2, 0x7E01, 2}));
  ASSERT_EQ(RUN_OP(Embedding, table.get(), index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Halves{5, 6, 0x7E01, 2, 0x7E01, 2}));
}

TEST_F(IndexingRows, GathersSingleElements) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor<std::int64_t> index(ACL_INT64, {2, 2}, {2, 0, 1, 1});
  Tensor<float> out(ACL_FLOAT, {2, 2}, Floats(4));
  ASSERT_EQ(RUN_OP(Gather, self.get(), 1, index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{3, 1, 5, 5}));
  Tensor<std::int64_t> down(ACL_INT64, {1, 3}, {1, 0, 1});
  Tensor<float> row(ACL_FLOAT, {1, 3}, Floats(3));
  ASSERT_EQ(RUN_OP(Gather, self.get(), -2, down.get(), row.get()), ACL_SUCCESS);
  EXPECT_EQ(row.values(), (Floats{4, 2, 6}));
}

TEST_F(IndexingRows, OneNumberTakesOneIndex) {
  Tensor<float> self(ACL_FLOAT, {}, {7});
  Tensor<float> out(ACL_FLOAT, {}, {0});
  Tensor<std::int64_t> index(ACL_INT64, {1}, {0});
  ASSERT_EQ(RUN_OP(IndexSelect, self.get(), 0, index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), Floats{7});
  Tensor<float> source(ACL_FLOAT, {}, {8});
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), source.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), Floats{8});
  Tensor<std::int64_t> three(ACL_INT64, {3}, {0, 0, 0});
  const std::int64_t none = 0;
  aclTensor* const empty =
      aclCreateTensor(&none, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, &none, 1, nullptr);
  for (aclTensor* const other : {three.get(), empty}) {
    EXPECT_EQ(RUN_OP(IndexSelect, self.get(), 0, other, out.get()), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, other, source.get()),
              ACLNN_ERR_PARAM_INVALID);
  }
  aclDestroyTensor(empty);
}

TEST_F(IndexingRows, RefusesShapesTypesAndDimensions) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, Floats(6));
  Tensor<std::int64_t> index(ACL_INT64, {2}, {0, 1});
  Tensor<float> out(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<float> wrong(ACL_FLOAT, {2, 3}, Floats(6));
  Tensor<std::uint16_t> half(ACL_FLOAT16, {2, 2}, Halves(4));
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 1, index.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 1, index.get(), wrong.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 2, index.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), -3, index.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 1, index.get(), half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 1, self.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(IndexSelect, self.get(), 1, index.get(), wrong.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<std::int64_t> square(ACL_INT64, {1, 2}, {0, 1});
  EXPECT_EQ(RUN_OP(IndexSelect, self.get(), 1, square.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Gather, self.get(), 1, index.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<std::int64_t> tall(ACL_INT64, {3, 1}, {0, 0, 0});
  Tensor<float> column(ACL_FLOAT, {3, 1}, Floats(3));
  EXPECT_EQ(RUN_OP(Gather, self.get(), 1, tall.get(), column.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<float> line(ACL_FLOAT, {6}, Floats(6));
  EXPECT_EQ(RUN_OP(Embedding, line.get(), index.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, AnIndexOutOfRangeIsALateError) {
  Tensor<float> self(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<float> out(ACL_FLOAT, {1, 2}, Floats(2, 9));
  for (const std::int64_t bad : {std::int64_t{2}, std::int64_t{-1}, INT64_MAX}) {
    Tensor<std::int64_t> index(ACL_INT64, {1}, {bad});
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(
        aclnnGatherV2GetWorkspaceSize(self.get(), 0, index.get(), out.get(), &bytes, &executor),
        ACL_SUCCESS);
    EXPECT_EQ(aclnnGatherV2(nullptr, 0, executor, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
    EXPECT_EQ(RUN_OP(Embedding, self.get(), index.get(), out.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
    EXPECT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), out.get()),
              ACL_ERROR_RT_AICORE_EXCEPTION);
  }
  EXPECT_EQ(out.values(), Floats(2, 9));
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U);
}

TEST_F(IndexingRows, StrictModeObjectsToAnIndexOutOfRange) {
  set("STRICT", "status");
  Tensor<float> self(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<float> out(ACL_FLOAT, {1, 2}, Floats(2));
  Tensor<std::int64_t> index(ACL_INT64, {1}, {7});
  EXPECT_EQ(RUN_OP(GatherV2, self.get(), 0, index.get(), out.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("index 7"), std::string::npos);
}

/// Of a table only the chosen rows are read: one whose others were never written will do.
TEST_F(IndexingRows, StrictModeLooksAtTheRowsThatAreChosen) {
  set("STRICT", "status");
  Buffer fresh(4 * sizeof(float));
  const Section table(ACL_FLOAT, {2, 2}, {2, 1}, 0, 4, fresh.address());
  Tensor<std::int64_t> second(ACL_INT64, {1}, {1});
  Tensor<std::int64_t> first(ACL_INT64, {1}, {0});
  Tensor<float> source(ACL_FLOAT, {1, 2}, {5, 6});
  Tensor<float> out(ACL_FLOAT, {1, 2}, Floats(2));
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, table.get(), 0, second.get(), source.get()), ACL_SUCCESS);
  ASSERT_EQ(RUN_OP(GatherV2, table.get(), 0, second.get(), out.get()), ACL_SUCCESS);
  ASSERT_EQ(RUN_OP(IndexSelect, table.get(), 0, second.get(), out.get()), ACL_SUCCESS);
  ASSERT_EQ(RUN_OP(Embedding, table.get(), second.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{5, 6}));
  EXPECT_EQ(RUN_OP(GatherV2, table.get(), 0, first.get(), out.get()),
            ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("never written"), std::string::npos);
}

TEST_F(IndexingRows, WritesRowsWhereIndicesSay) {
  Tensor<std::uint16_t> self(ACL_FLOAT16, {4, 2}, Halves(8, 9));
  Tensor<std::int64_t> index(ACL_INT64, {2}, {3, 1});
  Tensor<std::uint16_t> source(ACL_FLOAT16, {2, 2}, {1, 2, 0x7E03, 4});
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), source.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (Halves{9, 9, 0x7E03, 4, 9, 9, 1, 2}));
  Tensor<float> wide(ACL_FLOAT, {2, 3}, Floats(6));
  Tensor<float> columns(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  Tensor<std::int32_t> places(ACL_INT32, {2}, {2, 0});
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, wide.get(), -1, places.get(), columns.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (Floats{2, 0, 1, 4, 0, 3}));
}

TEST_F(IndexingRows, OfRowsWrittenTwiceTheLastStaysAndStrictModeObjects) {
  Tensor<float> self(ACL_FLOAT, {2, 1}, {8, 9});
  Tensor<std::int64_t> index(ACL_INT64, {3}, {1, 1, 1});
  Tensor<float> source(ACL_FLOAT, {3, 1}, {1, 2, 3});
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), source.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (Floats{8, 3}));
  set("STRICT", "status");
  EXPECT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), source.get()),
            ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("twice"), std::string::npos);
}

TEST_F(IndexingRows, RowsOfFreshMemoryCanBeWrittenInStrictMode) {
  set("STRICT", "status");
  Buffer fresh(4 * sizeof(float));
  const Section self(ACL_FLOAT, {2, 2}, {2, 1}, 0, 4, fresh.address());
  Tensor<std::int64_t> index(ACL_INT64, {1}, {1});
  Tensor<float> source(ACL_FLOAT, {1, 2}, {5, 6});
  ASSERT_EQ(RUN_OP(InplaceIndexCopy, self.get(), 0, index.get(), source.get()), ACL_SUCCESS);
  const Section second(ACL_FLOAT, {2}, {1}, 2, 4, fresh.address());
  Tensor<float> out(ACL_FLOAT, {2}, Floats(2));
  EXPECT_EQ(RUN_OP(InplaceCopy, out.get(), second.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{5, 6}));
  const Section first(ACL_FLOAT, {2}, {1}, 0, 4, fresh.address());
  EXPECT_EQ(RUN_OP(InplaceCopy, out.get(), first.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(IndexingRows, RefusesRowsThatDoNotFit) {
  Tensor<float> self(ACL_FLOAT, {4, 2}, Floats(8));
  Tensor<std::int64_t> index(ACL_INT64, {2}, {3, 1});
  Tensor<float> three(ACL_FLOAT, {3, 2}, Floats(6));
  Tensor<std::uint16_t> half(ACL_FLOAT16, {2, 2}, Halves(4));
  Tensor<float> good(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<std::int64_t> square(ACL_INT64, {1, 2}, {0, 1});
  const auto code = [&](std::int64_t dim, aclTensor* indices, aclTensor* source) {
    return RUN_OP(InplaceIndexCopy, self.get(), dim, indices, source);
  };
  EXPECT_EQ(code(0, index.get(), three.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, index.get(), half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(2, index.get(), good.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, square.get(), good.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, good.get(), good.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, FillsRowsOfIndicesOfTheHost) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, Floats(6));
  ASSERT_EQ(RUN_OP(InplaceIndexFillTensor, self.get(), 1, Integers({0, -1}).get(), real(5).get()),
            ACL_SUCCESS);
  EXPECT_EQ(self.values(), (Floats{5, 0, 5, 5, 0, 5}));
  for (const std::int64_t bad : {3, -4}) {
    EXPECT_EQ(RUN_OP(InplaceIndexFillTensor, self.get(), 1, Integers({bad}).get(), real(5).get()),
              ACLNN_ERR_PARAM_INVALID);
  }
  EXPECT_EQ(RUN_OP(InplaceIndexFillTensor, self.get(), 2, Integers({0}).get(), real(5).get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, SortsStablyWithNanAsTheGreatest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor<float> self(ACL_FLOAT, {2, 4}, {2, nan, 1, 2, -1, 3, 3, -2});
  Tensor<std::int64_t> out(ACL_INT64, {2, 4}, Longs(8));
  ASSERT_EQ(RUN_OP(Argsort, self.get(), -1, false, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Longs{2, 0, 3, 1, 3, 0, 1, 2}));
  ASSERT_EQ(RUN_OP(Argsort, self.get(), 1, true, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Longs{1, 0, 3, 2, 1, 2, 0, 3}));
  ASSERT_EQ(RUN_OP(Argsort, self.get(), 0, false, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Longs{1, 1, 0, 1, 0, 0, 1, 0}));
}

TEST_F(IndexingRows, SortsLongIntegersExactly) {
  const std::int64_t big = std::int64_t{1} << 60;
  Tensor<std::int64_t> self(ACL_INT64, {3}, {big + 1, big, big + 2});
  Tensor<std::int64_t> out(ACL_INT64, {3}, Longs(3));
  ASSERT_EQ(RUN_OP(Argsort, self.get(), 0, true, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Longs{2, 0, 1}));
  EXPECT_EQ(RUN_OP(Argsort, self.get(), 1, true, out.get()), ACLNN_ERR_PARAM_INVALID);
  Tensor<std::int32_t> narrow(ACL_INT32, {3}, Ints(3));
  EXPECT_EQ(RUN_OP(Argsort, self.get(), 0, true, narrow.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, TakesTheGreatestOrTheLeast) {
  Tensor<float> self(ACL_FLOAT, {2, 4}, {4, 1, 3, 2, 5, 5, 0, 6});
  Tensor<float> values(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<std::int64_t> indices(ACL_INT64, {2, 2}, Longs(4));
  ASSERT_EQ(RUN_OP(Topk, self.get(), 2, -1, true, true, values.get(), indices.get()), ACL_SUCCESS);
  EXPECT_EQ(values.values(), (Floats{4, 3, 6, 5}));
  EXPECT_EQ(indices.values(), (Longs{0, 2, 3, 0}));
  ASSERT_EQ(RUN_OP(Topk, self.get(), 2, 1, false, true, values.get(), indices.get()), ACL_SUCCESS);
  EXPECT_EQ(values.values(), (Floats{1, 2, 0, 5}));
  EXPECT_EQ(indices.values(), (Longs{1, 3, 2, 0}));
  ASSERT_EQ(RUN_OP(Topk, self.get(), 2, 1, true, false, values.get(), indices.get()), ACL_SUCCESS);
  EXPECT_EQ(values.values(), (Floats{4, 3, 5, 6}));
  EXPECT_EQ(RUN_OP(Topk, self.get(), 5, 1, true, true, values.get(), indices.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Topk, self.get(), 1, 1, true, true, values.get(), indices.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Topk, self.get(), 2, 1, true, true, values.get(), values.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, TopkNeedsAWorkspace) {
  Tensor<float> self(ACL_FLOAT, {64}, counted<float>(64));
  Tensor<float> values(ACL_FLOAT, {2}, Floats(2));
  Tensor<std::int64_t> indices(ACL_INT64, {2}, Longs(2));
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnTopkGetWorkspaceSize(self.get(), 2, 0, true, true, values.get(), indices.get(),
                                      &bytes, &executor),
            ACL_SUCCESS);
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(aclnnTopk(nullptr, bytes, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(IndexingRows, AddsUpAlongADimension) {
  Tensor<float> self(ACL_FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor<float> out(ACL_FLOAT, {2, 3}, Floats(6));
  ASSERT_EQ(RUN_OP(Cumsum, self.get(), 1, ACL_FLOAT, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 3, 6, 4, 9, 15}));
  ASSERT_EQ(RUN_OP(Cumsum, self.get(), 0, ACL_FLOAT, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 2, 3, 5, 7, 9}));
  // 2048 + 1 is no F16: one rounding of the exact sums, not a sum of rounded ones.
  Tensor<std::uint16_t> halves(ACL_FLOAT16, {3}, {0x6800, 0x3C00, 0x3C00});
  ASSERT_EQ(RUN_OP(Cumsum, halves.get(), 0, ACL_FLOAT16, halves.get()), ACL_SUCCESS);
  EXPECT_EQ(halves.values(), (Halves{0x6800, 0x6800, 0x6801}));
  Tensor<std::int64_t> longs(ACL_INT64, {2}, {INT64_MAX, 1});
  ASSERT_EQ(RUN_OP(Cumsum, longs.get(), 0, ACL_INT64, longs.get()), ACL_SUCCESS);
  EXPECT_EQ(longs.values(), (Longs{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(RUN_OP(Cumsum, self.get(), 2, ACL_FLOAT, out.get()), ACLNN_ERR_PARAM_INVALID);
  const Tensor<std::int64_t> whole(ACL_INT64, {2, 3}, Longs(6));
  EXPECT_EQ(RUN_OP(Cumsum, self.get(), 1, ACL_INT64, whole.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Cumsum, self.get(), 1, ACL_FLOAT16, out.get()), ACLNN_ERR_PARAM_INVALID);
}

// A x = b, checked by multiplying back.
TEST_F(IndexingRows, SolvesTriangularSystems) {
  const std::vector<double> matrix{2, 1, 3, 5, 4, 6, 7, 8, 9};
  const std::vector<double> right{1, 2, 3, 4, 5, 6};
  for (int bits = 0; bits < 8; ++bits) {
    const bool upper = (bits & 1) != 0;
    const bool transposed = (bits & 2) != 0;
    const bool unit = (bits & 4) != 0;
    Tensor<double> b(ACL_DOUBLE, {3, 2}, right);
    Tensor<double> a(ACL_DOUBLE, {1, 3, 3}, matrix);
    Tensor<double> x(ACL_DOUBLE, {1, 3, 2}, std::vector<double>(6));
    Tensor<double> copy(ACL_DOUBLE, {1, 3, 3}, std::vector<double>(9));
    ASSERT_EQ(
        RUN_OP(TriangularSolve, b.get(), a.get(), upper, transposed, unit, x.get(), copy.get()),
        ACL_SUCCESS);
    EXPECT_EQ(copy.values(), matrix);
    const std::vector<double> found = x.values();
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        double sum = 0;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t r = transposed ? i : row;
          const std::size_t c = transposed ? row : i;
          const bool is_used = upper ? c >= r : c <= r;
          const double factor = r == c && unit ? 1 : is_used ? matrix[r * 3 + c] : 0;
          sum += factor * found[i * 2 + column];
        }
        EXPECT_NEAR(sum, right[row * 2 + column], 1e-12) << bits;
      }
    }
  }
}

TEST_F(IndexingRows, RefusesSystemsThatAreNotSquare) {
  Tensor<float> b(ACL_FLOAT, {2, 1}, Floats(2));
  Tensor<float> wide(ACL_FLOAT, {2, 3}, Floats(6));
  Tensor<float> a(ACL_FLOAT, {2, 2}, Floats(4));
  Tensor<double> other(ACL_DOUBLE, {2, 2}, std::vector<double>(4));
  const auto code = [&](aclTensor* matrix) {
    return RUN_OP(TriangularSolve, b.get(), matrix, true, false, false, b.get(), a.get());
  };
  EXPECT_EQ(code(a.get()), ACL_SUCCESS);
  EXPECT_EQ(code(wide.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(other.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(IndexingRows, ChipsWithoutTheKernelSaySo) {
  const auto solve = [] {
    Tensor<float> b(ACL_FLOAT, {1, 1}, {1});
    Tensor<float> a(ACL_FLOAT, {1, 1}, {1});
    return RUN_OP(TriangularSolve, b.get(), a.get(), true, false, false, b.get(), a.get());
  };
  const auto gather = [] {
    Tensor<float> self(ACL_FLOAT, {1}, {1});
    Tensor<std::int64_t> index(ACL_INT64, {1}, {0});
    return RUN_OP(Gather, self.get(), 0, index.get(), self.get());
  };
  EXPECT_EQ(solve(), ACL_SUCCESS);
  EXPECT_EQ(gather(), ACL_SUCCESS);
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(solve(), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(gather(), ACL_SUCCESS);
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(solve(), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(gather(), ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::indexing

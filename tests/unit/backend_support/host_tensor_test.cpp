// Tensors in host memory: parts of them as floats, and back; which matrix belongs to which.
#include "backend_support/host_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "shunt/graph.h"

namespace shunt::test::backend_support_host_tensor_test {
namespace {

using testing::ElementsAre;

/// [3, 2, 1, 2] with rows of 4 floats: element i0 of row i1 of matrix i3 is 100 i3 + 10 i1 + i0,
/// and gaps are -1.
struct Gaps {
  std::vector<float> values = {0, 1, 2, -1, 10, 11, 12, -1, 100, 101, 102, -1, 110, 111, 112, -1};
  HostTensor tensor{
      reinterpret_cast<std::byte*>(values.data()), DType::kF32, {3, 2, 1, 2}, {4, 16, 32, 32}};
};

TEST(HostTensor, GathersPartOfAMatrixContiguously) {
  Gaps gaps;
  std::vector<float> to(4);
  gather(gaps.tensor, 1, {1, 2, 0, 2}, to.data());
  EXPECT_THAT(to, ElementsAre(101, 102, 111, 112));
  std::vector<float> row(2);
  gather_transposed(gaps.tensor, 1, {1, 2, 0, 2}, row.data(), to.data());
  EXPECT_THAT(to, ElementsAre(101, 111, 102, 112));
}

TEST(HostTensor, AllMatricesAreTransposed) {
  Gaps gaps;
  std::vector<float> row(3);
  std::vector<float> to(12);
  gather_transposed(gaps.tensor, row.data(), to.data());
  EXPECT_THAT(to, ElementsAre(0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112));
}

TEST(HostTensor, ScatterWritesRowsAndKeepsGaps) {
  Gaps gaps;
  const std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  scatter(from.data(), gaps.tensor);
  EXPECT_THAT(gaps.values, ElementsAre(1, 2, 3, -1, 4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1));
}

TEST(HostTensor, WritesRowsInTheEncodingOfTheType) {
  std::vector<std::uint16_t> halves(4, 0xFFFF);
  const HostTensor tensor{
      reinterpret_cast<std::byte*>(halves.data()), DType::kF16, {2, 2, 1, 1}, {2, 4, 8, 8}};
  write_floats(std::vector<float>{-2.0F}, tensor, 1, 1);
  EXPECT_THAT(halves, ElementsAre(0xFFFF, 0xFFFF, 0xFFFF, 0xC000));
}

/// The matrix of a source [1, 1, size_2, size_3] for each of a result's 6 x 2.
template <class MatrixOf>
std::vector<std::int64_t> matrices(MatrixOf matrix_of, std::int64_t size_2, std::int64_t size_3) {
  std::vector<std::int64_t> all;
  for (std::int64_t matrix = 0; matrix < 12; ++matrix) {
    all.push_back(matrix_of({1, 1, 6, 2}, matrix, {1, 1, size_2, size_3}));
  }
  return all;
}

TEST(HostTensor, MatricesOfAGroupShareASourceMatrix) {
  EXPECT_THAT(matrices(grouped_matrix, 2, 1), ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(matrices(grouped_matrix, 2, 2), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3));
  EXPECT_THAT(matrices(grouped_matrix, 6, 2), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(HostTensor, MatricesOfASourceAreRepeated) {
  EXPECT_THAT(matrices(repeated_matrix, 2, 1), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(matrices(repeated_matrix, 2, 2), ElementsAre(0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(matrices(repeated_matrix, 1, 1), testing::Each(0));
}

TEST(HostTensor, IsAlwaysDenseOnlyIfTheOutermostDimensionIsDynamic) {
  GraphBuilder g;
  const Dim n = *g.dynamic_dim("n", 8);
  EXPECT_TRUE(is_always_dense(*make_tensor(DType::kF32, {4, 3})));
  EXPECT_TRUE(is_always_dense(*make_tensor(DType::kF32, {4, n})));
  EXPECT_TRUE(is_always_dense(*make_tensor(DType::kF32, {4, 3, n})));
  EXPECT_TRUE(is_always_dense(*make_tensor(DType::kF32, {4, n, 1})));
  EXPECT_FALSE(is_always_dense(*make_tensor(DType::kF32, {4, n, 2})));
  EXPECT_FALSE(is_always_dense(*make_tensor(DType::kF32, {n, 2})));
  Tensor gaps = *make_tensor(DType::kF32, {4, 3});
  gaps.strides[1] = 32;
  EXPECT_FALSE(is_always_dense(gaps));
}

}  // namespace
}  // namespace shunt::test::backend_support_host_tensor_test

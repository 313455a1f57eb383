// A node computed by its plain meaning, instead of by a device.
#include "backend_support/host_fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/message.h"
#include "shunt/ops.h"

namespace shunt::test::backend_support_host_fallback_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

RefTensor ref(const Sizes& sizes, std::vector<double> data) {
  RefTensor made(sizes);
  made.data = std::move(data);
  return made;
}

/// y = x w^T + row, of w [2, 3] and x [2, tokens].
class HostFallback : public testing::Test {
 protected:
  HostFallback() {
    tokens_ = *g_.dynamic_dim("tokens", 4);
    const Value w = *g_.weight("w", *make_tensor(DType::kF32, {2, 3}));
    const Value x = *g_.input("x", *make_tensor(DType::kF32, {2, tokens_}));
    const Value row = *g_.weight("row", *make_tensor(DType::kF32, {3}));
    product_ = matmul(g_, w, x)->id;
    sum_ = add(g_, Value{product_}, row)->id;
  }
  Result<RefTensor> compute(NodeId last, const FallbackSources& sources) {
    DynamicDimValues dynamic_dims = g_.graph().max_dynamic_dims();
    dynamic_dims[tokens_.dynamic_dim] = 2;
    return compute_on_host(g_.graph(), product_, last, dynamic_dims, sources);
  }
  Result<RefTensor> values(std::size_t source) {
    asked_.push_back(source);
    if (source == 0) return ref({2, 3, 1, 1}, w_);
    if (source == 1) return ref({2, 2, 1, 1}, {1, 10, 2, 20});
    return ref({3, 1, 1, 1}, {1000, 2000, 3000});
  }

  GraphBuilder g_;
  Dim tokens_;
  NodeId product_ = 0;
  NodeId sum_ = 0;
  std::vector<double> w_ = {1, 2, 3, 4, 5, 6};
  std::vector<std::size_t> asked_;
};

TEST_F(HostFallback, UsesTheActualSizesOfTheRun) {
  const auto result = compute(product_, {[&](std::size_t s) { return values(s); }});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_THAT(result->data, ElementsAre(21, 43, 65, 42, 86, 130));
  EXPECT_THAT(asked_, ElementsAre(0, 1));
}

TEST_F(HostFallback, AddsTheFusedBias) {
  const auto result = compute(sum_, {[&](std::size_t s) { return values(s); }});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->data, ElementsAre(1021, 2043, 3065, 1042, 2086, 3130));
  EXPECT_THAT(asked_, ElementsAre(0, 1, 2));
}

TEST_F(HostFallback, ReadsALargeMatrixByRows) {
  std::vector<std::pair<std::int64_t, std::int64_t>> read;
  const auto rows = [&](std::int64_t first, std::int64_t count) -> Result<std::vector<float>> {
    read.emplace_back(first, count);
    return std::vector<float>(w_.begin() + 2 * first, w_.begin() + 2 * (first + count));
  };
  const auto result = compute(sum_, {[&](std::size_t s) { return values(s); }, rows});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->data, ElementsAre(1021, 2043, 3065, 1042, 2086, 3130));
  EXPECT_THAT(read, ElementsAre(Pair(0, 3)));
  EXPECT_THAT(asked_, ElementsAre(1, 2)) << "the matrix is not read as a whole";
}

TEST(HostFallbackOfAMatrix, EmptySumsAreZeros) {
  GraphBuilder g;
  const Value w = *g.weight("w", *make_tensor(DType::kF32, {0, 3}));
  const Value x = *g.input("x", *make_tensor(DType::kF32, {0, 2}));
  const NodeId product = matmul(g, w, x)->id;
  const auto result = compute_on_host(
      g.graph(), product, product, g.graph().max_dynamic_dims(),
      {[](std::size_t) -> Result<RefTensor> {
         return RefTensor({0, 2, 1, 1});
       },
       [](std::int64_t, std::int64_t) -> Result<std::vector<float>> { return {}; }});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->data, std::vector<double>(6, 0));
}

/// 2^15 elements a row: 2^20 of them are 32 rows, and 64 rows are read at least.
TEST(HostFallbackOfManyRows, ReadsBlocksOfRows) {
  constexpr std::int64_t kElements = std::int64_t{1} << 15;
  GraphBuilder g;
  const Value w = *g.weight("w", *make_tensor(DType::kF32, {kElements, 130}));
  const Value x = *g.input("x", *make_tensor(DType::kF32, {kElements, 2}));
  const NodeId product = matmul(g, w, x)->id;
  std::vector<std::pair<std::int64_t, std::int64_t>> read;
  FallbackSources sources{[&](std::size_t) -> Result<RefTensor> {
    RefTensor made({kElements, 2, 1, 1});
    made.at(0, 0) = 1;
    made.at(1, 1) = 1;
    return made;
  }};
  sources.rows = [&](std::int64_t first, std::int64_t count) -> Result<std::vector<float>> {
    read.emplace_back(first, count);
    std::vector<float> rows(static_cast<std::size_t>(count * kElements));
    for (std::int64_t r = 0; r < count; ++r) {
      rows[static_cast<std::size_t>(r * kElements)] = static_cast<float>(first + r);
      rows[static_cast<std::size_t>(r * kElements + 1)] = static_cast<float>(-first - r);
    }
    return rows;
  };
  const auto result =
      compute_on_host(g.graph(), product, product, g.graph().max_dynamic_dims(), sources);
  ASSERT_TRUE(result);
  EXPECT_THAT(read, ElementsAre(Pair(0, 64), Pair(64, 64), Pair(128, 2)));
  for (std::int64_t r = 0; r < 130; ++r) {
    EXPECT_EQ(result->at(r, 0), static_cast<double>(r));
    EXPECT_EQ(result->at(r, 1), static_cast<double>(-r));
  }
}

TEST_F(HostFallback, ErrorOfASourceIsReturned) {
  const auto broken = [](std::size_t s) -> Result<RefTensor> {
    return fail(ErrorCode::kDevice, "source {}", s);
  };
  const auto result = compute(product_, {broken});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "source 0");
  const auto of_rows =
      compute(product_, {[&](std::size_t s) { return values(s); },
                         [](std::int64_t, std::int64_t) -> Result<std::vector<float>> {
                           return fail(ErrorCode::kDevice, "rows");
                         }});
  ASSERT_FALSE(of_rows);
  EXPECT_EQ(of_rows.error().message(), "rows");
}

TEST(HostFallbackOfAView, HasTheElementsOfTheView) {
  GraphBuilder g;
  const Value x = *g.input("x", *make_tensor(DType::kF32, {2, 3}));
  const auto turned = permute(g, x, {1, 0, 2, 3});
  ASSERT_TRUE(turned) << turned.error().message();
  const RefTensor values =
      values_of_view(ref({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}), g.graph().node(x.id).result,
                     g.graph().node(turned->id), g.graph().max_dynamic_dims());
  EXPECT_EQ(values.sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_THAT(values.data, ElementsAre(1, 3, 5, 2, 4, 6));
}

}  // namespace
}  // namespace shunt::test::backend_support_host_fallback_test

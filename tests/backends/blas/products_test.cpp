// Products larger than a panel, of every kind of source, compared with the plain reference; and the
// threads that compute them.
#include <gmock/gmock.h>

#include "base/dynamic_library.h"
#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_blas.h"

namespace shunt::test::products_test {
namespace {

using testing::HasSubstr;

class BlasProducts : public testing::Test {
 protected:
  void SetUp() override { open(library_.options()); }

  void open(const Options& options) {
    registry_ = std::move(*Registry::create(options));
    devices_.clear();
    const auto blas = registry_->find("blas0");
    ASSERT_TRUE(blas) << blas.error().message();
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << cpu.error().message();
    devices_ = {*blas, *cpu};
  }

  /// A node of the graph on blas0: its result.
  RefTensor compute(GraphBuilder&& g, std::map<NodeId, RefTensor> leaves = {}) {
    const auto made = std::move(g).build();
    EXPECT_TRUE(made) << made.error().message();
    graph_ = std::make_shared<const Graph>(*made);
    for (NodeId id = 0; id < graph_->size(); ++id) {
      const Tensor& tensor = graph_->node(id).result;
      if (!graph_->node(id).is_leaf() || leaves.contains(id)) continue;
      leaves[id] = make_values({.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)}, id);
    }
    leaves_ = std::move(leaves);
    auto run = GraphRun::create(graph_, devices_, leaves_, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    if (!run) return {};
    EXPECT_EQ((*run)->plan().segments().front().device, 0);
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    auto got = (*run)->output(graph_->outputs()[0]);
    return got ? std::move(*got) : RefTensor();
  }
  RefTensor expected() const {
    std::vector<RefTensor> by_node(graph_->size());
    for (const auto& [id, value] : leaves_) {
      by_node[id] = rounded(value, graph_->node(id).result.dtype);
    }
    return (*reference_run(*graph_, by_node))[graph_->outputs()[0]];
  }
  /// Sums of floats in another order.
  void expect_right(GraphBuilder&& g) {
    const RefTensor got = compute(std::move(g));
    EXPECT_LT(nmse(got, expected()), 1e-12);
  }

  TestBlas library_;
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
  std::shared_ptr<const Graph> graph_;
  std::map<NodeId, RefTensor> leaves_;
};

/// More than one panel of rows, of columns and of terms, none of them full.
constexpr std::int64_t kTerms = 288;
constexpr std::int64_t kRows = 288;
constexpr std::int64_t kColumns = 550;

TEST_F(BlasProducts, MatchTheReferenceForEveryKindOfWeight) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ8_0}) {
    SCOPED_TRACE(to_string(type));
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {kTerms, kRows}));
    const bool many = type == DType::kF32 || type == DType::kQ8_0;
    const auto x = g.input("x", *make_tensor(DType::kF32, {kTerms, many ? kColumns : 70}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    expect_right(std::move(g));
  }
}

/// Their panels have 64 rows.
TEST_F(BlasProducts, MatchTheReferenceForFewColumns) {
  for (const std::int64_t columns : {1, 2, 63}) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kQ4_K, {512, 80}));
    const auto x = g.input("x", *make_tensor(DType::kF16, {512, columns}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    expect_right(std::move(g));
  }
}

TEST_F(BlasProducts, MatchTheReferenceForBroadcastMatrices) {
  GraphBuilder g;
  const auto w = g.input("w", *make_tensor(DType::kF32, {40, 30, 2, 1}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {40, 7, 6, 3}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  expect_right(std::move(g));
}

/// They are multiplied in place, without a transposed copy.
TEST_F(BlasProducts, MatchTheReferenceForTransposedViews) {
  GraphBuilder g;
  const auto w = g.input("w", *make_tensor(DType::kF32, {kRows, kTerms}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {70, kTerms}));
  ASSERT_TRUE(g.output(matmul(g, transpose(g, w), transpose(g, x)), "y"));
  expect_right(std::move(g));
}

TEST_F(BlasProducts, OuterProductsMatchTheReference) {
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    GraphBuilder g;
    const auto a = g.input("a", *make_tensor(type, {kRows, kTerms, 1, 1}));
    const auto b = g.input("b", *make_tensor(DType::kF32, {kColumns, kTerms, 2, 1}));
    ASSERT_TRUE(g.output(out_prod(g, a, b), "y"));
    expect_right(std::move(g));
    GraphBuilder turned;
    const auto w = turned.input("w", *make_tensor(type, {kRows, 50}));
    const auto dy = turned.input("dy", *make_tensor(DType::kF32, {50, 20}));
    ASSERT_TRUE(turned.output(out_prod(turned, w, transpose(turned, dy)), "y"));
    expect_right(std::move(turned));
  }
}

TEST_F(BlasProducts, OfExpertsMatchTheReference) {
  constexpr std::int64_t kExperts = 3;
  constexpr std::int64_t kUsed = 2;
  constexpr std::int64_t kTokens = 700;
  for (const std::int64_t columns : {std::int64_t{1}, kUsed}) {
    GraphBuilder g;
    const auto w =
        g.weight("w", *make_tensor(DType::kQ8_0, {288, 70, kExperts}), Role::kExpertWeight);
    const auto x = g.input("x", *make_tensor(DType::kF32, {288, columns, kTokens}));
    const auto ids = g.input("ids", *make_tensor(DType::kI32, {kUsed, kTokens}));
    ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
    RefTensor chosen({kUsed, kTokens, 1, 1});
    // The first expert has more columns than a panel.
    for (std::size_t i = 0; i < chosen.data.size(); ++i) {
      chosen.data[i] = i % 4 == 3 ? 1 + static_cast<double>(i % 3 == 0) : 0;
    }
    const RefTensor got = compute(std::move(g), {{ids->id, chosen}});
    EXPECT_LT(nmse(got, expected()), 1e-12);
  }
}

TEST_F(BlasProducts, FailForAnExpertIdOutOfRange) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 8, 2}), Role::kExpertWeight);
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 1, 1}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {1, 1}));
  ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (const NodeId id : {w->id, x->id}) {
    leaves[id] =
        make_values({.dtype = DType::kF32, .sizes = max_sizes(graph->node(id).result.shape)}, id);
  }
  leaves[ids->id] = RefTensor({1, 1, 1, 1});
  leaves[ids->id].data = {2};
  auto run = GraphRun::create(graph, devices_, leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("an index is out of range: 2, with 2 experts"));
  EXPECT_EQ(status.error().device(), "blas0");
}

/// A sum of nothing, in memory where something was.
TEST_F(BlasProducts, OfEmptySumsAreZero) {
  GraphBuilder g;
  const auto w = g.input("w", *make_tensor(DType::kF32, {0, 5}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {0, 3}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const RefTensor got = compute(std::move(g));
  EXPECT_THAT(got.data, testing::Each(0.0));
  EXPECT_EQ(got.data.size(), 15U);
}

TEST_F(BlasProducts, RejectMoreThan31BitRowsWithTheNumber) {
  constexpr std::int64_t kMost = 2147483647;
  GraphBuilder g;
  const auto w = g.input("w", *make_tensor(DType::kF32, {1, kMost + 1}));
  const auto fewer = g.input("fewer", *make_tensor(DType::kF32, {1, kMost}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {1, 1}));
  const auto y = matmul(g, w, x);
  const auto most = matmul(g, fewer, x);
  const auto sum = add(g, x, x);
  ASSERT_TRUE(g.output(y, "y"));
  ASSERT_TRUE(g.output(most, "most"));
  ASSERT_TRUE(g.output(sum, "sum"));
  const auto graph = std::move(g).build();
  const Support support = devices_.front()->supports(*graph, y->id);
  EXPECT_EQ(support.refusal(), Refusal::kShape);
  EXPECT_THAT(support.facts(), HasSubstr("2147483648 rows"));
  EXPECT_TRUE(devices_.front()->supports(*graph, most->id));
  const Support other = devices_.front()->supports(*graph, sum->id);
  EXPECT_EQ(other.refusal(), Refusal::kOp);
  EXPECT_THAT(other.facts(), HasSubstr("no kernel for add"));
}

/// A product of 8 panels.
GraphBuilder large_product() {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 2048}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 70}));
  EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
  return g;
}

TEST_F(BlasProducts, AreBitEqualForAnyNumberOfThreads) {
  std::vector<double> first;
  for (const int threads : {1, 2, 4}) {
    Options options = library_.options();
    options.threads = threads;
    open(options);
    const RefTensor got = compute(large_product());
    if (first.empty()) first = got.data;
    EXPECT_EQ(got.data, first) << threads;
  }
}

/// The threads of a run are those that its plan allows, and all of these.
TEST_F(BlasProducts, UseTheThreadsThatThePlanAllows) {
  const RefTensor expected = compute(large_product());
  for (const int threads : {1, 2, 4}) {
    const TestBlas library;
    Options options = library.options();
    options.threads = 4;
    open(options);
    const auto run = GraphRun::create(graph_, devices_, leaves_, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().set_threads(threads));
    library.gather(threads);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE((*run)->plan().run());
    EXPECT_EQ(library.count("test_blas_most_inside"), threads);
    if (threads == 1) {
      EXPECT_EQ(library.count("test_blas_callers"), 1);
    }
    EXPECT_EQ((*run)->output(graph_->outputs()[0])->data, expected.data);
  }
}

/// It may use threads of its own, which calls of several threads would multiply.
TEST_F(BlasProducts, AreSerializedIfTheLibraryHasItsOwnThreads) {
  for (const char* const variant : {SHUNT_TEST_BLAS, SHUNT_TEST_BLAS_WITHOUT_THREADS}) {
    const TestBlas library(variant);
    const auto of_the_program = DynamicLibrary::open(library.path());
    Options options = library.options();
    options.threads = 4;
    open(options);
    compute(large_product());
    EXPECT_GE(library.count("test_blas_calls"), 8);
    EXPECT_EQ(library.count("test_blas_most_inside"), 1);
  }
}

/// Both devices share host memory: nothing is copied between them.
TEST_F(BlasProducts, AreReadByTheCpuWithoutCopies) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 32}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  ASSERT_TRUE(g.output(silu(g, matmul(g, w, silu(g, x))), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (const NodeId id : {w->id, x->id}) {
    leaves[id] =
        make_values({.dtype = DType::kF32, .sizes = max_sizes(graph->node(id).result.shape)}, id);
  }
  auto run = GraphRun::create(graph, devices_, leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ((*run)->plan().segments().size(), 3U);
  for (const Segment& segment : (*run)->plan().segments()) EXPECT_TRUE(segment.transfers.empty());
  EXPECT_TRUE((*run)->plan().run());
}

}  // namespace
}  // namespace shunt::test::products_test

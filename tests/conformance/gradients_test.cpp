// The graphs that gradients() builds, on the CPU: they compute the same as the reference.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "graph/tensor_values.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "unit/ops/gradients_llama.h"

namespace shunt::test::gradients_test {
namespace {

class GradientsOnTheCpu : public testing::TestWithParam<LlamaAttention> {};

TEST_P(GradientsOnTheCpu, MatchTheReference) {
  const auto registry = Registry::create({});
  const auto cpu = (*registry)->find("cpu0");
  if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";

  LlamaLoss llama = SmallLlama::build(GetParam());
  const auto found = gradients(llama.g, llama.loss, llama.weights);
  ASSERT_TRUE(found) << found.error().message();
  for (const Value each : *found) ASSERT_TRUE(llama.g.output(each, "gradient"));
  auto graph = std::make_shared<const Graph>(*std::move(llama.g).build());

  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < llama.leaves.size(); ++id) {
    if (graph->node(id).is_leaf()) leaves[id] = llama.leaves[id];
  }
  Device* const devices[] = {*cpu};
  auto run = GraphRun::create(graph, devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  const auto reference = reference_run(*graph, llama.leaves);
  ASSERT_TRUE(reference);
  for (std::size_t i = 0; i < found->size(); ++i) {
    const NodeId id = (*found)[i].id;
    EXPECT_LT(nmse(*(*run)->output(id), (*reference)[id]), 1e-10)
        << graph->describe(llama.weights[i].id);
  }
}

INSTANTIATE_TEST_SUITE_P(OfALlama, GradientsOnTheCpu,
                         testing::Values(LlamaAttention::kOfProducts, LlamaAttention::kOneOp));

/// softmax(W2 tanh(W1 x)) of some of the rows that there may be. The rest of their memory holds
/// values that would spoil any sum.
class GradientsOfSomeRows : public testing::Test {
 protected:
  static constexpr std::int64_t kIn = 5, kHidden = 7, kClasses = 4, kMost = 6;

  GradientsOfSomeRows() {
    GraphBuilder g;
    rows_ = *g.dynamic_dim("rows", kMost);
    x_ = *g.input("x", *make_tensor(DType::kF32, {kIn, rows_}));
    y_ = *g.input("y", *make_tensor(DType::kF32, {kClasses, rows_}));
    w1_ = *g.weight("w1", *make_tensor(DType::kF32, {kIn, kHidden}));
    w2_ = *g.weight("w2", *make_tensor(DType::kF32, {kHidden, kClasses}));
    const auto loss = cross_entropy_loss(g, matmul(g, w2_, tanh(g, matmul(g, w1_, x_))), y_);
    const Value weights[] = {w1_, w2_};
    gradients_ = *gradients(g, loss, weights);
    for (const Value each : gradients_) EXPECT_TRUE(g.output(each, "gradient"));
    graph_ = std::make_shared<const Graph>(*std::move(g).build());
  }

  /// Numbers that look like none.
  static RefTensor numbers(std::int64_t columns, std::int64_t rows, double step) {
    RefTensor tensor({columns, rows, 1, 1});
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
      tensor.data[i] = std::sin(step * static_cast<double>(i + 1));
    }
    return tensor;
  }

  /// By the chain rule, in double precision: dW2 = d h^T and dW1 = (1 - h^2) W2^T d x^T with
  /// d = (softmax(logits) - y) / rows.
  static std::pair<RefTensor, RefTensor> expected(const RefTensor& x, const RefTensor& y,
                                                  const RefTensor& w1, const RefTensor& w2,
                                                  std::int64_t rows) {
    std::pair<RefTensor, RefTensor> found{RefTensor({kIn, kHidden, 1, 1}),
                                          RefTensor({kHidden, kClasses, 1, 1})};
    for (std::int64_t r = 0; r < rows; ++r) {
      std::array<double, kHidden> h{};
      for (std::int64_t j = 0; j < kHidden; ++j) {
        double z = 0;
        for (std::int64_t k = 0; k < kIn; ++k) z += w1.at(k, j) * x.at(k, r);
        h[static_cast<std::size_t>(j)] = std::tanh(z);
      }
      std::array<double, kClasses> d{};
      double sum = 0;
      for (std::int64_t c = 0; c < kClasses; ++c) {
        double z = 0;
        for (std::int64_t j = 0; j < kHidden; ++j) {
          z += w2.at(j, c) * h[static_cast<std::size_t>(j)];
        }
        sum += d[static_cast<std::size_t>(c)] = std::exp(z);
      }
      for (std::int64_t c = 0; c < kClasses; ++c) {
        double& slope = d[static_cast<std::size_t>(c)];
        slope = (slope / sum - y.at(c, r)) / static_cast<double>(rows);
      }
      for (std::int64_t j = 0; j < kHidden; ++j) {
        const double value = h[static_cast<std::size_t>(j)];
        double back = 0;
        for (std::int64_t c = 0; c < kClasses; ++c) {
          found.second.at(j, c) += d[static_cast<std::size_t>(c)] * value;
          back += w2.at(j, c) * d[static_cast<std::size_t>(c)];
        }
        for (std::int64_t k = 0; k < kIn; ++k) {
          found.first.at(k, j) += (1 - value * value) * back * x.at(k, r);
        }
      }
    }
    return found;
  }

  Dim rows_;
  Value x_, y_, w1_, w2_;
  std::vector<Value> gradients_;
  std::shared_ptr<const Graph> graph_;
};

TEST_F(GradientsOfSomeRows, UseTheActualNumberOfRows) {
  const auto registry = Registry::create({});
  const auto cpu = (*registry)->find("cpu0");
  if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
  std::map<NodeId, RefTensor> leaves;
  leaves[w1_.id] = numbers(kIn, kHidden, 0.7);
  leaves[w2_.id] = numbers(kHidden, kClasses, 1.3);
  leaves[x_.id] = numbers(kIn, kMost, 2.1);
  leaves[y_.id] = RefTensor({kClasses, kMost, 1, 1});
  for (std::int64_t r = 0; r < kMost; ++r) leaves[y_.id].at(r % kClasses, r) = 1;
  Device* const devices[] = {*cpu};
  auto run = GraphRun::create(graph_, devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const std::int64_t rows : {kMost, std::int64_t{3}, std::int64_t{1}, kMost}) {
    SCOPED_TRACE(rows);
    auto inputs = leaves;
    for (std::int64_t r = rows; r < kMost; ++r) {
      for (std::int64_t k = 0; k < kIn; ++k) inputs[x_.id].at(k, r) = 1e30;
      for (std::int64_t c = 0; c < kClasses; ++c) inputs[y_.id].at(c, r) = 1e30;
    }
    ASSERT_TRUE((*run)->set_inputs(inputs));
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(rows_, rows));
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto [dw1, dw2] =
        expected(leaves[x_.id], leaves[y_.id], leaves[w1_.id], leaves[w2_.id], rows);
    EXPECT_LT(nmse(*(*run)->output(gradients_[0].id), dw1), 1e-12);
    EXPECT_LT(nmse(*(*run)->output(gradients_[1].id), dw2), 1e-12);
  }
}

}  // namespace
}  // namespace shunt::test::gradients_test

// Results of the machine stay in its layout: the twin counts the tensors that go in and come out.
#include "backends/zdnn/support.h"

namespace shunt::test::chain_test {
namespace {

using ZdnnChain = ZdnnMachinesTest;

TEST_P(ZdnnChain, IsTransformedInOnceAndOutOnce) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  ASSERT_TRUE(g.output(feed_forward(g, x, 64, 130), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ((*run)->plan().segments().size(), 1U);
  ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
  twin_->reset_counts();
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(twin_->transforms_in(), 1U) << "x; the weights are there";
  // Two products, the first with its bias; gelu is made of five; the last sum.
  EXPECT_EQ(twin_->operations(), 8U);
  EXPECT_EQ(twin_->transforms_out(), 1U);
  EXPECT_EQ(twin_->allocations(), 0U);
  EXPECT_EQ(twin_->objections(), 0U);
  EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), kChainError);
  EXPECT_TRUE(zdnn().warnings().empty());
}

/// A result that the CPU reads in between comes out once, and is not brought in again.
TEST_P(ZdnnChain, ResultReadByTheCpuIsTransformedOutOnce) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto half = feed_forward(g, x, 64, 96);
  const auto side = abs(g, half);  // which the machine does not do
  ASSERT_TRUE(g.output(add(g, feed_forward(g, half, 64, 64), side), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  twin_->reset_counts();
  ASSERT_TRUE((*run)->plan().run());
  // x, and the result that comes back from the CPU; `half` may go in again in a second segment.
  EXPECT_LE(twin_->transforms_in(), 3U);
  EXPECT_EQ(twin_->transforms_out(), 2U);
  EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), kChainError);
}

/// Inputs that change between runs, and a buffer of inputs that is used again, are brought in
/// again.
TEST_P(ZdnnChain, ChangedInputsAreTransformedAgain) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  ASSERT_TRUE(g.output(feed_forward(g, x, 64, 64), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    leaves[x->id] = make_values({.dtype = DType::kF32, .sizes = {64, 5, 1, 1}}, seed);
    ASSERT_TRUE((*run)->set_inputs(leaves));
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), kChainError);
  }
}

TEST_P(ZdnnChain, ReshapedAndRepeatedAndPermutedTensorsAreRight) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 6, 4}));
  const auto row = g.weight("row", *make_tensor(DType::kF32, {32, 1, 4}));
  const auto y = mul(g, silu(g, x), x);
  const auto flat = reshape(g, y, {32, 6, 2, 2});   // the same in the machine's layout
  const auto other = reshape(g, y, {64, 3, 4});     // not the same
  const auto turned = permute(g, y, {1, 0, 2, 3});  // nor this
  const auto a = sigmoid(g, reshape(g, tanh(g, flat), {32, 6, 4}));
  const auto b = reshape(g, relu(g, other), {32, 6, 4});
  const auto c = permute(g, sqr(g, turned), {1, 0, 2, 3});
  ASSERT_TRUE(g.output(sub(g, add(g, add(g, a, b), c), row), "y"));
  const auto graph = built(std::move(g));
  const auto error = error_of(graph, values(*graph));
  ASSERT_TRUE(error) << error.error().message();
  EXPECT_LT(*error, kChainError);
  EXPECT_EQ(twin_->objections(), 0U);
}

/// Fewer rows than memory was planned for, also where rows do not follow each other then.
TEST_P(ZdnnChain, DynamicDimsMayBeBelowTheirMaximum) {
  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", 9);
  ASSERT_TRUE(tokens);
  const auto x = g.input("x", *make_tensor(DType::kF32, {16, *tokens, 3}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {16, 24}));
  ASSERT_TRUE(g.output(softmax(g, matmul(g, w, x), absent(), {.scale = 0.5F}), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const std::int64_t size : {9, 1, 4, 0, 7}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*tokens, size));
    ASSERT_TRUE((*run)->plan().run()) << size;
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    const RefTensor all = expected(*graph, leaves);
    RefTensor first({24, size, 3, 1});
    for (std::int64_t h = 0; h < 3; ++h) {
      for (std::int64_t t = 0; t < size; ++t) {
        for (std::int64_t n = 0; n < 24; ++n) first.at(n, t, h) = all.at(n, t, h);
      }
    }
    EXPECT_LT(nmse(*got, first), 1e-4) << size;
  }
}

/// Rows that are shorter than memory was planned for, with gaps between them then.
TEST_P(ZdnnChain, DynamicRowLengthMayBeBelowItsMaximum) {
  GraphBuilder g;
  const auto keys = g.dynamic_dim("keys", 64);
  ASSERT_TRUE(keys);
  const auto x = g.input("x", *make_tensor(DType::kF32, {*keys, 5}));
  ASSERT_TRUE(g.output(relu(g, x), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const std::int64_t size : {64, 40, 1}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*keys, size));
    ASSERT_TRUE((*run)->plan().run()) << size;
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    const RefTensor all = expected(*graph, leaves);
    RefTensor shorter({size, 5, 1, 1});
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t n = 0; n < size; ++n) shorter.at(n, t) = all.at(n, t);
    }
    EXPECT_LT(nmse(*got, shorter), kChainError) << size;
  }
}

/// Sums that are shorter than planned: transposing them may take more room, not less.
TEST_P(ZdnnChain, DynamicSumLengthMayBeBelowItsMaximum) {
  GraphBuilder g;
  const auto k = g.dynamic_dim("k", 1100);
  ASSERT_TRUE(k);
  const auto w = g.input("w", *make_tensor(DType::kF32, {*k, 1100}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {*k, 2}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const std::int64_t size : {1100, 1024, 70}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*k, size));
    ASSERT_TRUE((*run)->plan().run()) << size;
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    RefTensor sums({1100, 2, 1, 1});
    for (std::int64_t t = 0; t < 2; ++t) {
      for (std::int64_t n = 0; n < 1100; ++n) {
        for (std::int64_t i = 0; i < size; ++i) {
          sums.at(n, t) += leaves.at(w->id).at(i, n) * leaves.at(x->id).at(i, t);
        }
      }
    }
    EXPECT_LT(nmse(*got, sums), kChainError) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(, ZdnnChain, kZdnnMachinesAndSums, name_of_machine);

}  // namespace
}  // namespace shunt::test::chain_test

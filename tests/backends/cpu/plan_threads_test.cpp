// The threads of plans: how many of the CPU's a run uses, and those of an accelerator in front of
// the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_accelerator.h"

namespace shunt::test::plan_threads_test {
namespace {

using ::testing::HasSubstr;

class PlanThreads : public ::testing::Test {
 protected:
  PlanThreads() {
    Options options;
    options.threads = 3;
    registry_ = std::move(*Registry::create(options));
    cpu_ = *registry_->find("cpu0");
  }
  /// A product of up to 64 columns, and its softmax.
  std::unique_ptr<GraphRun> product() {
    GraphBuilder g;
    const Dim columns = *g.dynamic_dim("columns", 64);
    const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {512, 1024}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {512, columns}));
    const auto y = softmax(g, matmul(g, w, x), {});
    EXPECT_TRUE(g.output(y, "y"));
    y_ = y->id;
    columns_ = columns;
    auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const std::map<NodeId, RefTensor> leaves = {
        {w->id, make_values({.dtype = DType::kQ8_0, .sizes = {512, 1024, 1, 1}}, 1)},
        {x->id, make_values({.sizes = {512, 64, 1, 1}}, 2)}};
    auto run = GraphRun::create(graph, {&cpu_, 1}, leaves);
    EXPECT_TRUE(run) << run.error().message();
    return std::move(*run);
  }

  /// The threads of a run that may have `most` of them. Each stays with its first item until
  /// `wanted` have come, or for so long.
  std::set<std::thread::id> threads_of(int most, std::size_t wanted, std::chrono::seconds wait) {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> seen;
    const auto until = std::chrono::steady_clock::now() + wait;
    const auto work = [&](const CustomCall&) -> Status {
      std::unique_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
      changed.notify_all();
      changed.wait_until(lock, until, [&] { return seen.size() >= wanted; });
      return ok();
    };
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {4}));
    const auto same = [](std::span<const Tensor> sources) -> Result<Tensor> { return sources[0]; };
    EXPECT_TRUE(g.output(custom(g, {x}, {"work", same, work, 20}), "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const auto run =
        GraphRun::create(graph, {&cpu_, 1}, {{x->id, make_values({.sizes = {4, 1, 1, 1}}, 1)}});
    EXPECT_TRUE(run && (*run)->plan().set_threads(most) && (*run)->plan().run());
    return seen;
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  NodeId y_ = 0;
  Dim columns_ = 0;
};

TEST_F(PlanThreads, GiveTheSameBitsForAnyNumber) {
  const auto run = product();
  Plan& plan = run->plan();
  for (const std::int64_t count : {64, 5, 1}) {
    ASSERT_TRUE(plan.set_dynamic_dim(columns_, count));
    std::vector<double> first;
    for (const int threads : {0, 1, 2, 3, 1000, 1}) {
      ASSERT_TRUE(plan.set_threads(threads));
      ASSERT_TRUE(plan.run());
      const auto y = run->output(y_, plan.dynamic_dims());
      ASSERT_TRUE(y);
      if (first.empty()) first = y->data;
      EXPECT_EQ(y->data, first) << count << " columns, " << threads << " threads";
    }
  }
}

/// One more would have a second to come.
TEST_F(PlanThreads, AreAtMostTheNumberSet) {
  for (const std::size_t most : {1, 2}) {
    const auto threads = threads_of(static_cast<int>(most), most + 1, std::chrono::seconds(1));
    EXPECT_LE(threads.size(), most);
    EXPECT_TRUE(threads.contains(std::this_thread::get_id())) << "the caller's";
  }
}

TEST_F(PlanThreads, AreAllOfTheNumberSet) {
  for (const int most : {1, 2, 3, 0, 1000}) {
    const std::size_t expected = most == 1 || most == 2 ? static_cast<std::size_t>(most) : 3;
    EXPECT_EQ(threads_of(most, expected, std::chrono::seconds(60)).size(), expected) << most;
  }
}

TEST_F(PlanThreads, RejectNegativeNumbers) {
  const auto run = product();
  const Status status = run->plan().set_threads(-1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message(), HasSubstr("-1 threads"));
  EXPECT_TRUE(run->plan().run()) << "as before";
}

/// The outputs of twelve steps. An accelerator with threads of its own computes the first half of
/// each step, and the CPU the rest.
std::vector<std::vector<double>> steps_behind_an_accelerator(Device& cpu, std::size_t in_flight,
                                                             int threads) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 256}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 32}));
  const auto cache = g.cache("sum", *make_tensor(DType::kF32, {256, 32}));
  const auto product = matmul(g, w, silu(g, silu(g, x)));
  const auto sum = set(g, cache, add(g, softmax(g, product, {}), cache), {0, 0, 0, 0});
  EXPECT_TRUE(g.output(cont(g, sum), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const NodeId y = graph->outputs()[0];
  TestAccelerator accelerator({.ops = {"silu"}});
  Device* devices[] = {&accelerator, &cpu};
  auto made =
      GraphRun::create(graph, devices,
                       {{w->id, make_values({.dtype = DType::kQ8_0, .sizes = {64, 256, 1, 1}}, 1)},
                        {x->id, make_values({.sizes = {64, 32, 1, 1}}, 2)},
                        {cache->id, RefTensor({256, 32, 1, 1})}},
                       {.steps_in_flight = static_cast<int>(in_flight), .by_ability = true});
  EXPECT_TRUE(made) << made.error().message();
  GraphRun& run = **made;
  EXPECT_TRUE(run.plan().set_threads(threads));
  std::vector<std::vector<double>> outputs;
  std::vector<std::uint64_t> started;
  const auto finish = [&] {
    EXPECT_TRUE(run.plan().wait(started[outputs.size()]));
    const auto values = run.output(y);
    EXPECT_TRUE(values);
    outputs.push_back(values->data);
  };
  for (std::uint64_t step = 0; step < 12; ++step) {
    if (started.size() - outputs.size() == in_flight) finish();
    EXPECT_TRUE(run.set_inputs({{x->id, make_values({.sizes = {64, 32, 1, 1}}, 3 + step)}}));
    started.push_back(*run.plan().start());
  }
  while (outputs.size() < started.size()) finish();
  return outputs;
}

TEST_F(PlanThreads, GiveTheSameBitsAfterAnAccelerator) {
  const auto wanted = steps_behind_an_accelerator(*cpu_, 1, 0);
  for (const std::size_t in_flight : {2U, 4U}) {
    for (const int threads : {0, 1}) {
      EXPECT_EQ(steps_behind_an_accelerator(*cpu_, in_flight, threads), wanted);
    }
  }
}

}  // namespace
}  // namespace shunt::test::plan_threads_test

// How many of the CPU's threads a plan's runs use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <map>
#include <thread>

#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::plan_threads_test {
namespace {

using ::testing::HasSubstr;

double seconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class PlanThreads : public ::testing::Test {
 protected:
  PlanThreads() {
    Options options;
    options.threads = 3;
    registry_ = std::move(*Registry::create(options));
    cpu_ = *registry_->find("cpu0");
  }
  /// A product, and what is made of it, of up to 64 columns.
  std::unique_ptr<GraphRun> product() {
    GraphBuilder g;
    const Dim columns = *g.extent("columns", 64);
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

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  NodeId y_ = 0;
  Dim columns_ = 0;
};

TEST_F(PlanThreads, GiveTheSameBitsWhateverTheirNumber) {
  const auto run = product();
  Plan& plan = run->plan();
  for (const std::int64_t count : {64, 5, 1}) {
    ASSERT_TRUE(plan.set_extent(columns_, count));
    std::vector<double> first;
    for (const int threads : {0, 1, 2, 3, 1000, 1}) {
      ASSERT_TRUE(plan.set_threads(threads));
      ASSERT_TRUE(plan.run());
      const auto y = run->output(y_, plan.extents());
      ASSERT_TRUE(y);
      if (first.empty()) first = y->data;
      EXPECT_EQ(y->data, first) << count << " columns, " << threads << " threads";
    }
  }
}

TEST_F(PlanThreads, AreNotMoreThanTheCallerAllows) {
  const auto run = product();
  ASSERT_TRUE(run->plan().set_threads(1));
  ASSERT_TRUE(run->plan().run());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the others have fallen asleep
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run->plan().run());
  const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
  EXPECT_LT(all - (seconds_of(CLOCK_THREAD_CPUTIME_ID) - own), all / 10);
}

TEST_F(PlanThreads, AreAtLeastOne) {
  const auto run = product();
  const Status status = run->plan().set_threads(-1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message(), HasSubstr("-1 threads"));
  EXPECT_TRUE(run->plan().run()) << "as before";
}

}  // namespace
}  // namespace shunt::test::plan_threads_test

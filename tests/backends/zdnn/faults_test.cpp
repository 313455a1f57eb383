// Each fault that the twin knows leads to an error that names the failure, or to the right result.
#include "backends/zdnn/support.h"
#include "support/networks.h"

namespace shunt::test::faults_test {
namespace {

class ZdnnFaults : public ZdnnTooLargeTest {
 protected:
  void SetUp() override {
    ZdnnTooLargeTest::SetUp();
    if (IsSkipped()) return;
    make_graph();
  }

  void make_graph() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto gain = g.weight("gain", *make_tensor(DType::kF32, {64}));
    const auto block = feed_forward(g, mul(g, rms_norm(g, x), gain), 64, 96);
    const auto scores = softmax(g, block, absent(), {.scale = 0.25F});
    ASSERT_TRUE(g.output(add(g, norm(g, scores), block), "y"));
    graph_ = built(std::move(g));
    leaves_ = values(*graph_);
  }

  /// Whether there was a result: a right one then.
  bool run_with(const char* fault, const std::string& at) {
    auto run = prepare(graph_, leaves_);
    EXPECT_TRUE(run) << run.error().message();
    twin_->set(fault, at.c_str());
    const Status status = (*run)->plan().run();
    twin_->set(fault, "0");
    if (!status) {
      const Error& error = status.error();
      EXPECT_TRUE(error.code() == ErrorCode::kDevice || error.code() == ErrorCode::kOutOfMemory);
      EXPECT_EQ(error.device(), "zdnn0");
      EXPECT_FALSE(error.node().empty()) << error.message();
      EXPECT_TRUE(error.vendor()) << error.message();
    } else {
      const auto got = (*run)->output(graph_->outputs()[0]);
      EXPECT_TRUE(got);
      EXPECT_LT(nmse(*got, expected(*graph_, leaves_)), 1e-4) << fault << " at " << at;
    }
    // Whatever happened, the next run is as if it had not.
    EXPECT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(graph_->outputs()[0]), expected(*graph_, leaves_)), 1e-4);
    return static_cast<bool>(status);
  }

  std::shared_ptr<const Graph> graph_;
  std::map<NodeId, RefTensor> leaves_;
};

constexpr int kMost = 40;  // more than there are calls

TEST_P(ZdnnFaults, OfTransformsAreWorkedAround) {
  int right = 0;
  for (int at = 1; at <= kMost; ++at) {
    right += run_with("ZDNN_TWIN_FAIL_CONVERSION", std::to_string(at)) ? 1 : 0;
  }
  EXPECT_EQ(right, kMost);
  (void)run_with("ZDNN_TWIN_FAIL_CONVERSION", "1+");
  (void)run_with("ZDNN_TWIN_FAIL_CONVERSION", "5+");
}

TEST_P(ZdnnFaults, OfRangesAreWorkedAroundAndCounted) {
  for (int at = 1; at <= kMost; ++at) {
    EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_RANGE", std::to_string(at))) << at;
  }
  EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_RANGE", "1+"));
  EXPECT_GE(zdnn().warnings().size(), 5U);
}

TEST_P(ZdnnFaults, OfTheHardwareAreErrors) {
  for (const char* code : {"0xF000", "0x12", "0x00100005", "0x00100001"}) {
    twin_->set("ZDNN_TWIN_HARDWARE_CODE", code);
    EXPECT_FALSE(run_with("ZDNN_TWIN_FAIL_HARDWARE", "1"));
    EXPECT_FALSE(run_with("ZDNN_TWIN_FAIL_HARDWARE", "7"));
    EXPECT_FALSE(run_with("ZDNN_TWIN_FAIL_HARDWARE", "3+"));
    EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_HARDWARE", "1000"));
  }
}

/// At calls all over a step of a whole network.
TEST_P(ZdnnFaults, InNetworksAreErrorsOrWorkedAround) {
  for (const char* profile : {"z16", "z17"}) {
    for (Network (*network)() : {bert, gemma}) {
      SCOPED_TRACE(profile);
      open(profile);
      Network made = network();
      graph_ = made.graph;
      leaves_ = std::move(made.leaves);
      auto run = prepare(graph_, leaves_);
      ASSERT_TRUE(run) << run.error().message();
      ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
      twin_->reset_counts();
      ASSERT_TRUE((*run)->plan().run());
      const std::uint64_t operations = twin_->operations();
      const std::uint64_t transforms = twin_->transforms_in() + twin_->transforms_out();
      constexpr std::uint64_t kTimes = 12;
      for (std::uint64_t i = 0; i < kTimes; ++i) {
        const std::string operation = std::to_string(1 + i * operations / kTimes);
        const std::string transform = std::to_string(1 + i * transforms / kTimes);
        EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_CONVERSION", transform)) << transform;
        EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_RANGE", operation)) << operation;
        EXPECT_FALSE(run_with("ZDNN_TWIN_FAIL_HARDWARE", operation)) << operation;
      }
      EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_RANGE", "1+"));
      EXPECT_FALSE(run_with("ZDNN_TWIN_FAIL_HARDWARE", "1+"));
      EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_ALLOCATION", "1+"));
      (void)run_with("ZDNN_TWIN_FAIL_CONVERSION", "1+");
      EXPECT_FALSE(zdnn().warnings().empty());
    }
  }
}

/// The library allocates nothing for us.
TEST_P(ZdnnFaults, OfAllocationsHaveNoEffect) {
  EXPECT_TRUE(run_with("ZDNN_TWIN_FAIL_ALLOCATION", "1+"));
}

TEST_P(ZdnnFaults, WhileWeightsAreLoadedAreErrorsOrWorkedAround) {
  twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "1+");
  {
    auto run = prepare(graph_, leaves_);
    ASSERT_TRUE(run) << run.error().message();
    twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "0");
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(graph_->outputs()[0]), expected(*graph_, leaves_)), 1e-4);
  }
  // On a z17 the machine itself transforms large tensors.
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {128, 5}));
  ASSERT_TRUE(g.output(feed_forward(g, x, 128, 128), "y"));
  const auto large = built(std::move(g));
  twin_->set("ZDNN_TWIN_FAIL_HARDWARE", "1+");
  const auto run = prepare(large, values(*large));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::kDevice);
  ASSERT_TRUE(run.error().vendor());
  EXPECT_EQ(run.error().vendor()->code, 0x000CF000);
  EXPECT_THAT(run.error().message(),
              testing::HasSubstr("zDNN: zdnn_transform_ztensor failed with code 0x000cf000"));
}

TEST_P(ZdnnFaults, CancelEndsARun) {
  auto run = prepare(graph_, leaves_);
  ASSERT_TRUE(run) << run.error().message();
  const std::atomic<bool> stop = true;
  const Status status = (*run)->plan().run(&stop);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(, ZdnnFaults, kZdnnTooLarge, name_of_answer);

}  // namespace
}  // namespace shunt::test::faults_test

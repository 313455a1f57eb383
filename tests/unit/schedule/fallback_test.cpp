// The operations that fall back, the message about it, and the effect of a policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/op.h"
#include "shunt/explain.h"
#include "shunt/message.h"
#include "shunt/ops.h"
#include "support/test_device.h"

namespace shunt::test::schedule_fallback_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// y = x + w2 silu(w1 rms_norm(x)), with x [32, 4]: five operations.
Graph make_mlp() {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {32, 48}));
  const auto w2 = g.weight("w2", *make_tensor(DType::kF32, {48, 32}));
  const auto active = silu(g, matmul(g, w1, rms_norm(g, x)));
  EXPECT_TRUE(g.output(add(g, x, matmul(g, w2, active)), "y"));
  return *std::move(g).build();
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {}, .host_accessible = true});
}
TestDevice accelerator(std::set<std::string> ops) {
  return TestDevice({.name = "test0", .ops = std::move(ops)});
}

/// Computes matrix products in the host's own memory, as BLAS does.
class Helper final : public Device {
 public:
  std::string_view name() const override { return "blas0"; }
  DeviceInfo info() const override {
    DeviceInfo info;
    info.name = name();
    info.priority = 1;
    return info;
  }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return matmul_.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return type.host_accessible(); }
  BufferType& memory() override { return host_memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return unused(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView&) override { return unused(); }

 private:
  static Error unused() { return fail(ErrorCode::kInternal, "this device is only asked"); }
  TestDevice matmul_ = accelerator({"matmul"});
};

struct Placed {
  Graph graph = make_mlp();
  TestDevice host = cpu();
  Placement placement;

  explicit Placed(Device* better, std::vector<Pin> pins = {}) {
    std::vector<Device*> devices = {&host};
    if (better != nullptr) devices.insert(devices.begin(), better);
    auto made = place(graph, devices, {.pins = pins});
    EXPECT_TRUE(made) << made.error().message();
    if (made) placement = std::move(*made);
  }
  FallbackReport report() const { return report_fallback(graph, placement); }
  Status apply(const FallbackPolicy& policy) const {
    return apply_fallback_policy(graph, placement, policy);
  }
};

TEST(Fallback, CpuOnlyHasNoFallbackAndNoMessage) {
  const Placed placed(nullptr);
  const FallbackReport report = placed.report();
  EXPECT_EQ(report.operations, 5U);
  EXPECT_EQ(report.fell_back, 0U);
  EXPECT_EQ(report.bytes_copied, 0U);
  EXPECT_EQ(to_line(report), "");
  FallbackPolicy strictest;
  strictest.mode = FallbackMode::kDeny;
  strictest.max_cpu_share = 0;
  strictest.max_copy_bytes = 0;
  strictest.log = [](std::string_view line) { ADD_FAILURE() << line; };
  EXPECT_TRUE(placed.apply(strictest));
}

TEST(Fallback, CountsOpsThatTheDeviceRejects) {
  TestDevice test = accelerator({"matmul", "add"});
  const Placed placed(&test);
  const FallbackReport report = placed.report();
  EXPECT_EQ(report.operations, 5U);
  EXPECT_EQ(report.fell_back, 2U);  // rms_norm and silu
  EXPECT_DOUBLE_EQ(report.cpu_share, 0.4);
  EXPECT_FALSE(report.share_of_time);
  ASSERT_EQ(report.fallbacks.size(), 2U);
  EXPECT_EQ(report.fallbacks[0].op, "rms_norm");
  EXPECT_EQ(report.fallbacks[0].nodes.size(), 1U);
  EXPECT_EQ(report.fallbacks[0].reason, "test0 has no kernel for rms_norm");
  EXPECT_EQ(report.fallbacks[1].op, "silu");
  // There: the norm and x, 512 bytes each, and silu's 768; back: 768 for silu, 512 for the result.
  EXPECT_EQ(report.bytes_copied, 512U + 512 + 768 + 768 + 512);
}

TEST(Fallback, NodesPinnedToTheCpuAreNotFallbacks) {
  TestDevice test = accelerator({"matmul", "add"});
  const Placed placed(&test, {{".*", "cpu0"}});
  const FallbackReport report = placed.report();
  EXPECT_EQ(report.operations, 5U);
  EXPECT_EQ(report.fell_back, 0U);
  EXPECT_EQ(to_line(report), "");
  FallbackPolicy policy;
  policy.mode = FallbackMode::kDeny;
  policy.max_cpu_share = 0;
  EXPECT_TRUE(placed.apply(policy));
}

TEST(Fallback, CpuShareIsOfPredictedTimeIfTimesArePredicted) {
  TestDevice test = accelerator({"matmul", "add"});
  Placed placed(&test);
  placed.placement.predicted_seconds = 10;
  for (NodeId id = 0; id < placed.graph.size(); ++id) {
    const Node& node = placed.graph.node(id);
    if (node.is_leaf()) continue;
    placed.placement.decisions[id].seconds = node.op->info().name == "silu" ? 3 : 1;
  }
  EXPECT_TRUE(placed.report().share_of_time);
  EXPECT_DOUBLE_EQ(placed.report().cpu_share, 4.0 / 7);  // rms_norm and silu, of all five
  FallbackPolicy policy;
  policy.max_cpu_share = 0.5;
  const Status status = placed.apply(policy);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("57.1% of the predicted time"));
}

TEST(Fallback, LineStatesCountDeviceReasonAndRemedy) {
  TestDevice test = accelerator({"matmul", "add"});
  EXPECT_EQ(to_line(Placed(&test).report()),
            "2 of 5 operations run on cpu0 instead of test0; the first is rms_norm: test0 has no "
            "kernel for rms_norm; a kernel for it would change that (shunt explain shows all)");
}

TEST(Fallback, DeviceThatSupportsAllOpsHasNoFallback) {
  TestDevice test = accelerator({});
  EXPECT_EQ(Placed(&test).report().fell_back, 0U);
}

TEST(Fallback, OpsRejectedByACpuHelperAreNotFallbacks) {
  Helper blas;
  const Placed placed(&blas);
  EXPECT_FALSE(placed.placement.decisions.back().rejected.empty());
  EXPECT_EQ(placed.report().fell_back, 0U);
  EXPECT_EQ(placed.report().bytes_copied, 0U);
}

TEST(FallbackPolicy, WarnPrintsOneLineAndAllowPrintsNone) {
  TestDevice test = accelerator({"matmul", "add"});
  const Placed placed(&test);
  std::vector<std::string> said;
  FallbackPolicy policy;
  policy.log = [&](std::string_view line) { said.emplace_back(line); };
  EXPECT_TRUE(placed.apply(policy));
  EXPECT_EQ(said, std::vector<std::string>{to_line(placed.report())});
  policy.mode = FallbackMode::kAllow;
  EXPECT_TRUE(placed.apply(policy));
  EXPECT_EQ(said.size(), 1U);
}

TEST(FallbackPolicy, PrintsPlacementNotesEvenOnACpuOnly) {
  Placed placed(nullptr);
  placed.placement.notes = {"a pin matches nothing"};
  std::vector<std::string> said;
  FallbackPolicy policy;
  policy.log = [&](std::string_view line) { said.emplace_back(line); };
  EXPECT_TRUE(placed.apply(policy));
  EXPECT_EQ(said, placed.placement.notes);
}

TEST(FallbackPolicy, DenyListsOperationsAndReasons) {
  TestDevice test = accelerator({"matmul", "add"});
  FallbackPolicy policy;
  policy.mode = FallbackMode::kDeny;
  const Status status = Placed(&test).apply(policy);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("2 of 5"), HasSubstr("1 rms_norm (test0 has no kernel for rms_norm)"),
                    HasSubstr("1 silu (test0 has no kernel for silu)")));
}

TEST(FallbackPolicy, FailsIfTheCpuShareExceedsItsLimit) {
  TestDevice test = accelerator({"matmul", "add"});
  const Placed placed(&test);
  FallbackPolicy policy;
  policy.max_cpu_share = 0.4;
  EXPECT_TRUE(placed.apply(policy));
  policy.max_cpu_share = 0.39;
  policy.mode = FallbackMode::kAllow;  // the limit holds all the same
  const Status status = placed.apply(policy);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), AllOf(HasSubstr("40.0% of the operations"),
                                              HasSubstr("at most 39.0%"), HasSubstr("silu")));
}

TEST(FallbackPolicy, FailsIfCopiedBytesExceedTheirLimit) {
  TestDevice test = accelerator({"matmul", "add"});
  const Placed placed(&test);
  FallbackPolicy policy;
  policy.max_copy_bytes = 3072;
  EXPECT_TRUE(placed.apply(policy));
  policy.max_copy_bytes = 3071;
  const Status status = placed.apply(policy);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), AllOf(HasSubstr("3072 bytes"), HasSubstr("3071")));
}

TEST(FallbackPolicy, CopyLimitAppliesWithoutAnyFallback) {
  TestDevice test = accelerator({});
  const Placed placed(&test);
  FallbackPolicy policy;
  policy.max_copy_bytes = 0;
  const Status status = placed.apply(policy);
  ASSERT_FALSE(status);  // x goes there, the result comes back
  EXPECT_THAT(status.error().message(), AllOf(HasSubstr("1024 bytes"), Not(HasSubstr("kernel"))));
}

}  // namespace
}  // namespace shunt::test::schedule_fallback_test

// Options of compile() that contradict the graph, the placement or each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "schedule/plan/options.h"
#include "shunt/ops.h"
#include "support/test_device.h"

namespace shunt::test::schedule_compile_options_test {
namespace {

using ::testing::HasSubstr;

bool visit(const Observed&) {
  return true;
}

/// y = silu(x) on a CPU.
class OptionsOfCompile : public ::testing::Test {
 protected:
  OptionsOfCompile() {
    GraphBuilder g;
    x_ = g.input("x", *make_tensor(DType::kF32, {4}))->id;
    y_ = silu(g, Value{x_})->id;
    EXPECT_TRUE(g.output(Value{y_}, "y"));
    graph_ = *std::move(g).build();
    placement_ = *place(graph_, devices_);
  }
  Status check(const std::function<void(CompileOptions&)>& set) const {
    CompileOptions options;
    set(options);
    return check_options(graph_, placement_, options);
  }
  void expect_invalid(const std::function<void(CompileOptions&)>& set, const std::string& message) {
    const Status status = check(set);
    ASSERT_FALSE(status) << message;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr(message));
  }

  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  std::vector<Device*> devices_ = {&host_};
  Graph graph_;
  NodeId x_ = 0;
  NodeId y_ = 0;
  Placement placement_;
};

TEST_F(OptionsOfCompile, StepsInFlightAreFrom1To64) {
  for (const int steps : {1, 64}) {
    EXPECT_TRUE(check([&](CompileOptions& options) { options.steps_in_flight = steps; })) << steps;
  }
  for (const int steps : {-1, 0, 65}) {
    expect_invalid([&](CompileOptions& options) { options.steps_in_flight = steps; },
                   std::to_string(steps) + " steps in flight; it may be 1 to 64");
  }
}

TEST_F(OptionsOfCompile, StepsInFlightDefaultTo4AndTo1WithAnObserver) {
  CompileOptions options;
  EXPECT_EQ(steps_in_flight(options), 4);
  options.observer = {{y_}, visit};
  EXPECT_EQ(steps_in_flight(options), 1);
  EXPECT_TRUE(check_options(graph_, placement_, options));
}

TEST_F(OptionsOfCompile, RejectsObservedNodesOutsideTheGraph) {
  const NodeId known[] = {x_, y_};
  EXPECT_TRUE(check([&](CompileOptions& options) { options.observe = known; }));
  const NodeId unknown[] = {static_cast<NodeId>(graph_.size())};
  expect_invalid([&](CompileOptions& options) { options.observe = unknown; }, "can't be observed");
}

TEST_F(OptionsOfCompile, RejectsObserversOfUncomputedNodesAndOfSeveralSteps) {
  const auto past_the_end = static_cast<NodeId>(graph_.size());
  for (const NodeId node : {x_, past_the_end}) {
    expect_invalid(
        [&](CompileOptions& options) {
          options.observer = {{y_, node}, visit};
        },
        "is not computed: there is nothing to observe");
  }
  expect_invalid(
      [&](CompileOptions& options) {
        options.observer = {{y_}, {}};
      },
      "an observer needs something to call");
  expect_invalid(
      [&](CompileOptions& options) {
        options.observer = {{y_}, visit};
        options.steps_in_flight = 2;
      },
      "an observer sees one step at a time, not 2 in flight");
}

TEST_F(OptionsOfCompile, PlacementOfAnotherGraphOrWithoutDevicesIsRejected) {
  const auto nothing = [](CompileOptions&) {};
  EXPECT_TRUE(check(nothing));
  Placement whole = placement_;
  placement_.decisions.pop_back();
  expect_invalid(nothing, "the placement is of another graph");
  placement_ = whole;
  placement_.devices.clear();
  expect_invalid(nothing, "the placement has no devices");
}

TEST_F(OptionsOfCompile, RejectsMemoryOfNonLeavesOrTooSmallForTheTensor) {
  const auto buffer = *host_memory().allocate(20);
  const auto expect_refused = [&](const LeafMemory& leaf, const char* message) {
    CompileOptions options;
    options.memory = {&leaf, 1};
    const auto found = find_leaves(graph_, options);
    ASSERT_FALSE(found) << message;
    EXPECT_EQ(found.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(found.error().message(), HasSubstr(message));
  };
  const LeafMemory fits = {x_, {buffer.get(), 4}};  // 16 bytes
  CompileOptions options;
  options.memory = {&fits, 1};
  const auto found = find_leaves(graph_, options);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)[x_].offset, 4U);
  expect_refused({x_, {buffer.get(), 5}}, "takes 16 bytes, which are not inside the buffer");
  expect_refused({x_, {buffer.get(), 21}}, "not inside the buffer");
  expect_refused({x_, {buffer.get(), static_cast<std::size_t>(-8)}}, "not inside the buffer");
  expect_refused({x_, {}}, "not inside the buffer");
  expect_refused({y_, {buffer.get(), 0}}, "which is not a leaf");
  expect_refused({static_cast<NodeId>(graph_.size()), {buffer.get(), 0}}, "which is not a leaf");
}

}  // namespace
}  // namespace shunt::test::schedule_compile_options_test

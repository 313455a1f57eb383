// Plans for devices with too little memory: less goes there, down to nothing, and results stay.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "graph/reference.h"
#include "graph/storage_users.h"
#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_make_plan_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

constexpr std::int64_t kWidth = 256;
constexpr std::size_t kRow = kWidth * sizeof(float);
constexpr int kSteps = 12;

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// x w, silu of it, silu of that ..., and then their sum: each value lives until it is added, so
/// that the more of it is on a device, the more memory it takes there.
struct Fan {
  std::shared_ptr<const Graph> graph;
  NodeId x = 0, w = 0, y = 0;
  std::size_t operations = 0;
  RefTensor x_values = make_values({.sizes = {kWidth, 1, 1, 1}}, 1);
  RefTensor w_values = make_values({.sizes = {kWidth, 1, 1, 1}}, 2);
  RefTensor expected;

  Fan() {
    GraphBuilder g;
    const auto input = g.input("x", *make_tensor(DType::kF32, {kWidth}));
    const auto weight = g.weight("w", *make_tensor(DType::kF32, {kWidth}));
    std::vector<Result<Value>> values = {mul(g, input, weight)};
    for (int i = 1; i < kSteps; ++i) values.push_back(silu(g, values.back()));
    auto sum = values[0];
    for (int i = 1; i < kSteps; ++i) sum = add(g, sum, values[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(g.output(sum, "y"));
    x = input->id;
    w = weight->id;
    y = sum->id;
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    for (NodeId id = 0; id < graph->size(); ++id) operations += is_computed(graph->node(id));
    std::vector<RefTensor> by_node(graph->size());
    by_node[x] = x_values;
    by_node[w] = w_values;
    expected = (*reference_run(*graph, by_node))[y];
  }

  void expect_right(Plan& plan) const {
    const auto input = plan.input(Value{x});
    ASSERT_TRUE(input);
    write_tensor(x_values, graph->node(x).result, input->data());
    const Status status = plan.run();
    ASSERT_TRUE(status) << status.error().message();
    const auto output = plan.output(Value{y});
    ASSERT_TRUE(output);
    const RefTensor got = read_tensor(output->data(), graph->node(y).result, {kWidth, 1, 1, 1});
    EXPECT_LT(nmse(got, expected), 1e-12);
  }

  /// The place of the weight, in a device's memory.
  std::unique_ptr<Buffer> weight_on(TestDevice& device) const {
    auto buffer = device.memory().allocate(kRow);
    EXPECT_TRUE(buffer);
    std::vector<std::byte> bytes(kRow);
    write_tensor(w_values, graph->node(w).result, bytes.data());
    EXPECT_TRUE((*buffer)->write(0, bytes));
    return std::move(*buffer);
  }
};

std::size_t operations_on(const Plan& plan, int device) {
  std::size_t count = 0;
  for (NodeId id = 0; id < plan.graph().size(); ++id) {
    count += is_computed(plan.graph().node(id)) && plan.placement().decisions[id].device == device;
  }
  return count;
}

/// A node that is not on the first device left it for lack of memory, and the explanation has that
/// reason.
void expect_explained(const Plan& plan) {
  std::size_t left = 0;
  const Explanation explanation = explain(plan.graph(), plan.placement(), plan.segments());
  for (const ExplainedSegment& segment : explanation.segments) {
    if (segment.device == 0) continue;
    for (const ExplainedNode& node : segment.nodes) {
      ++left;
      EXPECT_TRUE(node.fell_back);
      ASSERT_EQ(node.rejected.size(), 1U);
      EXPECT_EQ(node.rejected[0].refusal, Refusal::kMemory);
      EXPECT_EQ(node.rejected[0].reason, explanation.notes.back());
    }
  }
  EXPECT_EQ(left == 0, explanation.notes.empty());
  EXPECT_THAT(explanation.notes,
              Each(AllOf(HasSubstr("memory was refused (test0: "),
                         ContainsRegex("[0-9]+ bytes for (results|a step in flight): "),
                         HasSubstr("test0 keeps "))));
}

TEST(MakePlan, SmallDeviceGetsTheOpsThatFitIntoItsMemory) {
  const Fan fan;
  const CostModel estimates;
  for (const CostModel* costs : {static_cast<const CostModel*>(nullptr), &estimates}) {
    std::size_t some = 0;
    std::size_t before = 0;
    for (std::size_t rows = 0; rows <= kSteps + 4; ++rows) {
      SCOPED_TRACE(rows);
      TestDevice device({.memory = kRow * (1 + rows)});  // the weight, and `rows` more
      TestDevice host(cpu_config());
      Device* devices[] = {&device, &host};
      {
        const auto weight = fan.weight_on(device);
        const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
        const auto plan = make_plan(fan.graph, devices, {.memory = memory, .costs = costs},
                                    {.steps_in_flight = 1});
        ASSERT_TRUE(plan) << plan.error().message();
        expect_explained(**plan);
        fan.expect_right(**plan);
        const std::size_t on_device = operations_on(**plan, 0);
        EXPECT_EQ(device.computed(), on_device);
        EXPECT_GE(on_device, before);  // more room, no less to do
        before = on_device;
        some += on_device > 0 && on_device < fan.operations;
        EXPECT_EQ((*plan)->placement().notes.empty(), on_device == fan.operations);
        if (rows == 0) {
          EXPECT_THAT((*plan)->placement().notes.back(),
                      HasSubstr("test0 keeps none of its operations"));
        }
      }
      EXPECT_EQ(device.allocated(), 0U);
      EXPECT_EQ(host.allocated(), 0U);
    }
    EXPECT_GE(some, 2U);
    EXPECT_EQ(before, fan.operations);
  }
}

TEST(MakePlan, DeviceWhoseMaxBufferFitsNoTensorGetsNoOps) {
  const Fan fan;
  TestDevice device({.max_buffer = kRow - 1});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const CostModel estimates;
  const auto weight = fan.weight_on(host);
  const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
  const auto plan = make_plan(fan.graph, devices, {.memory = memory, .costs = &estimates},
                              {.steps_in_flight = 1});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(operations_on(**plan, 0), 0U);
  EXPECT_THAT((*plan)->placement().notes, Contains(HasSubstr("test0 keeps none of its")));
  fan.expect_right(**plan);
}

TEST(MakePlan, SurvivesTheFailureOfAnySingleAllocation) {
  const Fan fan;
  for (const int steps_in_flight : {1, 3}) {
    std::size_t refused = 0;
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(n);
      TestDevice device({});
      TestDevice host(cpu_config());
      Device* devices[] = {&device, &host};
      const auto weight = fan.weight_on(device);
      const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
      device.fail_at({.allocation = n});
      {
        const auto plan =
            make_plan(fan.graph, devices, {.memory = memory}, {.steps_in_flight = steps_in_flight});
        ASSERT_TRUE(plan) << plan.error().message();
        expect_explained(**plan);
        EXPECT_EQ((*plan)->placement().notes.size(), device.has_failed() ? 1U : 0U);
        EXPECT_EQ(operations_on(**plan, 0) < fan.operations, device.has_failed());
        fan.expect_right(**plan);
      }
      EXPECT_EQ(device.allocated(), kRow);  // the weight
      EXPECT_EQ(host.allocated(), 0U);
      if (!device.has_failed()) break;
      ++refused;
    }
    EXPECT_GE(refused, static_cast<std::size_t>(steps_in_flight));
  }
}

TEST(MakePlan, MovesOpsOnlyFromTheDeviceThatIsOutOfMemory) {
  const Fan fan;
  const CostModel estimates;
  TestDevice small({.name = "a0", .memory = 4 * kRow});
  TestDevice large({.name = "b0"});
  TestDevice host(cpu_config());
  Device* devices[] = {&small, &large, &host};
  const auto weight = fan.weight_on(host);
  const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
  const auto plan = make_plan(fan.graph, devices, {.memory = memory, .costs = &estimates},
                              {.steps_in_flight = 1});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT((*plan)->placement().notes, Not(IsEmpty()));
  EXPECT_THAT((*plan)->placement().notes, Each(HasSubstr("a0 keeps")));
  EXPECT_GT(operations_on(**plan, 1), 0U);
  fan.expect_right(**plan);
}

TEST(MakePlan, TwoSmallDevicesGetTheOpsThatFitIntoTheirMemory) {
  const Fan fan;
  const CostModel estimates;
  for (const std::size_t rows : {0U, 3U, 8U}) {
    for (const std::size_t others : {0U, 4U}) {
      SCOPED_TRACE(fmt::format("{} and {} rows", rows, others));
      TestDevice first({.name = "a0", .memory = rows * kRow});
      TestDevice second({.name = "b0", .memory = others * kRow});
      TestDevice host(cpu_config());
      Device* devices[] = {&first, &second, &host};
      const auto weight = fan.weight_on(host);
      const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
      const auto plan = make_plan(fan.graph, devices, {.memory = memory, .costs = &estimates},
                                  {.steps_in_flight = 1});
      ASSERT_TRUE(plan) << plan.error().message();
      if (rows == 0) {
        EXPECT_EQ(operations_on(**plan, 0), 0U);
        EXPECT_THAT((*plan)->placement().notes, Contains(HasSubstr("a0 keeps none of")));
      }
      if (others == 0) {
        EXPECT_EQ(operations_on(**plan, 1), 0U);
      }
      fan.expect_right(**plan);
    }
  }
}

/// Preparing more than two nodes for it takes more memory than the host has.
class Cramped final : public Device {
 public:
  TestDevice device = TestDevice({});

  std::string_view name() const override { return device.name(); }
  DeviceInfo info() const override { return device.info(); }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return device.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return device.can_read(type); }
  BufferType& memory() override { return device.memory(); }
  Result<std::unique_ptr<Stream>> open_stream() override { return device.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    if (segment.nodes.size() > 2) throw std::bad_alloc();
    return device.prepare(segment);
  }
};

TEST(MakePlan, MovesOpsEvenIfOutOfMemoryNamesNoDevice) {
  const Fan fan;
  Cramped cramped;
  TestDevice host(cpu_config());
  Device* devices[] = {&cramped, &host};
  const auto weight = fan.weight_on(cramped.device);
  const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
  const auto plan = make_plan(fan.graph, devices, {.memory = memory});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT((*plan)->placement().notes, Contains(HasSubstr("(out of memory), so test0 keeps ")));
  EXPECT_THAT(operations_on(**plan, 0), AllOf(Gt(0U), Le(2U)));
  fan.expect_right(**plan);
}

TEST(MakePlan, PinnedOpsStayOrOutOfMemoryNamesThePin) {
  const Fan fan;
  const Pin pins[] = {{"y", "test0"}};
  // Room for the weight, the last sum and the two that it reads.
  for (const std::size_t rows : {4U, 3U}) {
    TestDevice device({.memory = rows * kRow});
    TestDevice host(cpu_config());
    Device* devices[] = {&device, &host};
    const auto weight = fan.weight_on(device);
    const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
    const auto plan =
        make_plan(fan.graph, devices, {.memory = memory, .pins = pins}, {.steps_in_flight = 1});
    if (rows == 4) {
      ASSERT_TRUE(plan) << plan.error().message();
      EXPECT_EQ((*plan)->placement().decisions[fan.y].device, 0);
      EXPECT_LT(operations_on(**plan, 0), fan.operations);
      EXPECT_THAT((*plan)->placement().notes, Each(HasSubstr(" and 1 that can't move")));
      fan.expect_right(**plan);
    } else {
      ASSERT_FALSE(plan);
      EXPECT_EQ(plan.error().code(), ErrorCode::kOutOfMemory);
      EXPECT_EQ(plan.error().device(), "test0");
      EXPECT_THAT(plan.error().message(),
                  AllOf(HasSubstr("y (add) can't leave test0 (set by the pin y=test0)"),
                        HasSubstr("bytes")));
      EXPECT_EQ(device.allocated(), kRow);
    }
  }
}

TEST(MakePlan, OpsPinnedToTheCpuKeepTheirReason) {
  const Fan fan;
  const Pin pins[] = {{"y", "cpu0"}};
  TestDevice device({.memory = 4 * kRow});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const auto weight = fan.weight_on(device);
  const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
  const auto plan =
      make_plan(fan.graph, devices, {.memory = memory, .pins = pins}, {.steps_in_flight = 1});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT((*plan)->placement().notes, Not(IsEmpty()));
  const Decision& decision = (*plan)->placement().decisions[fan.y];
  EXPECT_EQ(decision.rule, Rule::kPinned);
  ASSERT_EQ(decision.rejected.size(), 1U);
  EXPECT_EQ(decision.rejected[0].reason, "supported, but the node is pinned");
}

TEST(MakePlan, WriterOfAllocatedCacheStaysOnItsDevice) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, 2}));
  const auto rows = g.input("rows", *make_tensor(DType::kI32, {2}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {kWidth, 4}));
  const auto written = set_rows(g, cache, silu(g, x), rows);
  ASSERT_TRUE(g.output(scale(g, written, {.scale = 2}), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice device({.memory = 4 * kRow + 100});  // the cache, and not the values written into it
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const auto buffer = device.memory().allocate(4 * kRow);
  ASSERT_TRUE(buffer);
  const LeafMemory memory[] = {{cache->id, {buffer->get(), 0}}};
  const auto plan = make_plan(graph, devices, {.memory = memory});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(plan.error().message(),
              HasSubstr("(set_rows) can't leave test0 (it writes into cache (cache)"));
  EXPECT_EQ(device.allocated(), 4 * kRow);
}

TEST(MakePlan, ReturnsOtherErrorsUnchanged) {
  const Fan fan;
  TestDevice device({});
  TestDeviceConfig poor = cpu_config();
  poor.memory = kRow;
  TestDevice host(poor);
  Device* devices[] = {&device, &host};
  const auto weight = fan.weight_on(device);
  const LeafMemory memory[] = {{fan.w, {weight.get(), 0}}};
  // A device that is lost is not one that is full.
  device.fail_at({.allocation = 1, .for_good = true});
  const auto lost = make_plan(fan.graph, devices, {.memory = memory});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::kDevice);
  device.fail_at({});
  // The CPU has no other device to give work to. It is the only one left for work that another
  // device refused.
  TestDevice small({.memory = kRow});
  Device* both[] = {&small, &host};
  const auto on_small = fan.weight_on(small);
  const LeafMemory small_memory[] = {{fan.w, {on_small.get(), 0}}};
  const auto last = make_plan(fan.graph, both, {.memory = small_memory});
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(last.error().device(), "cpu0");
  EXPECT_THAT(last.error().message(),
              AllOf(HasSubstr("memory was refused (test0: "), HasSubstr("cpu0: ")));
  Device* alone[] = {&host};
  const auto own = fan.weight_on(host);
  const LeafMemory host_memory[] = {{fan.w, {own.get(), 0}}};
  const auto full = make_plan(fan.graph, alone, {.memory = host_memory});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(full.error().device(), "cpu0");

  EXPECT_FALSE(make_plan(nullptr, alone, {.memory = host_memory}));
  EXPECT_FALSE(make_plan(fan.graph, {}, {.memory = host_memory}));
  const auto twice = make_plan(fan.graph, alone, {.memory = host_memory}, {.memory = host_memory});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Place, RespectsExclusions) {
  const Fan fan;
  TestDevice device({});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const CostModel estimates;
  for (const CostModel* costs : {static_cast<const CostModel*>(nullptr), &estimates}) {
    const Exclusion y[] = {{fan.y, 0, Refusal::kMemory, "no room"}};
    const auto placement = place(*fan.graph, devices, {.exclusions = y, .costs = costs});
    ASSERT_TRUE(placement);
    EXPECT_EQ(placement->decisions[fan.y - 1].device, 0);
    const Decision& decision = placement->decisions[fan.y];
    EXPECT_EQ(decision.device, 1);
    ASSERT_EQ(decision.rejected.size(), 1U);
    EXPECT_EQ(decision.rejected[0].refusal, Refusal::kMemory);
    EXPECT_EQ(decision.rejected[0].reason, "no room");
    // A pin to where it must not be.
    const Pin pins[] = {{"y", "test0"}};
    const auto pinned = place(*fan.graph, devices, {.pins = pins, .exclusions = y});
    ASSERT_FALSE(pinned);
    EXPECT_THAT(pinned.error().message(), AllOf(HasSubstr("y=test0"), HasSubstr("no room")));
  }
  for (const Exclusion& wrong :
       {Exclusion{fan.x, 0}, Exclusion{fan.y, 1}, Exclusion{fan.y, -1}, Exclusion{fan.y, 2},
        Exclusion{static_cast<NodeId>(fan.graph->size()), 0}}) {
    const auto placement = place(*fan.graph, devices, {.exclusions = std::span(&wrong, 1)});
    ASSERT_FALSE(placement);
    EXPECT_EQ(placement.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shunt::test::schedule_make_plan_test

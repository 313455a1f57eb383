// Measuring one op or the copies of a device: number of runs, deadlines, memory.
#include "schedule/costs/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/costs/timer.h"
#include "shunt/costs.h"
#include "support/products.h"
#include "support/test_device.h"

namespace shunt::test::schedule_measure_test {
namespace {

TEST(MeasureOp, SlowDeviceRunsASingleNodeAndColumn) {
  TestDevice device({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const MeasureOptions quick = {.width = 64, .seconds = 0, .chain = 16, .run_seconds = 1e-12};
  SpareMemory spare;
  ASSERT_TRUE(measure_op(device, {"matmul", DType::kQ8_0}, quick, spare));
  // Three sizes, each with three runs and the warm-up.
  EXPECT_EQ(device.computed(), 3U * 4);
}

/// Every node takes a second, and a chain, too. A node may take twice that, so each size has twice
/// the columns of the one before.
TEST(MeasureOp, SingleNodeMayTakeTwiceTheTimeOfAChain) {
  TestDevice device({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  double clock = 0;
  device.on_launch = [&](NodeId) { clock += 1; };
  MeasureOptions slow = {.width = 64, .seconds = 0, .chain = 16, .run_seconds = 1};
  slow.now = [&] { return clock; };
  SpareMemory spare;
  ASSERT_TRUE(measure_op(device, {"matmul", DType::kQ8_0}, slow, spare));
  // Tiny, bound by memory, 2, 4 and 8 columns: each with three runs and the warm-up.
  EXPECT_EQ(device.computed(), 5U * 4);
}

/// The length of a chain follows from its bytes, also for products bound by arithmetic. Many
/// columns get an eighth of the bytes. Bytes of a node: w in blocks of 34 for 32 elements, x and y
/// in F32.
TEST(MeasureOp, ChainLengthFollowsFromTheBytesOfEachSize) {
  const auto computed = [](std::int64_t width, double bytes) {
    TestDevice device(
        {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true, .computes = false});
    SpareMemory spare;
    const MeasureOptions quick = {
        .width = width, .seconds = 0, .runs = 1, .chain = 4, .bytes = bytes};
    EXPECT_TRUE(measure_op(device, {"matmul", DType::kQ8_0}, quick, spare));
    return device.computed();
  };
  // Five sizes: tiny, bound by memory, few columns, many columns, some of them. Each has a warm-up
  // and a run.
  EXPECT_EQ(computed(1024, 1e12), 5U * 4 * 2);
  EXPECT_EQ(computed(1024, 1), 5U * 1 * 2);
  // Bound by memory: 1,122,304 bytes. 32 columns: 1,376,256. 256 columns: 3,211,264. 128:
  // 2,162,688.
  EXPECT_EQ(computed(1024, 3.4e6), (4U + 3 + 2 + 1 + 1) * 2);
  // Few columns are 32 of 512, not 64: 4,980,736 bytes instead of 5,505,024. No product bound by
  // arithmetic is wider than 2048.
  EXPECT_EQ(computed(4096, 15e6), (4U + 1 + 3 + 1 + 1) * 2);
  // 512 columns: 12,845,056 bytes. A quarter of them: 6,553,600.
  EXPECT_EQ(computed(4096, 210.4e6), (4U + 4 + 4 + 2 + 4) * 2);
}

/// The result does not follow the luckiest run, nor the slowest.
TEST(MeasureOp, TimeIsTheMedianOfTheRuns) {
  const auto median_of = [](std::vector<double> times) {
    TestDevice device({});
    double clock = 0;
    std::size_t launch = 0;
    device.on_launch = [&](NodeId) { clock += times.at(launch++ / 2) / 2; };
    SpareMemory spare;
    const int runs = static_cast<int>(times.size()) - 1;
    const auto seconds = time_graph(device, products({{DType::kF16, 1}}),
                                    {.runs = runs, .now = [&] { return clock; }}, spare);
    EXPECT_TRUE(seconds);
    return seconds ? *seconds : -1;
  };
  // A run has two nodes. The first run is the warm-up.
  EXPECT_EQ(median_of({100, 1, 7, 2}), 2);
  EXPECT_EQ(median_of({1, 64, 8}), 8);
  EXPECT_EQ(median_of({1, 5}), 5);
}

TEST(MeasureOp, EachSizeHasAtLeastTheRequestedTimedRuns) {
  TestDevice device({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const MeasureOptions quick = {.width = 64, .seconds = 0, .runs = 2, .chain = 1};
  SpareMemory spare;
  ASSERT_TRUE(measure_op(device, {"matmul", DType::kQ8_0}, quick, spare));
  // Three sizes, each with two runs and the warm-up.
  EXPECT_EQ(device.computed(), 3U * 3);
}

/// A run takes two seconds of a clock that only the device moves: one for each node. The first run
/// does not count.
TEST(MeasureOp, RunsEndAtTheDeadline) {
  TestDevice device({});
  double clock = 100;
  device.on_launch = [&](NodeId) { clock += 1; };
  const Graph graph = products({{DType::kF16, 1}});
  SpareMemory spare;
  const auto runs_until = [&](double deadline) {
    const std::size_t before = device.computed();
    clock = 100;
    const auto seconds = time_graph(
        device, graph, {.seconds = 9, .deadline = deadline, .now = [&] { return clock; }}, spare);
    EXPECT_TRUE(seconds && *seconds == 2);
    return (device.computed() - before) / 2;
  };
  // Runs that count begin at 102, 104, 106, 108 and 110.
  EXPECT_EQ(runs_until(1000), 6U);
  EXPECT_EQ(runs_until(105), 3U);
  EXPECT_EQ(runs_until(104), 2U);
  // One counts in any case: without it there is no result.
  EXPECT_EQ(runs_until(0), 2U);
}

TEST(MeasureOp, AllSizesOfAnOpHaveOneDeadline) {
  TestDevice device({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  double clock = 100;
  device.on_launch = [&](NodeId) { clock += 1; };
  SpareMemory spare;
  MeasureOptions late = {.width = 64, .seconds = 1000, .chain = 1};
  late.deadline = 100;
  late.now = [&] { return clock; };
  ASSERT_TRUE(measure_op(device, {"matmul", DType::kQ8_0}, late, spare));
  EXPECT_EQ(device.computed(), 3U * 2);
}

TEST(MeasureOp, CopyMeasurementsKeepTheDeadline) {
  TestDevice device({});
  MeasureOptions late = {.width = 64, .seconds = 1000};
  late.deadline = 0;
  late.now = [] { return 1.0; };
  CostModel costs;
  ASSERT_TRUE(measure_copies(device, late, costs));
  // Two directions, two sizes, two runs.
  EXPECT_EQ(device.copies(), 8U);
}

TEST(MeasureOp, WidensRowsToWholeBlocksOfLargeBlockTypes) {
  TestDevice device({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  SpareMemory spare;
  const auto cost =
      measure_op(device, {"matmul", DType::kQ4_K}, {.width = 64, .seconds = 0, .chain = 1}, spare);
  ASSERT_TRUE(cost) << cost.error().message();
  EXPECT_EQ(cost->op, "matmul");
  EXPECT_EQ(cost->dtype, DType::kQ4_K);
  EXPECT_GT(cost->overhead, 0);
}

TEST(MeasureOp, PlacesWeightsInTheLayoutThatTheDevicePrefers) {
  TestDevice device({.wants_weight = [](const Graph&, NodeId) { return true; }});
  SpareMemory spare;
  ASSERT_TRUE(time_graph(device, products({{DType::kF16, 1}}), {}, spare));
  ASSERT_EQ(device.weights_placed().size(), 1U);
  ASSERT_EQ(device.weights_placed()[0].size(), 1U);
  EXPECT_EQ(device.weights_placed()[0][0].tensor.dtype, DType::kF16);
  EXPECT_EQ(device.weights_allocated(), 0U);
}

TEST(MeasureOp, RejectsOpsWithoutACostClass) {
  TestDevice device({});
  SpareMemory spare;
  const auto cost = measure_op(device, {"softmax", DType::kF32}, {.width = 64}, spare);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(cost.error().message(), "softmax is never measured");
  EXPECT_EQ(device.computed(), 0U);
}

TEST(MeasureOp, ReusesMemoryBetweenMeasurements) {
  TestDevice device({});
  {
    SpareMemory spare;
    const Graph large = products({{DType::kF32, 8}});
    const Graph small = products({{DType::kF16, 1}});
    ASSERT_TRUE(time_graph(device, small, {}, spare));
    ASSERT_TRUE(time_graph(device, large, {}, spare));
    const std::size_t allocations = device.allocations();
    const std::size_t allocated = device.allocated();
    EXPECT_GE(allocated, std::size_t{256} * 256 * 4);
    ASSERT_TRUE(time_graph(device, small, {}, spare));
    ASSERT_TRUE(time_graph(device, large, {}, spare));
    EXPECT_EQ(device.allocations(), allocations);
    EXPECT_EQ(device.allocated(), allocated);
  }
  EXPECT_EQ(device.allocated(), 0U);
}

TEST(MeasureOp, ReservedMemoryNeedsNoFurtherAllocation) {
  TestDevice device({});
  SpareMemory spare;
  ASSERT_TRUE(spare.reserve(device.memory(), 10'000'000));
  const std::size_t allocations = device.allocations();
  EXPECT_GE(device.allocated(), 10'000'000U);
  ASSERT_TRUE(time_graph(device, products({{DType::kF32, 8}}), {}, spare));
  EXPECT_EQ(device.allocations(), allocations);
  ASSERT_TRUE(spare.reserve(device.memory(), 1000));
  EXPECT_EQ(device.allocations(), allocations);
}

/// Larger than one thread fills.
TEST(MeasureOp, NewMemoryHoldsZeros) {
  TestDevice device({.host_accessible = true});
  for (BufferType* type : {&host_memory(), &device.memory()}) {
    SpareMemory spare;
    const std::size_t bytes = (std::size_t{40} << 20) + 7;
    const auto buffer = spare.take(*type, bytes);
    ASSERT_TRUE(buffer) << buffer.error().message();
    std::vector<std::byte> found(bytes, std::byte{1});
    ASSERT_TRUE((*buffer)->read(0, found));
    EXPECT_EQ(std::ranges::count(found, std::byte{0}), static_cast<std::ptrdiff_t>(bytes));
  }
}

}  // namespace
}  // namespace shunt::test::schedule_measure_test

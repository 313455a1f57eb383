// Copies of a plan transfer the used rows of a tensor, and adjacent inputs at once. Expected
// bytes are computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "schedule/memory/homes.h"
#include "schedule/plan/node_bytes.h"
#include "schedule/plan/segments.h"
#include "shunt/explain.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/trace.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"
#include "unit/schedule/ways.h"

namespace shunt::test::schedule_copies_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
}

// ---- the shape of a copy

Tensor tensor_of(std::array<std::int64_t, kMaxDims> sizes,
                 std::array<std::int64_t, kMaxDims> strides) {
  Tensor tensor = *make_tensor(DType::kF32, {sizes[0], sizes[1], sizes[2], sizes[3]});
  tensor.strides = strides;
  return tensor;
}

std::vector<std::size_t> shape_of(const Tensor& tensor, const DynamicDimValues& dynamic_dims = {}) {
  const CopyShape shape = copy_shape(tensor, dynamic_dims);
  EXPECT_EQ(shape.to_pitch, shape.from_pitch);
  return {shape.rows, shape.bytes, shape.to_pitch};
}

TEST(CopyShape, ContiguousTensorIsOneRow) {
  EXPECT_THAT(shape_of(tensor_of({10, 3, 2, 1}, {4, 40, 120, 240})), ElementsAre(1, 240, 240));
  EXPECT_THAT(shape_of(tensor_of({1, 1, 1, 1}, {4, 4, 4, 4})), ElementsAre(1, 4, 4));
  // Transposed: in one piece all the same.
  EXPECT_THAT(shape_of(tensor_of({3, 10, 1, 1}, {40, 4, 120, 120})), ElementsAre(1, 120, 120));
}

TEST(CopyShape, HasARowForEachPieceOfTheInnermostDimension) {
  EXPECT_THAT(shape_of(tensor_of({10, 3, 1, 1}, {4, 400, 1200, 1200})), ElementsAre(3, 40, 400));
  EXPECT_THAT(shape_of(tensor_of({10, 3, 2, 1}, {4, 400, 1200, 2400})), ElementsAre(6, 40, 400));
  EXPECT_THAT(shape_of(tensor_of({10, 3, 2, 1}, {4, 40, 600, 1200})), ElementsAre(2, 120, 600));
  EXPECT_THAT(shape_of(tensor_of({1, 7, 1, 1}, {4, 1000, 7000, 7000})), ElementsAre(7, 4, 1000));
}

TEST(CopyShape, MergesRowsWhoseGapsCostLessThanAnExtraRow) {
  // Three rows cost 3 * 40 + 2 * 256 = 632.
  EXPECT_THAT(shape_of(tensor_of({10, 3, 1, 1}, {4, 64, 192, 192})), ElementsAre(1, 168, 168));
  // Two rows cost 2 * 40 + 256 = 336, one of all 40 bytes more than the pitch.
  EXPECT_THAT(shape_of(tensor_of({10, 2, 1, 1}, {4, 296, 592, 592})), ElementsAre(1, 336, 336));
  EXPECT_THAT(shape_of(tensor_of({10, 2, 1, 1}, {4, 300, 600, 600})), ElementsAre(2, 40, 300));
  // 3 matrices of 2 rows, the gaps of which are small inside a matrix only.
  EXPECT_THAT(shape_of(tensor_of({10, 2, 3, 1}, {4, 64, 2000, 6000})), ElementsAre(3, 104, 2000));
}

TEST(CopyShape, WithTwoPitchesMergesAcrossTheSmallerGaps) {
  // 2 x 3 rows of 40 bytes, 64 and 1000 bytes apart: two rows of 168 bytes, with two gaps each.
  EXPECT_THAT(shape_of(tensor_of({10, 3, 2, 1}, {4, 64, 1000, 2000})), ElementsAre(2, 168, 1000));
}

TEST(CopyShape, CopiesABroadcastDimensionOnce) {
  EXPECT_THAT(shape_of(tensor_of({10, 3, 5, 1}, {4, 400, 0, 0})), ElementsAre(3, 40, 400));
}

TEST(CopyShape, OverlappingRowsAreOneRow) {
  EXPECT_THAT(shape_of(tensor_of({10, 3, 1, 1}, {4, 20, 60, 60})), ElementsAre(1, 80, 80));
}

TEST(CopyShape, EmptyTensorHasNoRows) {
  EXPECT_EQ(shape_of(tensor_of({10, 0, 1, 1}, {4, 40, 40, 40}))[0], 0U);
}

TEST(CopyShape, QuantizedTensorCountsWholeBlocks) {
  const Tensor tensor = *make_tensor(DType::kQ8_0, {64, 5});  // 34 bytes for 32 elements
  EXPECT_THAT(shape_of(tensor), ElementsAre(1, 340, 340));
}

// ---- rows of a tensor whose dynamic dimension grows

class Copies : public ::testing::TestWithParam<Way> {
 protected:
  TestDeviceConfig config(const char* name, std::set<std::string> ops) {
    return config_of(GetParam(), name, std::move(ops), world_);
  }

  TestWorld world_;
  TestDevice host_ = cpu();
};

constexpr std::int64_t kMostColumns = 4096;
constexpr std::int64_t kRows = 8;

/// y = silu(mask) / 2, of a mask [columns, rows] whose columns are a dynamic dimension.
struct MaskGraph {
  MaskGraph() {
    GraphBuilder g;
    columns = *g.dynamic_dim("columns", kMostColumns);
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {columns, kRows}));
    EXPECT_TRUE(g.output(scale(g, silu(g, mask), {.scale = 0.5F}), "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  RefTensor mask(std::int64_t used) const {
    return make_values({.sizes = {used, kRows, 1, 1}}, static_cast<std::uint64_t>(used));
  }
  /// Sets the dynamic dimension, fills the mask, runs a step and compares its result.
  void run(GraphRun& run, std::int64_t used) const {
    ASSERT_TRUE(run.plan().set_dynamic_dim(columns, used));
    const RefTensor x = mask(used);
    ASSERT_TRUE(run.set_inputs({{0, x}}));
    const Status status = run.plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto y = run.output(graph->outputs()[0], run.plan().dynamic_dims());
    ASSERT_TRUE(y);
    ASSERT_EQ(y->data.size(), x.data.size());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      ASSERT_NEAR(y->data[i], 0.5 * x.data[i] / (1 + std::exp(-x.data[i])), 1e-6) << i;
    }
  }
  std::shared_ptr<const Graph> graph;
  Dim columns = {};
};

TEST_P(Copies, TransferOnlyTheUsedColumnsOfAMask) {
  const MaskGraph mask;
  TestDevice device(config("a0", {}));
  Device* devices[] = {&device, &host_};
  auto run =
      GraphRun::create(mask.graph, devices, {{0, mask.mask(kMostColumns)}}, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  std::size_t bytes = 0;
  std::size_t copies = 0;
  for (const std::int64_t used : {std::int64_t{100}, std::int64_t{101}, kMostColumns,
                                  std::int64_t{1}, std::int64_t{0}, std::int64_t{100}}) {
    mask.run(**run, used);
    bytes += static_cast<std::size_t>(used * kRows) * sizeof(float);
    copies += 1;
    EXPECT_EQ(device.received(), bytes) << used;
    EXPECT_EQ(device.sent(), bytes) << used;
    EXPECT_EQ(device.copies(), 2 * copies) << used;  // in and out
  }
}

TEST_P(Copies, BetweenTwoDevicesTransferOnlyTheUsedColumns) {
  const MaskGraph mask;
  for (const bool directly : {false, true}) {
    TestDeviceConfig first = config("a0", {"silu"});
    TestDeviceConfig second = config("b0", {"scale"});
    first.copies_directly = second.copies_directly = directly;
    TestDevice a(first);
    TestDevice b(second);
    Device* devices[] = {&a, &b, &host_};
    auto run =
        GraphRun::create(mask.graph, devices, {{0, mask.mask(kMostColumns)}}, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    mask.run(**run, 100);
    mask.run(**run, 7);
    const std::size_t bytes = 107 * kRows * sizeof(float);
    EXPECT_EQ(a.received(), bytes);
    EXPECT_EQ(a.sent(), directly ? 0 : bytes);
    EXPECT_EQ(b.received(), directly ? 0 : bytes);
    EXPECT_EQ(b.received_directly(), directly ? bytes : 0);
    EXPECT_EQ(b.sent(), bytes);
  }
}

TEST_P(Copies, OverlappingStepsTransferTheirOwnNumberOfColumns) {
  const MaskGraph mask;
  TestDevice device(config("a0", {}));
  Device* devices[] = {&device, &host_};
  auto run = GraphRun::create(mask.graph, devices, {{0, mask.mask(kMostColumns)}},
                              {.steps_in_flight = 2, .by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  Plan& plan = (*run)->plan();
  std::vector<std::uint64_t> steps;
  for (const std::int64_t used : {5, 9}) {
    ASSERT_TRUE(plan.set_dynamic_dim(mask.columns, used));
    ASSERT_TRUE((*run)->set_inputs({{0, mask.mask(used)}}));
    steps.push_back(*plan.start());
  }
  for (const std::uint64_t step : steps) {
    ASSERT_TRUE(plan.wait(step));
    DynamicDimValues dynamic_dims = plan.dynamic_dims();
    dynamic_dims[mask.columns.dynamic_dim] = step == steps[0] ? 5 : 9;
    const RefTensor x = mask.mask(dynamic_dims[mask.columns.dynamic_dim]);
    const auto y = (*run)->output(mask.graph->outputs()[0], dynamic_dims);
    ASSERT_TRUE(y);
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      ASSERT_NEAR(y->data[i], 0.5 * x.data[i] / (1 + std::exp(-x.data[i])), 1e-6);
    }
  }
  EXPECT_EQ(device.received(), 14 * kRows * sizeof(float));
}

// ---- adjacent inputs

/// A graph of inputs p, q and r, of as many floats each, with their values.
struct InputsGraph {
  using Build = std::function<void(GraphBuilder&, Result<Value>, Result<Value>, Result<Value>)>;
  InputsGraph(std::int64_t elements, const Build& build) {
    GraphBuilder g;
    std::vector<Result<Value>> inputs;
    for (const char* name : {"p", "q", "r"}) {
      inputs.push_back(g.input(name, *make_tensor(DType::kF32, {elements})));
      leaves[inputs.back()->id] =
          make_values({.sizes = {elements, 1, 1, 1}}, inputs.back()->id + 1);
    }
    build(g, inputs[0], inputs[1], inputs[2]);
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  void check(GraphRun& run) const {
    const Status status = run.plan().run();
    ASSERT_TRUE(status) << status.error().message();
    std::vector<RefTensor> by_node(graph->size());
    for (const auto& [id, values] : leaves) by_node[id] = values;
    const auto expected = reference_run(*graph, by_node);
    ASSERT_TRUE(expected);
    for (const NodeId output : graph->outputs()) {
      EXPECT_LT(nmse(*run.output(output), (*expected)[output]), 1e-12);
    }
  }
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
};

void sum_of_three(GraphBuilder& g, Result<Value> p, Result<Value> q, Result<Value> r) {
  EXPECT_TRUE(g.output(add(g, add(g, p, q), r), "y"));
}

TEST_P(Copies, OfAdjacentInputsAreMerged) {
  const InputsGraph inputs(10, sum_of_three);  // 40 bytes each, and 24 to the next
  for (const bool pinned : {false, true}) {
    TestDeviceConfig of_device = config("a0", {});
    of_device.pins_memory = pinned;
    TestDevice device(of_device);
    Device* devices[] = {&device, &host_};
    auto run = GraphRun::create(inputs.graph, devices, inputs.leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ((*run)->plan().memory()[pinned ? 0 : 1].inputs, 3 * 64U);
    for (std::size_t step = 1; step <= 3; ++step) {
      inputs.check(**run);
      EXPECT_EQ(device.copies(), 2 * step);  // and the result
      EXPECT_EQ(device.received(), step * (2 * 64 + 40));
      EXPECT_EQ(device.sent(), step * 40);
    }
  }
}

/// Of more than 64 KiB each.
TEST_P(Copies, OfInputsAbove64KiBAreNotMerged) {
  for (const bool large : {false, true}) {
    const std::size_t bytes = std::size_t{64} * 1024 + (large ? 4 : 0);
    const InputsGraph inputs(static_cast<std::int64_t>(bytes / sizeof(float)), sum_of_three);
    TestDevice device(config("a0", {}));
    Device* devices[] = {&device, &host_};
    auto run = GraphRun::create(inputs.graph, devices, inputs.leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    inputs.check(**run);
    EXPECT_EQ(device.copies(), large ? 4U : 2U);
    EXPECT_EQ(device.received(), 3 * bytes);
  }
}

TEST_P(Copies, OfInputsAboveTheMaxBufferSizeAreNotMerged) {
  const InputsGraph inputs(10, sum_of_three);
  for (const std::size_t largest : {191, 192}) {
    TestDeviceConfig of_device = config("a0", {});
    of_device.max_buffer = largest;
    TestDevice device(of_device);
    Device* devices[] = {&device, &host_};
    auto run = GraphRun::create(inputs.graph, devices, inputs.leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    inputs.check(**run);
    EXPECT_EQ(device.copies(), largest == 192 ? 2U : 4U);
    EXPECT_EQ(device.received(), largest == 192 ? 2 * 64U + 40 : 3 * 40U);
  }
}

/// b0 reads two of the three inputs of a0. The two are adjacent on b0, but on the host only where
/// none is between them.
TEST_P(Copies, OfInputsWithAGapBetweenThemAreNotMerged) {
  for (const bool hole : {false, true}) {
    const InputsGraph inputs(
        10, [&](GraphBuilder& g, Result<Value> p, Result<Value> q, Result<Value> r) {
          sum_of_three(g, p, q, r);
          EXPECT_TRUE(g.output(mul(g, p, hole ? r : q), "z"));
        });
    TestDevice a(config("a0", {"add"}));
    TestDevice b(config("b0", {"mul"}));
    Device* devices[] = {&a, &b, &host_};
    auto run = GraphRun::create(inputs.graph, devices, inputs.leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    inputs.check(**run);
    EXPECT_EQ(a.copies(), 2U);
    const auto merged = [](std::span<const Segment> segments) {
      std::vector<bool> of_b;
      for (const Segment& segment : segments) {
        for (const Transfer& transfer : segment.transfers) {
          if (transfer.to == 1) of_b.push_back(transfer.merged);
        }
      }
      return of_b;
    };
    const Plan& plan = (*run)->plan();
    EXPECT_THAT(merged(plan.segments()), ElementsAre(false, !hole));
    const Graph& graph = *inputs.graph;
    const SegmentedGraph cut = cut_segments(graph, plan.placement(), graph.outputs(),
                                            memory_types(graph, plan.placement()));
    EXPECT_THAT(merged(cut.segments), ElementsAre(false, !hole)) << "without a plan";
    EXPECT_EQ(b.copies(), hole ? 3U : 2U);
    EXPECT_EQ(b.received(), hole ? 2 * 40U : 64U + 40U);
  }
}

/// y = p + q * mask, with p and q of `tokens` floats and a mask [columns, tokens] of floats, the
/// sum of whose rows counts.
struct TokensGraph {
  TokensGraph() {
    GraphBuilder g;
    tokens = *g.dynamic_dim("tokens", 16);
    columns = *g.dynamic_dim("columns", 512);
    mask = *g.input("mask", *make_tensor(DType::kF32, {columns, tokens}));
    p = *g.input("p", *make_tensor(DType::kF32, {1, tokens}));
    q = *g.input("q", *make_tensor(DType::kF32, {1, tokens}));
    EXPECT_TRUE(g.output(add(g, mul(g, mask, q), p), "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  Status run(GraphRun& run, std::int64_t rows, std::int64_t used) const {
    SHUNT_TRY(run.plan().set_dynamic_dim(tokens, rows));
    SHUNT_TRY(run.plan().set_dynamic_dim(columns, used));
    const auto values = [&](std::int64_t width, Value node) {
      return make_values({.sizes = {width, rows, 1, 1}}, node.id + 1);
    };
    const RefTensor of_mask = values(used, mask);
    const RefTensor of_p = values(1, p);
    const RefTensor of_q = values(1, q);
    SHUNT_TRY(run.set_inputs({{mask.id, of_mask}, {p.id, of_p}, {q.id, of_q}}));
    SHUNT_TRY(run.plan().run());
    SHUNT_ASSIGN(const RefTensor y, run.output(graph->outputs()[0], run.plan().dynamic_dims()));
    for (std::size_t row = 0; row < of_p.data.size(); ++row) {
      for (std::size_t column = 0; column < static_cast<std::size_t>(used); ++column) {
        const std::size_t at = row * static_cast<std::size_t>(used) + column;
        EXPECT_NEAR(y.data[at], of_mask.data[at] * of_q.data[row] + of_p.data[row], 1e-6);
      }
    }
    return ok();
  }
  std::map<NodeId, RefTensor> leaves() const {
    std::map<NodeId, RefTensor> all;
    for (const Value node : {mask, p, q}) {
      all[node.id] = make_values({.sizes = max_sizes(graph->node(node.id).result.shape)}, 1);
    }
    return all;
  }
  std::shared_ptr<const Graph> graph;
  Dim tokens = {};
  Dim columns = {};
  Value mask;
  Value p;
  Value q;
};

TEST_P(Copies, OfPartiallyUsedInputsAreNotMerged) {
  const TokensGraph step;
  TestDevice device(config("a0", {}));
  Device* devices[] = {&device, &host_};
  auto run = GraphRun::create(step.graph, devices, step.leaves(), {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  // p and q take 64 bytes each, the mask comes after them.
  struct Case {
    std::int64_t rows;
    std::int64_t columns;
    std::size_t copies;
    std::size_t bytes;
  };
  for (const Case& each : {Case{16, 512, 1, 64 + 64 + 16 * 2048},         // all of it
                           Case{10, 512, 3, 40 + 40 + 10 * 2048},         // holes behind p and q
                           Case{16, 10, 2, 64 + 64 + 16 * 40},            // rows of the mask
                           Case{10, 10, 3, 40 + 40 + 10 * 40},            // both
                           Case{16, 450, 1, 64 + 64 + 15 * 2048 + 1800},  // small gaps are copied
                           Case{1, 10, 3, 4 + 4 + 40}, Case{16, 512, 1, 64 + 64 + 16 * 2048}}) {
    const std::size_t copies = device.copies();
    const std::size_t bytes = device.received();
    const Status status = step.run(**run, each.rows, each.columns);
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(device.copies() - copies, each.copies + 1) << each.rows << " x " << each.columns;
    EXPECT_EQ(device.received() - bytes, each.bytes) << each.rows << " x " << each.columns;
  }
}

TEST_P(Copies, FailedMergedCopyNamesItsFirstTensor) {
  const InputsGraph inputs(10, sum_of_three);
  TestDevice device(config("a0", {}));
  Device* devices[] = {&device, &host_};
  auto run = GraphRun::create(inputs.graph, devices, inputs.leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  device.fail_at({.copy = 1});
  const Status status = (*run)->plan().run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().device(), "a0");
  EXPECT_EQ(status.error().node(), "p (input) and 2 more");
  EXPECT_THAT(status.error().message(), HasSubstr("copying p (input) and 2 more for segment 0"));
  inputs.check(**run);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Copies,
    ::testing::Values(Way{.name = "Synchronous", .asynchronous = false}, Way{.name = "World"},
                      Way{.name = "LateErrors", .late = true},
                      Way{.name = "TwoQueues", .transfer_queue = true},
                      Way{.name = "TwoQueuesLateErrors", .late = true, .transfer_queue = true}),
    [](const auto& way) { return std::string(way.param.name); });

// ---- traces and explanations

TEST(CopiesInATrace, MergedCopiesAreOneSpanWithTheTransferredBytes) {
  const TokensGraph step;
  TestWorld world;
  TestDevice device({.name = "a0", .world = &world, .seconds_per_byte = 1});
  TestDevice host = cpu();
  Device* devices[] = {&device, &host};
  const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
  auto run = GraphRun::create(step.graph, devices, step.leaves(),
                              {.by_ability = true, .trace = trace.get()});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE(step.run(**run, 16, 10));
  const auto actions = trace->actions();
  ASSERT_EQ(actions.size(), 3U);
  EXPECT_EQ(actions[0].name, "p (input) to mask (input)");
  EXPECT_EQ(actions[0].nodes, 3U);
  EXPECT_THAT(actions[1].after, ElementsAre(0));
  const auto spans = trace->spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].bytes, 64U + 64 + 16 * 40);
  // Two copies of the device, from the start of the first to the end of the second.
  EXPECT_EQ(spans[0].times.begin, 0);
  EXPECT_EQ(spans[0].times.end, 64 + 64 + 16 * 40);
  EXPECT_EQ(spans[2].bytes, 16U * 40);
}

TEST(CopiesInAnExplanation, MergedTransfersAreMarked) {
  const TokensGraph step;
  TestDevice device({.name = "a0"});
  TestDevice host = cpu();
  Device* devices[] = {&device, &host};
  auto run = GraphRun::create(step.graph, devices, step.leaves(), {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  const Plan& plan = (*run)->plan();
  const Explanation explanation = explain(*step.graph, plan.placement(), plan.segments());
  std::vector<std::string> lines;
  for (const ExplainedTransfer& transfer : explanation.segments[0].transfers) {
    lines.push_back(fmt::format("{} {} {}", transfer.name, transfer.bytes, transfer.merged));
  }
  EXPECT_THAT(lines,
              ElementsAre("p (input) 64 false", "q (input) 64 true", "mask (input) 32768 true"));
}

}  // namespace
}  // namespace shunt::test::schedule_copies_test

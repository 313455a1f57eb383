// Plans: segments, transfers, memory, dynamic dimensions, failure. Devices are made for the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "graph/reference.h"
#include "schedule/plan/predict.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_plan_test {
namespace {

using ::testing::HasSubstr;

/// Values of all leaves: standard normal, or those that `special` gives.
std::map<NodeId, RefTensor> leaf_values(const Graph& graph,
                                        std::map<NodeId, RefTensor> special = {}) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph.node(id).is_leaf() || special.contains(id)) continue;
    special[id] = make_values(
        {.dtype = graph.node(id).result.dtype, .sizes = max_sizes(graph.node(id).result.shape)},
        id + 1);
  }
  return special;
}

std::vector<RefTensor> by_node(const Graph& graph, const std::map<NodeId, RefTensor>& leaves) {
  std::vector<RefTensor> all(graph.size());
  for (const auto& [id, values] : leaves) all[id] = values;
  return all;
}

TestDevice cpu(std::size_t max_buffer = std::size_t{1} << 30) {
  return TestDevice({.name = "cpu0",
                     .kind = DeviceKind::kCpu,
                     .ops = {},
                     .host_accessible = true,
                     .max_buffer = max_buffer});
}
TestDevice accelerator() {
  return TestDevice({.name = "test0", .ops = {"matmul", "add"}});
}

/// Two layers of x + w2 silu(w1 rms_norm(x)).
std::shared_ptr<const Graph> two_layers(Dim* tokens_out = nullptr) {
  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", 6);
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {32, *tokens}));
  for (int layer = 0; layer < 2; ++layer) {
    const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {32, 48}));
    const auto w2 = g.weight("w2", *make_tensor(DType::kF16, {48, 32}));
    x = add(g, x, matmul(g, w2, silu(g, matmul(g, w1, rms_norm(g, x)))));
  }
  EXPECT_TRUE(g.output(x, "y"));
  if (tokens_out != nullptr) *tokens_out = *tokens;
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

TEST(Plan, MatmulAndAddOnADeviceGiveTheResultsOfTheCpu) {
  const auto graph = two_layers();
  const std::string before = dump(*graph);
  const auto leaves = leaf_values(*graph);
  TestDevice host = cpu();
  TestDevice test = accelerator();

  Device* one[] = {&host};
  auto alone = GraphRun::create(graph, one, leaves);
  ASSERT_TRUE(alone) << alone.error().message();
  ASSERT_TRUE((*alone)->plan().run());
  const auto expected = (*alone)->output(graph->outputs()[0]);

  Device* both[] = {&test, &host};
  auto together = GraphRun::create(graph, both, leaves);
  ASSERT_TRUE(together) << together.error().message();
  const Status status = (*together)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  const auto got = (*together)->output(graph->outputs()[0]);
  ASSERT_TRUE(expected && got);
  EXPECT_EQ(got->data, expected->data);  // both devices compute alike, so to the bit
  EXPECT_EQ(test.computed(), 6U);        // 2 layers: 2 matmul and 1 add
  EXPECT_GE((*together)->plan().segments().size(), 4U);
  EXPECT_EQ(dump(*graph), before);

  // And it is the result of the ops' reference implementation.
  const auto reference = reference_run(*graph, by_node(*graph, leaves));
  ASSERT_TRUE(reference) << reference.error().message();
  EXPECT_LT(nmse(*got, (*reference)[graph->outputs()[0]]), 1e-12);
}

TEST(Plan, TensorReadByManyNodesIsTransferredOnce) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto h = rms_norm(g, x);
  Result<Value> sum = matmul(g, g.weight("w", *make_tensor(DType::kF32, {32, 8})), h);
  for (int i = 0; i < 3; ++i) {
    sum = add(g, sum, matmul(g, g.weight("w", *make_tensor(DType::kF32, {32, 8})), h));
  }
  ASSERT_TRUE(g.output(sum, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  auto run = GraphRun::create(graph, devices, leaf_values(*graph));
  ASSERT_TRUE(run) << run.error().message();
  std::size_t crossings = 0;
  for (const Segment& segment : (*run)->plan().segments()) {
    for (const Transfer& transfer : segment.transfers) crossings += transfer.node == h->id ? 1 : 0;
  }
  EXPECT_EQ(crossings, 1U);
  EXPECT_TRUE((*run)->plan().run());
}

TEST(Plan, WrittenCacheIsCopiedAgain) {
  // y1 reads the cache before, y2 after it is written; the cache is on the host, the adds are not.
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 4}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {8, 4}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 1}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {1}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {8, 8}));
  const auto y1 = add(g, matmul(g, w, x), cache);
  const auto written = set_rows(g, cache, rows, ids);
  const auto y2 = add(g, matmul(g, w, y1), written);
  ASSERT_TRUE(g.output(y1, "y1"));
  ASSERT_TRUE(g.output(y2, "y2"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> special;
  special[ids->id] = RefTensor({1, 1, 1, 1});
  special[ids->id].data[0] = 2;
  const auto leaves = leaf_values(*graph, special);
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  auto run = GraphRun::create(graph, devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_GT(test.computed(), 0U);
  const auto reference = reference_run(*graph, by_node(*graph, leaves));
  ASSERT_TRUE(reference) << reference.error().message();
  EXPECT_LT(nmse(*(*run)->output(y1->id), (*reference)[y1->id]), 1e-12);
  EXPECT_LT(nmse(*(*run)->output(y2->id), (*reference)[y2->id]), 1e-12);
  const auto after = (*run)->leaf(cache->id);
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(after->at(i, 2), leaves.at(rows->id).at(i));
}

TEST(Plan, DynamicDimsServeEverySizeUpToTheirMaximum) {
  Dim tokens;
  const auto graph = two_layers(&tokens);
  const NodeId x = 0;
  ASSERT_EQ(graph->node(x).role, Role::kInput);
  const auto leaves = leaf_values(*graph);
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  auto run = GraphRun::create(graph, devices, leaves);
  ASSERT_TRUE(run);
  ASSERT_TRUE((*run)->plan().run());
  const auto whole = (*run)->output(graph->outputs()[0]);
  for (std::int64_t count : {0, 1, 3, 6}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(tokens, count));
    ASSERT_TRUE((*run)->plan().run()) << count;
    DynamicDimValues dynamic_dims = graph->max_dynamic_dims();
    dynamic_dims[tokens.dynamic_dim] = count;
    const auto part = (*run)->output(graph->outputs()[0], dynamic_dims);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->sizes[1], count);
    for (std::size_t i = 0; i < part->data.size(); ++i) EXPECT_EQ(part->data[i], whole->data[i]);
  }
  EXPECT_FALSE((*run)->plan().set_dynamic_dim(tokens, 7));
  EXPECT_FALSE((*run)->plan().set_dynamic_dim(tokens, -1));
  EXPECT_FALSE((*run)->plan().set_dynamic_dim(Dim(3), 1));
}

TEST(Plan, ReusesTheMemoryOfDeadTensors) {
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {1024}));
  for (int i = 0; i < 100; ++i) x = silu(g, x);
  ASSERT_TRUE(g.output(x, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice host = cpu();
  Device* devices[] = {&host};
  auto run = GraphRun::create(graph, devices, leaf_values(*graph));
  ASSERT_TRUE(run);
  // One being read and one being written at any time.
  EXPECT_EQ((*run)->plan().memory()[0].activations, 2U * 4096);
}

TEST(Plan, BuffersRespectTheDevicesMaxBufferSize) {
  const auto graph = two_layers();
  TestDevice host = cpu(2048);
  Device* devices[] = {&host};
  GraphBuilder g;
  // Weights are 32 * 48 * 4 bytes: too large for this device; without them all fits, in pieces.
  auto refused = GraphRun::create(graph, devices, leaf_values(*graph));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);

  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {256}));
  std::vector<Result<Value>> parts;
  for (int i = 0; i < 5; ++i) parts.push_back(scale(g, x, {.scale = static_cast<float>(i)}));
  Result<Value> sum = parts[0];
  for (int i = 1; i < 5; ++i) sum = add(g, sum, parts[static_cast<std::size_t>(i)]);
  ASSERT_TRUE(g.output(sum, "y"));
  auto small = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto leaves = leaf_values(*small);
  auto run = GraphRun::create(small, devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto got = (*run)->output(small->outputs()[0]);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(got->data[i], 10 * leaves.at(0).data[i],
                1e-5 * std::abs(leaves.at(0).data[i]) + 1e-12);
  }
}

TEST(Plan, ObservedNodesKeepTheirValues) {
  const auto graph = two_layers();
  const auto leaves = leaf_values(*graph);
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  std::vector<NodeId> all;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) all.push_back(id);
  }
  auto run = GraphRun::create(graph, devices, leaves, {.observe = all});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto reference = reference_run(*graph, by_node(*graph, leaves));
  for (NodeId id : all) {
    const auto got = (*run)->output(id);
    ASSERT_TRUE(got);
    EXPECT_LT(nmse(*got, (*reference)[id]), 1e-12) << graph->describe(id);
  }
}

TEST(Plan, OutOfMemoryNamesDeviceAndBytesAndLeavesNothingBehind) {
  const auto graph = two_layers();
  // Room for the weights (2 layers of 32 * 48 F32 and F16), not for the results.
  TestDevice test({.name = "test0", .ops = {"matmul", "add"}, .memory = 2 * 32 * 48 * 6});
  TestDevice host = cpu();
  Device* devices[] = {&test, &host};
  auto run = GraphRun::create(graph, devices, leaf_values(*graph));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(run.error().device(), "test0");
  EXPECT_THAT(run.error().message(), HasSubstr("test0"));
  EXPECT_THAT(run.error().message(), HasSubstr("bytes"));
  EXPECT_EQ(test.allocated(), 0U);
}

TEST(Plan, TensorAboveTheMaxBufferSizeNamesTheDevice) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));  // 64 bytes
  ASSERT_TRUE(g.output(scale(g, silu(g, x), {.scale = 2}), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  using Case = std::tuple<std::size_t, std::size_t, const char*>;
  const std::size_t roomy = 1000;
  for (const auto& [first, second, named] :
       {Case{64, 64, ""}, Case{63, roomy, "a0"}, Case{roomy, 63, "b0"}}) {
    TestDevice a({.name = "a0", .ops = {"silu"}, .max_buffer = first});
    TestDevice b({.name = "b0", .ops = {"scale"}, .max_buffer = second});
    TestDevice host = cpu();
    Device* devices[] = {&a, &b, &host};
    const auto placement = place_by_ability(*graph, devices);
    ASSERT_TRUE(placement);
    const auto predicted = predict_memory(graph, *placement, {});
    const auto plan = compile(graph, *placement, {});
    ASSERT_EQ(predicted.has_value(), *named == 0);
    ASSERT_EQ(plan.has_value(), *named == 0);
    if (*named == 0) continue;
    for (const Error* error : {&predicted.error(), &plan.error()}) {
      EXPECT_EQ(error->code(), ErrorCode::kOutOfMemory);
      EXPECT_EQ(error->device(), named);
      EXPECT_THAT(error->message(), HasSubstr(named));
      EXPECT_THAT(error->message(), HasSubstr("64 bytes, but one buffer holds at most 63"));
    }
    EXPECT_EQ(a.allocated() + b.allocated(), 0U);
  }
}

TEST(Plan, RejectsLeavesWithoutMemoryAndForeignPlacements) {
  const auto graph = two_layers();
  TestDevice host = cpu();
  Device* devices[] = {&host};
  auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  auto plan = compile(graph, *placement, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("w1 (weight) has no memory"));
  placement->decisions.pop_back();
  EXPECT_FALSE(compile(graph, *placement, {}));
  EXPECT_FALSE(compile(nullptr, {}, {}));
  // Memory that is too small for the tensor.
  placement = place(*graph, devices);
  const auto small = host_memory().allocate(16);
  const LeafMemory memory[] = {{1, {small->get(), 0}}};
  plan = compile(graph, *placement, {.memory = memory, .observe = {}});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("not inside the buffer"));
}

TEST(Plan, RejectsNonInputsAndNonOutputs) {
  const auto graph = two_layers();
  TestDevice host = cpu();
  Device* devices[] = {&host};
  auto run = GraphRun::create(graph, devices, leaf_values(*graph));
  ASSERT_TRUE(run);
  EXPECT_FALSE((*run)->plan().input(Value{1}));
  EXPECT_FALSE((*run)->plan().input(Value{kNoNode}));
  EXPECT_FALSE((*run)->plan().output(Value{0}));
  EXPECT_FALSE((*run)->plan().output(Value{kNoNode}));
}

}  // namespace
}  // namespace shunt::test::schedule_plan_test

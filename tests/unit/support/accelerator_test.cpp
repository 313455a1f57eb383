// The accelerator made of the parts of backend_support, in plans together with a CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "backend_support/packed_memory.h"
#include "backend_support/queue_pair.h"
#include "graph/reference.h"
#include "shunt/message.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/all_orders.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_accelerator.h"
#include "support/test_device.h"
#include "support/world_native.h"

namespace shunt::test::support_accelerator_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Leaves = std::map<NodeId, RefTensor>;

struct Model {
  std::shared_ptr<const Graph> graph;
  Dim tokens;
  Value x;
  Value w;
  NodeId y = 0;
};

/// Products on the accelerator, the rest on the CPU.
Model small_model() {
  GraphBuilder g;
  Model model;
  model.tokens = *g.dynamic_dim("tokens", 3);
  model.x = *g.input("x", *make_tensor(DType::kF32, {8, model.tokens}));
  model.w = *g.weight("w", *make_tensor(DType::kF32, {8, 8}));
  const auto h = silu(g, matmul(g, model.w, model.x));
  const auto y = scale(g, matmul(g, model.w, h), {.scale = 0.5F});
  EXPECT_TRUE(g.output(y, "y"));
  model.y = y->id;
  model.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return model;
}

Leaves leaves_of(const Model& model, std::uint64_t seed, std::int64_t tokens = 3) {
  return {{model.x.id, make_values({.sizes = {8, tokens, 1, 1}}, seed)},
          {model.w.id, make_values({.sizes = {8, 8, 1, 1}}, 99)}};
}

struct Devices {
  explicit Devices(TestWorld* world, std::size_t graphs = 16)
      : accelerator({.ops = {"matmul"}, .world = world, .graphs = graphs}),
        host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}) {}
  Result<std::unique_ptr<GraphRun>> run(const Model& model, int in_flight = 1) {
    const auto packed = [](Device& device, const Graph& graph, NodeId leaf) {
      return chosen_memory(device, graph, leaf);
    };
    return GraphRun::create(
        model.graph, all, leaves_of(model, 0),
        {.steps_in_flight = in_flight, .by_ability = true, .weight_memory = packed});
  }
  TestAccelerator accelerator;
  TestDevice host;
  std::vector<Device*> all = {&accelerator, &host};
};

/// Computes a step of `tokens`, and checks it.
void expect_right(const Model& model, GraphRun& run, std::uint64_t seed, std::int64_t tokens = 3) {
  const Leaves leaves = leaves_of(model, seed, tokens);
  ASSERT_TRUE(run.plan().set_dynamic_dim(model.tokens, tokens));
  ASSERT_TRUE(run.set_inputs(leaves));
  const Status status = run.plan().run();
  ASSERT_TRUE(status) << status.error().message();
  DynamicDimValues dynamic_dims = model.graph->max_dynamic_dims();
  dynamic_dims[model.tokens.dynamic_dim] = tokens;
  std::vector<RefTensor> by_node(model.graph->size());
  for (const auto& [id, values] : leaves_of(model, seed)) by_node[id] = values;
  for (const auto& [id, values] : leaves) {
    for (std::int64_t i = 0; i < std::ssize(values.data); ++i) {
      by_node[id].data[static_cast<std::size_t>(i)] = values.at(i);
    }
  }
  const auto right = reference_run(*model.graph, by_node);
  ASSERT_TRUE(right);
  const auto got = run.output(model.y, dynamic_dims);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->data.size(), static_cast<std::size_t>(8 * tokens));
  RefTensor first = *got;
  for (std::size_t i = 0; i < first.data.size(); ++i) first.data[i] = (*right)[model.y].data[i];
  EXPECT_LT(nmse(*got, first), 1e-12);
}

/// Its host ends of copies are in its staging memory; data for another one goes there directly.
TEST(TestAccelerator, CopiesDirectlyAndThroughItsStagingMemoryInEveryOrder) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  const auto y = scale(g, silu(g, x), {.scale = 0.5F});
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const RefTensor value = make_values({.sizes = {16, 1, 1, 1}}, 1);
  AllOrders orders;
  do {
    TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
    TestAccelerator first({.name = "accel0", .ops = {"silu"}, .world = &world});
    TestAccelerator second({.name = "accel1", .ops = {"scale"}, .world = &world});
    TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
    const std::vector<Device*> all = {&first, &second, &host};
    const auto run = GraphRun::create(graph, all, {{x->id, value}}, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    const auto got = (*run)->output(y->id);
    ASSERT_TRUE(got);
    for (std::size_t i = 0; i < 16; ++i) {
      const double in = value.data[i];
      EXPECT_NEAR(got->data[i], 0.5 * in / (1 + std::exp(-in)), 1e-6);
    }
    for (const MemoryUse& use : (*run)->plan().memory()) {
      // 16 numbers: the input of the first, the output of the second.
      if (use.device == 0) {
        EXPECT_EQ(use.inputs, 64U);
        EXPECT_EQ(use.staging, 0U) << "what goes to the other one takes no host memory";
      }
      if (use.device == 1) {
        EXPECT_EQ(use.inputs + use.staging, 64U);
      }
      EXPECT_EQ(use.pinned, use.device < 2 ? 64U : 0U) << use.device;
    }
  } while (orders.next());
}

/// Weights of many rows' products are sent to it; with few rows the product is done where they are.
TEST(TestAccelerator, GetsStreamedWeightsForMatmulsOf32Rows) {
  for (const std::int64_t rows : {31, 32}) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kF32, {8, 8}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {8, rows}));
    const auto product = matmul(g, w, x);
    const auto sum = add(g, product, x);
    ASSERT_TRUE(g.output(sum, "y"));
    const Graph graph = std::move(*std::move(g).build());
    Devices devices(nullptr);
    const auto memory = *host_memory().allocate(256);
    const LeafMemory leaf = {w->id, {memory.get(), 0}};
    const auto placed = place(graph, devices.all, {.memory = {&leaf, 1}});
    ASSERT_TRUE(placed) << placed.error().message();
    EXPECT_EQ(placed->decisions[product->id].device, rows == 32 ? 0 : 1) << rows;
  }
}

TEST(TestAccelerator, ComputesWithACpuInEveryOrder) {
  const Model model = small_model();
  AllOrders orders;
  int count = 0;
  do {
    TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
    Devices devices(&world);
    auto run = devices.run(model);
    ASSERT_TRUE(run) << run.error().message();
    expect_right(model, **run, 1);
    expect_right(model, **run, 2);
    ASSERT_LT(++count, 10'000);
  } while (orders.next() && !HasFailure());
}

TEST(TestAccelerator, ComputesWithACpuOnThreads) {
  const Model model = small_model();
  Devices devices(nullptr);
  auto run = devices.run(model, 2);
  ASSERT_TRUE(run) << run.error().message();
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_right(model, **run, seed);
}

TEST(TestAccelerator, KeepsMatmulWeightsPacked) {
  const Model model = small_model();
  TestWorld world;
  Devices devices(&world);
  auto run = devices.run(model);
  ASSERT_TRUE(run) << run.error().message();
  const Address at = (*run)->address(model.w.id);
  EXPECT_EQ(at.buffer->type().name(), "accel0 weights");
  EXPECT_EQ(at.buffer->host_data(), nullptr);
  EXPECT_EQ((*run)->leaf(model.w.id)->data, leaves_of(model, 0)[model.w.id].data);
  // The bytes in memory have another order than those that are read.
  std::vector<std::byte> plain(at.buffer->size());
  ASSERT_TRUE(at.buffer->read(0, plain));
  EXPECT_NE(plain.front(), *packed_data(*at.buffer));
  EXPECT_EQ(plain.front(), packed_data(*at.buffer)[plain.size() - 1]);
}

TEST(TestAccelerator, ReplaysACapturedGraphForTheSameDynamicDims) {
  const Model model = small_model();  // two segments on the accelerator
  TestWorld world;
  Devices devices(&world, 4);
  auto run = devices.run(model);
  ASSERT_TRUE(run) << run.error().message();
  const auto counts = [&] {
    const GraphCacheCounts& at = devices.accelerator.graphs;
    return std::array<std::size_t, 3>{at.hits, at.misses, at.evictions};
  };
  expect_right(model, **run, 1, 3);
  EXPECT_THAT(counts(), ElementsAre(0, 2, 0));
  expect_right(model, **run, 2, 3);
  EXPECT_THAT(counts(), ElementsAre(2, 2, 0));
  expect_right(model, **run, 3, 2);
  EXPECT_THAT(counts(), ElementsAre(2, 4, 0));
  expect_right(model, **run, 4, 3);
  EXPECT_THAT(counts(), ElementsAre(4, 4, 0));
  expect_right(model, **run, 5, 1);
  EXPECT_THAT(counts(), ElementsAre(4, 6, 2));
  expect_right(model, **run, 6, 2);  // unused for longest
  EXPECT_THAT(counts(), ElementsAre(4, 8, 4));
}

TEST(TestAccelerator, LateErrorLosesOnlyItsStepInEveryOrder) {
  const Model model = small_model();
  for (int bad = 1; bad <= 2; ++bad) {
    AllOrders orders;
    do {
      TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
      Devices devices(&world);
      auto run = devices.run(model);
      ASSERT_TRUE(run) << run.error().message();
      int launched = 0;
      NodeId node = 0;
      devices.accelerator.on_launch = [&](NodeId id) -> Status {
        if (++launched != bad) return ok();
        node = id;
        return fail(ErrorCode::kDevice, "it failed").with_vendor({719, "as the test wants it"});
      };
      const Status status = (*run)->plan().run();
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().device(), "accel0");
      EXPECT_EQ(status.error().node(), model.graph->describe(node));
      EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719);
      EXPECT_FALSE((*run)->output(model.y));
      expect_right(model, **run, 1);
    } while (orders.next() && !HasFailure());
  }
}

TEST(TestAccelerator, LostDeviceFailsAllLaterCalls) {
  const Model model = small_model();
  Devices devices(nullptr);
  auto run = devices.run(model);
  ASSERT_TRUE(run) << run.error().message();
  devices.accelerator.on_launch = [](NodeId) -> Status {
    return fail(ErrorCode::kDevice, "gone").with_vendor({79, "fell off the bus"});
  };
  EXPECT_FALSE((*run)->plan().run());
  devices.accelerator.on_launch = nullptr;
  const Status status = (*run)->plan().run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().device(), "accel0");
  ASSERT_TRUE(status.error().vendor()) << status.error().message();
  EXPECT_EQ(status.error().vendor()->code, 79);
  EXPECT_THAT(status.error().message(), HasSubstr("gone"));
  const auto stream = devices.accelerator.open_stream();
  ASSERT_FALSE(stream);
  EXPECT_THAT(stream.error().message(), HasSubstr("the device is lost"));
}

TEST(TestAccelerator, CancelEndsARunWithinOneNode) {
  const Model model = small_model();
  TestWorld world;
  Devices devices(&world);
  auto run = devices.run(model);
  ASSERT_TRUE(run) << run.error().message();
  std::atomic<bool> cancel{false};
  int launched = 0;
  devices.accelerator.on_launch = [&](NodeId) {
    ++launched;
    cancel = true;
    return ok();
  };
  const Status status = (*run)->plan().run(&cancel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(launched, 1);
  devices.accelerator.on_launch = nullptr;
  expect_right(model, **run, 1);
}

/// Work of both queues of a pair is done in the order in which it was submitted.
TEST(QueuePair, KeepsTheOrderOfSubmission) {
  constexpr int kTasks = 4;
  AllOrders orders;
  do {
    TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
    std::vector<int> done;
    auto compute = std::make_unique<WorldNativeStream>(world);
    auto transfer = std::make_unique<WorldNativeStream>(world);
    int next = 0;
    compute->launch = [&](Binding&, const RunArgs&) -> Result<NativeQueue::Work> {
      return [&done, task = ++next] {
        done.push_back(task);
        return ok();
      };
    };
    // A read of nothing, whose buffer notes that it was asked.
    struct NotingBuffer final : Buffer {
      explicit NotingBuffer(std::function<void()> note) : note_(std::move(note)) {}
      const BufferType& type() const override { return host_memory(); }
      std::size_t size() const override { return 0; }
      Status write(std::size_t, std::span<const std::byte>) override { return ok(); }
      Status read(std::size_t, std::span<std::byte>) override {
        note_();
        return ok();
      }
      std::function<void()> note_;
    };
    NotingBuffer buffer([&] { done.push_back(-1); });
    Binding binding;
    const auto pair = QueuePair::create(std::move(compute), std::move(transfer));
    ASSERT_TRUE(pair);
    const auto end = (*pair)->create_event(false);
    ASSERT_TRUE(end);
    for (std::uint64_t task = 1; task <= kTasks; ++task) {
      const Status submitted = task % 2 == 1 ? (*pair)->run(task, binding, {.dynamic_dims = {}})
                                             : (*pair)->read(task, {}, {&buffer, 0});
      ASSERT_TRUE(submitted);
    }
    ASSERT_TRUE((*pair)->record(**end));
    const auto complete = (*end)->wait(std::chrono::milliseconds(1));
    ASSERT_TRUE(complete && *complete);
    EXPECT_THAT(done, ElementsAre(1, -1, 2, -1));
  } while (orders.next() && !HasFailure());
}

/// Otherwise a wait for work of the lost device would not end.
TEST(QueuePair, ReportsALostDeviceBeforeAnEarlierFailure) {
  struct LosingBuffer final : Buffer {
    const BufferType& type() const override { return host_memory(); }
    std::size_t size() const override { return 0; }
    Status write(std::size_t, std::span<const std::byte>) override { return ok(); }
    Status read(std::size_t, std::span<std::byte>) override {
      return fail(ErrorCode::kDevice, "gone").with_vendor({79, "fell off the bus"});
    }
  };
  TestWorld world;
  auto compute = std::make_unique<WorldNativeStream>(world);
  compute->launch = [](Binding&, const RunArgs&) -> Result<NativeQueue::Work> {
    return []() -> Status {
      return fail(ErrorCode::kDevice, "it failed").with_vendor({719, "as the test wants it"});
    };
  };
  const auto pair =
      QueuePair::create(std::move(compute), std::make_unique<WorldNativeStream>(world));
  ASSERT_TRUE(pair);
  const auto end = (*pair)->create_event(false);
  ASSERT_TRUE(end);
  Binding binding;
  LosingBuffer buffer;
  ASSERT_TRUE((*pair)->run(1, binding, {.dynamic_dims = {}}));
  ASSERT_TRUE((*pair)->read(2, {}, {&buffer, 0}));
  ASSERT_TRUE((*pair)->record(**end));
  ASSERT_TRUE((*end)->wait(std::chrono::milliseconds(1)));
  const auto failure = (*pair)->failure();
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->lost);
  EXPECT_EQ(failure->task, 2U);
  EXPECT_EQ(failure->error.vendor()->code, 79);
}

}  // namespace
}  // namespace shunt::test::support_accelerator_test

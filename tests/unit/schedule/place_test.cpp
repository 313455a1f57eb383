// Placement: rules and reasons. Devices are made for the test; none of a backend is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "shunt/plan.h"
#include "support/graph_run.h"
#include "unit/schedule/place_graphs.h"

namespace shunt::test::schedule_place_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Place, RequiresACpuAsTheLastDevice) {
  const Mlp mlp = make_mlp();
  TestDevice test = accelerator();
  Device* devices[] = {&test};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("CPU"));
  EXPECT_FALSE(place(*mlp.graph, {}));
}

TEST(Place, EveryNodeHasADeviceAndAReason) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_TRUE(placement) << placement.error().message();
  for (const Decision& decision : placement->decisions) {
    EXPECT_GE(decision.device, 0);
    EXPECT_FALSE(decision.reason.empty());
  }
  const auto device_of = [&](NodeId id) { return placement->decisions[id].device; };
  const auto rule_of = [&](NodeId id) { return placement->decisions[id].rule; };
  EXPECT_EQ(device_of(mlp.x), 1);  // inputs start on the host
  EXPECT_EQ(rule_of(mlp.x), Rule::kInput);
  EXPECT_EQ(device_of(mlp.w1), 0);  // all that uses it runs there
  EXPECT_EQ(device_of(mlp.first), 0);
  EXPECT_EQ(rule_of(mlp.first), Rule::kWeights);
  EXPECT_EQ(device_of(mlp.sum), 0);  // joins the matmul it reads
  EXPECT_EQ(rule_of(mlp.sum), Rule::kNeighbour);
  EXPECT_EQ(device_of(mlp.silu), 1);  // test0 has no kernel for it
  EXPECT_EQ(rule_of(mlp.silu), Rule::kLastResort);
}

TEST(Place, ReportsWhyABetterDeviceIsRejected) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_TRUE(placement);
  const auto& passed = placement->decisions[mlp.silu].rejected;
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed[0].device, 0);
  EXPECT_EQ(passed[0].refusal, Refusal::kOp);
  EXPECT_THAT(passed[0].reason, HasSubstr("no kernel for silu"));
}

TEST(Place, ReportsRejectionByTypeOrLayout) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 48}));
  const auto half = g.weight("half", *make_tensor(DType::kF16, {32, 48}));
  const auto product = matmul(g, w, x);
  const auto known = silu(g, product);
  const auto turned = silu(g, transpose(g, product));
  const auto lacking = matmul(g, half, x);
  for (const auto& y : {known, turned, lacking}) ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::move(*std::move(g).build());
  TestDevice host = cpu();
  TestDevice test({.name = "test0", .types = {DType::kF32}, .reads_strided = false});
  Device* devices[] = {&test, &host};
  const auto placement = place(graph, devices);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(placement->decisions[product->id].device, 0);
  EXPECT_EQ(placement->decisions[known->id].device, 0);
  for (const auto& [node, refusal] :
       {std::pair(turned->id, Refusal::kLayout), std::pair(lacking->id, Refusal::kType)}) {
    const Decision& decision = placement->decisions[node];
    EXPECT_EQ(decision.device, 1);
    ASSERT_EQ(decision.rejected.size(), 1U);
    EXPECT_EQ(decision.rejected[0].refusal, refusal);
  }
}

TEST(Place, OpRunsOnTheDeviceThatHoldsItsWeight) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto w1 = host_memory().allocate(32 * 48 * 4);
  const LeafMemory memory[] = {{mlp.w1, {w1->get(), 0}}};
  const auto placement = place(*mlp.graph, devices, {.memory = memory});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp.w1].rule, Rule::kMemory);
  EXPECT_EQ(placement->decisions[mlp.first].device, 1);
  EXPECT_EQ(placement->decisions[mlp.second].device, 0);
}

TEST(Place, RejectsMemoryOfANonLeaf) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto buffer = test.memory().allocate(64);
  for (const NodeId node : {mlp.silu, static_cast<NodeId>(mlp.graph->size() + 1000000)}) {
    const LeafMemory memory[] = {{node, {buffer->get(), 0}}};
    const auto placement = place(*mlp.graph, devices, {.memory = memory});
    ASSERT_FALSE(placement);
    EXPECT_EQ(placement.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(placement.error().message(), HasSubstr(mlp.graph->describe(node)));
  }
}

TEST(Place, IsDeterministic) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto a = place(*mlp.graph, devices);
  const auto b = place(*mlp.graph, devices);
  ASSERT_TRUE(a && b);
  for (std::size_t i = 0; i < a->decisions.size(); ++i) {
    EXPECT_EQ(a->decisions[i].device, b->decisions[i].device);
    EXPECT_EQ(a->decisions[i].reason, b->decisions[i].reason);
  }
}

TEST(Place, WriterRunsOnTheDeviceOfItsCache) {
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  const auto written = set_rows(g, cache, rows, ids);
  ASSERT_TRUE(written);
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  TestDevice host = cpu();
  TestDevice able({.name = "test0", .ops = {"set_rows"}});
  Device* devices[] = {&able, &host};
  // Free to choose: the better device can do it.
  auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[written->id].device, 0);
  // The cache is in host memory: the writer goes there.
  const auto memory = host_memory().allocate(8 * 16 * 4);
  const LeafMemory known[] = {{cache->id, {memory->get(), 0}}};
  placement = place(*graph, devices, {.memory = known});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[written->id].device, 1);
  EXPECT_EQ(placement->decisions[written->id].rule, Rule::kMemory);
  // No device can write its memory: an error with that reason.
  TestDevice unable({.name = "test0", .ops = {"matmul"}});
  Device* others[] = {&unable, &host};
  const auto there = unable.memory().allocate(8 * 16 * 4);
  const LeafMemory stuck[] = {{cache->id, {there->get(), 0}}};
  placement = place(*graph, others, {.memory = stuck});
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("no kernel for set_rows"));
}

TEST(Place, ViewsFollowTheirSource) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 8}));
  const auto y = matmul(g, w, x);
  const auto view = reshape(g, y, {4, 8});
  const auto z = silu(g, view);
  ASSERT_TRUE(g.output(z, "z"));
  const auto graph = std::move(g).build();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[view->id].device, 0);
  EXPECT_EQ(placement->decisions[view->id].rule, Rule::kView);
  EXPECT_EQ(placement->decisions[z->id].device, 1);
}

TEST(Place, OpWithoutKernelOnAnyDeviceIsAnError) {
  const Mlp mlp = make_mlp();
  TestDevice host(
      {.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {"matmul"}, .host_accessible = true});
  Device* devices[] = {&host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_FALSE(placement);
  EXPECT_EQ(placement.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(placement.error().message(), HasSubstr("no kernel for rms_norm"));
}

// ---- rule 1: pins

/// The placement of the MLP with these pins, on test0 (matmul, add) and cpu0.
class Pinned : public testing::Test {
 protected:
  Result<Placement> place_with(std::vector<Pin> pins, std::span<const LeafMemory> memory = {}) {
    return place(*mlp_.graph, devices_, {.memory = memory, .pins = pins});
  }
  std::string refusal_of(std::vector<Pin> pins, std::span<const LeafMemory> memory = {}) {
    const auto placement = place_with(std::move(pins), memory);
    EXPECT_FALSE(placement);
    if (placement) return "";
    EXPECT_EQ(placement.error().code(), ErrorCode::kInvalidArgument);
    return placement.error().message();
  }

  Mlp mlp_ = make_mlp();
  TestDevice host_ = cpu();
  TestDevice test_ = accelerator();
  Device* devices_[2] = {&test_, &host_};
};

TEST_F(Pinned, NodeRunsOnThePinnedDevice) {
  const auto placement = place_with({{"y", "cpu0"}});
  ASSERT_TRUE(placement) << placement.error().message();
  const Decision& sum = placement->decisions[mlp_.sum];
  EXPECT_EQ(sum.device, 1);  // without the pin it joins the matmul
  EXPECT_EQ(sum.rule, Rule::kPinned);
  EXPECT_THAT(sum.reason, HasSubstr("y=cpu0"));
  ASSERT_EQ(sum.rejected.size(), 1U);
  EXPECT_THAT(sum.rejected[0].reason, HasSubstr("pinned"));
  EXPECT_EQ(placement->decisions[mlp_.second].device, 0);
  EXPECT_TRUE(placement->notes.empty());
}

TEST_F(Pinned, PinnedWeightPullsItsOpAlong) {
  const auto placement = place_with({{"w[1]", "cpu0"}});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp_.w1].rule, Rule::kPinned);
  EXPECT_EQ(placement->decisions[mlp_.w1].device, 1);
  EXPECT_EQ(placement->decisions[mlp_.first].device, 1);
  EXPECT_EQ(placement->decisions[mlp_.second].device, 0);
}

TEST_F(Pinned, FirstMatchingPatternWins) {
  const auto placement = place_with({{"w1", "test0"}, {"w.*", "cpu0"}});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp_.w1].device, 0);
  EXPECT_EQ(placement->decisions[mlp_.w2].device, 1);
}

TEST_F(Pinned, APatternMustMatchTheWholeName) {
  const auto placement = place_with({{"w", "cpu0"}});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp_.w1].device, 0);
  ASSERT_EQ(placement->notes.size(), 1U);
  EXPECT_THAT(placement->notes[0], HasSubstr("w=cpu0 matches no node"));
}

TEST_F(Pinned, InputsAreNotPinned) {
  const auto placement = place_with({{"x", "test0"}});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp_.x].rule, Rule::kInput);
  ASSERT_EQ(placement->notes.size(), 1U);
  EXPECT_THAT(placement->notes[0], HasSubstr("only inputs and views"));
}

TEST_F(Pinned, ImpossiblePinReportsTheReason) {
  EXPECT_THAT(refusal_of({{"y", "gpu7"}}), HasSubstr("no device gpu7, but test0, cpu0"));
  EXPECT_THAT(refusal_of({{"norm", "test0"}}),
              AllOf(HasSubstr("norm=test0"), HasSubstr("no kernel for rms_norm")));
  EXPECT_THAT(refusal_of({{"y(", "cpu0"}}), HasSubstr("y(=cpu0"));  // no regular expression
  const auto w1 = host_memory().allocate(32 * 48 * 4);
  const LeafMemory memory[] = {{mlp_.w1, {w1->get(), 0}}};
  EXPECT_THAT(refusal_of({{"w1", "test0"}}, memory),
              AllOf(HasSubstr("w1=test0"), HasSubstr("is in host memory already"),
                    HasSubstr("can't read")));
  EXPECT_TRUE(place_with({{"w1", "cpu0"}}, memory));
}

TEST(Place, PinnedWriterPullsItsCacheAlong) {
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  const auto written = set_rows(g, cache, rows, ids);
  ASSERT_TRUE(g.name(written, "written"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  TestDevice host = cpu();
  TestDevice test({.name = "test0"});
  Device* devices[] = {&test, &host};
  const Pin pins[] = {{"written", "cpu0"}};
  auto placement = place(*graph, devices, {.pins = pins});
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(placement->decisions[cache->id].device, 1);
  EXPECT_EQ(placement->decisions[written->id].device, 1);
  // Two that can't both be.
  const Pin both[] = {{"written", "cpu0"}, {"cache", "test0"}};
  placement = place(*graph, devices, {.pins = both});
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("cache=test0"));
}

// ---- rules 3, 5, 6, 7: devices of which nothing but their answers matters

class Answering final : public Device {
 public:
  struct Config {
    std::string name;
    DeviceKind kind = DeviceKind::kAccelerator;
    std::set<std::string> ops = {};    ///< empty: all
    std::set<std::string> wants = {};  ///< worth sending weights for
    BufferType* memory = nullptr;      ///< null: the memory of its own TestDevice
  };
  explicit Answering(Config config)
      : config_(std::move(config)), inner_({.name = config_.name, .kind = config_.kind}) {}
  std::string_view name() const override { return inner_.name(); }
  DeviceInfo info() const override { return inner_.info(); }
  Support supports(const Graph& graph, NodeId id, MemoryOfLeaves) const override {
    const std::string op(graph.node(id).op->info().name);
    if (config_.ops.empty() || config_.ops.contains(op)) return Support::yes();
    return Support::no(Refusal::kOp, "no kernel for " + op);
  }
  bool offload_op(const Graph& graph, NodeId id) const override {
    return config_.wants.contains(std::string(graph.node(id).op->info().name));
  }
  BufferType& memory() override {
    return config_.memory != nullptr ? *config_.memory : inner_.memory();
  }
  bool can_read(const BufferType& type) const override {
    return config_.memory != nullptr ? &type == config_.memory : inner_.can_read(type);
  }
  Result<std::unique_ptr<Stream>> open_stream() override { return inner_.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return inner_.prepare(segment);
  }

 private:
  Config config_;
  TestDevice inner_;
};

Answering answering_cpu() {
  return Answering({.name = "cpu0", .kind = DeviceKind::kCpu, .memory = &host_memory()});
}

/// y = w x for `columns` columns, with w in host memory.
struct HostMatmul {
  explicit HostMatmul(std::int64_t columns) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 16}));
    y = matmul(g, w, g.input("x", *make_tensor(DType::kF32, {32, columns})))->id;
    EXPECT_TRUE(g.output(Value{y}, "y"));
    graph = std::make_unique<Graph>(std::move(*std::move(g).build()));
    bytes = std::move(*host_memory().allocate(32 * 16 * 4));
    memory = {{w->id, {bytes.get(), 0}}};
  }
  Decision decide(std::span<Device* const> devices, PlaceOptions options = {}) const {
    options.memory = memory;
    auto placement = place(*graph, devices, options);
    EXPECT_TRUE(placement) << placement.error().message();
    return placement->decisions[y];
  }
  NodeId y = 0;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Buffer> bytes;
  std::vector<LeafMemory> memory;
};

TEST(Place, StreamsHostWeightsFor32RowsToADeviceThatWantsThem) {
  Answering host = answering_cpu();
  Answering eager({.name = "eager0", .wants = {"matmul"}});
  Answering reluctant({.name = "reluctant0"});
  Device* devices[] = {&reluctant, &eager, &host};
  const Decision many = HostMatmul(32).decide(devices);
  EXPECT_EQ(many.device, 1);
  EXPECT_EQ(many.rule, Rule::kWeights);
  EXPECT_THAT(many.reason, AllOf(HasSubstr("sent to eager0"), HasSubstr("32 rows")));
  EXPECT_EQ(HostMatmul(31).decide(devices).device, 2);
  EXPECT_EQ(HostMatmul(31).decide(devices, {.stream_rows = 8}).device, 1);
}

TEST(Place, ChainStaysOnTheLastAccelerator) {
  // x on the first, then a layer whose weights are on the second: the sum of both belongs there.
  GraphBuilder g;
  const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {32, 32}));
  const auto w2 = g.weight("w2", *make_tensor(DType::kF32, {32, 32}));
  const auto x = matmul(g, w1, g.input("x", *make_tensor(DType::kF32, {32, 1})));
  const auto sum = add(g, x, silu(g, matmul(g, w2, x)));
  const auto more = silu(g, sum);
  ASSERT_TRUE(g.output(more, "y"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  Answering host = answering_cpu();
  Answering first({.name = "first0"});
  Answering second({.name = "second0"});
  Device* devices[] = {&first, &second, &host};
  const auto m1 = first.memory().allocate(4096);
  const auto m2 = second.memory().allocate(4096);
  const LeafMemory memory[] = {{w1->id, {m1->get(), 0}}, {w2->id, {m2->get(), 0}}};
  const auto placement = place(*graph, devices, {.memory = memory});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[x->id].device, 0);
  EXPECT_EQ(placement->decisions[sum->id].device, 1);
  EXPECT_EQ(placement->decisions[more->id].device, 1);
  EXPECT_EQ(placement->decisions[more->id].rule, Rule::kNeighbour);
}

TEST(Place, NodeBeforeAMatmulJoinsItsAccelerator) {
  const Mlp mlp = make_mlp();
  Answering host = answering_cpu();
  Answering able({.name = "able0", .ops = {"rms_norm", "matmul"}});
  Device* devices[] = {&able, &host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp.norm].device, 0);  // reads an input, read by a matmul
  EXPECT_EQ(placement->decisions[mlp.norm].rule, Rule::kNeighbour);
}

TEST(Place, DeviceInHostMemoryIsPreferredToTheCpu) {
  Answering host = answering_cpu();
  Answering blas({.name = "blas0", .ops = {"matmul"}, .memory = &host_memory()});
  Device* devices[] = {&blas, &host};
  const Decision matmul = HostMatmul(4).decide(devices);
  EXPECT_EQ(matmul.device, 0);
  EXPECT_EQ(matmul.rule, Rule::kSharedMemory);
  EXPECT_THAT(matmul.reason, HasSubstr("blas0"));
  // Not where it can't read a source.
  Answering far({.name = "far0", .ops = {"silu"}});
  Device* three[] = {&blas, &far, &host};
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 16}));
  const auto active = silu(g, g.weight("x", *make_tensor(DType::kF32, {32, 4})));
  const auto y = shunt::matmul(g, w, active);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::move(g).build();
  const auto bytes = host_memory().allocate(32 * 16 * 4);
  const LeafMemory memory[] = {{w->id, {bytes->get(), 0}}};
  const auto placement = place(*graph, three, {.memory = memory});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[active->id].device, 1);
  EXPECT_EQ(placement->decisions[y->id].device, 2);
}

TEST(Place, RemainingNodesGoWhereMostSourcesAreReadable) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto alone = silu(g, x);
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 8}));
  const auto product = matmul(g, w, x);
  const auto active = silu(g, product);
  ASSERT_TRUE(g.output(alone, "a"));
  ASSERT_TRUE(g.output(active, "b"));
  const auto graph = std::move(g).build();
  Answering host = answering_cpu();
  Answering products({.name = "products0", .ops = {"matmul"}});
  Answering actives({.name = "actives0", .ops = {"silu"}});
  Device* devices[] = {&products, &actives, &host};
  const auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[alone->id].device, 2);  // the input is there
  EXPECT_EQ(placement->decisions[alone->id].rule, Rule::kSources);
  EXPECT_EQ(placement->decisions[product->id].device, 0);
  EXPECT_EQ(placement->decisions[active->id].device, 1);  // far from both: the better one
}

// ---- costs

}  // namespace
}  // namespace shunt::test::schedule_place_test

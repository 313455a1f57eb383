// The cost of the border of the machine's layout decides which nodes are worth going back to the
// CPU for.
#include "shunt/costs.h"

#include "backends/zdnn/support.h"

namespace shunt::test::costs_test {
namespace {

/// The machine's function (Principles of Operation, NNPA) that only norms are made of.
constexpr std::uint32_t kInvsqrt = 35;

class ZdnnCosts : public ZdnnTest {
 protected:
  /// Two products with a norm between them, which the CPU would compute faster by itself.
  struct Block {
    std::shared_ptr<const Graph> graph;
    NodeId w = 0;
    NodeId product = 0;
    NodeId norm = 0;
  };
  static Block block(std::int64_t width, std::int64_t tokens) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {width, tokens}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {width, width}));
    const auto product = matmul(g, w, x);
    const auto norm = rms_norm(g, product);
    const auto up = g.weight("up", *make_tensor(DType::kF32, {width, width}));
    EXPECT_TRUE(g.output(matmul(g, up, norm), "y"));
    return {built(std::move(g)), w->id, product->id, norm->id};
  }
  std::string device_of(const Placement& placement, NodeId id) const {
    return devices_[static_cast<std::size_t>(placement.decisions[id].device)]->info().name;
  }
};

TEST_F(ZdnnCosts, NormBetweenMatmulsStaysOnTheAccelerator) {
  const Block made = block(1024, 8);
  const CostModel estimates;
  const auto placement = place(*made.graph, devices_, {.costs = &estimates});
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(device_of(*placement, made.product), "zdnn0");
  const double there = estimates.seconds(*made.graph, made.norm, zdnn().info());
  const double on_cpu = estimates.seconds(*made.graph, made.norm, devices_.back()->info());
  EXPECT_LT(on_cpu, there) << "else this shows nothing";
  EXPECT_EQ(device_of(*placement, made.norm), "zdnn0");
}

/// Where it was measured to take longer there than the CPU takes with two changes of layout, by a
/// little in either direction.
TEST_F(ZdnnCosts, NormCostlierThanTwoTransformsGoesToTheCpu) {
  const Block made = block(1024, 8);
  const auto leaves = values(*made.graph);
  const CostModel estimates;
  const DeviceInfo here = zdnn().info();
  const DeviceInfo cpu = devices_.back()->info();
  const double bytes = 1024 * 8 * sizeof(float);  // of the data out, and of the data back in
  const double elsewhere = estimates.transfer(here, cpu).seconds(bytes) +
                           estimates.seconds(*made.graph, made.norm, cpu) +
                           estimates.transfer(cpu, here).seconds(bytes);
  for (const bool worth_it : {false, true}) {
    CostModel measured;
    measured.add(OpCost{.device = here.name,
                        .description = here.description,
                        .op = "rms_norm",
                        .overhead = elsewhere * (worth_it ? 1.01 : 0.99)});
    auto run = prepare(made.graph, leaves, &measured);
    ASSERT_TRUE(run) << run.error().message();
    const Placement& placement = (*run)->plan().placement();
    EXPECT_EQ(device_of(placement, made.product), "zdnn0");
    EXPECT_EQ(device_of(placement, made.norm), worth_it ? "cpu0" : "zdnn0");
    EXPECT_EQ(device_of(placement, made.graph->outputs()[0]), "zdnn0");
    ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
    twin_->reset_counts();
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_EQ(twin_->transforms_in(), worth_it ? 2U : 1U);
    EXPECT_EQ(twin_->transforms_out(), worth_it ? 2U : 1U);
    EXPECT_EQ(twin_->calls(kInvsqrt) == 0, worth_it);
    EXPECT_LT(nmse(*(*run)->output(made.graph->outputs()[0]), expected(*made.graph, leaves)),
              kChainError);
  }
}

/// For one token the CPU would be faster, if the weights were where it finds them.
TEST_F(ZdnnCosts, TransformedWeightsKeepTheirOpOnTheAccelerator) {
  const Block made = block(64, 1);
  const CostModel estimates;
  const auto anywhere = place(*made.graph, devices_, {.costs = &estimates});
  ASSERT_TRUE(anywhere) << anywhere.error().message();
  EXPECT_EQ(device_of(*anywhere, made.product), "cpu0") << "else this shows nothing";
  BufferType* const memory = chosen_memory(zdnn(), *made.graph, made.w);
  ASSERT_NE(memory, nullptr);
  const Tensor& tensor = made.graph->node(made.w).result;
  const PlacedTensor placed{tensor, 0};
  const auto buffer = memory->allocate_for(memory->size_of(tensor), {&placed, 1});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const LeafMemory there{made.w, {buffer->get(), 0}};
  const auto placement = place(*made.graph, devices_, {.memory = {&there, 1}, .costs = &estimates});
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(device_of(*placement, made.product), "zdnn0");
}

}  // namespace
}  // namespace shunt::test::costs_test

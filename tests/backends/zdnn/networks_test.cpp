// Whole graphs, as BERT and Gemma have them, on the accelerator and the CPU together.
#include "support/networks.h"

#include <set>

#include "backends/zdnn/support.h"
#include "graph/storage_users.h"
#include "shunt/explain.h"
#include "shunt/verify.h"

namespace shunt::test::networks_test {
namespace {

struct NamedNetwork {
  const char* name;
  Network (*network)();
};

class ZdnnNetworks
    : public ZdnnTest,
      public testing::WithParamInterface<std::tuple<NamedNetwork, ZdnnMachine, const char*>> {
 protected:
  void SetUp() override {
    const auto& [named, machine, sums] = GetParam();
    open(machine, sums);
    if (!IsSkipped()) network_ = named.network();
  }
  const Graph& graph() const { return *network_.graph; }
  NodeId y() const { return graph().outputs()[0]; }

  std::unique_ptr<GraphRun> prepared() {
    auto run = prepare(network_.graph, network_.leaves);
    EXPECT_TRUE(run) << run.error().message();
    return std::move(*run);
  }
  /// How often something must go into the machine's layout and out of it. A tensor goes in if a
  /// segment reads it but has not computed it, or reads it in another view. A tensor goes out if
  /// others read it so.
  struct Border {
    std::size_t in = 0;
    std::set<NodeId> out;
  };
  Border border(const Plan& plan) {
    std::vector<std::size_t> segment_of(graph().size(), 0);  // from 1; 0: the CPU's, or none
    for (std::size_t i = 0; i < plan.segments().size(); ++i) {
      const Segment& segment = plan.segments()[i];
      for (const NodeId id : segment.nodes) segment_of[id] = segment.device == 0 ? i + 1 : 0;
    }
    Border border;
    if (segment_of[y()] != 0) border.out.insert(y());
    std::set<std::pair<NodeId, std::size_t>> brought_in;
    for (NodeId id = 0; id < graph().size(); ++id) {
      const Node& node = graph().node(id);
      if (!is_computed(node)) continue;
      const std::size_t here = segment_of[id];
      const bool is_softmax = node.op->info().name == "softmax";
      for (std::size_t s = 0; s < node.sources.size(); ++s) {
        const NodeId source = node.sources[s];
        if (source == kNoNode) continue;
        const NodeId owner = graph().node(source).storage;
        const std::size_t there = segment_of[owner];
        const bool stays = there != 0 && there == here && source == owner;
        if (there != 0 && !stays) border.out.insert(owner);
        if (here == 0 || stays || is_in_layout(plan, owner)) continue;
        // A mask goes in with scores that do.
        if (is_softmax && s == 1 && segment_of[graph().node(node.sources[0]).storage] == 0)
          continue;
        if (brought_in.emplace(source, here).second) ++border.in;
      }
    }
    return border;
  }
  bool is_in_layout(const Plan& plan, NodeId leaf) {
    return plan.placement().decisions[leaf].device == 0 &&
           chosen_memory(zdnn(), graph(), leaf) != nullptr;
  }

  Network network_;
};

TEST_P(ZdnnNetworks, MatchTheReference) {
  expect_within_bound(network_.graph, network_.leaves);
  EXPECT_EQ(twin_->objections(), 0U);
  EXPECT_TRUE(zdnn().warnings().empty());
}

/// One by one, with their real inputs.
TEST_P(ZdnnNetworks, EveryOperationMatchesTheReference) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<LeafMemory> memory;
  for (NodeId id = 0; id < graph().size(); ++id) {
    const Node& node = graph().node(id);
    if (node.role != Role::kWeight) continue;
    auto buffer = host_memory().allocate(static_cast<std::size_t>(byte_span(node.result)));
    ASSERT_TRUE(buffer);
    write_tensor(network_.leaves.at(id), node.result, (*buffer)->host_data());
    memory.push_back({id, {buffer->get(), 0}});
    buffers.push_back(std::move(*buffer));
  }
  const auto fill = [&](Plan& plan) -> Status {
    for (const auto& [id, values] : network_.leaves) {
      if (graph().node(id).role != Role::kInput) continue;
      SHUNT_ASSIGN(const auto bytes, plan.input(Value{id}));
      write_tensor(values, graph().node(id).result, bytes.data());
    }
    return ok();
  };
  auto reference = place(graph(), std::span(devices_).last(1), {.memory = memory});
  ASSERT_TRUE(reference) << reference.error().message();
  const auto checks =
      verify(network_.graph, std::move(*reference), zdnn(), {.memory = memory, .fill = fill});
  ASSERT_TRUE(checks) << checks.error().message();
  std::size_t unsupported = 0;
  for (const NodeCheck& check : *checks) {
    EXPECT_FALSE(check.wrong()) << check.name << ": " << check.error << " of " << check.threshold
                                << check.message;
    if (!check.compared()) ++unsupported;
  }
  EXPECT_EQ(unsupported, network_.refused);
}

/// Nothing goes in or comes out inside a chain, and at its ends nothing does twice.
TEST_P(ZdnnNetworks, StayInTheAcceleratorLayout) {
  const auto run = prepared();
  ASSERT_TRUE(run->plan().run());  // after this one constants are there
  twin_->reset_counts();
  ASSERT_TRUE(run->plan().run());
  const Border at = border(run->plan());
  EXPECT_EQ(twin_->transforms_in(), at.in);
  EXPECT_EQ(twin_->transforms_out(), at.out.size());
  EXPECT_LT(at.in + at.out.size(), twin_->operations() / 2) << "what is it good for then?";
  EXPECT_EQ(twin_->allocations(), 0U);
  EXPECT_EQ(twin_->objections(), 0U);
}

/// The policy reports the help of the CPU, denies it, or keeps quiet about it. The reason is the
/// machine's own.
TEST_P(ZdnnNetworks, FallBackAccordingToThePolicy) {
  const auto run = prepared();
  const Placement& placement = run->plan().placement();
  std::vector<std::string> said;
  const auto judged = [&](FallbackMode mode) {
    said.clear();
    return apply_fallback_policy(
        graph(), placement,
        {.mode = mode, .log = [&](std::string_view line) { said.emplace_back(line); }});
  };
  EXPECT_TRUE(judged(FallbackMode::kAllow));
  EXPECT_TRUE(said.empty());
  EXPECT_TRUE(judged(FallbackMode::kWarn));
  ASSERT_EQ(said.size(), 1U);
  const std::string why = fmt::format("no kernel for {}", network_.first_refused);
  EXPECT_THAT(said[0], testing::StartsWith(std::to_string(network_.refused) + " of "));
  EXPECT_THAT(said[0], testing::HasSubstr("run on cpu0 instead of zdnn0; the first is " +
                                          network_.first_refused + ": " + why));
  const Status denied = judged(FallbackMode::kDeny);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(denied.error().node(), testing::HasSubstr("(" + network_.first_refused + ")"));
  EXPECT_THAT(denied.error().message(), testing::HasSubstr(denied.error().node()));
  EXPECT_THAT(denied.error().message(), testing::HasSubstr(why));

  const Explanation explained = explain(graph(), placement, run->plan().segments());
  EXPECT_EQ(explained.fell_back, network_.refused);
  EXPECT_EQ(explained.bytes_copied, 0U);
  for (const ExplainedSegment& segment : explained.segments) {
    if (segment.device == 0) continue;
    for (const ExplainedNode& node : segment.nodes) {
      ASSERT_EQ(node.rejected.size(), 1U) << node.name;
      const std::string& reason = node.rejected[0].reason;
      EXPECT_EQ(reason, node.fell_back ? "no kernel for " + node.op
                                       : "supported, but its data are elsewhere")
          << node.name;
    }
  }
}

constexpr NamedNetwork kNetworks[] = {{"bert", bert}, {"gemma", gemma}};
std::string name_of(const testing::TestParamInfo<ZdnnNetworks::ParamType>& test) {
  const auto& [network, machine, sums] = test.param;
  return fmt::format("{}_{}_{}", network.name, machine.name, sums);
}
INSTANTIATE_TEST_SUITE_P(, ZdnnNetworks,
                         testing::Combine(testing::ValuesIn(kNetworks),
                                          testing::ValuesIn(kZdnnMachines),
                                          testing::ValuesIn(kZdnnSums)),
                         name_of);

}  // namespace
}  // namespace shunt::test::networks_test

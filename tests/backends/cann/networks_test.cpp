// Whole graphs on CANN devices, compared with the plain reference: networks of the usual kinds. On
// a 910B no node may fall back to the CPU.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "backends/cann/cann_devices.h"
#include "graph/reference.h"
#include "support/networks.h"
#include "support/sanitized.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test::cann_networks_test {
namespace {

/// Values that keep the results of deep networks in range; indices for integers.
RefTensor leaf_values(const Graph& graph, NodeId id) {
  const Tensor& tensor = graph.node(id).result;
  CaseSource source{.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)};
  if (trait(tensor.dtype).integer) {
    source.fill = Fill::kPermutation;
    source.high = static_cast<double>(std::max<std::int64_t>(source.sizes[0], 10));
  } else {
    source.fill = Fill::kUniform;
    source.low = -0.2;
    source.high = 0.3;
  }
  return make_values(source, id);
}

Network with_values(Result<Graph> graph) {
  EXPECT_TRUE(graph) << graph.error().message();
  Network network{std::make_shared<const Graph>(std::move(*graph)), {}};
  for (NodeId id = 0; id < network.graph->size(); ++id) {
    if (network.graph->node(id).is_leaf()) network.leaves[id] = leaf_values(*network.graph, id);
  }
  return network;
}

constexpr TransformerShape kSmall = {.layers = 2,
                                     .width = 64,
                                     .feed_forward = 96,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .vocabulary = 50,
                                     .tokens = 7,
                                     .context = 12,
                                     .weights = DType::kF32};

Network transformer() {
  return with_values(transformer_step(kSmall));
}
Network experts() {
  TransformerShape shape = kSmall;
  shape.experts = 4;
  shape.used = 2;
  return with_values(transformer_step(shape));
}

struct NamedNetwork {
  const char* name;
  Network (*network)();
};

struct Chip {
  const char* profile;
  bool whole;    ///< it computes every node
  double error;  ///< allowed, normalised mean square
};

class CannNetworks : public CannDevices,
                     public testing::WithParamInterface<std::tuple<NamedNetwork, Chip>> {};

TEST_P(CannNetworks, MatchTheReference) {
  const Chip& chip = std::get<1>(GetParam());
  Options options = twin_.options();
  if (!chip.whole) options.backend_options["cann"]["matmul"] = "f16";
  reopen({{"PROFILE", chip.profile}}, options);
  const Network network = std::get<0>(GetParam()).network();
  const auto run = make_run(network.graph, network.leaves);
  ASSERT_NE(run, nullptr);
  bool used = false;
  for (const Segment& segment : run->plan().segments()) {
    used = used || segment.device == 0;
    if (chip.whole) {
      EXPECT_EQ(segment.device, 0)
          << network.graph->describe(segment.nodes.front()) << ": "
          << device().supports(*network.graph, segment.nodes.front()).facts();
    }
  }
  EXPECT_TRUE(used);
  for (int time = 0; time < 3; ++time) EXPECT_EQ(error_of(run->plan().run()), "");
  std::vector<RefTensor> by_node(network.graph->size());
  for (const auto& [id, values] : network.leaves) by_node[id] = values;
  const auto reference = reference_run(*network.graph, by_node);
  ASSERT_TRUE(reference);
  const NodeId output = network.graph->outputs()[0];
  EXPECT_LT(nmse(*run->output(output), (*reference)[output]), chip.error);
}

/// One chip is enough for a sanitizer.
std::vector<Chip> chips() {
  std::vector<Chip> all = {{"910b", true, 1e-6}, {"310p", false, 1e-4}, {"310b", false, 1e-4}};
  if (kSanitized) all.resize(1);
  return all;
}

INSTANTIATE_TEST_SUITE_P(, CannNetworks,
                         testing::Combine(testing::Values(NamedNetwork{"bert", bert},
                                                          NamedNetwork{"gemma", gemma},
                                                          NamedNetwork{"transformer", transformer},
                                                          NamedNetwork{"experts", experts}),
                                          testing::ValuesIn(chips())),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::get<1>(test.param).profile;
                         });

}  // namespace
}  // namespace shunt::test::cann_networks_test

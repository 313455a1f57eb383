// Whole graphs on a CUDA device, compared with the plain reference: networks of the usual kinds,
// and steps of training compared with the CPU's. No node may fall back to the CPU.
#include <gmock/gmock.h>

#include <cmath>

#include "backends/cuda/cuda_devices.h"
#include "graph/reference.h"
#include "shunt/gguf.h"
#include "shunt/train.h"
#include "shunt/vocabulary.h"
#include "support/models.h"
#include "support/networks.h"
#include "tensor/byte_order.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test::cuda_networks_test {
namespace {

using testing::IsEmpty;

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
Network convolutions() {
  return with_values(residual_network({.image = 33,
                                       .images = 2,
                                       .channels = 4,
                                       .blocks = {2, 1},
                                       .classes = 5,
                                       .weights = DType::kF16}));
}

struct NamedNetwork {
  const char* name;
  Network (*network)();
};

class CudaNetworks : public CudaDevices, public testing::WithParamInterface<NamedNetwork> {};

TEST_P(CudaNetworks, MatchTheReferenceOnTheDeviceAlone) {
  const Network network = GetParam().network();
  auto run = GraphRun::create(network.graph, *devices(), network.leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const Segment& segment : (*run)->plan().segments()) {
    EXPECT_EQ(segment.device, 0) << network.graph->describe(segment.nodes.front());
  }
  for (int time = 0; time < 2; ++time) {
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
  }
  std::vector<RefTensor> by_node(network.graph->size());
  for (const auto& [id, values] : network.leaves) by_node[id] = values;
  const auto reference = reference_run(*network.graph, by_node);
  ASSERT_TRUE(reference);
  const NodeId output = network.graph->outputs()[0];
  // Caches and some weights are F16, which the reference does not round.
  EXPECT_LT(nmse(*(*run)->output(output), (*reference)[output]), 2e-7);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, CudaNetworks,
                         testing::Values(NamedNetwork{"bert", bert}, NamedNetwork{"gemma", gemma},
                                         NamedNetwork{"transformer", transformer},
                                         NamedNetwork{"experts", experts},
                                         NamedNetwork{"convolutions", convolutions}),
                         [](const auto& test) { return std::string(test.param.name); });

class CudaTraining : public CudaDevices {
 protected:
  /// All weights after some steps on a device.
  std::vector<float> trained(std::string_view name, const gguf::File& start,
                             const TrainingText& text) {
    const auto device = registry_->find(name);
    EXPECT_TRUE(device) << device.error().message();
    const auto trainer =
        Trainer::create(start, text, **device, {.context = 24, .rows = 2, .steps = 3, .warmup = 1});
    EXPECT_TRUE(trainer) << trainer.error().message();
    for (int i = 0; i < 3; ++i) {
      const auto step = (*trainer)->step();
      EXPECT_TRUE(step) << step.error().message();
    }
    const std::string path = model_.folder().file("trained.gguf");
    EXPECT_TRUE((*trainer)->save_model(path));
    const gguf::File file = *gguf::File::open(path);
    std::vector<float> weights;
    for (const gguf::TensorInfo& info : file.tensors()) {
      const auto bytes = file.data(info);
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(float))
        weights.push_back(load_little<float>(bytes.data() + at));
    }
    return weights;
  }

  SynthModel model_{tiny_shape()};
};

TEST_F(CudaTraining, ThreeStepsGiveTheParametersOfTheCpu) {
  const gguf::File start = gguf::File::open(model_.path()).value();
  const auto tokenizer = text::Tokenizer::create(*vocabulary_from_gguf(start));
  const TrainingText text = *read_training_text(
      *tokenizer, "the cat sat on the mat</s>\nthe dog ran to the cat</s>\na bird sang</s>\n");
  const std::vector<float> cpu = trained("cpu0", start, text);
  const std::vector<float> cuda = trained("cuda0", start, text);
  ASSERT_EQ(cpu.size(), cuda.size());
  float most = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) most = std::max(most, std::abs(cpu[i] - cuda[i]));
  EXPECT_LT(most, 1e-4F);
  EXPECT_GT(most, 0) << "is it the device that computes?";
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test::cuda_networks_test

// Whole graphs on a CUDA device, compared with the plain reference: networks of the usual kinds,
// and steps of training compared with the CPU's. No node may fall back to the CPU.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "backends/cuda/cuda_devices.h"
#include "model/definition.h"
#include "shunt/gguf.h"
#include "shunt/gradients.h"
#include "shunt/train.h"
#include "support/models.h"
#include "support/networks.h"
#include "support/sanitized.h"
#include "support/stories.h"
#include "tensor/byte_order.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test::cuda_networks_test {
namespace {

using testing::IsEmpty;

Network transformer() {
  return small_transformer();
}
Network experts() {
  return small_transformer(4);
}
Network convolutions() {
  return with_values(residual_network({.image = 33,
                                       .images = 2,
                                       .channels = 4,
                                       .blocks = {2, 1},
                                       .classes = 5,
                                       .weights = DType::kF16}));
}

/// Two layers as Mamba 2 has them, of two sequences: convolutions and scans with states.
Network state_spaces() {
  constexpr std::int64_t kWidth = 32, kHeads = 4, kSize = 8, kState = 16, kTokens = 9, kSeqs = 2;
  constexpr std::int64_t kChannels = kHeads * kSize + 2 * kState, kTaps = 4;
  GraphBuilder g;
  int count = 0;
  const auto weight = [&](const Shape& shape) {
    return g.weight("weight " + std::to_string(++count), *make_tensor(DType::kF32, shape));
  };
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {kWidth, kTokens, kSeqs}));
  for (int layer = 0; layer < 2; ++layer) {
    const auto h = mul(g, rms_norm(g, x, {}), weight({kWidth}));
    const auto convolved =
        ssm_conv(g, matmul(g, weight({kWidth, kChannels}), h), weight({kTaps, kChannels}),
                 weight({kChannels, kTaps - 1, kSeqs}));
    EXPECT_TRUE(convolved);
    const auto u = silu(g, convolved->outputs);
    const auto part = [&](std::int64_t first, std::int64_t heads, std::int64_t size) {
      return reshape(g, cont(g, view(g, u, {first, 0, 0, 0}, {heads * size, kTokens, kSeqs})),
                     {size, heads, kTokens, kSeqs});
    };
    const auto scanned =
        ssm_scan(g, part(0, kHeads, kSize), matmul(g, weight({kWidth, kHeads}), h),
                 weight({1, kHeads}), part(kHeads * kSize, 1, kState),
                 part(kHeads * kSize + kState, 1, kState), weight({kState, kSize, kHeads, kSeqs}));
    EXPECT_TRUE(scanned);
    const auto y = reshape(g, cont(g, scanned->outputs), {kWidth, kTokens, kSeqs});
    const auto gate = silu(g, matmul(g, weight({kWidth, kWidth}), h));
    x = add(g, x, matmul(g, weight({kWidth, kWidth}), mul(g, y, gate)));
  }
  EXPECT_TRUE(g.output(x, "y"));
  return with_values(std::move(g).build());
}

constexpr std::array kAllProfiles = {"h200", "p40", "t4", "a100", "orin"};
constexpr std::span kProfiles(kAllProfiles.begin(), kSanitized ? 1 : kAllProfiles.size());

struct NamedNetwork {
  const char* name;
  Network (*network)();
};

/// A network on a profile of the twin.
class CudaNetworks : public CudaDevices,
                     public testing::WithParamInterface<std::tuple<NamedNetwork, const char*>> {
 protected:
  void SetUp() override {
    if (twin_.there()) twin_.set("CUDA_TWIN_PROFILE", std::get<1>(GetParam()));
    CudaDevices::SetUp();
  }
};

TEST_P(CudaNetworks, MatchTheReferenceOnTheDeviceAlone) {
  const Network network = std::get<0>(GetParam()).network();
  auto run = GraphRun::create(network.graph, *devices(), network.leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const Segment& segment : (*run)->plan().segments()) {
    EXPECT_EQ(segment.device, 0) << network.graph->describe(segment.nodes.front());
  }
  for (int time = 0; time < 2; ++time) {
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
  }
  // Caches and some weights are F16, which the reference does not round.
  EXPECT_LT(reference_error(**run, network), 2e-7);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    , CudaNetworks,
    testing::Combine(testing::Values(NamedNetwork{"bert", bert}, NamedNetwork{"gemma", gemma},
                                     NamedNetwork{"transformer", transformer},
                                     NamedNetwork{"experts", experts},
                                     NamedNetwork{"convolutions", convolutions},
                                     NamedNetwork{"state_spaces", state_spaces}),
                     testing::ValuesIn(kProfiles)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
    });

/// The loss of a model and its gradients by all weights, and the update of the weights.
class TrainingStep {
 public:
  explicit TrainingStep(const std::string& model) {
    GraphBuilder g;
    const gguf::File file = gguf::File::open(model).value();
    const auto definition = read_model(file).value();
    const LossGraph loss = definition->build_loss(g, {.context = kTokens, .rows = kRows}).value();
    std::vector<Value> values;
    for (const WeightLeaf& weight : loss.weights) {
      weights.push_back(weight.leaf);
      values.push_back({weight.leaf});
      RefTensor& numbers = leaves[weight.leaf];
      numbers = RefTensor(sizes_of(weight.info->tensor));
      const auto bytes = file.data(*weight.info);
      for (std::size_t k = 0; k < numbers.data.size(); ++k)
        numbers.data[k] = load_little<float>(bytes.data() + k * sizeof(float));
    }
    const auto by = gradients(g, loss.loss, values).value();
    for (const Value& each : by) {
      gradient_nodes.push_back(each.id);
      EXPECT_TRUE(g.output(each, "gradient " + std::to_string(each.id)));
    }
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const std::int64_t vocabulary = definition->shape().vocabulary;
    fill(loss.tokens, [&](std::size_t k) { return static_cast<double>((7 * k + 3) % vocabulary); });
    fill(loss.positions, [](std::size_t k) { return static_cast<double>(k % kTokens); });
    fill(loss.mask, [](std::size_t k) {
      const std::size_t column = k % kTokens, row = k / kTokens % kTokens;
      return column <= row ? 0.0 : -std::numeric_limits<double>::infinity();
    });
    fill(loss.labels, [&](std::size_t k) {
      const std::size_t at = k / vocabulary;
      return k % vocabulary == (11 * at + 5) % vocabulary ? 1.0 : 0.0;
    });
  }

  /// All weights after three steps of gradient descent on a device.
  std::vector<double> trained_on(std::span<Device* const> devices) const {
    Update update;
    for (const NodeId weight : weights) update.add(leaves.at(weight));
    auto descent = update.create(devices);
    auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    expect_on_first(**run, *graph);
    for (int step = 0; step < 3; ++step) {
      const Status status = (*run)->plan().run();
      EXPECT_TRUE(status) << status.error().message();
      for (std::size_t w = 0; w < weights.size(); ++w)
        update.leaves[update.gradients[w]] = (*run)->output(gradient_nodes[w]).value();
      EXPECT_TRUE(descent->set_inputs(update.leaves));
      const Status updated = descent->plan().run();
      EXPECT_TRUE(updated) << updated.error().message();
      for (std::size_t w = 0; w < weights.size(); ++w) {
        const RefTensor values = descent->leaf(update.weights[w]).value();
        const Address at = (*run)->address(weights[w]);
        std::vector<float> floats(values.data.begin(), values.data.end());
        EXPECT_TRUE(at.buffer->write(at.offset, std::as_bytes(std::span(floats))));
      }
    }
    std::vector<double> all;
    for (const NodeId weight : update.weights) {
      const RefTensor values = descent->leaf(weight).value();
      all.insert(all.end(), values.data.begin(), values.data.end());
    }
    return all;
  }

 private:
  static constexpr std::int64_t kTokens = 8, kRows = 1;

  /// A step of gradient descent for each weight.
  struct Update {
    Update() : rate(g.input("rate", *make_tensor(DType::kF32, {1})).value().id) {
      leaves[rate] = RefTensor(Sizes{1, 1, 1, 1});
      leaves[rate].data = {0.1};
    }
    void add(const RefTensor& values) {
      const std::string number = std::to_string(weights.size());
      const Sizes& n = values.sizes;
      const Tensor tensor = *make_tensor(DType::kF32, {n[0], n[1], n[2], n[3]});
      const auto weight = g.cache("weight " + number, tensor);
      const auto gradient = g.input("gradient " + number, tensor);
      EXPECT_TRUE(g.output(opt_step_sgd(g, weight, gradient, Value{rate}, {}), "new " + number));
      weights.push_back(weight->id);
      gradients.push_back(gradient->id);
      leaves[weight->id] = values;
      leaves[gradient->id] = RefTensor(values.sizes);
    }
    std::unique_ptr<GraphRun> create(std::span<Device* const> devices) {
      const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
      auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
      EXPECT_TRUE(run) << run.error().message();
      expect_on_first(**run, *graph);
      return std::move(*run);
    }

    GraphBuilder g;
    NodeId rate;
    std::vector<NodeId> weights, gradients;
    std::map<NodeId, RefTensor> leaves;
  };

  static void expect_on_first(GraphRun& run, const Graph& graph) {
    for (const Segment& segment : run.plan().segments())
      EXPECT_EQ(segment.device, 0) << graph.describe(segment.nodes.front());
  }
  static Sizes sizes_of(const Tensor& tensor) { return max_sizes(tensor.shape); }
  template <class F>
  void fill(Value leaf, const F& value) {
    RefTensor numbers(sizes_of(graph->node(leaf.id).result));
    for (std::size_t k = 0; k < numbers.data.size(); ++k) numbers.data[k] = value(k);
    leaves[leaf.id] = std::move(numbers);
  }

  std::shared_ptr<const Graph> graph;
  std::vector<NodeId> weights, gradient_nodes;
  std::map<NodeId, RefTensor> leaves;
};

using CudaTraining = CudaDevices;

TEST_F(CudaTraining, ThreeStepsGiveTheParametersOfTheCpu) {
  const F32Stories model;
  const TrainingStep step(model.path());
  const std::vector<double> cuda = step.trained_on(*devices());
  const std::vector<std::string> only_cpu = {"cpu0"};
  const std::vector<double> cpu = step.trained_on(*registry_->select(only_cpu));
  ASSERT_EQ(cpu.size(), cuda.size());
  double most = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) most = std::max(most, std::abs(cpu[i] - cuda[i]));
  EXPECT_LT(most, 1e-4);
  EXPECT_GT(most, 0) << "is it the device that computes?";
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaTraining, OfTheTrainerNeedsMemoryOfTheHost) {
  const SynthModel model(tiny_shape());
  const gguf::File start = gguf::File::open(model.path()).value();
  const auto trainer = Trainer::create(start, {}, **registry_->find("cuda0"), {});
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(trainer.error().message(), testing::HasSubstr("cuda0 can't train"));
}

}  // namespace
}  // namespace shunt::test::cuda_networks_test

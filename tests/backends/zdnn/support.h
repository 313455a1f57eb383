// Graphs on the accelerator's twin, compared with the plain reference.
#pragma once

#include <gmock/gmock.h>

#include "graph/reference.h"
#include "graph/storage_users.h"
#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/zdnn_twin.h"

namespace shunt::test {

/// The allowed error of DLFLOAT16 in a chain of a few operations, as a normalised mean square
/// error.
inline constexpr double kChainError = 1e-5;

/// A machine as one of the twins has it.
struct ZdnnMachine {
  const char* name;
  const char* profile;
  bool old;  ///< version 1.0 of the library
};
inline constexpr ZdnnMachine kZdnnMachines[] = {
    {"z16", "z16", false}, {"z17", "z17", false}, {"library_1_0", "z17", true}};
/// How it may make sums (twins/zdnn/README.md): which one the hardware does, the documentation does
/// not say.
inline constexpr const char* kZdnnSums[] = {"single", "double", "dlfloat"};

/// A z17 in strict mode, unless a test says otherwise.
class ZdnnTest : public testing::Test {
 protected:
  void SetUp() override { open("z17"); }

  void open(const char* profile, bool old = false) {
    registry_.reset();
    twin_.reset();
    twin_ = std::make_unique<ZdnnTwin>(old);
    if (!twin_->there()) GTEST_SKIP() << "there is no twin of zDNN in this build";
    twin_->set("ZDNN_TWIN_PROFILE", profile);
    twin_->set("ZDNN_TWIN_STRICT", "status");
    for (const auto& [name, value] : settings_) twin_->set(name, value);
    Options options = twin_->options();
    options.backend_options["zdnn"]["out_of_range"] = out_of_range_;
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
    devices_.clear();
    for (const char* name : {"zdnn0", "cpu0"}) {
      const auto device = registry_->find(name);
      if (!device) GTEST_SKIP() << device.error().message();
      devices_.push_back(*device);
    }
  }
  void open(const ZdnnMachine& machine, const char* sums) {
    settings_["ZDNN_TWIN_ACCUMULATE"] = sums;
    open(machine.profile, machine.old);
  }
  Device& zdnn() { return *devices_.front(); }

  static std::shared_ptr<const Graph> built(GraphBuilder&& g) {
    auto graph = std::move(g).build();
    EXPECT_TRUE(graph) << graph.error().message();
    return std::make_shared<const Graph>(std::move(*graph));
  }

  /// Normal values for leaves that have none in `known`.
  static std::map<NodeId, RefTensor> values(const Graph& graph,
                                            std::map<NodeId, RefTensor> known = {}) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Tensor& tensor = graph.node(id).result;
      if (!graph.node(id).is_leaf() || known.contains(id)) continue;
      known[id] = make_values({.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)}, id);
    }
    return known;
  }

  static RefTensor expected(const Graph& graph, const std::map<NodeId, RefTensor>& leaves) {
    std::vector<RefTensor> by_node(graph.size());
    for (const auto& [id, value] : leaves)
      by_node[id] = rounded(value, graph.node(id).result.dtype);
    return (*reference_run(graph, by_node))[graph.outputs()[0]];
  }

  Result<std::unique_ptr<GraphRun>> prepare(const std::shared_ptr<const Graph>& graph,
                                            const std::map<NodeId, RefTensor>& leaves,
                                            const CostModel* costs = nullptr) {
    return GraphRun::create(
        graph, devices_, leaves,
        {.costs = costs, .weight_memory = [](Device& device, const Graph& of, NodeId leaf) {
           return chosen_memory(device, of, leaf);
         }});
  }

  /// Runs it, to which the twin does not object, and gives its output; nothing if it fails.
  RefTensor run(const std::shared_ptr<const Graph>& graph,
                const std::map<NodeId, RefTensor>& leaves) {
    auto run = prepare(graph, leaves);
    EXPECT_TRUE(run) << run.error().message();
    if (!run) return {};
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    auto got = (*run)->output(graph->outputs()[0]);
    EXPECT_TRUE(got) << got.error().message();
    EXPECT_EQ(twin_->objections(), 0U);
    return got ? std::move(*got) : RefTensor();
  }

  /// Runs it and gives the error of its output.
  Result<double> error_of(const std::shared_ptr<const Graph>& graph,
                          const std::map<NodeId, RefTensor>& leaves) {
    auto run = prepare(graph, leaves);
    if (!run) return Error(run.error());
    const Status status = (*run)->plan().run();
    if (!status) return Error(status.error());
    const auto got = (*run)->output(graph->outputs()[0]);
    if (!got) return Error(got.error());
    return nmse(*got, expected(*graph, leaves));
  }

  /// Runs it. The error of DLFLOAT16 is no more than the device grants its operations, as if the
  /// errors of all of them met in the output.
  void expect_within_bound(const std::shared_ptr<const Graph>& graph,
                           const std::map<NodeId, RefTensor>& leaves) {
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto got = (*run)->output(graph->outputs()[0]);
    ASSERT_TRUE(got) << got.error().message();
    const double error = nmse(*got, expected(*graph, leaves));
    double bound = 0;
    for (NodeId id = 0; id < graph->size(); ++id) {
      const bool here = (*run)->plan().placement().decisions[id].device == 0;
      if (here && is_computed(graph->node(id))) bound += zdnn().rounding_error(*graph, id);
    }
    EXPECT_LT(error, bound);
    EXPECT_GT(error, 1e-9) << "F32 would be: is it the machine that computes?";
  }

  /// Of the twin, each time that one is opened.
  std::map<const char*, const char*> settings_;
  std::string out_of_range_ = "saturate";
  std::unique_ptr<ZdnnTwin> twin_;
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
};

/// Each machine, with each way to sum: for tests of numbers that it computes.
class ZdnnMachinesTest : public ZdnnTest,
                         public testing::WithParamInterface<std::tuple<ZdnnMachine, const char*>> {
 protected:
  void SetUp() override {
    const auto& [machine, sums] = GetParam();
    open(machine, sums);
  }
};
inline const auto kZdnnMachinesAndSums =
    testing::Combine(testing::ValuesIn(kZdnnMachines), testing::ValuesIn(kZdnnSums));
inline std::string name_of_machine(
    const testing::TestParamInfo<ZdnnMachinesTest::ParamType>& test) {
  return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
}

/// The answers that a transform by software may give for finite numbers beyond DLFLOAT16. It
/// reports nothing at all, as the documentation has it, or a failure. For tests of the handling of
/// such numbers.
inline const auto kZdnnTooLarge = testing::Values("silent", "convert_failure");
class ZdnnTooLargeTest : public ZdnnTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    settings_["ZDNN_TWIN_TOO_LARGE"] = GetParam();
    ZdnnTest::SetUp();
  }
};
inline std::string name_of_answer(const testing::TestParamInfo<const char*>& test) {
  return test.param;
}

/// A feed-forward block: y = x + w2 * gelu(w1 * x + bias).
inline Result<Value> feed_forward(GraphBuilder& g, const Result<Value>& x, std::int64_t width,
                                  std::int64_t hidden, DType dtype = DType::kF32) {
  const auto up = g.weight("up", *make_tensor(dtype, {width, hidden}));
  const auto bias = g.weight("bias", *make_tensor(DType::kF32, {hidden}));
  const auto down = g.weight("down", *make_tensor(dtype, {hidden, width}));
  return add(g, matmul(g, down, gelu(g, add(g, matmul(g, up, x), bias))), x);
}

}  // namespace shunt::test

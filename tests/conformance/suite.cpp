#include "conformance/suite.h"

#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "graph/reference.h"
#include "ops/common/cases.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/tensor_io.h"

namespace shunt::test {

std::string conformance_name(const ::testing::TestParamInfo<Conformance::ParamType>& info) {
  return std::get<0>(info.param).label + "_" + std::string(std::get<1>(info.param)->info().name);
}

namespace {

constexpr std::size_t kMostMessages = 5;

/// A test case as a graph: a leaf for each source, seen as the case says, the op, and its result as
/// output. The result of a view is copied, so that there is something to compute.
struct CaseGraph {
  std::shared_ptr<const Graph> graph;
  NodeId node = 0;                            // whose result is compared
  NodeId first = kNoNode;                     // the leaf of the first source
  std::vector<RefTensor> leaves;              // by node id
  std::vector<std::vector<std::byte>> bytes;  // of the leaves
};

Result<CaseGraph> build(const Op& op, const Case& each) {
  CaseGraph made;
  GraphBuilder g;
  std::vector<Result<Value>> sources;
  std::vector<std::pair<NodeId, std::vector<std::byte>>> data;
  for (std::size_t i = 0; i < each.sources.size(); ++i) {
    const CaseSource& source = each.sources[i];
    if (!source.given) {
      sources.push_back(absent());
      continue;
    }
    const Sizes& s = source.sizes;
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(source.dtype, {s[0], s[1], s[2], s[3]}));
    const std::string name = fmt::format("source {}", i);
    const bool written = i == 0 && op.info().storage == Storage::kIntoFirst;
    SHUNT_ASSIGN(const Value leaf, written ? g.cache(name, tensor) : g.input(name, tensor));
    if (i == 0) made.first = leaf.id;
    data.emplace_back(leaf.id, make_bytes(source, 1000 + i));
    Result<Value> seen = leaf;
    if (source.permute != std::array<int, kMaxDims>{0, 1, 2, 3})
      seen = permute(g, seen, source.permute);
    if (source.slice != Sizes{0, 0, 0, 0}) {
      const Sizes sizes = sizes_of(source);
      seen = view(g, seen, source.slice, {sizes[0], sizes[1], sizes[2], sizes[3]});
    }
    sources.push_back(std::move(seen));
  }
  std::vector<NodeId> ids;
  for (const Result<Value>& source : sources) {
    if (!source) return Error(source.error());
    ids.push_back(source->id);
  }
  Result<Value> result = g.apply(op, each.params, std::span<const NodeId>(ids));
  if (op.info().storage == Storage::kView) result = cont(g, result);
  SHUNT_TRY(g.output(result, "result"));
  made.node = result->id;
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  made.graph = std::make_shared<const Graph>(std::move(graph));
  made.leaves.resize(made.graph->size());
  made.bytes.resize(made.graph->size());
  for (auto& [id, bytes] : data) {
    const Tensor& tensor = made.graph->node(id).result;
    made.leaves[id] = read_tensor(bytes.data(), tensor, max_sizes(tensor.shape));
    made.bytes[id] = std::move(bytes);
  }
  return made;
}

/// Runs it on a device, alone: leaves are with the CPU, the op is on the device. The result, and
/// what the first source's leaf holds afterwards.
struct Computed {
  std::vector<std::byte> bytes;
  RefTensor result;
  RefTensor first;
};

Result<Computed> compute(const CaseGraph& made, Device& device, Device& cpu) {
  const Graph& graph = *made.graph;
  Placement placement;
  if (&device != &cpu) placement.devices.push_back(&device);
  placement.devices.push_back(&cpu);
  const int last = static_cast<int>(placement.devices.size()) - 1;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<LeafMemory> memory;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool cache = graph.node(node.storage).role == Role::kCache;
    const bool on_device = cache || !graph.node(node.storage).is_leaf();
    placement.decisions.push_back({on_device ? 0 : last, Rule::kMemory, "the suite says so", {}});
    if (!node.is_leaf() || node.role != Role::kCache) continue;
    const std::vector<std::byte>& bytes = made.bytes[id];
    SHUNT_ASSIGN(auto buffer, device.memory().allocate(bytes.size()));
    SHUNT_TRY(buffer->write(0, bytes));
    memory.push_back({id, {buffer.get(), 0}});
    buffers.push_back(std::move(buffer));
  }
  SHUNT_ASSIGN(auto plan,
               compile(made.graph, std::move(placement), {.memory = memory, .observe = {}}));
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).role != Role::kInput) continue;
    SHUNT_ASSIGN(const auto bytes, plan->input(Value{id}));
    std::ranges::copy(made.bytes[id], bytes.begin());
  }
  SHUNT_TRY(plan->run());
  Computed computed;
  SHUNT_ASSIGN(const auto bytes, plan->output(Value{made.node}));
  computed.bytes.assign(bytes.begin(), bytes.end());
  const Tensor& tensor = graph.node(made.node).result;
  computed.result = read_tensor(bytes.data(), tensor, max_sizes(tensor.shape));
  if (!memory.empty()) {
    const Tensor& leaf = graph.node(made.first).result;
    std::vector<std::byte> after(static_cast<std::size_t>(byte_span(leaf)));
    SHUNT_TRY(memory[0].address.buffer->read(0, after));
    computed.first = read_tensor(after.data(), leaf, max_sizes(leaf.shape));
  }
  return computed;
}

struct Tally {
  std::size_t passed = 0, failed = 0, refused = 0, excluded = 0;
  std::string messages;
  void fail(const std::string& message) {
    if (failed++ < kMostMessages) messages += "  " + message + "\n";
  }
};

void run_case(const Op& op, const Case& each, Device& device, Device& cpu, bool everything,
              Tally& tally) {
  auto made = build(op, each);
  if (!made) return tally.fail(each.name + ": " + made.error().message());
  for (NodeId id = 0; id < made->graph->size(); ++id) {
    const Support answer = device.supports(*made->graph, id);
    if (answer) continue;
    if (everything) return tally.fail(each.name + ": not supported: " + answer.facts());
    if (answer.refused() && answer.facts().empty())
      return tally.fail(each.name + ": refused without a reason");
    ++tally.refused;
    return;
  }
  const auto reference = reference_run(*made->graph, made->leaves);
  if (!reference) return tally.fail(each.name + ": " + reference.error().message());
  const auto computed = compute(*made, device, cpu);
  if (!computed) return tally.fail(each.name + ": " + computed.error().message());
  const double error = nmse(computed->result, (*reference)[made->node]);
  if (!(error <= each.max_error)) {
    return tally.fail(
        fmt::format("{}: error {:.3g}, at most {:.3g}", each.name, error, each.max_error));
  }
  if (!computed->first.data.empty()) {
    const double around = nmse(computed->first, (*reference)[made->first]);
    if (!(around <= each.max_error)) {
      return tally.fail(fmt::format("{}: what it writes into is off by {:.3g}", each.name, around));
    }
  }
  ++tally.passed;
}

const Exclusion* excused(const DeviceUnderTest& under_test, const Op& op, const Case& each) {
  for (const Exclusion& exclusion : under_test.exclusions) {
    if (exclusion.op == op.info().name &&
        each.name.find(exclusion.case_contains) != std::string::npos) {
      return &exclusion;
    }
  }
  return nullptr;
}

}  // namespace

TEST_P(Conformance, Op) {
  const auto& [under_test, op] = GetParam();
  auto registry = Registry::create(under_test.options);
  ASSERT_TRUE(registry) << registry.error().message();
  const auto device = (*registry)->find(under_test.device);
  if (!device) GTEST_SKIP() << under_test.label << ": " << device.error().message();
  const auto cpu = (*registry)->find("cpu0");
  if (!cpu && under_test.everything) GTEST_SKIP() << cpu.error().message();
  Tally tally;
  op->cases([&, &tested = under_test, what = op](Case each) {
    if (excused(tested, *what, each) != nullptr) {
      ++tally.excluded;
      return;
    }
    run_case(*what, each, **device, cpu ? **cpu : **device, tested.everything, tally);
  });
  EXPECT_EQ(tally.failed, 0U) << tally.messages;
  EXPECT_GT(tally.passed + tally.refused + tally.excluded, 0U) << "an op without cases";
  RecordProperty("passed", static_cast<int>(tally.passed));
  RecordProperty("refused", static_cast<int>(tally.refused));
}

/// Results do not hang on how many threads there are: to the bit, for every case of every op.
TEST(ConformanceThreads, ResultsAreBitEqualForAnyNumberOfThreads) {
  std::vector<std::unique_ptr<Registry>> registries;
  for (int threads : {1, 2, 4}) {
    Options options;
    options.threads = threads;
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    if (!(*registry)->find("cpu0")) GTEST_SKIP() << "there is no CPU backend in this build";
    registries.push_back(std::move(*registry));
  }
  for (const Op* op : all_ops()) {
    std::size_t count = 0;
    op->cases([&](const Case& each) {
      // Under a sanitizer for threads every case would take too long; each seventh still meets
      // every kind of shape.
      if (count++ % 7 != 0) return;
      const auto made = build(*op, each);
      ASSERT_TRUE(made) << each.name << ": " << made.error().message();
      std::vector<std::byte> first;
      for (const auto& registry : registries) {
        Device& device = **registry->find("cpu0");
        const auto computed = compute(*made, device, device);
        ASSERT_TRUE(computed) << each.name << ": " << computed.error().message();
        if (&registry == &registries.front()) first = computed->bytes;
        EXPECT_EQ(computed->bytes, first) << op->info().name << ": " << each.name;
      }
    });
  }
}

}  // namespace shunt::test

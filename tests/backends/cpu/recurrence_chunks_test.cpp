// Recurrences whose tokens the CPU computes in chunks, at every level. Results have the same bits
// for any number of threads. They agree with those of single tokens within rounding. With
// cpu.deterministic any pieces of a prompt give the same bits.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::recurrence_chunks_test {
namespace {

using Values = std::vector<Result<Value>>;

/// An op with one decay a token, of sources over tokens and of others; states come last.
struct ChunkedOp {
  std::string name;
  std::vector<CaseSource> sources;  ///< with one token
  std::vector<int> token_dim;       ///< -1: none
  Result<Recurrence> (*build)(GraphBuilder& g, const Values& v, Operand states);
};

CaseSource uniform(const Sizes& sizes, double low, double high) {
  return {.sizes = sizes, .fill = Fill::kUniform, .low = low, .high = high};
}

// Values of more than two panels, of which the last has few.
constexpr std::int64_t kKeys = 40;
constexpr std::int64_t kValues = 68;
constexpr std::int64_t kTokens = 101;

std::vector<ChunkedOp> chunked_ops(std::int64_t heads = 4, std::int64_t groups = 2) {
  const CaseSource keys = uniform({kKeys, groups, 1, 1}, -0.25, 0.25);
  const CaseSource values = uniform({kValues, heads, 1, 1}, -1, 1);
  return {{"gated_delta_net",
           {keys, keys, values, uniform({1, heads, 1, 1}, -2, 0), uniform({1, heads, 1, 1}, 0, 1),
            uniform({kKeys, kValues, heads, 1}, -1, 1)},
           {2, 2, 2, 2, 2, -1},
           [](GraphBuilder& g, const Values& v, Operand states) {
             return gated_delta_net(g, v[0], v[1], v[2], v[3], v[4], states, absent(),
                                    {.scale = 0.2F});
           }},
          {"ssm_scan",
           {values, uniform({heads, 1, 1, 1}, -2, 2), uniform({1, heads, 1, 1}, -2, 0), keys, keys,
            uniform({kKeys, kValues, heads, 1}, -1, 1)},
           {2, 1, -1, 2, 2, -1},
           [](GraphBuilder& g, const Values& v, Operand states) {
             return ssm_scan(g, v[0], v[1], v[2], v[3], v[4], states);
           }}};
}

struct Walked {
  std::vector<double> outputs;
  std::vector<double> states;
  bool operator==(const Walked&) const = default;
};

double error(const std::vector<double>& a, const std::vector<double>& b) {
  const auto as_tensor = [](const std::vector<double>& values) {
    RefTensor tensor({std::ssize(values), 1, 1, 1});
    tensor.data = values;
    return tensor;
  };
  return nmse(as_tensor(a), as_tensor(b));
}

/// With one thread an item has two heads: the second one has other keys where groups have three.
std::vector<ChunkedOp> ops_of_groups() {
  return chunked_ops(18, 6);
}

/// The tokens from first on, in calls of `pieces` tokens, each from the state before.
Result<Walked> walk(Device* device, const ChunkedOp& op, std::int64_t first,
                    const std::vector<std::int64_t>& pieces) {
  GraphBuilder g;
  std::map<NodeId, RefTensor> leaves;
  Values sources;
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    CaseSource source = op.sources[i];
    if (op.token_dim[i] >= 0) source.sizes[static_cast<std::size_t>(op.token_dim[i])] = kTokens;
    const Sizes& s = source.sizes;
    sources.push_back(g.input("", *make_tensor(DType::kF32, {s[0], s[1], s[2], s[3]})));
    leaves[sources.back()->id] = make_values(source, i + 1);
  }
  Result<Value> states = sources.back();
  std::vector<NodeId> outputs;
  for (const std::int64_t count : pieces) {
    Values piece = sources;
    for (std::size_t i = 0; i < op.sources.size(); ++i) {
      if (op.token_dim[i] < 0) continue;
      const auto dim = static_cast<std::size_t>(op.token_dim[i]);
      Shape shape = g.tensor(*piece[i]).shape;
      Sizes start = {};
      start[dim] = first;
      shape[dim] = count;
      piece[i] = view(g, piece[i], start, shape);
    }
    SHUNT_ASSIGN(const Recurrence step, op.build(g, piece, states));
    SHUNT_ASSIGN(const Value y, scale(g, step.outputs, {.scale = 1}));
    SHUNT_TRY(g.output(y, "outputs"));
    outputs.push_back(y.id);
    states = step.states;
    first += count;
  }
  SHUNT_ASSIGN(const Value last, scale(g, states, {.scale = 1}));
  SHUNT_TRY(g.output(last, "states"));
  SHUNT_ASSIGN(Graph built, std::move(g).build());
  const auto graph = std::make_shared<const Graph>(std::move(built));
  SHUNT_ASSIGN(auto run, GraphRun::create(graph, {&device, 1}, leaves, {}));
  SHUNT_TRY(run->plan().run());
  Walked made;
  for (const NodeId id : outputs) {
    SHUNT_ASSIGN(const RefTensor y, run->output(id));
    made.outputs.insert(made.outputs.end(), y.data.begin(), y.data.end());
  }
  SHUNT_ASSIGN(const RefTensor after, run->output(last.id));
  made.states = after.data;
  return made;
}

class CpuRecurrenceChunks : public testing::TestWithParam<std::string> {
 protected:
  Walked walked(const ChunkedOp& op, std::int64_t first, const std::vector<std::int64_t>& pieces,
                const char* deterministic = "off", int threads = 1) {
    Options options;
    options.threads = threads;
    options.backend_options["cpu"]["level"] = GetParam();
    options.backend_options["cpu"]["deterministic"] = deterministic;
    const auto registry = Registry::create(options);
    EXPECT_TRUE(registry) << registry.error().message();
    auto made = walk(*(*registry)->find("cpu0"), op, first, pieces);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : Walked();
  }
};

TEST_P(CpuRecurrenceChunks, HaveTheSameBitsForAnyNumberOfThreads) {
  for (const auto& ops : {chunked_ops(), ops_of_groups()}) {
    for (const ChunkedOp& op : ops) {
      const Walked one = walked(op, 0, {kTokens});
      for (const int threads : {2, 3, 8})
        EXPECT_EQ(walked(op, 0, {kTokens}, "off", threads), one) << op.name << " " << threads;
    }
  }
}

TEST_P(CpuRecurrenceChunks, AgreeWithTokensOneByOne) {
  for (const ChunkedOp& op : chunked_ops()) {
    const std::vector<std::int64_t> one_by_one(kTokens, 1);
    const Walked expected = walked(op, 0, one_by_one);
    const Walked chunks = walked(op, 0, {kTokens});
    // Else there would be no chunks.
    EXPECT_NE(chunks, expected) << op.name;
    EXPECT_LT(error(chunks.outputs, expected.outputs), 1e-11) << op.name;
    EXPECT_LT(error(chunks.states, expected.states), 1e-11) << op.name;
    for (const auto& pieces : std::vector<std::vector<std::int64_t>>{
             {16, 16, 69}, {37, 64}, {7, 1, 90, 3}, {65, 36}, {1, 100}, {5, 96}}) {
      const Walked cut = walked(op, 0, pieces);
      EXPECT_LT(error(cut.outputs, expected.outputs), 1e-11) << op.name;
      EXPECT_LT(error(cut.states, expected.states), 1e-11) << op.name;
    }
  }
}

/// Tokens of a chunk see none that follow.
TEST_P(CpuRecurrenceChunks, OutputsDoNotDependOnLaterTokens) {
  for (const ChunkedOp& op : chunked_ops()) {
    const Walked all = walked(op, 0, {64});
    for (const std::int64_t count : {16, 48}) {
      const Walked fewer = walked(op, 0, {count});
      EXPECT_EQ(fewer.outputs, std::vector<double>(all.outputs.begin(),
                                                   all.outputs.begin() + std::ssize(fewer.outputs)))
          << op.name;
    }
  }
}

TEST_P(CpuRecurrenceChunks, WithDeterministicPiecesHaveTheSameBits) {
  for (const ChunkedOp& op : chunked_ops()) {
    const Walked whole = walked(op, 0, {kTokens}, "on");
    EXPECT_EQ(walked(op, 0, {37, 64}, "on"), whole) << op.name;
    EXPECT_EQ(walked(op, 0, {7, 1, 90, 3}, "on", 3), whole) << op.name;
    // Without the option, chunks begin at other tokens.
    EXPECT_NE(walked(op, 0, {37, 64}), walked(op, 0, {kTokens})) << op.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuRecurrenceChunks, testing::ValuesIn(cpu::simd::level_names()),
                         cpu::simd::name_of_level);

}  // namespace
}  // namespace shunt::test::recurrence_chunks_test

// Recurrences in a graph whose tokens and sequences are dynamic dimensions. The result of a step's
// actual sizes does not depend on their maximum. States are kept by number, and numbers that no
// state has fail the run. The results of a sequence do not depend on others in the call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <tuple>

#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"
#include "support/tested_devices.h"

namespace shunt::test::recurrence_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kStates = 4;

/// A gated delta net whose states are kept, by number, in a cache.
struct Kept {
  std::shared_ptr<const Graph> graph;
  std::vector<NodeId> inputs;
  NodeId ids = 0;
  NodeId cache = 0;
  NodeId y = 0;
  Dim tokens = 1;
  Dim sequences = 1;
};

Kept build(bool dynamic_dims) {
  Kept made;
  GraphBuilder g;
  const auto size = [&](const char* name, std::int64_t max, std::int64_t actual) {
    return dynamic_dims ? *g.dynamic_dim(name, max) : Dim(actual);
  };
  made.tokens = size("tokens", 7, 3);
  made.sequences = size("sequences", 5, 2);
  const auto input = [&](DType type, const Shape& shape) {
    const auto value = g.input("", *make_tensor(type, shape));
    made.inputs.push_back(value->id);
    return value;
  };
  const auto heads = [&](std::int64_t n) {
    return input(DType::kF32, {n, 2, made.tokens, made.sequences});
  };
  const auto q = heads(16);
  const auto k = heads(16);
  const auto v = heads(16);
  const auto gate = heads(1);
  const auto beta = heads(1);
  const auto ids = input(DType::kI32, {made.sequences});
  made.ids = ids->id;
  const auto cache = g.cache("states", *make_tensor(DType::kF32, {16, 16, 2, kStates}));
  made.cache = cache->id;
  const auto step = gated_delta_net(g, q, k, v, gate, beta, cache, ids, {.scale = 0.25F});
  EXPECT_TRUE(step) << step.error().message();
  const Result<Value> outputs = scale(g, step->outputs, {.scale = 1});
  EXPECT_TRUE(g.output(outputs, "y"));
  made.y = outputs->id;
  const Result<Value> states = step->states;
  const auto kept = set_rows(g, reshape(g, cache, {512, kStates}),
                             reshape(g, states, {512, made.sequences}), ids);
  EXPECT_TRUE(kept) << kept.error().message();
  made.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return made;
}

std::map<NodeId, RefTensor> values_for(const Kept& kept, std::vector<double> ids) {
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id : kept.inputs) {
    Sizes sizes = max_sizes(kept.graph->node(id).result.shape);
    if (sizes[2] > 1) sizes[2] = 3;
    if (sizes[3] > 1) sizes[3] = 2;
    leaves[id] =
        make_values({.sizes = sizes, .fill = Fill::kUniform, .low = -0.3, .high = 0.3}, id);
  }
  leaves[kept.ids] = RefTensor({2, 1, 1, 1});
  leaves[kept.ids].data = std::move(ids);
  leaves[kept.cache] = make_values({.sizes = {16, 16, 2, kStates}}, 99);
  return leaves;
}

class RecurrenceOn : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (devices_.empty()) GTEST_SKIP() << "the build lacks the device";
  }
  std::unique_ptr<GraphRun> start(const Kept& kept, bool dynamic_dims,
                                  const std::vector<double>& ids) {
    auto leaves = values_for(kept, ids);
    auto run = GraphRun::create(kept.graph, devices_, {{kept.cache, leaves[kept.cache]}},
                                {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    if (dynamic_dims) {
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(kept.tokens, 3));
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(kept.sequences, 2));
    }
    leaves.erase(kept.cache);
    const Status set = (*run)->set_inputs(leaves);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*run);
  }

  TestedDevices tested_{GetParam()};
  std::vector<Device*> devices_ = tested_.list();
};

TEST_P(RecurrenceOn, TakesTheActualSizesOfDynamicDims) {
  const Kept fixed = build(false);
  const Kept kept = build(true);
  const auto expected = start(fixed, false, {3, 1});
  const auto run = start(kept, true, {3, 1});
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(expected->plan().run());
    ASSERT_TRUE(run->plan().run());
    DynamicDimValues actual = kept.graph->max_dynamic_dims();
    actual[kept.tokens.dynamic_dim] = 3;
    actual[kept.sequences.dynamic_dim] = 2;
    EXPECT_EQ(run->output(kept.y, actual)->data, expected->output(fixed.y)->data);
  }
  const RefTensor states = *run->leaf(kept.cache);
  EXPECT_EQ(states.data, expected->leaf(fixed.cache)->data);
  // States 0 and 2 had no sequence.
  const RefTensor before = values_for(kept, {3, 1})[kept.cache];
  for (const std::size_t id : {0U, 2U}) {
    for (std::size_t i = id * 512; i < (id + 1) * 512; ++i) {
      ASSERT_EQ(states.data[i], before.data[i]);
    }
  }
  EXPECT_NE(states.data[512], before.data[512]);
}

/// States follow as many rows of outputs as there are tokens at most, also in the plain reference.
TEST_P(RecurrenceOn, GivesThePlainReferencesResultForActualSizes) {
  const Kept kept = build(true);
  const auto expected = start(kept, true, {3, 1});
  TestDevice device(TestDeviceConfig{});
  devices_.insert(devices_.begin(), &device);
  const auto run = start(kept, true, {3, 1});
  ASSERT_TRUE(expected->plan().run());
  ASSERT_TRUE(run->plan().run());
  EXPECT_GT(device.computed(), 0U);
  const RefTensor states = *run->leaf(kept.cache);
  const RefTensor wanted = *expected->leaf(kept.cache);
  for (std::size_t i = 0; i < states.data.size(); ++i)
    ASSERT_NEAR(states.data[i], wanted.data[i], 1e-5) << i;
}

TEST_P(RecurrenceOn, FailsForAStateIdOutOfRange) {
  const Kept kept = build(false);
  for (const double wrong : {-1.0, 4.0, 1e9, -2147483648.0}) {
    const auto run = start(kept, false, {1, wrong});
    const Status status = run->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("gated_delta_net"));
  }
}

using RecurrenceOnStoppingDevice = RecurrenceOn;

TEST_P(RecurrenceOnStoppingDevice, LeavesStatesAloneForAnIdOutOfRange) {
  const Kept kept = build(false);
  for (const double wrong : {-1.0, 4.0, 1e9, -2147483648.0}) {
    const auto run = start(kept, false, {1, wrong});
    EXPECT_FALSE(run->plan().run()) << wrong;
    EXPECT_EQ(run->leaf(kept.cache)->data, values_for(kept, {})[kept.cache].data);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RecurrenceOnStoppingDevice, testing::ValuesIn(kStoppingDevices),
                         [](const auto& each) { return std::string(each.param); });
INSTANTIATE_TEST_SUITE_P(Devices, RecurrenceOn, testing::ValuesIn(kTestedDevices),
                         [](const auto& each) { return std::string(each.param); });

using Operands = std::vector<Result<Value>>;

/// An op as its sources: those over tokens have T tokens, and states come last.
struct OpOverTokens {
  std::string name;
  std::vector<Sizes> fixed_or_token;  ///< sizes of a source of one token, or of any number
  std::vector<bool> over_tokens;
  std::size_t token_dim = 2;
  std::function<Result<Recurrence>(GraphBuilder&, const Operands&, Operand ids, Operand ends)>
      build;
  std::string variant = "";
};

/// For gtest.
void PrintTo(const OpOverTokens& op, std::ostream* to) {
  *to << op.name << op.variant;
}

std::vector<OpOverTokens> ops_over_tokens() {
  const Sizes keys = {24, 3, 1, 1};
  const Sizes values = {20, 3, 1, 1};
  const Sizes one = {1, 3, 1, 1};
  const Sizes by_value = {20, 24, 3, kStates};
  const Sizes by_key = {24, 20, 3, kStates};
  return {
      {"ssm_conv",
       {{300, 1, 1, 1}, {4, 300, 1, 1}, {300, 3, kStates, 1}},
       {true, false, false},
       1,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return ssm_conv(g, v[0], v[1], v[2], ids, ends);
       }},
      {"ssm_conv",
       {{300, 1, 1, 1}, {1, 300, 1, 1}, {300, 0, kStates, 1}},
       {true, false, false},
       1,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return ssm_conv(g, v[0], v[1], v[2], ids, ends);
       },
       "_of_one_tap"},
      {"ssm_scan",
       {{1, 40, 1, 1},
        {40, 1, 1, 1},
        {20, 40, 1, 1},
        {20, 2, 1, 1},
        {20, 2, 1, 1},
        {20, 1, 40, kStates}},
       {true, true, false, true, true, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return ssm_scan(g, v[0], v[1], v[2], v[3], v[4], v[5], ids, ends);
       }},
      {"ssm_scan",
       {values, {3, 1, 1, 1}, {1, 3, 1, 1}, keys, keys, by_key},
       {true, true, false, true, true, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return ssm_scan(g, v[0], v[1], v[2], v[3], v[4], v[5], ids, ends);
       },
       "_of_mamba_2"},
      {"rwkv_wkv6",
       {keys, keys, keys, values, {24, 3, 1, 1}, by_value},
       {true, true, true, true, false, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return rwkv_wkv6(g, v[0], v[1], v[2], v[3], v[4], v[5], ids, ends);
       }},
      {"rwkv_wkv7",
       {keys, keys, keys, values, keys, keys, by_key},
       {true, true, true, true, true, true, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return rwkv_wkv7(g, v[0], v[1], v[2], v[3], v[4], v[5], v[6], ids, ends);
       }},
      {"gated_linear_attn",
       {keys, keys, values, keys, by_value},
       {true, true, true, true, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return gated_linear_attn(g, v[0], v[1], v[2], v[3], v[4], ids, {.scale = 0.2F}, ends);
       }},
      {"gated_delta_net",
       {keys, keys, values, one, one, by_key},
       {true, true, true, true, true, false},
       2,
       [](GraphBuilder& g, const Operands& v, Operand ids, Operand ends) {
         return gated_delta_net(g, v[0], v[1], v[2], v[3], v[4], v[5], ids, {.scale = 0.2F}, ends);
       }},
  };
}

struct Both {
  std::vector<double> outputs;
  std::vector<double> states;
};

class RecurrenceWithEnds
    : public testing::TestWithParam<std::tuple<std::string_view, OpOverTokens>> {
 protected:
  void SetUp() override {
    if (tested_.list().empty()) GTEST_SKIP() << "the build lacks the device";
  }

  static const OpOverTokens& op() { return std::get<1>(GetParam()); }

  /// The dimension of T in source i.
  static std::size_t token_dim(std::size_t i) {
    const bool steps = op().name == "ssm_scan" && i == 1;  // [H, T, S]
    return steps ? 1 : op().token_dim;
  }

  /// All sources with kTokens tokens.
  static std::vector<RefTensor> sources() {
    std::vector<RefTensor> made;
    for (std::size_t i = 0; i < op().fixed_or_token.size(); ++i) {
      Sizes sizes = op().fixed_or_token[i];
      if (op().over_tokens[i]) sizes[token_dim(i)] = kTokens;
      made.push_back(
          make_values({.sizes = sizes, .fill = Fill::kUniform, .low = -0.3, .high = 0.3}, i + 1));
    }
    return made;
  }

  /// The same with the tokens from `first` up to `end` only.
  static std::vector<RefTensor> sources(std::int64_t first, std::int64_t end) {
    std::vector<RefTensor> made = sources();
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!op().over_tokens[i]) continue;
      const std::int64_t token = std::ssize(made[i].data) / kTokens;
      made[i].data = {made[i].data.begin() + first * token, made[i].data.begin() + end * token};
      made[i].sizes[token_dim(i)] = end - first;
    }
    return made;
  }

  /// The sequences of `ids`, with `ends` in a graph of dynamic dimensions, or without.
  Result<Both> run(const std::vector<RefTensor>& sources, const std::vector<double>& ids,
                   const std::optional<std::vector<double>>& ends = std::nullopt) {
    GraphBuilder g;
    Dim tokens = sources[0].sizes[op().token_dim];
    Dim sequences = std::ssize(ids);
    if (ends) {
      SHUNT_ASSIGN(tokens, g.dynamic_dim("tokens", tokens.max + 5));
      SHUNT_ASSIGN(sequences, g.dynamic_dim("sequences", sequences.max + 2));
    }
    std::map<NodeId, RefTensor> leaves;
    Operands operands;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Sizes& s = sources[i].sizes;
      Shape shape = {s[0], s[1], s[2], s[3]};
      if (op().over_tokens[i]) shape[token_dim(i)] = tokens;
      operands.push_back(g.input("", *make_tensor(DType::kF32, shape)));
      leaves[operands.back()->id] = sources[i];
    }
    const auto integers = [&](const std::vector<double>& values) {
      const auto leaf = g.input("", *make_tensor(DType::kI32, {sequences}));
      leaves[leaf->id] = RefTensor({std::ssize(values), 1, 1, 1});
      leaves[leaf->id].data = values;
      return leaf;
    };
    const Result<Value> of_ids = integers(ids);
    const Result<Value> of_ends = ends ? integers(*ends) : absent();
    SHUNT_ASSIGN(const Recurrence step, op().build(g, operands, of_ids, of_ends));
    SHUNT_ASSIGN(const Value outputs, scale(g, step.outputs, {.scale = 1}));
    SHUNT_ASSIGN(const Value states, scale(g, step.states, {.scale = 1}));
    SHUNT_TRY(g.output(outputs, "outputs"));
    SHUNT_TRY(g.output(states, "states"));
    SHUNT_ASSIGN(Graph built, std::move(g).build());
    const auto graph = std::make_shared<const Graph>(std::move(built));
    SHUNT_ASSIGN(auto run, GraphRun::create(graph, tested_.list(), {}, {.by_ability = true}));
    if (ends) {
      SHUNT_TRY(run->plan().set_dynamic_dim(tokens, sources[0].sizes[op().token_dim]));
      SHUNT_TRY(run->plan().set_dynamic_dim(sequences, std::ssize(ids)));
    }
    SHUNT_TRY(run->set_inputs(leaves));
    SHUNT_TRY(run->plan().run());
    SHUNT_ASSIGN(const RefTensor y, run->output(outputs.id, run->plan().dynamic_dims()));
    SHUNT_ASSIGN(const RefTensor last, run->output(states.id, run->plan().dynamic_dims()));
    return Both{y.data, last.data};
  }

  static constexpr std::int64_t kTokens = 59;  // in a sequence of 47, several chunks
  TestedDevices tested_{std::get<0>(GetParam()), 3};
};

TEST_P(RecurrenceWithEnds, HasTheBitsOfEachSequenceAlone) {
  const std::vector<double> ids = {2, 0, 3, 1, 2};
  const std::vector<double> ends = {1, 8, 8, 10, 57};
  const auto all = run(sources(), ids, ends);
  ASSERT_TRUE(all) << all.error().message();
  std::vector<double> outputs;
  std::vector<double> states;
  std::int64_t first = 0;
  for (std::size_t s = 0; s < ids.size(); ++s) {
    const auto end = static_cast<std::int64_t>(ends[s]);
    const auto alone = run(sources(first, end), {ids[s]});
    ASSERT_TRUE(alone) << alone.error().message();
    outputs.insert(outputs.end(), alone->outputs.begin(), alone->outputs.end());
    states.insert(states.end(), alone->states.begin(), alone->states.end());
    first = end;
  }
  const std::size_t idle = outputs.size() / 57 * 2;
  outputs.insert(outputs.end(), idle, 0.0);
  EXPECT_EQ(all->outputs, outputs);
  EXPECT_EQ(all->states, states);
}

TEST_P(RecurrenceWithEnds, KeepsTheStateOfASequenceWithoutTokens) {
  const auto all = run(sources(0, 0), {3, 1}, std::vector<double>{0, 0});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_THAT(all->outputs, ElementsAre());
  const std::vector<double> states = sources().back().data;
  const std::int64_t each = std::ssize(states) / kStates;
  std::vector<double> expected(states.begin() + 3 * each, states.begin() + 4 * each);
  expected.insert(expected.end(), states.begin() + each, states.begin() + 2 * each);
  EXPECT_EQ(all->states, expected);
}

TEST_P(RecurrenceWithEnds, FailsForEndsOutOfRange) {
  const auto fails = [&](const std::vector<double>& ends, const std::vector<double>& ids) {
    const auto result = run(sources(), ids, ends);
    if (result) return std::string("no error");
    EXPECT_THAT(result.error().message(), HasSubstr(op().name));
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    return std::string(result.error().message().find("an index is out of range") !=
                               std::string::npos
                           ? "out of range"
                           : result.error().message());
  };
  EXPECT_EQ(fails({2, 2, 59}, {0, 1, 2}), "no error");
  for (const std::vector<double>& ends : std::vector<std::vector<double>>{{-1, 2, 59},
                                                                          {2, 1, 59},
                                                                          {2, 59, 58},
                                                                          {2, 2, 60},
                                                                          {60, 60, 60},
                                                                          {2, 2e9, 2e9},
                                                                          {0, 0, -2147483648.0}}) {
    EXPECT_EQ(fails(ends, {0, 1, 2}), "out of range") << testing::PrintToString(ends);
  }
  EXPECT_EQ(fails({2, 2, 59}, {0, kStates, 2}), "out of range");
}

std::string name_of(
    const testing::TestParamInfo<std::tuple<std::string_view, OpOverTokens>>& info) {
  const auto& [device, op] = info.param;
  return op.name + op.variant + "_" + std::string(device);
}
INSTANTIATE_TEST_SUITE_P(Ops, RecurrenceWithEnds,
                         testing::Combine(testing::ValuesIn(kTestedDevices),
                                          testing::ValuesIn(ops_over_tokens())),
                         name_of);

}  // namespace
}  // namespace shunt::test::recurrence_test

// Every op compared with independent results: those of PyTorch (README.md in this folder).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/reference.h"
#include "ops/list.h"
#include "oracle/case_file.h"
#include "oracle/params.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::second_oracle_test {
namespace {

/// Ops that have no second oracle.
struct Without {
  std::string_view op;
  std::string_view reason;
};
constexpr auto kWithout = std::to_array<Without>({
    {"custom", "computes whatever its user says"},
});

/// The error that a plain reference may have: F32 results in the files are rounded (2^-24,
/// squared).
constexpr double kRounding = 4e-15;

using Values = std::vector<Result<Value>>;

/// Ops of which a case is more than a node.
const std::map<std::string_view, Result<Value> (*)(GraphBuilder&, const Values&, const Params&)>&
builders() {
  static const std::map<std::string_view,
                        Result<Value> (*)(GraphBuilder&, const Values&, const Params&)>
      kBuilders = {{"opt_step_adamw", [](GraphBuilder& g, const Values& s, const Params& params) {
                      return opt_step_adamw(g, s[0], s[1], s[2], s[3], s[4], s[5],
                                            params.get<AdamwParams>());
                    }}};
  return kBuilders;
}

/// A case as a graph. The tensor that a view shows is copied, so that there is something to
/// compute.
struct CaseGraph {
  std::shared_ptr<const Graph> graph;
  NodeId result = 0;
  std::vector<NodeId> sources;
  std::map<NodeId, RefTensor> leaves;
};

Result<CaseGraph> build(const Op& op, const OracleCase& each) {
  CaseGraph made;
  GraphBuilder g;
  Values values;
  const auto builder = builders().find(op.info().name);
  for (std::size_t i = 0; i < each.sources.size(); ++i) {
    const auto& source = each.sources[i];
    if (!source) {
      values.push_back(absent());
    } else {
      const Sizes& s = source->values.sizes;
      SHUNT_ASSIGN(const Tensor tensor, make_tensor(source->dtype, {s[0], s[1], s[2], s[3]}));
      const bool written =
          (i == 0 && op.info().storage == Storage::kIntoFirst) || each.written.contains(i);
      const std::string name = fmt::format("source {}", i);
      SHUNT_ASSIGN(const Value leaf, written ? g.cache(name, tensor) : g.input(name, tensor));
      made.leaves[leaf.id] = source->values;
      values.push_back(leaf);
    }
    made.sources.push_back(values.back()->id);
  }
  Result<Value> result = absent();
  if (builder != builders().end()) {
    result = builder->second(g, values, each.params);
  } else {
    std::vector<NodeId> ids = made.sources;
    ids.resize(op.info().sources.size(), kNoNode);
    result = g.apply(op, each.params, ids);
  }
  if (op.info().storage == Storage::kView) result = cont(g, result);
  SHUNT_TRY(g.output(result, "result"));
  made.result = result->id;
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  made.graph = std::make_shared<const Graph>(std::move(graph));
  return made;
}

std::vector<const OracleCase*> cases_of(const Op& op) {
  std::vector<const OracleCase*> found;
  for (const OracleCase& each : oracle_cases()) {
    if (each.op == op.info().name) found.push_back(&each);
  }
  return found;
}

void expect_near(const RefTensor& values, const OracleTensor& expected, double max_error) {
  EXPECT_EQ(values.sizes, expected.values.sizes);
  const double error = nmse(values, expected.values);
  EXPECT_LE(error, max_error) << "the normalised mean square error";
}

class SecondOracle : public testing::TestWithParam<const Op*> {};

TEST_P(SecondOracle, AgreesWithThePlainReference) {
  const Op& op = *GetParam();
  const auto cases = cases_of(op);
  ASSERT_FALSE(cases.empty()) << op.info().name
                              << " has no cases in tests/oracle, and no reason is given here";
  for (const OracleCase* each : cases) {
    SCOPED_TRACE(each->name);
    const auto made = build(op, *each);
    ASSERT_TRUE(made) << made.error().message();
    const Tensor& tensor = made->graph->node(made->result).result;
    EXPECT_EQ(tensor.dtype, each->result.dtype) << to_string(tensor);
    std::vector<RefTensor> leaves(made->graph->size());
    for (const auto& [id, values] : made->leaves) leaves[id] = values;
    const auto computed = reference_run(*made->graph, leaves);
    ASSERT_TRUE(computed) << computed.error().message();
    const auto expect = [&](NodeId node, const OracleTensor& expected) {
      // The reference does not round to the result's type.
      const bool rounds = expected.dtype != DType::kF32 && each->max_error > 0;
      const RefTensor values = rounded((*computed)[node], expected.dtype);
      expect_near(values, expected,
                  rounds ? each->max_error : std::min(each->max_error, kRounding));
    };
    expect(made->result, each->result);
    for (const auto& [source, expected] : each->written) expect(made->sources[source], expected);
  }
}

TEST_P(SecondOracle, AgreesWithTheCpu) {
  const Op& op = *GetParam();
  const auto registry = Registry::create({});
  ASSERT_TRUE(registry) << registry.error().message();
  const auto cpu = (*registry)->find("cpu0");
  if (!cpu) GTEST_SKIP() << cpu.error().message();
  Device* const device = *cpu;
  for (const OracleCase* each : cases_of(op)) {
    SCOPED_TRACE(each->name);
    const auto made = build(op, *each);
    ASSERT_TRUE(made) << made.error().message();
    const auto run = GraphRun::create(made->graph, {&device, 1}, made->leaves);
    ASSERT_TRUE(run) << run.error().message();
    const Status ran = (*run)->plan().run();
    ASSERT_TRUE(ran) << ran.error().message();
    const auto result = (*run)->output(made->result);
    ASSERT_TRUE(result) << result.error().message();
    expect_near(*result, each->result, each->max_error);
    for (const auto& [source, expected] : each->written) {
      const auto held = (*run)->leaf(made->sources[source]);
      ASSERT_TRUE(held) << held.error().message();
      expect_near(*held, expected, each->max_error);
    }
  }
}

bool is_without(std::string_view op) {
  return std::ranges::find(kWithout, op, &Without::op) != kWithout.end();
}

std::vector<const Op*> ops_with_an_oracle() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (!is_without(op->info().name)) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, SecondOracle, testing::ValuesIn(ops_with_an_oracle()),
                         [](const auto& op) { return std::string(op.param->info().name); });

TEST(SecondOracles, NameExistingOps) {
  std::set<std::string> ops;
  for (const OracleCase& each : oracle_cases()) ops.insert(each.op);
  for (const std::string& op : ops) EXPECT_NE(find_op(op), nullptr) << op;
}

TEST(SecondOracles, AreMissingOnlyForAReason) {
  for (const Without& each : kWithout) {
    const Op* op = find_op(each.op);
    ASSERT_NE(op, nullptr) << each.op;
    EXPECT_FALSE(each.reason.empty()) << each.op;
    EXPECT_TRUE(cases_of(*op).empty()) << each.op << " has one";
  }
}

TEST(SecondOracles, KnowTheParametersOfEveryOp) {
  for (const Op* op : all_ops()) {
    if (is_without(op->info().name)) continue;
    EXPECT_EQ(has_params(op->info().name), !op->describe_defaults().empty()) << op->info().name;
  }
}

}  // namespace
}  // namespace shunt::test::second_oracle_test

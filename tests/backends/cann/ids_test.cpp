// Numbers of rows and experts that are not there fail a run on a CANN device, with the node.
// They are checked on the device, and the next run is right.
#include <gmock/gmock.h>

#include <functional>

#include "backends/cann/cann_devices.h"

namespace shunt::test::cann_ids_test {
namespace {

using testing::HasSubstr;

/// An op on tensors of 64 columns with two ids in [0, 3). No id is there twice, as the nearest one
/// is taken for a wrong one.
struct IdsCase {
  const char* name;
  std::function<Result<Value>(GraphBuilder&, const Value& x, const Value& ids)> apply;
};

Result<Value> table(GraphBuilder& g) {
  return g.weight("table", *make_tensor(DType::kF32, {64, 3}));
}

const IdsCase kCases[] = {
    {"get_rows", [](GraphBuilder& g, const Value&,
                    const Value& ids) { return get_rows(g, table(g), reshape(g, ids, {2})); }},
    {"set_rows",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       const auto cache = g.cache("cache", *make_tensor(DType::kF32, {64, 3}));
       const auto rows = reshape(g, ids, {2});
       return get_rows(g, set_rows(g, cache, reshape(g, x, {64, 2}), rows), rows);
     }},
    {"add_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) { return add_id(g, x, table(g), ids); }},
    {"matmul_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return matmul_id(g, g.weight("w", *make_tensor(DType::kF16, {64, 5, 3})), x, ids);
     }},
};

class CannIds : public CannDevices, public testing::WithParamInterface<IdsCase> {};

TEST_P(CannIds, OutOfRangeFailTheRunAndNotTheNextOne) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 2, 1}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2, 1}));
  const auto y = GetParam().apply(g, *x, *ids);
  ASSERT_TRUE(y) << y.error().message();
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (graph->node(id).op == nullptr)
      leaves[id] = make_values({.sizes = max_sizes(graph->node(id).result.shape)}, id);
  }
  const auto set = [&](double first, double second) {
    leaves[ids->id] = RefTensor(Sizes{2, 1, 1, 1});
    leaves[ids->id].data = {first, second};
  };
  for (const char* graphs : {"on", "off"}) {
    reopen({}, with("graph", graphs));
    ASSERT_TRUE(device().supports(*graph, y->id)) << device().supports(*graph, y->id).facts();
    set(1, 2);
    const auto run = make_run(graph, leaves);
    ASSERT_NE(run, nullptr);
    std::vector<double> expected;
    for (const double wrong : {3.0, -1.0, 2147483647.0, -2147483648.0}) {
      set(1, 2);
      ASSERT_TRUE(run->set_inputs(leaves));
      EXPECT_EQ(error_of(run->plan().run()), "") << "before " << wrong;
      const auto output = run->output(y->id)->data;
      if (!expected.empty()) {
        EXPECT_EQ(output, expected) << "before " << wrong;
      }
      expected = output;
      set(1, wrong);
      ASSERT_TRUE(run->set_inputs(leaves));
      const Status status = run->plan().run();
      ASSERT_FALSE(status) << wrong;
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(status.error().message(), HasSubstr("an index is out of range"));
      EXPECT_THAT(status.error().node(), HasSubstr(GetParam().name));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CannIds, testing::ValuesIn(kCases),
                         [](const auto& op) { return std::string(op.param.name); });

}  // namespace
}  // namespace shunt::test::cann_ids_test

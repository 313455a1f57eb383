// Numbers of rows and experts that are not there.
#include <gmock/gmock.h>

#include <functional>

#include "backends/cuda/cuda_devices.h"
#include "shunt/ops.h"
#include "support/tensor_io.h"

namespace shunt::test::cuda_ids_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// An op on tensors of 64 columns with the ids [2, 1] in [0, 3).
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
    {"get_rows_back",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return get_rows_back(g, reshape(g, x, {64, 2}), reshape(g, ids, {2}), 3);
     }},
    {"get_rows_back_of_few_columns",
     [](GraphBuilder& g, const Value&, const Value& ids) {
       const auto dy = g.input("dy", *make_tensor(DType::kF32, {7, 2}));
       return get_rows_back(g, dy, reshape(g, ids, {2}), 3);
     }},
    {"add_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) { return add_id(g, x, table(g), ids); }},
    {"matmul_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return matmul_id(g, g.weight("w", *make_tensor(DType::kQ8_0, {64, 5, 3})), x, ids);
     }},
};

class CudaIds : public CudaDevices, public testing::WithParamInterface<IdsCase> {};

TEST_P(CudaIds, OutOfRangeFailTheRunAndNotTheNextOne) {
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
  set(2, 1);
  const auto run = GraphRun::create(graph, *devices(), leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  for (const double wrong : {3.0, -1.0, 2147483647.0}) {
    set(2, wrong);
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(),
                HasSubstr(std::to_string(static_cast<int>(wrong)) + " is not from 0 to 2"));
  }
  set(2, 1);
  ASSERT_TRUE((*run)->set_inputs(leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaIds, testing::ValuesIn(kCases),
                         [](const auto& op) { return std::string(op.param.name); });

}  // namespace
}  // namespace shunt::test::cuda_ids_test

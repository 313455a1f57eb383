// Ops that a graph's numbers of rows or experts can make fail, for tests of devices that check
// them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "shunt/ops.h"
#include "support/tensor_io.h"

namespace shunt::test {

/// An op on tensors of 64 columns with two ids in [0, 3).
struct IdsOp {
  const char* name;
  const char* op;  ///< that finds a wrong id
  Result<Value> (*apply)(GraphBuilder& g, const Value& x, const Value& ids);
};

inline Result<Value> ids_table(GraphBuilder& g) {
  return g.weight("table", *make_tensor(DType::kF32, {64, 3}));
}
inline Result<Value> product_of_experts(GraphBuilder& g, DType type, const Value& x,
                                        const Value& ids) {
  return matmul_id(g, g.weight("w", *make_tensor(type, {64, 5, 3})), x, ids);
}

inline constexpr IdsOp kIdsOps[] = {
    {"get_rows", "get_rows",
     [](GraphBuilder& g, const Value&, const Value& ids) {
       return get_rows(g, ids_table(g), reshape(g, ids, {2}));
     }},
    {"get_rows_back", "get_rows_back",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return get_rows_back(g, reshape(g, x, {64, 2}), reshape(g, ids, {2}), 3);
     }},
    {"get_rows_back_of_few_columns", "get_rows_back",
     [](GraphBuilder& g, const Value&, const Value& ids) {
       const auto dy = g.input("dy", *make_tensor(DType::kF32, {7, 2}));
       return get_rows_back(g, dy, reshape(g, ids, {2}), 3);
     }},
    {"set_rows", "set_rows",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       const auto cache = g.cache("cache", *make_tensor(DType::kF32, {64, 3}));
       const auto rows = reshape(g, ids, {2});
       return get_rows(g, set_rows(g, cache, reshape(g, x, {64, 2}), rows), rows);
     }},
    {"add_id", "add_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return add_id(g, x, ids_table(g), ids);
     }},
    {"matmul_id", "matmul_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return product_of_experts(g, DType::kF16, x, ids);
     }},
    {"matmul_id_of_blocks", "matmul_id",
     [](GraphBuilder& g, const Value& x, const Value& ids) {
       return product_of_experts(g, DType::kQ8_0, x, ids);
     }},
};

/// Ids that are wrong. A device may take the nearest right one: beside 1, no id is then there
/// twice.
inline constexpr double kWrongIds[] = {3, -1, 2147483647, -2147483648.0};
/// One of I64 whose low 32 bits are right.
inline constexpr double kWideWrongId = 4294967296.0 + 2;

/// The graph of such an op, with values for its leaves and the ids 1 and 2.
struct IdsGraph {
  explicit IdsGraph(const IdsOp& op, DType type = DType::kI32) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 2, 1}));
    const auto numbers = g.input("ids", *make_tensor(type, {2, 1}));
    const auto y = op.apply(g, *x, *numbers);
    EXPECT_TRUE(y) << y.error().message();
    EXPECT_TRUE(g.output(y, "y"));
    ids = numbers->id;
    result = y->id;
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    for (NodeId id = 0; id < graph->size(); ++id) {
      if (graph->node(id).is_leaf())
        leaves[id] = make_values({.sizes = max_sizes(graph->node(id).result.shape)}, id);
    }
    set(1, 2);
  }
  void set(double first, double second) {
    leaves[ids] = RefTensor(Sizes{2, 1, 1, 1});
    leaves[ids].data = {first, second};
  }

  NodeId ids = 0;
  NodeId result = 0;
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
};

}  // namespace shunt::test

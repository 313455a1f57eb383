// A graph of two nodes, for tests of a device, and the distance of results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "graph/tensor_values.h"
#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test {

/// The normalised mean square error of logits.
inline double distance(std::span<const float> a, std::span<const float> b) {
  RefTensor x({static_cast<std::int64_t>(a.size()), 1, 1, 1});
  RefTensor y({static_cast<std::int64_t>(b.size()), 1, 1, 1});
  std::ranges::copy(a, x.data.begin());
  std::ranges::copy(b, y.data.begin());
  return nmse(x, y);
}

/// y = rows of w by number, then scaled by their root mean square: two nodes on the device.
struct Rows {
  Rows() {
    GraphBuilder g;
    const auto table = g.weight("table", *make_tensor(DType::kF32, {64, 3}));
    const auto numbers = g.input("ids", *make_tensor(DType::kI32, {2}));
    const auto rows = get_rows(g, table, numbers);
    ids = numbers->id;
    picked = rows->id;
    const auto y = rms_norm(g, rows, {});
    result = y->id;
    EXPECT_TRUE(g.output(y, "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    leaves[table->id] = make_values({.sizes = {64, 3, 1, 1}}, 1);
    set(2, 0);
  }
  void set(double first, double second) {
    RefTensor values(Sizes{2, 1, 1, 1});
    values.data = {first, second};
    leaves[ids] = values;
  }

  NodeId ids = 0;
  NodeId picked = 0;
  NodeId result = 0;
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
};

}  // namespace shunt::test

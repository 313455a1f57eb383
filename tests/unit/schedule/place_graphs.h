// A small graph and two devices that tests of placement share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "shunt/ops.h"
#include "support/test_device.h"

namespace shunt::test {

/// y = x + w2 silu(w1 rms_norm(x)), with x [32, 4].
struct Mlp {
  std::shared_ptr<const Graph> graph;
  NodeId x = 0, w1 = 0, w2 = 0, norm = 0, first = 0, silu = 0, second = 0, sum = 0;
};

inline Mlp make_mlp() {
  Mlp m;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {32, 48}));
  const auto w2 = g.weight("w2", *make_tensor(DType::kF32, {48, 32}));
  const auto norm = rms_norm(g, x);
  EXPECT_TRUE(g.name(norm, "norm"));
  const auto first = matmul(g, w1, norm);
  const auto active = silu(g, first);
  const auto second = matmul(g, w2, active);
  const auto sum = add(g, x, second);
  EXPECT_TRUE(g.output(sum, "y"));
  m = {nullptr, x->id, w1->id, w2->id, norm->id, first->id, active->id, second->id, sum->id};
  m.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return m;
}

inline TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {}, .host_accessible = true});
}
inline TestDevice accelerator() {
  return TestDevice({.name = "test0", .ops = {"matmul", "add"}});
}

}  // namespace shunt::test

// A graph of products for tests of measured costs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "shunt/ops.h"

namespace shunt::test {

/// A product and a sum for each pair of a weight type and a number of columns.
inline Graph products(const std::vector<std::pair<DType, std::int64_t>>& weights) {
  GraphBuilder g;
  for (const auto& [dtype, columns] : weights) {
    const Value w = *g.weight("w", *make_tensor(dtype, {256, 256}));
    const Value x = *g.input("x", *make_tensor(DType::kF32, {256, columns}));
    const Value product = *matmul(g, w, x);
    EXPECT_TRUE(g.output(add(g, product, product), "y"));
  }
  return std::move(*std::move(g).build());
}

}  // namespace shunt::test

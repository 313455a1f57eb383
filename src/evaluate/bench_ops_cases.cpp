#include "evaluate/bench_ops_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "shunt/ops.h"

namespace shunt {
namespace {

using Values = std::vector<Value>;
using Part = BenchSource::Part;

constexpr std::int64_t kHeadSize = 64;
constexpr std::int64_t kHeadsPerGroup = 4;  // of queries that share one of keys and values
constexpr std::int64_t kTokens = 512;
constexpr std::array<std::int64_t, 6> kColumns = {1, 2, 4, 8, 32, 512};
constexpr std::array kAttentionTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

BenchSource source(Part part, DType dtype, std::vector<std::int64_t> sizes) {
  return {part, dtype, std::move(sizes)};
}
BenchSource input(std::vector<std::int64_t> sizes, DType dtype = DType::kF32) {
  return source(Part::kInput, dtype, std::move(sizes));
}

OpsCase matmul_case(DType dtype, std::int64_t k, std::int64_t rows, std::int64_t columns) {
  return {"matmul",
          dtype,
          fmt::format("w [{}, {}], n {}", k, rows, columns),
          {source(Part::kWeight, dtype, {k, rows}), input({k, columns})},
          [](GraphBuilder& g, const Values& v) { return matmul(g, v[0], v[1]); }};
}

/// The gradient of matmul_case() with this number of columns, by its weights or by its columns.
OpsCase gradient_case(bool by_weights, std::int64_t k, std::int64_t rows, std::int64_t columns) {
  std::string shape =
      fmt::format("of w [{}, {}], n {}, by {}", k, rows, columns, by_weights ? "w" : "x");
  const BenchSource dy = input({rows, columns});
  if (by_weights) {
    return {"out_prod",
            DType::kF32,
            std::move(shape),
            {input({k, columns}), dy},
            [](GraphBuilder& g, const Values& v) { return out_prod(g, v[0], v[1]); }};
  }
  return {"out_prod",
          DType::kF32,
          std::move(shape),
          {source(Part::kWeight, DType::kF32, {k, rows}), dy},
          [](GraphBuilder& g, const Values& v) { return out_prod(g, v[0], transpose(g, v[1])); }};
}

OpsCase attention_case(DType dtype, std::int64_t heads, std::int64_t keys, std::int64_t queries) {
  const std::vector<std::int64_t> cache = {kHeadSize,
                                           std::max<std::int64_t>(1, heads / kHeadsPerGroup), keys};
  AttentionParams params;
  params.scale = 1 / std::sqrt(static_cast<float>(kHeadSize));
  return {"attention",
          dtype,
          fmt::format("{} heads, keys {}, queries {}", heads, keys, queries),
          {input({kHeadSize, heads, queries}), source(Part::kCache, dtype, cache),
           source(Part::kCache, dtype, cache)},
          [params](GraphBuilder& g, const Values& v) {
            return attention(g, v[0], v[1], v[2], absent(), params);
          }};
}

OpsCase plain_case(std::string_view op, std::string shape, std::vector<BenchSource> sources,
                   std::function<Result<Value>(GraphBuilder&, const Values&)> apply) {
  return {op, DType::kF32, std::move(shape), std::move(sources), std::move(apply)};
}

/// The ops between products, for a whole batch of a prompt.
void add_plain_cases(std::vector<OpsCase>& cases, std::int64_t width, std::int64_t heads) {
  const auto shape = [](std::int64_t size) { return fmt::format("[{}, {}]", size, kTokens); };
  cases.push_back(plain_case("rms_norm", shape(width), {input({width, kTokens})},
                             [](GraphBuilder& g, const Values& v) { return rms_norm(g, v[0]); }));
  cases.push_back(plain_case(
      "swiglu", shape(4 * width), {input({4 * width, kTokens}), input({4 * width, kTokens})},
      [](GraphBuilder& g, const Values& v) { return swiglu(g, v[0], v[1]); }));
  RopeParams rope_params;
  rope_params.dims = kHeadSize;
  cases.push_back(plain_case("rope", fmt::format("[{}, {}, {}]", kHeadSize, heads, kTokens),
                             {input({kHeadSize, heads, kTokens}), input({kTokens}, DType::kI32)},
                             [rope_params](GraphBuilder& g, const Values& v) {
                               return rope(g, v[0], v[1], absent(), rope_params);
                             }));
  cases.push_back(plain_case("add", shape(width),
                             {input({width, kTokens}), input({width, kTokens})},
                             [](GraphBuilder& g, const Values& v) { return add(g, v[0], v[1]); }));
  cases.push_back(plain_case("softmax", fmt::format("[{}, {}, {}]", kTokens, kTokens, heads),
                             {input({kTokens, kTokens, heads})},
                             [](GraphBuilder& g, const Values& v) { return softmax(g, v[0]); }));
}

Result<Value> add_leaf(GraphBuilder& g, const BenchSource& from) {
  Shape shape;
  std::ranges::copy(from.sizes, shape.begin());
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(from.dtype, shape));
  if (from.part == Part::kWeight) return g.weight("w", tensor);
  if (from.part == Part::kCache) return g.cache("cache", tensor);
  return g.input("x", tensor);
}

}  // namespace

Result<OpsGraph> OpsCase::build(std::size_t times) const {
  OpsGraph made;
  GraphBuilder g;
  for (std::size_t i = 0; i < times; ++i) {
    Values values;
    for (const BenchSource& from : sources) {
      SHUNT_ASSIGN(const Value leaf, add_leaf(g, from));
      values.push_back(leaf);
      (from.part == Part::kInput ? made.inputs : made.kept).push_back(leaf.id);
    }
    SHUNT_ASSIGN(const Value y, apply(g, values));
    SHUNT_TRY(g.output(y, "y"));
    made.nodes.push_back(y.id);
  }
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  made.graph = std::make_shared<const Graph>(std::move(graph));
  return made;
}

std::vector<OpsCase> list_ops_cases(std::span<const DType> types, std::int64_t width) {
  const std::int64_t heads = width / kHeadSize;
  std::vector<OpsCase> cases;
  for (const DType dtype : types) {
    for (const std::int64_t rows : {width, 4 * width}) {
      for (const std::int64_t columns : kColumns) {
        cases.push_back(matmul_case(dtype, width, rows, columns));
      }
    }
  }
  for (const std::int64_t rows : {width, 4 * width}) {
    for (const bool by_weights : {true, false}) {
      cases.push_back(gradient_case(by_weights, width, rows, kTokens));
    }
  }
  for (const DType dtype : kAttentionTypes) {
    for (const std::int64_t keys : {512, 4096}) {
      for (const std::int64_t queries : {1, 512}) {
        cases.push_back(attention_case(dtype, heads, keys, queries));
      }
    }
  }
  add_plain_cases(cases, width, heads);
  return cases;
}

}  // namespace shunt

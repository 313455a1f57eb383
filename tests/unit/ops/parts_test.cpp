// Weights in parts: the graph in parts gives the result of the whole graph, computed by the ops'
// reference implementations. Also where values are joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/parts.h"
#include "support/graph_run.h"

namespace shunt::test::ops_parts_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor f32(const Shape& shape) {
  return *make_tensor(DType::kF32, shape);
}

/// Values for every leaf: small numbers, none alike; integers count from 0.
std::vector<RefTensor> values_of_leaves(const Graph& graph) {
  std::vector<RefTensor> values(graph.size());
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf()) continue;
    values[id] = RefTensor(max_sizes(node.result.shape));
    double next = 0;
    for (double& value : values[id].data) {
      value = trait(node.result.dtype).integer ? next++ : number(random);
    }
  }
  return values;
}

/// Element i of part `part` is element start + i along the dimension where the sizes differ.
RefTensor window_of(const RefTensor& whole, const Sizes& sizes, std::int64_t& start) {
  std::size_t dim = 0;
  while (dim < 3 && sizes[dim] == whole.sizes[dim]) ++dim;
  RefTensor part(sizes);
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        for (std::int64_t i0 = 0; i0 < sizes[0]; ++i0) {
          Sizes at = {i0, i1, i2, i3};
          at[dim] += start;
          part.at(i0, i1, i2, i3) = whole.at(at[0], at[1], at[2], at[3]);
        }
      }
    }
  }
  start += sizes[dim];
  return part;
}

struct Ran {
  std::vector<std::vector<double>> outputs;
  std::vector<std::vector<double>> caches;  // of the graph before
};

class Parts {
 public:
  Parts(const Graph& whole, std::span<const LeafParts> parts) : whole_(whole) {
    auto made = with_parts(whole, parts);
    if (!made) throw std::runtime_error(made.error().message());
    made_ = std::move(*made);
  }

  const PartedGraph& made() const { return made_; }
  const Graph& graph() const { return made_.graph; }
  int count(const Op& op) const {
    int count = 0;
    for (const Node& node : graph().nodes()) count += node.op == &op;
    return count;
  }

  Ran run_whole() const {
    const auto values = *reference_run(whole_, values_of_leaves(whole_));
    Ran ran;
    for (NodeId id : whole_.outputs()) ran.outputs.push_back(values[id].data);
    for (NodeId id = 0; id < whole_.size(); ++id) {
      if (whole_.node(id).role == Role::kCache) ran.caches.push_back(values[id].data);
    }
    return ran;
  }

  Ran run_in_parts() const {
    const std::vector<RefTensor> leaves = values_of_leaves(whole_);
    std::vector<RefTensor> given(graph().size());
    for (NodeId id = 0; id < whole_.size(); ++id) {
      if (!whole_.node(id).is_leaf()) continue;
      if (made_.parts[id].empty()) given[made_.nodes[id]] = leaves[id];
      std::int64_t start = 0;
      for (NodeId part : made_.parts[id]) {
        given[part] = window_of(leaves[id], max_sizes(graph().node(part).result.shape), start);
      }
    }
    const auto values = *reference_run(graph(), given);
    Ran ran;
    for (NodeId id : graph().outputs()) ran.outputs.push_back(values[id].data);
    for (NodeId id = 0; id < whole_.size(); ++id) {
      if (whole_.node(id).role == Role::kCache) ran.caches.push_back(cache(id, values));
    }
    return ran;
  }

  /// All outputs and caches, to the bit.
  void expect_same() const {
    const Ran whole = run_whole();
    const Ran parts = run_in_parts();
    EXPECT_EQ(parts.outputs, whole.outputs);
    EXPECT_EQ(parts.caches, whole.caches);
  }

  /// The same but for rounding, of sums in another order.
  void expect_near() const {
    const auto near = [](const auto& a, const auto& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_THAT(a[i], ::testing::Pointwise(::testing::DoubleNear(1e-12), b[i])) << i;
      }
    };
    const Ran whole = run_whole();
    const Ran parts = run_in_parts();
    near(parts.outputs, whole.outputs);
    near(parts.caches, whole.caches);
  }

 private:
  /// Parts of a cache are columns.
  std::vector<double> cache(NodeId id, const std::vector<RefTensor>& values) const {
    if (made_.parts[id].empty()) return values[made_.nodes[id]].data;
    std::vector<double> rows;
    for (std::int64_t row = 0; row < whole_.node(id).result.size(1); ++row) {
      for (NodeId part : made_.parts[id]) {
        const RefTensor& columns = values[part];
        const auto start = columns.data.begin() + row * columns.sizes[0];
        rows.insert(rows.end(), start, start + columns.sizes[0]);
      }
    }
    return rows;
  }

  const Graph& whole_;
  PartedGraph made_;
};

/// y = more(w x + bias), with rows of w and elements of the bias in parts.
struct Product {
  Graph graph;
  std::vector<LeafParts> parts;
};
Product product(const std::function<Result<Value>(GraphBuilder&, Operand)>& more,
                const std::vector<std::int64_t>& sizes = {5, 1, 10}, DType dtype = DType::kF32) {
  GraphBuilder g;
  const auto x = g.input("x", f32({32, 3}));
  const auto w = g.weight("w", *make_tensor(dtype, {32, 16}));
  const auto bias = g.weight("bias", f32({16}));
  const auto y = more(g, add(g, matmul(g, w, x), bias));
  EXPECT_TRUE(g.output(y, "y")) << y.error().message();
  Product made;
  made.graph = *std::move(g).build();
  made.parts = {{w->id, 1, sizes}, {bias->id, 0, sizes}};
  return made;
}

TEST(Parts, SplitByRowsGivesTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    const Product made =
        product([](GraphBuilder& g, Operand y) { return silu(g, y); }, {5, 1, 10}, dtype);
    const Parts parts(made.graph, made.parts);
    EXPECT_EQ(parts.count(matmul_op()), 3);
    EXPECT_EQ(parts.count(silu_op()), 3);
    EXPECT_EQ(parts.count(concat_op()), 2);  // of the output only
    parts.expect_same();
  }
}

TEST(Parts, HaveNamesAndRolesOfTheWeight) {
  GraphBuilder g;
  const auto x = g.input("x", f32({32, 2, 3}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2, 3}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {32, 16, 6}), Role::kExpertWeight);
  const auto product = matmul_id(g, w, x, ids);
  ASSERT_TRUE(g.name(product, "product"));
  ASSERT_TRUE(g.output(silu(g, product), "y"));
  const Graph graph = *std::move(g).build();
  const LeafParts rows[] = {{w->id, 1, {4, 12}}};
  const Parts parts(graph, rows);
  ASSERT_EQ(parts.made().parts[w->id].size(), 2U);
  EXPECT_EQ(parts.made().nodes[w->id], kNoNode);
  const Node& first = parts.graph().node(parts.made().parts[w->id][0]);
  EXPECT_EQ(first.name, "w/0");
  EXPECT_EQ(first.role, Role::kExpertWeight);
  EXPECT_EQ(to_string(first.result), "Q8_0 [32, 4, 6]");
  const auto& products = parts.made().parts[product->id];
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(parts.graph().node(products[1]).name, "product/1");
  EXPECT_EQ(parts.graph().node(parts.graph().outputs()[0]).name, "y");
  parts.expect_same();
}

TEST(Parts, WithoutPartsIsTheSameGraph) {
  const Product made = product([](GraphBuilder& g, Operand y) { return silu(g, y); });
  EXPECT_EQ(dump(with_parts(made.graph, {})->graph), dump(made.graph));
  const LeafParts all[] = {{made.parts[0].leaf, 1, {16}}};
  EXPECT_EQ(dump(with_parts(made.graph, all)->graph), dump(made.graph));
}

TEST(Parts, SplitByColumnsAddsPartialSumsOfWholeBlocks) {
  for (const DType dtype : {DType::kF32, DType::kQ4_0, DType::kQ8_0}) {
    GraphBuilder g;
    const auto x = g.input("x", f32({96, 3}));
    const auto w = g.weight("w", *make_tensor(dtype, {96, 5}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const Graph graph = *std::move(g).build();
    const LeafParts columns[] = {{w->id, 0, {32, 64}}};
    const Parts parts(graph, columns);
    EXPECT_EQ(parts.count(matmul_op()), 2);
    EXPECT_EQ(parts.count(add_op()), 1);
    EXPECT_EQ(parts.count(concat_op()), 0);
    EXPECT_EQ(parts.count(view_op()), 2);  // of x
    parts.expect_near();
  }
}

TEST(Parts, SplitByColumnsOfExpertsAddsPartialSums) {
  GraphBuilder g;
  const auto x = g.input("x", f32({64, 1, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2, 2}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 5, 4}), Role::kExpertWeight);
  ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
  const Graph graph = *std::move(g).build();
  const LeafParts columns[] = {{w->id, 0, {32, 32}}};
  const Parts parts(graph, columns);
  EXPECT_EQ(parts.count(add_op()), 1);
  parts.expect_near();
}

TEST(Parts, StaySeparateFromRowsToColumns) {
  GraphBuilder g;
  const auto x = g.input("x", f32({32, 3}));
  const auto gate = g.weight("gate", f32({32, 96}));
  const auto up = g.weight("up", f32({32, 96}));
  const auto down = g.weight("down", *make_tensor(DType::kQ8_0, {96, 32}));
  const auto hidden = swiglu(g, matmul(g, gate, x), matmul(g, up, x));
  ASSERT_TRUE(g.output(add(g, x, matmul(g, down, hidden)), "y"));
  const Graph graph = *std::move(g).build();
  const std::vector<std::int64_t> sizes = {64, 32};
  const LeafParts parts_of[] = {{gate->id, 1, sizes}, {up->id, 1, sizes}, {down->id, 0, sizes}};
  const Parts parts(graph, parts_of);
  EXPECT_EQ(parts.count(concat_op()), 0);
  EXPECT_EQ(parts.count(view_op()), 0);
  EXPECT_EQ(parts.count(swiglu_op()), 2);
  EXPECT_EQ(parts.count(add_op()), 2);
  parts.expect_near();
}

/// A block of attention with a cache: the parts that it is split into, and its sizes.
struct Attention {
  static constexpr std::int64_t kHead = 8, kHeads = 8, kKvHeads = 4, kTokens = 3, kRows = 6;

  explicit Attention(DType cache_type = DType::kF32, AttentionParams params = {.scale = 0.5F},
                     std::int64_t masks = 1, bool sinks = false) {
    GraphBuilder g;
    const Dim rows = *g.dynamic_dim("rows", kRows);
    const auto x = g.input("x", f32({32, kTokens}));
    const auto positions = g.input("positions", *make_tensor(DType::kI32, {kTokens}));
    const auto ids = g.input("ids", *make_tensor(DType::kI64, {kTokens}));
    const auto mask = g.input("mask", f32({rows, kTokens, masks}));
    const auto numbers = g.input("numbers", *make_tensor(DType::kI32, {rows}));
    const auto factors = g.weight("factors", f32({kHead / 2}));
    const auto wq = g.weight("wq", f32({32, kHead * kHeads}));
    const auto wk = g.weight("wk", f32({32, kHead * kKvHeads}));
    const auto wv = g.weight("wv", f32({32, kHead * kKvHeads}));
    const auto wo = g.weight("wo", f32({kHead * kHeads, 32}));
    const auto sink = g.weight("sinks", f32({kHeads}));
    const auto heads = [&](Operand w, std::int64_t count) {
      return rope(g, reshape(g, matmul(g, w, x), {kHead, count, kTokens}), positions, factors,
                  {.dims = kHead});
    };
    const auto remember = [&](Operand values, const char* name) {
      const std::int64_t width = kHead * kKvHeads;
      const auto cache = g.cache(name, *make_tensor(cache_type, {width, kRows}));
      const auto written = set_rows(g, cache, values, ids);
      Result<Value> in_use = view(g, written, {0, 0, 0, 0}, {width, rows});
      if (cache_type != DType::kF32) in_use = get_rows(g, in_use, numbers);  // decoded
      return reshape(g, in_use, {kHead, kKvHeads, rows});
    };
    const auto q = rms_norm(g, heads(wq, kHeads));  // of each head
    const auto k = remember(reshape(g, heads(wk, kKvHeads), {kHead * kKvHeads, kTokens}), "keys");
    const auto v = remember(matmul(g, wv, x), "values");
    const auto mixed = attention(g, q, k, v, mask, params, sinks ? sink : absent());
    const auto joined = reshape(g, mixed, {kHead * kHeads, kTokens});
    EXPECT_TRUE(g.output(matmul(g, wo, joined), "y"));
    auto built = std::move(g).build();
    EXPECT_TRUE(built);
    graph = std::move(*built);
    parts = {{wq->id, 1, {6 * kHead, 2 * kHead}},
             {wk->id, 1, {3 * kHead, kHead}},
             {wv->id, 1, {3 * kHead, kHead}},
             {wo->id, 0, {6 * kHead, 2 * kHead}}};
    if (sinks) parts.push_back({sink->id, 0, {6, 2}});
  }

  Graph graph;
  std::vector<LeafParts> parts;
};

TEST(Parts, AttentionIsSplitByHeadsWithItsCaches) {
  const Attention made;
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(attention_op()), 2);
  EXPECT_EQ(parts.count(rope_op()), 4);
  EXPECT_EQ(parts.count(set_rows_op()), 4);
  EXPECT_EQ(parts.count(concat_op()), 0);
  EXPECT_EQ(parts.count(add_op()), 1);
  std::vector<std::string> caches;
  for (const Node& node : parts.graph().nodes()) {
    if (node.role == Role::kCache) caches.push_back(node.name + to_string(node.result.shape));
  }
  // Nodes of a part are side by side.
  EXPECT_THAT(caches, ::testing::ElementsAre("keys/0[24, 6]", "values/0[24, 6]", "keys/1[8, 6]",
                                             "values/1[8, 6]"));
  const auto nodes = parts.graph().nodes();
  const auto first = std::ranges::find(nodes, &attention_op(), &Node::op);
  EXPECT_LT(first, std::ranges::find(nodes, "keys/1", &Node::name));
  parts.expect_near();
}

TEST(Parts, MasksAndSinksOfHeadsAreSplitWithThem) {
  const Attention made(DType::kF32, {.scale = 0.5F}, Attention::kHeads, true);
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(attention_op()), 2);
  EXPECT_EQ(parts.count(concat_op()), 0);
  parts.expect_near();
}

TEST(Parts, AlibiSlopesJoinAllHeads) {
  const Attention made(DType::kF32, {.scale = 0.5F, .max_bias = 8});
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(attention_op()), 1);
  EXPECT_EQ(parts.count(concat_op()), 3);  // q, k and v
  parts.expect_near();
}

TEST(Parts, QueriesSplitWithinAGroupAreJoined) {
  Attention made;
  made.parts[0].sizes = {5 * Attention::kHead, 3 * Attention::kHead};
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(attention_op()), 1);
  EXPECT_EQ(parts.count(rope_op()), 4);
  parts.expect_near();
}

TEST(Parts, HeadsSplitInTheMiddleAreJoined) {
  Attention made;
  made.parts[0].sizes = {44, 20};
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(rope_op()), 3);
  parts.expect_near();
}

TEST(Parts, CacheWhoseBlocksDoNotFitStaysWhole) {
  const Attention made(DType::kQ8_0);
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(set_rows_op()), 2);
  const auto is_cache = [](const Node& node) { return node.role == Role::kCache; };
  EXPECT_EQ(std::ranges::count_if(parts.graph().nodes(), is_cache), 2);
  EXPECT_EQ(parts.count(attention_op()), 2);  // each sees its heads in the cache
  parts.expect_near();
}

/// y = w x, with rows of w in parts, and a cache for rows of y.
struct WithCache {
  GraphBuilder g;
  Result<Value> x = g.input("x", f32({8, 2}));
  Result<Value> ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  Result<Value> w = g.weight("w", f32({8, 6}));
  Result<Value> cache = g.cache("cache", f32({6, 3}));
  Result<Value> y = matmul(g, w, x);
  std::vector<LeafParts> parts = {{w->id, 1, {2, 4}}};
};

/// Rows are written into a cache twice, and read as a whole in between.
TEST(Parts, JoinedCacheIsNotStale) {
  WithCache made;
  auto& [g, x, ids, w, cache, y, parts_of] = made;
  const auto first = set_rows(g, cache, y, ids);
  ASSERT_TRUE(g.output(softmax(g, first), "before"));
  const auto second = set_rows(g, first, scale(g, y, {.scale = 2}), ids);
  ASSERT_TRUE(g.output(softmax(g, first), "after"));
  ASSERT_TRUE(g.output(softmax(g, cache), "cache itself"));
  ASSERT_TRUE(g.output(softmax(g, second), "second"));
  const Graph graph = *std::move(g).build();
  const Parts parts(graph, parts_of);
  EXPECT_EQ(parts.count(set_rows_op()), 4);
  const Ran ran = parts.run_in_parts();
  EXPECT_NE(ran.outputs[0], ran.outputs[1]);
  EXPECT_EQ(ran.outputs[1], ran.outputs[2]);
  parts.expect_same();
}

TEST(Parts, WholeRowsAreWrittenIntoASplitCache) {
  GraphBuilder g;
  const auto x = g.input("x", f32({6, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  const auto w = g.weight("w", f32({6, 6}));
  const auto cache = g.cache("cache", f32({6, 3}));
  const auto first = set_rows(g, cache, matmul(g, w, x), ids);
  ASSERT_TRUE(set_rows(g, first, x, ids));
  const Graph graph = *std::move(g).build();
  const LeafParts rows[] = {{w->id, 1, {2, 4}}};
  const Parts parts(graph, rows);
  EXPECT_EQ(parts.count(set_rows_op()), 4);
  parts.expect_same();
}

/// A cache that something else writes into, or that is read first, is one memory.
TEST(Parts, CachesCopiedOrReadFirstOrWrittenByViewStayWhole) {
  enum class Other { kCopied, kReadBefore, kWrittenThroughAView };
  for (const Other other : {Other::kCopied, Other::kReadBefore, Other::kWrittenThroughAView}) {
    SCOPED_TRACE(static_cast<int>(other));
    WithCache made;
    auto& [g, x, ids, w, cache, y, parts_of] = made;
    if (other == Other::kReadBefore) {
      ASSERT_TRUE(g.output(softmax(g, cache), "before"));
    }
    const auto written = set_rows(g, cache, y, ids);
    const auto last = view(g, written, {0, 1, 0, 0}, {6, 2});
    if (other == Other::kCopied) {
      ASSERT_TRUE(cpy(g, scale(g, y, {.scale = 3}), last));
    }
    if (other == Other::kWrittenThroughAView) {
      ASSERT_TRUE(set_rows(g, last, y, ids));
    }
    ASSERT_TRUE(g.output(softmax(g, written), "y"));
    const Graph graph = *std::move(g).build();
    const Parts parts(graph, parts_of);
    EXPECT_TRUE(parts.made().parts[cache->id].empty());
    parts.expect_same();
  }
}

/// A write into an activation is seen by all of its readers.
TEST(Parts, OverwrittenActivationIsJoined) {
  const Product made = product([](GraphBuilder& g, Operand y) {
    const auto head = view(g, y, {0, 0, 0, 0}, {16, 1});
    const auto copy = scale(g, head, {.scale = -3});
    const auto written = set(g, y, copy, {0, 1, 0, 0});
    EXPECT_TRUE(g.output(silu(g, written), "written"));
    return silu(g, y);
  });
  const Parts parts(made.graph, made.parts);
  EXPECT_EQ(parts.count(set_op()), 1);
  const Ran ran = parts.run_in_parts();
  EXPECT_EQ(ran.outputs[0], ran.outputs[1]);
  parts.expect_same();
}

struct Step {
  const char* name;
  std::function<Result<Value>(GraphBuilder&, Operand)> build;
  bool in_parts;  ///< or of all parts joined
};
std::vector<Step> steps() {
  const auto vector = [](GraphBuilder& g, std::int64_t size) {
    return g.weight("vector", f32({size}));
  };
  return {
      {"abs", [](auto& g, Operand y) { return abs(g, y); }, true},
      {"clamp", [](auto& g, Operand y) { return clamp(g, y, {.low = -0.5F, .high = 0.25F}); },
       true},
      {"leaky_relu", [](auto& g, Operand y) { return leaky_relu(g, y); }, true},
      {"xielu", [](auto& g, Operand y) { return xielu(g, y, {.alpha_n = 0.5F}); }, true},
      {"cont", [](auto& g, Operand y) { return cont(g, transpose(g, y)); }, true},
      {"dup", [](auto& g, Operand y) { return dup(g, y); }, true},
      {"gelu", [](auto& g, Operand y) { return gelu(g, y); }, true},
      {"scale", [](auto& g, Operand y) { return scale(g, y, {.scale = 3, .bias = 1}); }, true},
      {"sub itself", [](auto& g, Operand y) { return sub(g, y, neg(g, y)); }, true},
      {"mul by a whole vector", [vector](auto& g, Operand y) { return mul(g, y, vector(g, 16)); },
       true},
      {"add a number", [vector](auto& g, Operand y) { return add(g, y, vector(g, 1)); }, true},
      {"div by what is repeated", [vector](auto& g, Operand y) { return div(g, y, vector(g, 4)); },
       false},
      {"geglu", [](auto& g, Operand y) { return geglu(g, y, neg(g, y)); }, true},
      {"swiglu_oai", [](auto& g, Operand y) { return swiglu_oai(g, y, y); }, true},
      {"reglu of halves", [](auto& g, Operand y) { return reglu_fused(g, y); }, false},
      {"rms_norm", [](auto& g, Operand y) { return rms_norm(g, y); }, false},
      {"norm of the other dimension",
       [](auto& g, Operand y) { return norm(g, cont(g, transpose(g, y))); }, true},
      {"softmax", [](auto& g, Operand y) { return softmax(g, y); }, false},
      {"permute",
       [](auto& g, Operand y) {
         return cont(g, permute(g, y, {2, 0, 1, 3}));
       },
       true},
      {"a window of tokens",
       [](auto& g, Operand y) {
         return silu(g, view(g, y, {0, 1, 0, 0}, {16, 2}));
       },
       true},
      {"a window of rows",
       [](auto& g, Operand y) {
         return silu(g, view(g, y, {2, 0, 0, 0}, {9, 3}));
       },
       false},
      {"rows of tokens",
       [](auto& g, Operand y) {
         return get_rows(g, y, g.input("ids", *make_tensor(DType::kI32, {2})));
       },
       true},
      {"a reshape that cuts parts",
       [](auto& g, Operand y) {
         return silu(g, reshape(g, y, {4, 12}));
       },
       false},
      {"a reshape of the outer dimension",
       [](auto& g, Operand y) {
         return silu(g, reshape(g, y, {16, 1, 3}));
       },
       true},
  };
}

TEST(Parts, EveryOpGivesTheSameBitsInPartsOrJoined) {
  for (const Step& step : steps()) {
    SCOPED_TRACE(step.name);
    const Product made = product(step.build);
    const Parts parts(made.graph, made.parts);
    // An op that needs the whole has one result, which is not concatenated again.
    EXPECT_EQ(parts.count(concat_op()), 2);
    const Node& output = parts.graph().node(parts.graph().outputs()[0]);
    EXPECT_EQ(output.op == &concat_op(), step.in_parts);
    parts.expect_same();
  }
}

std::string refusal(const Graph& graph, std::span<const LeafParts> parts) {
  const auto made = with_parts(graph, parts);
  EXPECT_FALSE(made);
  if (made) return "";
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
  return made.error().message();
}

TEST(Parts, RejectsInvalidParts) {
  GraphBuilder g;
  const Dim tokens = *g.dynamic_dim("tokens", 4);
  const auto x = g.input("x", f32({96, tokens}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {96, 8}));
  const auto grown = g.weight("grown", f32({8, tokens}));
  const auto y = matmul(g, w, x);
  ASSERT_TRUE(g.output(add(g, y, grown), "y"));
  const Graph graph = *std::move(g).build();
  const auto of = [&](NodeId leaf, int dim, std::vector<std::int64_t> sizes) {
    const LeafParts parts[] = {{leaf, dim, std::move(sizes)}};
    return refusal(graph, parts);
  };
  const NodeId id = w->id;
  EXPECT_THAT(of(id, 1, {3, 4}),
              AllOf(HasSubstr("w (weight)"), HasSubstr("3 + 4 elements"), HasSubstr("it has 8")));
  EXPECT_THAT(of(id, 1, {3, 6}), HasSubstr("3 + 6 elements along dimension 1, but it has 8"));
  EXPECT_THAT(of(id, 1, {9223372036854775807, 1}), HasSubstr("but it has 8"));
  EXPECT_THAT(of(id, 1, {}), HasSubstr("no elements"));
  EXPECT_THAT(of(id, 1, {8, 0}), HasSubstr("part 1 has 0 elements"));
  EXPECT_THAT(of(id, 1, {9, -1}), HasSubstr("w (weight)"));
  EXPECT_THAT(of(id, 0, {48, 48}),
              AllOf(HasSubstr("part 0 has 48 elements"), HasSubstr("whole blocks of Q8_0 (32)")));
  EXPECT_THAT(of(id, 4, {1}), HasSubstr("no dimension 4"));
  EXPECT_THAT(of(id, -1, {1}), HasSubstr("no dimension -1"));
  EXPECT_THAT(of(x->id, 0, {32, 64}), HasSubstr("x (input) can't be split: it is not a weight"));
  EXPECT_THAT(of(y->id, 0, {4, 4}), HasSubstr("not a weight"));
  EXPECT_THAT(of(4711, 0, {4, 4}), HasSubstr("no such node"));
  EXPECT_THAT(of(grown->id, 1, {2, 2}), HasSubstr("dimension 1 is a dynamic dimension"));
  const LeafParts twice[] = {{id, 1, {4, 4}}, {id, 0, {32, 64}}};
  EXPECT_THAT(refusal(graph, twice), HasSubstr("named twice"));
}

}  // namespace
}  // namespace shunt::test::ops_parts_test

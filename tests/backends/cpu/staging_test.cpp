// Matrices that multiply the same x share a form of it in scratch, which one of them made. Each
// user must find the form of its own x that it needs. It must not find data that were written over
// that form since.
#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/interleaved_kind.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::staging_test {
namespace {

constexpr std::int64_t kK = 256;
constexpr std::int64_t kRows = 40;
constexpr std::int64_t kMost = 70;

/// x number `x` times a matrix of a type, whose rows may be interleaved.
struct Product {
  int x = 0;
  DType w = DType::kF32;
  bool interleaved = false;
};

/// Neighbours that share, neighbours that must not (other x, other type, other form), and an x that
/// comes back when its scratch has been used for others.
const std::vector<Product> kProducts = {
    {0, DType::kQ4_0},
    {0, DType::kQ4_0},
    {0, DType::kIQ4_NL},
    {0, DType::kQ6_K},
    {0, DType::kQ4_K},
    {1, DType::kQ4_0},
    {2, DType::kQ4_0},
    {0, DType::kQ4_0},
    {1, DType::kQ6_K},
    {0, DType::kQ2_K},
    {1, DType::kBF16},
    {1, DType::kF16},
    {1, DType::kBF16},
    {0, DType::kQ8_0},
    {2, DType::kF32},
    {2, DType::kF16},
    {1, DType::kF32},
    {2, DType::kQ3_K},
    {1, DType::kQ8_0},
    {1, DType::kQ8_0},
    // Interleaved ones among others. Their columns have another layout, or are few when others' are
    // not.
    {0, DType::kQ4_0, true},
    {0, DType::kQ4_0},
    {0, DType::kQ8_0, true},
    {0, DType::kQ2_K, true},
    {1, DType::kQ6_K, true},
    {1, DType::kQ6_K},
    {1, DType::kQ3_K, true},
    {0, DType::kQ8_0, true},
    {2, DType::kBF16, true},
    {2, DType::kBF16},
    {2, DType::kBF16, true},
    {0, DType::kF32, true},
    {0, DType::kF16},
    {0, DType::kF32},
    {1, DType::kF16},
    {1, DType::kF32, true},
    {1, DType::kBF16, true},
    {1, DType::kF16, true},
};

/// The results of products [begin, end), computed in one graph, for `tokens` columns.
std::vector<RefTensor> compute(Device* device, std::size_t begin, std::size_t end,
                               const std::vector<std::int64_t>& token_counts) {
  GraphBuilder g;
  const auto tokens = g.dynamic_dim("tokens", kMost);
  std::map<NodeId, RefTensor> leaves;
  std::vector<Value> x;
  for (std::uint64_t i = 0; i < 3; ++i) {
    x.push_back(*g.input("x", *make_tensor(DType::kF32, {kK, *tokens})));
    leaves[x.back().id] = make_values({.dtype = DType::kF32, .sizes = {kK, kMost, 1, 1}}, 100 + i);
  }
  std::vector<Value> results;
  std::set<NodeId> interleaved;
  for (std::size_t i = begin; i < end; ++i) {
    const Product& product = kProducts[i];
    const auto w = g.weight("w", *make_tensor(product.w, {kK, kRows}));
    if (product.interleaved) interleaved.insert(w->id);
    leaves[w->id] = make_values({.dtype = product.w, .sizes = {kK, kRows, 1, 1}}, i);
    results.push_back(*matmul(g, w, x[static_cast<std::size_t>(product.x)]));
    EXPECT_TRUE(g.output(results.back(), "y"));
  }
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto memory_of = [&](Device&, const Graph&, NodeId id) {
    return interleaved.contains(id) ? &cpu::interleaved_memory() : nullptr;
  };
  const auto run = GraphRun::create(graph, {&device, 1}, leaves, {.weight_memory = memory_of});
  EXPECT_TRUE(run) << run.error().message();
  std::vector<RefTensor> found;
  for (std::int64_t count : token_counts) {
    EXPECT_TRUE((*run)->plan().set_dynamic_dim(*tokens, count));
    const Status ran = (*run)->plan().run();
    EXPECT_TRUE(ran) << ran.error().message();
    DynamicDimValues dynamic_dims = graph->max_dynamic_dims();
    dynamic_dims[tokens->dynamic_dim] = count;
    for (const Value& result : results) found.push_back(*(*run)->output(result.id, dynamic_dims));
  }
  return found;
}

TEST(SharedColumns, MatmulsOfDifferentInputsAndLayoutsDoNotMixThem) {
  Options options;
  options.threads = 2;
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  Device* const cpu = *(*registry)->find("cpu0");
  // Many columns, then few in the same scratch, and again.
  const std::vector<std::int64_t> counts = {kMost, 3, 1, 17, 8, 13, 16, 5, 60};
  const auto together = compute(cpu, 0, kProducts.size(), counts);
  ASSERT_EQ(together.size(), kProducts.size() * counts.size());
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    const auto alone = compute(cpu, i, i + 1, counts);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      EXPECT_TRUE(together[c * kProducts.size() + i].data == alone[c].data)
          << "product " << i << " of " << counts[c] << " columns";
    }
  }
}

/// A program of one level needs other scratch memory than one of another level.
TEST(SharedColumns, AreOfTheLevelOfTheirDevice) {
  const auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  Device* const cpu = *(*registry)->find("cpu0");
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kK, kMost}));
  const auto w = g.weight("w", *make_tensor(DType::kQ4_0, {kK, kRows}));
  const auto y = matmul(g, w, x);
  ASSERT_TRUE(g.output(y, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {
      {x->id, make_values({.dtype = DType::kF32, .sizes = {kK, kMost, 1, 1}}, 1)},
      {w->id, make_values({.dtype = DType::kQ4_0, .sizes = {kK, kRows, 1, 1}}, 2)}};
  const auto run = GraphRun::create(graph, {&cpu, 1}, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const RefTensor before = *(*run)->output(y->id);
  Options lower;
  lower.backend_options["cpu"]["level"] = "scalar";
  const auto other = Registry::create(lower);
  ASSERT_TRUE(other);
  Device* const slow = *(*other)->find("cpu0");
  const auto lower_run = GraphRun::create(graph, {&slow, 1}, leaves);
  ASSERT_TRUE(lower_run);
  ASSERT_TRUE((*lower_run)->plan().run());
  EXPECT_LT(nmse(*(*lower_run)->output(y->id), before), 1e-3) << "of rounding x to 8 bits";
  const Status again = (*run)->plan().run();
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ((*run)->output(y->id)->data, before.data);
}

/// Later nodes see the data that are written into x in between, rows and positions alike.
TEST(SharedColumns, AreRecomputedAfterTheInputIsOverwritten) {
  const auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  Device* const cpu = *(*registry)->find("cpu0");
  GraphBuilder g;
  std::map<NodeId, RefTensor> leaves;
  const auto values = [&](const Result<Value>& leaf, DType dtype, Sizes sizes, std::uint64_t seed) {
    leaves[leaf->id] = make_values({.dtype = dtype, .sizes = sizes}, seed);
  };
  const auto tensor = *make_tensor(DType::kF32, {kK, 3});
  const auto x = g.cache("x", tensor);
  const auto other = g.input("other", tensor);
  const auto w = g.weight("w", *make_tensor(DType::kQ4_0, {kK, kRows}));
  const auto before = matmul(g, w, x);
  const auto written = cpy(g, other, x);
  const auto after = matmul(g, w, x);
  const auto expected = matmul(g, w, other);
  values(x, DType::kF32, {kK, 3, 1, 1}, 1);
  values(other, DType::kF32, {kK, 3, 1, 1}, 2);
  values(w, DType::kQ4_0, {kK, kRows, 1, 1}, 3);

  const auto places = *make_tensor(DType::kI32, {3});
  const auto positions = g.cache("positions", places);
  const auto moved = g.input("moved", places);
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2, 3}));
  const RopeParams params = {.dims = 8};
  const auto turned = rope(g, rows, positions, {}, params);
  const auto put = cpy(g, moved, positions);
  const auto turned_after = rope(g, rows, positions, {}, params);
  const auto turned_expected = rope(g, rows, moved, {}, params);
  values(rows, DType::kF32, {8, 2, 3, 1}, 4);
  for (const auto& [leaf, first] : {std::pair(positions, 1), std::pair(moved, 50)}) {
    RefTensor numbers({3, 1, 1, 1});
    for (std::size_t i = 0; i < 3; ++i) numbers.data[i] = first + static_cast<double>(i);
    leaves[leaf->id] = numbers;
  }
  for (const auto& result :
       {before, written, after, expected, turned, put, turned_after, turned_expected}) {
    ASSERT_TRUE(result) << result.error().message();
    ASSERT_TRUE(g.output(*result, "y"));
  }
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto run = GraphRun::create(graph, {&cpu, 1}, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto data = [&](const Result<Value>& result) { return (*run)->output(result->id)->data; };
  EXPECT_EQ(data(after), data(expected));
  EXPECT_NE(data(before), data(expected));
  EXPECT_EQ(data(turned_after), data(turned_expected));
  EXPECT_NE(data(turned), data(turned_expected));
}

}  // namespace
}  // namespace shunt::test::staging_test

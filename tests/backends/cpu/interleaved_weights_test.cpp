// Graphs with interleaved weights compute the same as from plain memory, at every level. This
// includes a level that has no kernels for such weights.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/interleaved_kind.h"
#include "backends/cpu/simd/level.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/sanitized.h"
#include "support/tensor_io.h"

namespace shunt::test::interleaved_weights_test {
namespace {

using MemoryOf = std::function<BufferType*(Device&, const Graph&, NodeId)>;

BufferType* interleaved(Device&, const Graph&, NodeId) {
  return &cpu::interleaved_memory();
}
BufferType* as_asked(Device& device, const Graph& graph, NodeId leaf) {
  return chosen_memory(device, graph, leaf);
}

std::vector<DType> types() {
  std::vector<DType> found;
  for (const DTypeTrait& type : dtypes()) {
    if (!cpu::block_fields(type.dtype).fields.empty()) found.push_back(type.dtype);
  }
  return found;
}

Shape shape_of(const Sizes& sizes) {
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

enum class Seen { kAsItLies, kTransposed };

/// w times x, of which runs may have fewer columns.
struct Product {
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
  NodeId w = 0;
  NodeId y = 0;
  Dim tokens;

  Product(DType type, const Sizes& w_sizes, const Sizes& x_sizes, DType x_type = DType::kF32,
          Seen seen = Seen::kAsItLies) {
    GraphBuilder g;
    tokens = *g.dynamic_dim("tokens", x_sizes[1]);
    const auto weight = g.weight("w", *make_tensor(type, shape_of(w_sizes)));
    const bool turned = seen == Seen::kTransposed;
    const Dim k = x_sizes[0];
    const auto x = g.input("x", *make_tensor(x_type, {turned ? tokens : k, turned ? k : tokens,
                                                      x_sizes[2], x_sizes[3]}));
    const auto product = matmul(g, weight, turned ? transpose(g, x) : x);
    EXPECT_TRUE(g.output(product, "y"));
    w = weight->id;
    y = product->id;
    leaves[w] = kept_values(type, w_sizes, 1);
    Sizes stored = x_sizes;
    if (turned) std::swap(stored[0], stored[1]);
    leaves[x->id] = kept_values(x_type, stored, 2);
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  std::vector<RefTensor> run(Device* device, const MemoryOf& memory,
                             const std::vector<std::int64_t>& counts) const {
    const auto made = GraphRun::create(graph, {&device, 1}, leaves, {.weight_memory = memory});
    EXPECT_TRUE(made) << made.error().message();
    std::vector<RefTensor> found;
    for (const std::int64_t count : counts) {
      EXPECT_TRUE((*made)->plan().set_dynamic_dim(tokens, count));
      const Status ran = (*made)->plan().run();
      EXPECT_TRUE(ran) << ran.error().message();
      DynamicDimValues dynamic_dims = graph->max_dynamic_dims();
      dynamic_dims[tokens.dynamic_dim] = count;
      found.push_back(*(*made)->output(y, dynamic_dims));
    }
    return found;
  }
};

/// How far matmul's results may be off, and so from each other: see ops/matrix/matrix.h.
double most_error(DType w, std::size_t count) {
  const double of_few = 1 + 64.0 / static_cast<double>(count);
  if (trait(w).quantized) return 4e-5 * of_few;
  return w == DType::kBF16 ? 6e-6 * of_few : 1e-10;
}
/// Where x is rounded, it is rounded alike for both.
double most_difference(DType w, std::size_t count) {
  return w == DType::kBF16 ? most_error(w, count) : 1e-10;
}

void expect_alike(const RefTensor& got, const RefTensor& plain, DType w, const std::string& what) {
  ASSERT_EQ(got.sizes, plain.sizes);
  EXPECT_LE(nmse(got, plain), most_difference(w, got.data.size())) << trait(w).name << what;
  EXPECT_GT(nmse(RefTensor(got.sizes), plain), 0.9) << "there is something to be computed";
}

class CpuInterleavedWeights : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (int threads : {1, 2, 3}) {
      Options options;
      options.threads = threads;
      options.backend_options["cpu"]["level"] = GetParam();
      auto registry = Registry::create(options);
      ASSERT_TRUE(registry) << registry.error().message();
      devices_.push_back(*(*registry)->find("cpu0"));
      registries_.push_back(std::move(*registry));
    }
  }
  void TearDown() override { registries_.clear(); }
  Device* cpu() const { return devices_[1]; }

  std::vector<std::unique_ptr<Registry>> registries_;
  std::vector<Device*> devices_;  // of 1, 2 and 3 threads
};

constexpr std::int64_t kK = 768;  // more than a panel has
constexpr std::int64_t kRows = 48;

TEST_P(CpuInterleavedWeights, GiveTheProductsOfPlainWeights) {
  std::vector<std::int64_t> counts = {130, 1, 3, 8, 17};
  if (!kSanitized) counts.insert(counts.end(), {2, 5, 7, 9, 13, 16, 33, 64, 65, 70});
  for (const DType type : types()) {
    const Product product(type, {kK, kRows, 1, 1}, {kK, 130, 1, 1});
    const auto got = product.run(cpu(), interleaved, counts);
    const auto plain = product.run(cpu(), {}, counts);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      expect_alike(got[i], plain[i], type, ", " + std::to_string(counts[i]) + " columns");
    }
  }
}

void expect_exact(Device* device, const MemoryOf& memory, DType type, std::int64_t k,
                  std::int64_t rows, const std::vector<std::int64_t>& counts) {
  const Product product(type, {k, rows, 1, 1}, {k, counts[0], 1, 1});
  const RefTensor& x = product.leaves.rbegin()->second;
  const RefTensor w = rounded(product.leaves.at(product.w), type);
  const auto got = product.run(device, memory, counts);
  for (std::size_t n = 0; n < counts.size(); ++n) {
    // With sanitizers some columns, the last among them.
    constexpr std::int64_t kEvery = kSanitized ? 7 : 1;
    const std::int64_t columns = (counts[n] - 1) / kEvery + 1;
    RefTensor exact({rows, columns, 1, 1});
    RefTensor seen(exact.sizes);
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t from = counts[n] - 1 - c * kEvery;
      for (std::int64_t r = 0; r < rows; ++r) {
        const double* row = w.data.data() + r * k;
        const double* column = x.data.data() + from * k;
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) sum += row[i] * column[i];
        exact.at(r, c) = sum;
        seen.at(r, c) = got[n].at(r, from);
      }
    }
    EXPECT_LE(nmse(seen, exact), most_error(type, exact.data.size()))
        << trait(type).name << ", " << counts[n] << " columns";
  }
}

TEST_P(CpuInterleavedWeights, GiveExactProducts) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ6_K}) {
    expect_exact(cpu(), interleaved, type, kK, kRows, {130, 3, 9, 20, 70});
  }
}

/// Several items along both sides, and the remainder of each.
TEST_P(CpuInterleavedWeights, GiveExactProductsOfLargeMatrices) {
  for (const DType type : {DType::kBF16, DType::kQ4_K, DType::kQ6_K}) {
    expect_exact(cpu(), interleaved, type, 256, 1100, {530, 200});
  }
}

TEST_P(CpuInterleavedWeights, PlainWeightsGiveExactProducts) {
  for (const DType type : {DType::kQ4_0, DType::kQ6_K, DType::kIQ3_S, DType::kBF16}) {
    expect_exact(cpu(), {}, type, kK, 41, {131, 70, 20});
  }
  for (const std::int64_t k : {1, 33, 75, 1030}) {  // rows that are no whole tiles
    expect_exact(cpu(), {}, DType::kBF16, k, 41, {40, 17});
    if (k % 2 == 0) expect_exact(cpu(), interleaved, DType::kBF16, k, 41, {40, 17});
  }
}

TEST_P(CpuInterleavedWeights, MayHaveAnyNumberOfRows) {
  const std::vector<std::int64_t> counts = {80, 1, 9, 17, 65};  // up to where panels begin
  for (const DType type : {DType::kQ4_0, DType::kQ2_K, DType::kMXFP4, DType::kBF16, DType::kF32}) {
    for (const std::int64_t rows : {1, 15, 17, 50}) {
      const Product product(type, {256, rows, 1, 1}, {256, 80, 1, 1});
      const auto got = product.run(cpu(), interleaved, counts);
      const auto plain = product.run(cpu(), {}, counts);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        expect_alike(got[i], plain[i], type, ", " + std::to_string(rows) + " rows");
      }
    }
  }
}

/// No run has more columns than the plan was made for: scratch is as small as can be.
TEST_P(CpuInterleavedWeights, WorkInPlansForAnyNumberOfColumns) {
  for (const DType type : {DType::kQ4_0, DType::kQ2_K, DType::kBF16, DType::kF32}) {
    for (std::int64_t columns = 1; columns <= 18; ++columns) {
      const Product product(type, {256, 32, 1, 1}, {256, columns, 1, 1});
      const auto got = product.run(cpu(), interleaved, {columns});
      const auto plain = product.run(cpu(), {}, {columns});
      expect_alike(got[0], plain[0], type, ", " + std::to_string(columns) + " columns");
    }
  }
}

TEST_P(CpuInterleavedWeights, GiveTheSameBitsForAnyNumberOfThreads) {
  const std::vector<std::int64_t> counts = {150, 70, 40, 9, 1};
  for (const DType type : {DType::kQ4_0, DType::kQ2_K, DType::kQ6_K, DType::kBF16, DType::kF32}) {
    const Product product(type, {512, 107, 1, 1}, {512, 150, 1, 1});
    const auto one = product.run(devices_[0], interleaved, counts);
    for (std::size_t d = 1; d < devices_.size(); ++d) {
      const auto more = product.run(devices_[d], interleaved, counts);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        EXPECT_TRUE(more[i].data == one[i].data)
            << trait(type).name << ", " << counts[i] << " columns, device " << d;
      }
    }
  }
}

TEST_P(CpuInterleavedWeights, MayHaveSeveralMatrices) {
  struct Slices {
    std::int64_t w2, w3, x2, x3;
  };
  for (const DType type : {DType::kQ4_0, DType::kQ4_K, DType::kMXFP4, DType::kBF16, DType::kF32}) {
    for (const Slices& s : {Slices{2, 3, 2, 3}, Slices{1, 1, 2, 3}, Slices{2, 1, 4, 3},
                            Slices{2, 3, 1, 1}, Slices{2, 3, 4, 3}}) {
      const Product product(type, {256, 32, s.w2, s.w3}, {256, 130, s.x2, s.x3});
      const std::vector<std::int64_t> counts = {130, 66, 5};
      const auto got = product.run(cpu(), interleaved, counts);
      const auto plain = product.run(cpu(), {}, counts);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        expect_alike(got[i], plain[i], type, ", several matrices");
      }
    }
  }
}

TEST_P(CpuInterleavedWeights, MultiplyHalfPrecisionAndTransposedColumns) {
  const std::vector<std::int64_t> counts = {130, 66, 17, 9, 1};
  for (const DType type : {DType::kQ4_0, DType::kQ2_K, DType::kBF16, DType::kF32}) {
    for (const DType x_type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (const Seen seen : {Seen::kAsItLies, Seen::kTransposed}) {
        const Product product(type, {kK, kRows, 1, 1}, {kK, 130, 1, 1}, x_type, seen);
        const auto got = product.run(cpu(), interleaved, counts);
        const auto plain = product.run(cpu(), {}, counts);
        for (std::size_t i = 0; i < counts.size(); ++i) {
          expect_alike(got[i], plain[i], type, " times " + std::string(to_string(x_type)));
        }
      }
    }
  }
}

/// A matrix whose rows are picked, and that something is multiplied with, as of embeddings.
struct Tied {
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
  NodeId w = 0;
  NodeId rows = 0;
  NodeId y = 0;

  Tied(DType type, const Sizes& sizes, const std::vector<double>& picked) {
    GraphBuilder g;
    const auto count = static_cast<std::int64_t>(picked.size()) / (sizes[2] * sizes[3]);
    const Sizes ids_sizes = {count, sizes[2], sizes[3], 1};
    const Sizes x_sizes = {sizes[0], 3, sizes[2], sizes[3]};
    const auto table = g.weight("w", *make_tensor(type, shape_of(sizes)));
    const auto ids = g.input("ids", *make_tensor(DType::kI32, shape_of(ids_sizes)));
    const auto x = g.input("x", *make_tensor(DType::kF32, shape_of(x_sizes)));
    const auto found = get_rows(g, table, ids);
    const auto product = matmul(g, table, x);
    EXPECT_TRUE(g.output(found, "rows"));
    EXPECT_TRUE(g.output(product, "y"));
    w = table->id;
    rows = found->id;
    y = product->id;
    leaves[w] = kept_values(type, sizes, 3);
    leaves[ids->id] = RefTensor(ids_sizes);
    leaves[ids->id].data = picked;
    leaves[x->id] = kept_values(DType::kF32, x_sizes, 4);
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  Result<std::unique_ptr<GraphRun>> make(Device* device, const MemoryOf& memory) const {
    return GraphRun::create(graph, {&device, 1}, leaves, {.weight_memory = memory});
  }
};

void expect_same_rows(Device* device, const Tied& tied, DType type) {
  const auto got = tied.make(device, interleaved);
  const auto plain = tied.make(device, {});
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(plain) << plain.error().message();
  ASSERT_TRUE((*got)->plan().run());
  ASSERT_TRUE((*plain)->plan().run());
  EXPECT_TRUE((*got)->output(tied.rows)->data == (*plain)->output(tied.rows)->data)
      << trait(type).name;
  expect_alike(*(*got)->output(tied.y), *(*plain)->output(tied.y), type, ", tied");
  EXPECT_TRUE((*got)->leaf(tied.w)->data == (*plain)->leaf(tied.w)->data) << trait(type).name;
}

TEST_P(CpuInterleavedWeights, GetRowsGivesTheRowsOfPlainWeights) {
  for (const DType type : types()) {
    expect_same_rows(cpu(), Tied(type, {256, 43, 1, 1}, {0, 42, 16, 15, 15, 31, 1}), type);
  }
}

TEST_P(CpuInterleavedWeights, GetRowsGivesLongRowsAndThoseOfSeveralTables) {
  for (const DType type : {DType::kQ4_0, DType::kQ6_K, DType::kMXFP4, DType::kBF16, DType::kF32}) {
    // More than is copied at once.
    expect_same_rows(cpu(), Tied(type, {4352, 16, 1, 1}, {3, 15, 0}), type);
    const std::vector<double> picked = {0, 31, 5, 16, 1, 30, 2, 17, 15, 0, 31, 7};
    expect_same_rows(cpu(), Tied(type, {256, 32, 3, 2}, picked), type);
  }
}

TEST_P(CpuInterleavedWeights, GetRowsFailsForAnIdOutOfRange) {
  const Tied tied(DType::kQ8_0, {64, 17, 1, 1}, {3, 17});
  const auto run = tied.make(cpu(), interleaved);
  ASSERT_TRUE(run) << run.error().message();
  const Status ran = (*run)->plan().run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), ErrorCode::kInvalidArgument);
}

// ---- which memory is asked for

TEST_P(CpuInterleavedWeights, AreChosenForTypesWithKernels) {
  const bool lanes = GetParam() != "scalar";
  for (const DTypeTrait& type : dtypes()) {
    if (type.encode == nullptr && type.encode_weighted == nullptr) continue;
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type.dtype, {256, 23}));
    const auto odd = g.weight("odd", *make_tensor(type.dtype, {256, 8, 2}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {256, 4}));
    if (!matmul(g, w, x)) continue;  // not for products
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    ASSERT_TRUE(g.output(matmul(g, odd, x), "z"));
    const Graph graph = *std::move(g).build();
    const bool expected = lanes && !cpu::block_fields(type.dtype).fields.empty();
    if constexpr (!kSanitized) {
      const BufferType* const chosen = chosen_memory(*cpu(), graph, w->id);
      EXPECT_TRUE(expected ? cpu::is_interleaved_memory(chosen) : chosen == &host_memory())
          << type.name;
    } else if (!expected) {  // else it depends on the level, some of which are left out
      EXPECT_EQ(chosen_memory(*cpu(), graph, w->id), &host_memory()) << type.name;
    }
    EXPECT_EQ(chosen_memory(*cpu(), graph, odd->id), &host_memory()) << type.name;
  }
}

TEST_P(CpuInterleavedWeights, AreChosenOnlyIfAllUsersCanReadThem) {
  GraphBuilder g;
  const auto matrix = [&](const char* name) {
    return g.weight(name, *make_tensor(DType::kF32, {64, 32}));
  };
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 32}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {5}));
  const auto used = g.input("used", *make_tensor(DType::kI32, {2, 5}));
  const auto inputs = g.input("inputs", *make_tensor(DType::kF32, {64, 2, 5}));
  const auto norm = g.weight("norm", *make_tensor(DType::kF32, {64}));
  const auto tied = matrix("tied");
  const auto table = matrix("table");
  const auto added = matrix("added");
  const auto viewed = matrix("viewed");
  const auto right = matrix("right");
  const auto experts =
      g.weight("experts", *make_tensor(DType::kF32, {64, 32, 3}), Role::kExpertWeight);
  const auto out = [&](Operand value) {
    const Status made = g.output(value, "out");
    EXPECT_TRUE(made) << made.error().message();
  };
  out(mul(g, rms_norm(g, x), norm));
  out(matmul(g, tied, x));
  out(get_rows(g, tied, ids));
  out(get_rows(g, table, ids));
  out(matmul(g, added, x));
  out(add(g, x, added));
  out(matmul(g, viewed, x));
  out(matmul(g, reshape(g, viewed, {64, 16, 2}), x));
  out(matmul(g, tied, right));
  out(matmul(g, right, x));
  out(matmul_id(g, experts, inputs, used));
  auto built = std::move(g).build();
  ASSERT_TRUE(built) << built.error().message();
  const Graph& graph = *built;
  EXPECT_EQ(chosen_memory(*cpu(), graph, norm->id), nullptr);
  EXPECT_EQ(chosen_memory(*cpu(), graph, table->id), nullptr) << "only some rows are read";
  const BufferType* const best = chosen_memory(*cpu(), graph, tied->id);
  EXPECT_TRUE(GetParam() == "scalar" ? best == &host_memory() : cpu::is_interleaved_memory(best));
  EXPECT_EQ(chosen_memory(*cpu(), graph, added->id), &host_memory());
  EXPECT_EQ(chosen_memory(*cpu(), graph, viewed->id), &host_memory());
  EXPECT_EQ(chosen_memory(*cpu(), graph, right->id), &host_memory()) << "it is x, too";
  EXPECT_EQ(chosen_memory(*cpu(), graph, experts->id), &host_memory());
}

TEST_P(CpuInterleavedWeights, ChosenLayoutComputesRight) {
  const Product product(DType::kQ4_K, {kK, kRows, 1, 1}, {kK, 9, 1, 1});
  const auto got = product.run(cpu(), as_asked, {9});
  expect_alike(got[0], product.run(cpu(), {}, {9})[0], DType::kQ4_K, ", as asked");
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuInterleavedWeights, testing::ValuesIn(cpu::simd::level_names()),
                         cpu::simd::name_of_level);

// ---- what can't be read

class CpuInterleavedLeaves : public testing::Test {
 protected:
  void SetUp() override {
    auto registry = Registry::create({});
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
    cpu_ = *registry_->find("cpu0");
  }
  /// Of a graph with one weight, w, and one input, x, both F32 [64, 32].
  Result<std::unique_ptr<GraphRun>> make(
      const std::function<Result<Value>(GraphBuilder&, Operand, Operand)>& op) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 32}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 32}));
    const auto y = op(g, w, x);
    EXPECT_TRUE(g.output(y, "y"));
    const std::map<NodeId, RefTensor> leaves = {
        {w->id, kept_values(DType::kF32, {64, 32, 1, 1}, 1)},
        {x->id, kept_values(DType::kF32, {64, 32, 1, 1}, 2)}};
    auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    user_ = graph->describe(y->id);
    return GraphRun::create(graph, {&cpu_, 1}, leaves, {.weight_memory = interleaved});
  }
  void expect_refused(const Result<std::unique_ptr<GraphRun>>& run) const {
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), ErrorCode::kUnsupported);
    const std::string message = run.error().message();
    EXPECT_NE(message.find(user_), std::string::npos) << message;
    EXPECT_NE(message.find(cpu::interleaved_memory().name()), std::string::npos) << message;
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::string user_;
};

TEST_F(CpuInterleavedLeaves, CompileRejectsOpsThatCannotReadThem) {
  expect_refused(make([](GraphBuilder& g, Operand w, Operand x) { return add(g, x, w); }));
  expect_refused(make([](GraphBuilder& g, Operand w, Operand x) { return matmul(g, x, w); }));
}

/// Preparing refuses the same; the reason names the memory.
TEST_F(CpuInterleavedLeaves, SupportsRejectsOpsThatCannotReadThem) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 32}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 32}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {5}));
  const auto product = matmul(g, w, x);
  const auto rows = get_rows(g, w, ids);
  const auto right = matmul(g, x, w);
  const auto viewed = matmul(g, reshape(g, w, {64, 16, 2}), x);
  const auto sum = add(g, x, w);
  int number = 0;
  for (const auto& each : {product, rows, right, viewed, sum}) {
    ASSERT_TRUE(g.output(each, "y" + std::to_string(number++)));
  }
  const Graph graph = *std::move(g).build();
  std::vector<const BufferType*> kinds(graph.size(), nullptr);
  kinds[w->id] = &cpu::interleaved_memory();
  for (const auto& user : {product, rows}) EXPECT_TRUE(cpu_->supports(graph, user->id, kinds));
  for (const auto& user : {right, viewed, sum}) {
    EXPECT_TRUE(cpu_->supports(graph, user->id));
    const Support answer = cpu_->supports(graph, user->id, kinds);
    EXPECT_EQ(answer.refusal(), Refusal::kLayout) << graph.describe(user->id);
    EXPECT_NE(answer.facts().find(cpu::interleaved_memory().name()), std::string::npos);
  }
  kinds[w->id] = &host_memory();
  for (const auto& user : {right, viewed, sum}) {
    EXPECT_TRUE(cpu_->supports(graph, user->id, kinds));
  }
}

TEST_F(CpuInterleavedLeaves, CompileRejectsViewsOfThem) {
  expect_refused(make([](GraphBuilder& g, Operand w, Operand x) {
    return matmul(g, reshape(g, w, {64, 16, 2}), x);
  }));
  expect_refused(make([](GraphBuilder& g, Operand w, Operand x) {
    return matmul(g, view(g, w, {0, 16, 0, 0}, {64, 16}), x);
  }));
}

/// Rows that are plain, as they are in no whole groups, stay so whatever a view of them looks like.
TEST_F(CpuInterleavedLeaves, PlainRowsInInterleavedMemoryMayBeViewed) {
  GraphBuilder g;
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 8, 2}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 3}));
  const auto y = matmul(g, reshape(g, w, {64, 16}), x);
  const auto z = add(g, w, w);
  ASSERT_TRUE(g.output(y, "y"));
  ASSERT_TRUE(g.output(z, "z"));
  const std::map<NodeId, RefTensor> leaves = {{w->id, kept_values(DType::kF32, {64, 8, 2, 1}, 1)},
                                              {x->id, kept_values(DType::kF32, {64, 3, 1, 1}, 2)}};
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto got = GraphRun::create(graph, {&cpu_, 1}, leaves, {.weight_memory = interleaved});
  const auto plain = GraphRun::create(graph, {&cpu_, 1}, leaves);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(plain) << plain.error().message();
  ASSERT_TRUE((*got)->plan().run());
  ASSERT_TRUE((*plain)->plan().run());
  EXPECT_EQ((*got)->output(y->id)->data, (*plain)->output(y->id)->data);
  EXPECT_EQ((*got)->output(z->id)->data, (*plain)->output(z->id)->data);
}

/// The buffer has the matrix as plain bytes then, or as another one.
TEST_F(CpuInterleavedLeaves, UnplacedMatrixIsInvalid) {
  const Product product(DType::kQ4_0, {64, 32, 1, 1}, {64, 3, 1, 1});
  const Tensor& w = product.graph->node(product.w).result;
  const std::size_t bytes = cpu::interleaved_memory().size_of(w);
  const auto compiled = [&](const std::vector<PlacedTensor>& told) {
    auto buffer = *cpu::interleaved_memory().allocate_for(bytes, told);
    const LeafMemory memory{product.w, {buffer.get(), 0}};
    auto placement = place(*product.graph, {&cpu_, 1}, {.memory = {&memory, 1}});
    EXPECT_TRUE(placement) << placement.error().message();
    return compile(product.graph, std::move(*placement), {.memory = {&memory, 1}});
  };
  EXPECT_TRUE(compiled({{w, 0}}));
  const Tensor shorter = *make_tensor(DType::kQ4_0, {32, 64});
  for (const std::vector<PlacedTensor>& told :
       {std::vector<PlacedTensor>{}, std::vector<PlacedTensor>{{shorter, 0}}}) {
    const auto refused = compiled(told);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument) << refused.error().message();
  }
}

}  // namespace
}  // namespace shunt::test::interleaved_weights_test

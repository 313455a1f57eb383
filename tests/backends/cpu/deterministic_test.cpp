// With cpu.deterministic a column of a product has the same bits beside any others, at every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/interleaved_kind.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/sanitized.h"
#include "support/tensor_io.h"

namespace shunt::test::deterministic_test {
namespace {

using MemoryOf = std::function<BufferType*(Device&, const Graph&, NodeId)>;

constexpr std::int64_t kK = 768;  // more than a panel has
constexpr std::int64_t kRows = 48;
constexpr std::int64_t kMost = 130;
constexpr std::int64_t kDifferent = 3;  // columns
const std::vector<std::int64_t> kCounts =
    kSanitized ? std::vector<std::int64_t>{70, 1, 3, 8, 17}
               : std::vector<std::int64_t>{130, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33, 64, 65, 70};

/// Every third column is the same, so that groups of columns begin with each of them.
RefTensor repeated(RefTensor x) {
  for (std::int64_t c = kDifferent; c < x.sizes[1]; ++c) {
    for (std::int64_t i = 0; i < x.sizes[0]; ++i) x.at(i, c) = x.at(i, c % kDifferent);
  }
  return x;
}

BufferType* interleaved(Device&, const Graph&, NodeId) {
  return &cpu::interleaved_memory();
}

class CpuDeterministic : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Registry> open(int threads, const char* deterministic) {
    Options options;
    options.threads = threads;
    options.backend_options["cpu"]["level"] = GetParam();
    options.backend_options["cpu"]["deterministic"] = deterministic;
    auto registry = Registry::create(options);
    EXPECT_TRUE(registry) << registry.error().message();
    return std::move(*registry);
  }
};

/// w times x on a device, for each number of columns.
std::vector<RefTensor> products(Device* device, DType type, const MemoryOf& memory) {
  GraphBuilder g;
  const Dim tokens = *g.dynamic_dim("tokens", kMost);
  const auto w = g.weight("w", *make_tensor(type, {kK, kRows}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {kK, tokens}));
  const auto y = matmul(g, w, x);
  EXPECT_TRUE(g.output(y, "y"));
  const std::map<NodeId, RefTensor> leaves = {
      {w->id, kept_values(type, {kK, kRows, 1, 1}, 1)},
      {x->id, repeated(kept_values(DType::kF32, {kK, kMost, 1, 1}, 2))}};
  const NodeId result = y->id;
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto run = GraphRun::create(graph, {&device, 1}, leaves, {.weight_memory = memory});
  EXPECT_TRUE(run) << run.error().message();
  std::vector<RefTensor> found;
  for (const std::int64_t count : kCounts) {
    EXPECT_TRUE((*run)->plan().set_dynamic_dim(tokens, count));
    EXPECT_TRUE((*run)->plan().run());
    DynamicDimValues sizes = graph->max_dynamic_dims();
    sizes[tokens.dynamic_dim] = count;
    found.push_back(*(*run)->output(result, sizes));
  }
  return found;
}

/// How many columns differ from the first three of all.
std::int64_t differences(const std::vector<RefTensor>& all) {
  std::int64_t different = 0;
  for (const RefTensor& y : all) {
    for (std::int64_t c = 0; c < y.sizes[1]; ++c) {
      bool same = true;
      for (std::int64_t r = 0; r < y.sizes[0]; ++r) {
        same = same && std::bit_cast<std::uint64_t>(y.at(r, c)) ==
                           std::bit_cast<std::uint64_t>(all[0].at(r, c % kDifferent));
      }
      if (!same) ++different;
    }
  }
  return different;
}

TEST_P(CpuDeterministic, ProductsDoNotDependOnOtherColumns) {
  for (const int threads : kSanitized ? std::vector{3} : std::vector{1, 3}) {
    const auto registry = open(threads, "on");
    Device* const device = *registry->find("cpu0");
    for (const DTypeTrait& type : dtypes()) {
      const bool floats =
          type.dtype == DType::kF32 || type.dtype == DType::kF16 || type.dtype == DType::kBF16;
      if (type.encode == nullptr || !(type.quantized || floats)) continue;
      for (const bool packed : {false, true}) {
        if (packed && cpu::block_fields(type.dtype).fields.empty()) continue;
        EXPECT_EQ(differences(products(device, type.dtype, packed ? interleaved : MemoryOf())), 0)
            << type.name << (packed ? " interleaved" : "");
      }
    }
  }
}

/// Else the option would do nothing.
TEST_P(CpuDeterministic, IsNotTheDefault) {
  const auto registry = open(1, "off");
  Device* const device = *registry->find("cpu0");
  std::int64_t different = 0;
  for (const DType type : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_K})
    different +=
        differences(products(device, type, interleaved)) + differences(products(device, type, {}));
  EXPECT_GT(different, 0);
}

/// Products of experts, which get different numbers of columns.
TEST_P(CpuDeterministic, ProductsOfExpertsDoNotDependOnOtherColumns) {
  constexpr std::int64_t kExperts = 4;
  const auto registry = open(2, "on");
  Device* device = *registry->find("cpu0");
  for (const DType type : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_K}) {
    std::vector<RefTensor> found;
    for (const std::int64_t count : {std::int64_t{3}, std::int64_t{60}}) {
      GraphBuilder g;
      const auto w = g.weight("w", *make_tensor(type, {kK, kRows, kExperts}));
      const auto x = g.input("x", *make_tensor(DType::kF32, {kK, 1, count}));
      const auto ids = g.input("ids", *make_tensor(DType::kI32, {1, count}));
      const auto y = matmul_id(g, w, x, ids);
      ASSERT_TRUE(g.output(y, "y"));
      RefTensor columns({kK, 1, count, 1});
      const RefTensor three = kept_values(DType::kF32, {kK, kDifferent, 1, 1}, 2);
      RefTensor experts({1, count, 1, 1});
      for (std::int64_t c = 0; c < count; ++c) {
        for (std::int64_t i = 0; i < kK; ++i) columns.at(i, 0, c) = three.at(i, c % kDifferent);
        experts.at(0, c) = static_cast<double>(c % kDifferent);
      }
      const std::map<NodeId, RefTensor> leaves = {
          {w->id, kept_values(type, {kK, kRows, kExperts, 1}, 1)},
          {x->id, columns},
          {ids->id, experts}};
      const NodeId result = y->id;
      const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
      const auto run = GraphRun::create(graph, {&device, 1}, leaves, {});
      ASSERT_TRUE(run) << run.error().message();
      ASSERT_TRUE((*run)->plan().run());
      RefTensor made = *(*run)->output(result, graph->max_dynamic_dims());
      made.sizes = {kRows, count, 1, 1};
      found.push_back(std::move(made));
    }
    EXPECT_EQ(differences(found), 0) << trait(type).name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuDeterministic, testing::ValuesIn(cpu::simd::level_names()),
                         cpu::simd::name_of_level);

}  // namespace
}  // namespace shunt::test::deterministic_test

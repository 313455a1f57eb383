// Registries of different vector levels in one process: each computes as its own level does, at
// once with others and on weights that another one has packed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <latch>
#include <memory>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/interleaved_kind.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::levels_test {
namespace {

using cpu::simd::Level;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::int64_t kK = 256;
constexpr std::int64_t kRows = 48;
constexpr std::int64_t kColumns = 21;  // many for some types, few for others

struct OfLevel {
  std::unique_ptr<Registry> registry;
  Device* device = nullptr;
};

OfLevel open(const std::string& level, int threads = 2) {
  Options options;
  options.threads = threads;
  options.backend_options["cpu"]["level"] = level;
  auto registry = Registry::create(options);
  EXPECT_TRUE(registry) << registry.error().message();
  Device* const device = *(*registry)->find("cpu0");
  return {std::move(*registry), device};
}

using Memory = std::function<BufferType*(Device&, const Graph&, NodeId)>;
BufferType* packed(Device&, const Graph&, NodeId) {
  return &cpu::interleaved_memory();
}

/// Products of weights of each kind with rows of numbers, and functions of these.
struct Work {
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
  std::vector<NodeId> outputs;

  Work() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {kK, kColumns}));
    leaves[x->id] = make_values({.dtype = DType::kF32, .sizes = {kK, kColumns, 1, 1}}, 1);
    const auto out = [&](const Result<Value>& value) {
      EXPECT_TRUE(g.output(value, "y"));
      outputs.push_back(value->id);
    };
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                             DType::kQ6_K, DType::kQ4_K}) {
      const auto w = g.weight("w", *make_tensor(type, {kK, kRows}));
      leaves[w->id] = make_values({.dtype = type, .sizes = {kK, kRows, 1, 1}}, 2);
      out(matmul(g, w, x));
    }
    out(sum_rows(g, x));
    out(silu(g, x));
    out(rms_norm(g, x));
    out(softmax(g, x));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }

  /// The values of all outputs.
  std::vector<std::vector<double>> results(Device* device, const Memory& memory) const {
    const auto run = GraphRun::create(graph, {&device, 1}, leaves, {.weight_memory = memory});
    EXPECT_TRUE(run) << run.error().message();
    const Status ran = (*run)->plan().run();
    EXPECT_TRUE(ran) << ran.error().message();
    std::vector<std::vector<double>> found;
    for (const NodeId output : outputs) found.push_back((*run)->output(output)->data);
    return found;
  }
};

/// The numbers of one level, by a registry of its own.
std::vector<std::vector<double>> alone(const Work& work, const std::string& level,
                                       const Memory& memory) {
  const OfLevel only = open(level);
  return work.results(only.device, memory);
}

TEST(CpuLevels, RegistriesInOneProcessHaveTheirOwn) {
  const Work work;
  const std::vector<std::string> names = cpu::simd::level_names();
  const std::array<Memory, 2> memories = {Memory{}, Memory{packed}};
  // Without other registries.
  std::array<std::vector<std::vector<std::vector<double>>>, 2> expected;
  for (std::size_t m = 0; m < memories.size(); ++m) {
    for (const std::string& name : names) expected[m].push_back(alone(work, name, memories[m]));
  }
  std::vector<OfLevel> all;
  for (const std::string& name : names) all.push_back(open(name));
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_THAT(all[i].device->info().description, EndsWith(", " + names[i]));
  }
  for (std::size_t m = 0; m < memories.size(); ++m) {
    std::vector<std::vector<std::vector<double>>> found;
    for (const OfLevel& each : all) found.push_back(work.results(each.device, memories[m]));
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(found[i], expected[m][i]) << names[i];
    }
    if (names.size() > 1) {
      EXPECT_NE(found.front(), found.back()) << "one lane adds in another order";
    }
  }
}

/// Sums of rows, as the vector code of the level gives them.
TEST(CpuLevels, UseTheVectorCodeOfTheDevice) {
  const Work work;
  const std::vector<std::string> names = cpu::simd::level_names();
  std::vector<OfLevel> all;
  for (const std::string& name : names) all.push_back(open(name));
  const std::vector<double>& values = work.leaves.begin()->second.data;
  const std::vector<float> x(values.begin(), values.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Level level = Level::find(names[i]).value();
    const auto sums = work.results(all[i].device, {})[7];
    ASSERT_EQ(sums.size(), static_cast<std::size_t>(kColumns));
    for (std::int64_t c = 0; c < kColumns; ++c) {
      EXPECT_EQ(sums[static_cast<std::size_t>(c)], cpu::simd::sum(level, x.data() + c * kK, kK))
          << names[i];
    }
  }
}

/// How weights are packed does not depend on the level: only who has products of them does.
TEST(CpuLevels, ReadWeightsPackedByADeviceOfAnotherLevel) {
  const Work work;
  const std::vector<std::string> names = cpu::simd::level_names();
  const OfLevel best = open(names.front());
  const OfLevel lowest = open(names.back());
  const Memory by_the_best = [&](Device&, const Graph& graph, NodeId leaf) {
    return chosen_memory(*best.device, graph, leaf);
  };
  for (NodeId leaf : std::views::keys(work.leaves)) {
    for (const WeightCandidate& form : best.device->weight_forms(*work.graph, leaf)) {
      EXPECT_TRUE(lowest.device->can_read(*form.memory)) << form.memory->name();
    }
  }
  EXPECT_EQ(work.results(lowest.device, by_the_best), alone(work, names.back(), by_the_best));
}

/// A plan keeps its level when registries of other levels are created and destroyed.
TEST(CpuLevels, PlanKeepsItsLevel) {
  const Work work;
  const std::vector<std::string> names = cpu::simd::level_names();
  OfLevel best = open(names.front());
  const auto run = GraphRun::create(work.graph, {&best.device, 1}, work.leaves);
  ASSERT_TRUE(run);
  const auto values = [&] {
    EXPECT_TRUE((*run)->plan().run());
    return (*run)->output(work.outputs[4])->data;
  };
  const std::vector<double> before = values();
  {
    const OfLevel other = open(names.back());
    (void)work.results(other.device, {});
    EXPECT_EQ(values(), before);
  }
  EXPECT_EQ(values(), before);
}

TEST(CpuLevels, ThreadsComputeAtTheLevelOfTheirDevice) {
  constexpr int kTimes = 4;
  const Work work;
  std::vector<std::string> names = cpu::simd::level_names();
  if (names.size() > 3) names = {names.front(), names[names.size() / 2], names.back()};
  std::vector<OfLevel> all;
  std::vector<std::vector<std::vector<double>>> expected;
  for (const std::string& name : names) expected.push_back(alone(work, name, packed));
  for (const std::string& name : names) all.push_back(open(name));
  std::latch start(std::ssize(names));
  std::vector<int> right(names.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        for (int time = 0; time < kTimes; ++time) {
          right[i] += work.results(all[i].device, packed) == expected[i] ? 1 : 0;
        }
      });
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(right[i], kTimes) << names[i];
}

TEST(CpuLevels, UnknownLevelIsAnErrorThatListsTheOthers) {
  const OfLevel best = open("best");
  Options options;
  options.backend_options["cpu"]["level"] = "abacus";
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  EXPECT_FALSE((*registry)->find("cpu0"));
  const auto backends = (*registry)->backends();
  const auto status = std::ranges::find(backends, "cpu", &BackendStatus::name);
  ASSERT_NE(status, backends.end());
  EXPECT_FALSE(status->loaded);
  EXPECT_THAT(status->note, HasSubstr("vector level \"abacus\": this machine has"));
  for (const std::string& name : cpu::simd::level_names()) {
    EXPECT_THAT(status->note, HasSubstr(name));
  }
  EXPECT_THAT(best.device->info().description, EndsWith(cpu::simd::level_names().front()));
}

}  // namespace
}  // namespace shunt::test::levels_test

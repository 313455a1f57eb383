// Laying out memory: right for all possible requests, and small for those of networks. Time is
// measured by bench/memory_planner.cpp.
#include "memory/planner.h"

#include <gtest/gtest.h>

#include <random>

#include "model/definition.h"
#include "support/models.h"
#include "support/test_device.h"
#include "unit/memory/lifetimes.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::memory_planner_test {
namespace {

/// Largest sum of bytes that live at one time: no layout can be smaller.
std::size_t lower_bound(const std::vector<MemoryRequest>& requests, std::int64_t end) {
  std::size_t largest = 0;
  for (std::int64_t time = 0; time <= end; ++time) {
    std::size_t sum = 0;
    for (const MemoryRequest& request : requests) {
      if (request.first <= time && time <= request.last) sum += request.bytes;
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(MemoryPlanner, TensorsWithDisjointLifetimesShareMemory) {
  const std::vector<MemoryRequest> requests = {{100, 0, 1}, {100, 2, 3}, {50, 1, 2}};
  const auto layout = plan_memory(requests, 1, 1000);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->block_bytes, (std::vector<std::size_t>{150}));
  EXPECT_EQ(layout->places[0].offset, layout->places[1].offset);
}

/// The conditions that every layout must meet.
void expect_right(const std::vector<MemoryRequest>& requests, const MemoryLayout& layout,
                  std::size_t alignment, std::size_t max_block) {
  ASSERT_EQ(layout.places.size(), requests.size());
  for (std::size_t bytes : layout.block_bytes) EXPECT_LE(bytes, max_block);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const MemoryPlace& a = layout.places[i];
    if (requests[i].bytes == 0) {
      EXPECT_TRUE(a.block == 0 && a.offset == 0);
      continue;
    }
    ASSERT_LT(a.block, layout.block_bytes.size());
    EXPECT_EQ(a.offset % alignment, 0U);
    EXPECT_LE(a.offset + requests[i].bytes, layout.block_bytes[a.block]);
    for (std::size_t j = 0; j < i; ++j) {
      const MemoryPlace& b = layout.places[j];
      if (requests[j].bytes == 0 || a.block != b.block) continue;
      if (requests[i].last < requests[j].first || requests[j].last < requests[i].first) continue;
      if (a.offset + requests[i].bytes > b.offset && b.offset + requests[j].bytes > a.offset)
        ++wrong;
    }
  }
  EXPECT_EQ(wrong, 0U) << "pairs overlap";
}

std::vector<MemoryRequest> random_requests(std::mt19937_64& random) {
  std::vector<MemoryRequest> requests;
  const std::size_t count = random() % 120;
  const auto longest = static_cast<std::int64_t>(1 + random() % 60);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int64_t>(random() % 60);
    requests.push_back(
        {random() % 3000, first,
         first + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest))});
  }
  return requests;
}

TEST(MemoryPlanner, TensorsLiveAtTheSameTimeDoNotOverlap) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto requests = random_requests(random);
    const std::size_t max_block =
        std::vector<std::size_t>{1U << 20, 4096, 3000, 3001}[static_cast<std::size_t>(round) % 4];
    const auto layout = plan_memory(requests, 64, max_block);
    ASSERT_TRUE(layout);
    EXPECT_GE(layout->total(), lower_bound(requests, 130));
    expect_right(requests, *layout, 64, max_block);
  }
}

TEST(MemoryPlanner, LowerBoundIsThePeakOfLiveBytes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    const auto requests = random_requests(random);
    EXPECT_EQ(memory_lower_bound(requests, 1), lower_bound(requests, 130));
  }
  EXPECT_EQ(memory_lower_bound(std::vector<MemoryRequest>{{100, 0, 1}, {1, 1, 2}}, 64), 192U);
}

TEST(MemoryPlanner, TheSameRequestsGiveTheSameLayout) {
  const auto requests = random_lifetimes(3000, 4);
  const auto a = plan_memory(requests, 64, 1U << 30);
  const auto b = plan_memory(requests, 64, 1U << 30);
  ASSERT_TRUE(a && b);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(a->places[i].offset, b->places[i].offset);
    EXPECT_EQ(a->places[i].block, b->places[i].block);
  }
}

/// Bytes of a layout relative to their lower bound.
double times_lower_bound(const std::vector<MemoryRequest>& requests) {
  const auto layout = plan_memory(requests, 256, std::size_t{1} << 40);
  EXPECT_TRUE(layout);
  EXPECT_EQ(layout->block_bytes.size(), 1U);
  return static_cast<double>(layout->total()) /
         static_cast<double>(memory_lower_bound(requests, 256));
}

TEST(MemoryPlanner, NetworkLifetimesStayWithin3PercentOfTheLowerBound) {
  EXPECT_LE(times_lower_bound(llama_lifetimes()), 1.03);
  EXPECT_LE(times_lower_bound(experts_lifetimes()), 1.03);
  EXPECT_LE(times_lower_bound(convolution_lifetimes()), 1.03);
}

TEST(MemoryPlanner, TenThousandRandomLifetimesStayWithin10Percent) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    EXPECT_LE(times_lower_bound(random_lifetimes(10000, seed)), 1.1);
}

/// The requests of the steps of a model of 16 layers to the only device there is.
TEST(MemoryPlanner, LlamaStepsStayWithin3PercentOfTheLowerBound) {
  SynthOptions shape;
  shape.layers = 16;
  shape.width = 64;
  shape.feed_forward = 224;
  const test::SynthModel file(shape);
  const auto opened = gguf::File::open(file.path());
  ASSERT_TRUE(opened);
  const auto definition = read_model(*opened);
  ASSERT_TRUE(definition);
  test::TestDevice cpu({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  for (const std::int64_t tokens : {512, 32, 1}) {
    const auto step = (*definition)->build({tokens, 1, 2048, DType::kF16});
    ASSERT_TRUE(step) << step.error().message();
    const auto requests = requests_of(step->graph, cpu);
    ASSERT_TRUE(requests) << requests.error().message();
    EXPECT_GT(requests->size(), 100U);
    EXPECT_LE(times_lower_bound(*requests), 1.03) << tokens;
  }
}

/// And the requests of larger networks to a device that computes nothing in place.
TEST(MemoryPlanner, LargeGraphsStayWithin3PercentOfTheLowerBound) {
  test::TestDevice cpu({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const auto expect_tight = [&](const Result<Graph>& graph) {
    ASSERT_TRUE(graph) << graph.error().message();
    const auto requests = requests_of(*graph, cpu);
    ASSERT_TRUE(requests) << requests.error().message();
    EXPECT_GT(requests->size(), 100U);
    EXPECT_LE(times_lower_bound(*requests), 1.03);
  };
  expect_tight(transformer_step({}));
  expect_tight(transformer_step(kMixtureOfExperts));
  expect_tight(residual_network());
}

TEST(MemoryPlanner, MinimalBlockSizeStaysWithin50PercentOfTheLowerBound) {
  const auto requests = experts_lifetimes();
  std::size_t largest = 0;
  for (const MemoryRequest& request : requests) largest = std::max(largest, request.bytes);
  const auto layout = plan_memory(requests, 256, largest);
  ASSERT_TRUE(layout);
  expect_right(requests, *layout, 256, largest);
  EXPECT_LE(layout->total(), memory_lower_bound(requests, 256) * 3 / 2);
}

TEST(MemoryPlanner, TenThousandSimultaneousTensorsArePackedTightly) {
  std::vector<MemoryRequest> requests;
  for (std::size_t i = 0; i < 10000; ++i) requests.push_back({1 + i % 977, 0, 5});
  const auto one = plan_memory(requests, 1, std::size_t{1} << 40);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->total(), memory_lower_bound(requests, 1));
  const auto blocks = plan_memory(requests, 64, 1000);
  ASSERT_TRUE(blocks);
  expect_right(requests, *blocks, 64, 1000);
}

TEST(MemoryPlanner, HugeSizesAreOutOfMemoryInsteadOfOverflowing) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  for (std::size_t bytes : {most, most / 2, most / 4 + 1}) {
    const std::vector<MemoryRequest> requests(4, {bytes, 0, 1});
    const auto layout = plan_memory(requests, 64, most);
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().code(), ErrorCode::kOutOfMemory);
  }
}

TEST(MemoryPlanner, TensorAboveTheMaxBlockSizeIsOutOfMemory) {
  const std::vector<MemoryRequest> requests = {{10, 0, 1}, {1001, 0, 1}};
  const auto layout = plan_memory(requests, 1, 1000);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code(), ErrorCode::kOutOfMemory);
}

TEST(MemoryPlanner, NoRequestsNeedNoBlocks) {
  const auto layout = plan_memory({}, 64, 1000);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->block_bytes.empty());
}

}  // namespace
}  // namespace shunt::memory_planner_test

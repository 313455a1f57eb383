#include "backend_support/graph_cache.h"

#include <gtest/gtest.h>

#include <memory>

#include "shunt/message.h"

namespace shunt::test::backend_support_graph_cache_test {
namespace {

using Cache = GraphCache<std::unique_ptr<int>>;

/// The key of a binding at one dynamic dimension.
GraphKey key(std::uint64_t binding, std::int64_t dynamic_dim) {
  GraphKey made{.binding = binding};
  made.dynamic_dims[0] = dynamic_dim;
  return made;
}

/// The graph of a key; `captured` counts captures, and each graph is its number.
int find(Cache& cache, const GraphKey& at, int& captured) {
  const auto found = cache.find(
      at, [&]() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(++captured); });
  EXPECT_TRUE(found);
  return found ? ***found : 0;
}

TEST(GraphCache, CapturesOncePerBindingAndDynamicDims) {
  Cache cache(8);
  int captured = 0;
  EXPECT_EQ(find(cache, key(1, 5), captured), 1);
  EXPECT_EQ(find(cache, key(2, 5), captured), 2);
  EXPECT_EQ(find(cache, key(1, 6), captured), 3);
  EXPECT_EQ(find(cache, key(1, 5), captured), 1);
  EXPECT_EQ(find(cache, key(2, 5), captured), 2);
  EXPECT_EQ(cache.counts().hits, 2U);
  EXPECT_EQ(cache.counts().misses, 3U);
  EXPECT_EQ(cache.counts().evictions, 0U);
  EXPECT_EQ(cache.size(), 3U);
}

TEST(GraphCache, EvictsTheLeastRecentlyUsedGraph) {
  Cache cache(2);
  int captured = 0;
  find(cache, key(1, 0), captured);
  find(cache, key(2, 0), captured);
  find(cache, key(1, 0), captured);
  EXPECT_EQ(find(cache, key(3, 0), captured), 3);  // instead of 2
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(2, 0), captured), 4);  // instead of 3
  EXPECT_EQ(cache.counts().evictions, 2U);
  EXPECT_EQ(cache.counts().hits, 2U);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(GraphCache, FailedCaptureIsNotCached) {
  Cache cache(1);
  int captured = 0;
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  const auto failed = cache.find(key(2, 0), []() -> Result<std::unique_ptr<int>> {
    return fail(ErrorCode::kDevice, "no capture");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "no capture");
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(2, 0), captured), 2);
  EXPECT_EQ(cache.counts().misses, 3U);
}

TEST(GraphCache, DropsTheOldestGraphOnRequest) {
  Cache cache(2);
  int captured = 0;
  EXPECT_FALSE(cache.drop_oldest());
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(2, 0), captured), 2);
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_TRUE(cache.drop_oldest());
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.counts().evictions, 1U);
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(2, 0), captured), 3);
}

TEST(GraphCache, HoldsAtLeastOneGraph) {
  Cache cache(0);
  int captured = 0;
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(1, 0), captured), 1);
  EXPECT_EQ(find(cache, key(2, 0), captured), 2);
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace shunt::test::backend_support_graph_cache_test

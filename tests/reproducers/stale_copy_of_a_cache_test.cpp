// A device that reads a cache, which another device then writes, must get a new copy to read it
// again. The version check in segments.cpp makes the copy stale. It had no test: without it, the
// second read gave the old rows, and every test passed. Tested since 59c6de0.
#include <gtest/gtest.h>

#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/test_device.h"

namespace shunt::test::stale_copy_of_a_cache_test {
namespace {

TEST(CopyOfACache, IsReplacedAfterAnotherDeviceWroteTheCache) {
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {2, 3}));
  const auto row = g.input("row", *make_tensor(DType::kF32, {2, 1}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {1}));
  const auto before = scale(g, cache, {.scale = 2});
  ASSERT_TRUE(g.output(before, "before"));
  ASSERT_TRUE(set_rows(g, cache, row, ids));
  const auto after = scale(g, cache, {.scale = 2});
  ASSERT_TRUE(g.output(after, "after"));
  const auto graph = std::make_shared<const Graph>(*std::move(g).build());

  TestDevice writer({.name = "writer0", .ops = {"set_rows"}});
  TestDevice reader({.name = "reader0", .ops = {"scale"}});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  const std::vector<Device*> devices = {&writer, &reader, &host};
  std::map<NodeId, RefTensor> leaves;
  leaves[cache->id] = RefTensor({2, 3, 1, 1});
  leaves[cache->id].data = {1, 2, 3, 4, 5, 6};
  leaves[row->id] = RefTensor({2, 1, 1, 1});
  leaves[row->id].data = {30, 40};
  leaves[ids->id] = RefTensor({1, 1, 1, 1});
  leaves[ids->id].data = {1};
  const auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_EQ((*run)->output(before->id)->data, (std::vector<double>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ((*run)->output(after->id)->data, (std::vector<double>{2, 4, 60, 80, 10, 12}));
}

}  // namespace
}  // namespace shunt::test::stale_copy_of_a_cache_test

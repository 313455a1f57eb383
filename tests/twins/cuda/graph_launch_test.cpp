// Launches of executable graphs: their order, events, errors and races.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "graphs.h"

namespace cuda_graphs_test {
namespace {

class GraphLaunchTest : public GraphsTest {};

TEST_F(GraphLaunchTest, EveryLaunchRunsAllNodesAgain) {
  const Buffer<std::uint32_t> x(Words(4, 0));
  add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 5; ++i) TWIN_OK(cuGraphLaunch(exec, stream_));
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(x.read(), Words(4, 31));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, AnInstanceKeepsItsNodesWhenTheGraphChanges) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode node = add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphDestroyNode(node));
  add_scale(x.address, 100, 0);
  TWIN_OK(cuGraphDestroy(graph_));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 3));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, AnInstanceMayBeDestroyedWhileItsLaunchIsQueued) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, stream_));
  TWIN_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(x.read(), Words(4, 15));
}

TEST_F(GraphLaunchTest, ThreadedLaunchesOfOneInstanceNeverOverlap) {
  // Each launch sets a mark, checks that it was clear, and clears it.
  struct Marks {
    std::atomic<int> inside{0}, overlaps{0}, runs{0};
  } marks;
  CUDA_HOST_NODE_PARAMS host{};
  host.userData = &marks;
  host.fn = [](void* user) {
    auto& m = *static_cast<Marks*>(user);
    if (m.inside.fetch_add(1) != 0) ++m.overlaps;
  };
  CUgraphNode in = nullptr, out = nullptr;
  TWIN_OK(cuGraphAddHostNode(&in, graph_, nullptr, 0, &host));
  host.fn = [](void* user) {
    auto& m = *static_cast<Marks*>(user);
    std::this_thread::yield();
    m.inside.fetch_sub(1);
    ++m.runs;
  };
  TWIN_OK(cuGraphAddHostNode(&out, graph_, &in, 1, &host));
  const CUgraphExec exec = instantiate();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      TWIN_OK(cuCtxSetCurrent(gpu_.context));
      CUstream mine = nullptr;
      TWIN_OK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
      for (int i = 0; i < 25; ++i) TWIN_OK(cuGraphLaunch(exec, (i & 1) != 0 ? stream_ : mine));
      TWIN_OK(cuStreamSynchronize(mine));
      TWIN_OK(cuStreamDestroy(mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(marks.runs, 100);
  EXPECT_EQ(marks.overlaps, 0);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, IndependentNodesRunInAnOrderThatTheSeedPicks) {
  std::vector<int> order;
  struct Entry {
    std::vector<int>* order;
    int number;
  };
  std::vector<Entry> entries;
  for (int i = 0; i < 6; ++i) entries.push_back({&order, i});
  for (Entry& entry : entries) {
    CUDA_HOST_NODE_PARAMS host{};
    host.userData = &entry;
    host.fn = [](void* user) {
      const auto& e = *static_cast<Entry*>(user);
      e.order->push_back(e.number);
    };
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddHostNode(&node, graph_, nullptr, 0, &host));
  }
  const auto orders = [&](const char* seed) {
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", seed), 1);
    const CUgraphExec exec = instantiate();
    std::vector<std::vector<int>> all;
    for (int i = 0; i < 8; ++i) {
      order.clear();
      run(exec);
      all.push_back(order);
      std::vector<int> sorted = order;
      std::ranges::sort(sorted);
      EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3, 4, 5}));
    }
    TWIN_OK(cuGraphExecDestroy(exec));
    return all;
  };
  const auto plain = orders("0");
  for (const auto& each : plain) EXPECT_EQ(each, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  const auto one = orders("1");
  EXPECT_NE(one, plain);
  EXPECT_NE(one, orders("2"));
  EXPECT_EQ(one, orders("1")) << "a seed gives the same order again";
  EXPECT_NE(one[0], one[1]) << "launches differ from each other";
}

TEST_F(GraphLaunchTest, EventsInGraphsAreRecordedAndWaitedFor) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUevent done = nullptr;
  TWIN_OK(cuEventCreate(&done, 0));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  CUgraphNode record = nullptr;
  TWIN_OK(cuGraphAddEventRecordNode(&record, graph_, &a, 1, done));
  const CUgraphExec exec = instantiate();
  CUstream other = nullptr;
  TWIN_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 20; ++i) {
    TWIN_OK(cuGraphLaunch(exec, stream_));
    TWIN_OK(cuStreamWaitEvent(other, done, 0));
    Args args(x.address, 3, 0);
    TWIN_OK(cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, other, args.list, nullptr));
    TWIN_OK(cuStreamSynchronize(other));
  }
  std::uint32_t expected = 1;
  for (int i = 0; i < 20; ++i) expected = (expected + 1) * 3;
  EXPECT_EQ(x.read(), Words(4, expected));
  EXPECT_EQ(cuEventQuery(done), CUDA_SUCCESS);
  EXPECT_EQ(cuda_twin_findings(), 0u);
  TWIN_OK(cuStreamDestroy(other));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuEventDestroy(done));
}

TEST_F(GraphLaunchTest, AnEventIsPendingFromTheLaunchUntilItsNodeRuns) {
  std::atomic<bool> open{false};
  CUDA_HOST_NODE_PARAMS host{[](void* user) {
                               while (!*static_cast<std::atomic<bool>*>(user))
                                 std::this_thread::yield();
                             },
                             &open};
  CUgraphNode gate = nullptr, record = nullptr;
  TWIN_OK(cuGraphAddHostNode(&gate, graph_, nullptr, 0, &host));
  CUevent done = nullptr;
  TWIN_OK(cuEventCreate(&done, 0));
  TWIN_OK(cuGraphAddEventRecordNode(&record, graph_, &gate, 1, done));
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(cuEventQuery(done), CUDA_SUCCESS) << "never recorded";
  TWIN_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(cuEventQuery(done), CUDA_ERROR_NOT_READY);
  open = true;
  TWIN_OK(cuEventSynchronize(done));
  EXPECT_EQ(cuEventQuery(done), CUDA_SUCCESS);
  TWIN_OK(cuStreamSynchronize(stream_));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuEventDestroy(done));
}

TEST_F(GraphLaunchTest, AnEventOfAGraphOrdersOtherStreams) {
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUevent done = nullptr;
  TWIN_OK(cuEventCreate(&done, 0));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  CUgraphNode record = nullptr;
  TWIN_OK(cuGraphAddEventRecordNode(&record, graph_, &a, 1, done));
  const CUgraphExec exec = instantiate();
  CUstream other = nullptr;
  TWIN_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  for (const bool waits : {true, false}) {
    Args args(x.address, 3, 0);
    TWIN_OK(cuGraphLaunch(exec, stream_));
    if (waits) TWIN_OK(cuStreamWaitEvent(other, done, 0));
    TWIN_OK(cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, other, args.list, nullptr));
    TWIN_OK(cuCtxSynchronize());
    EXPECT_EQ(cuda_twin_findings() == 0, waits);
    cuda_twin_drop_findings();
  }
  TWIN_OK(cuStreamDestroy(other));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuEventDestroy(done));
}

TEST_F(GraphLaunchTest, AWaitInAGraphDoesNotHoldUpTheNodeThatEndsIt) {
  // The host node lets the other stream go on, which the wait node waits for.
  std::atomic<bool> open{false};
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  CUstream other = nullptr;
  TWIN_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  TWIN_OK(cuLaunchHostFunc(
      other,
      [](void* user) {
        while (!*static_cast<std::atomic<bool>*>(user)) std::this_thread::yield();
      },
      &open));
  TWIN_OK(cuEventRecord(event, other));
  CUgraphNode wait = nullptr, host_node = nullptr;
  TWIN_OK(cuGraphAddEventWaitNode(&wait, graph_, nullptr, 0, event));
  CUDA_HOST_NODE_PARAMS host{[](void* user) { *static_cast<std::atomic<bool>*>(user) = true; },
                             &open};
  TWIN_OK(cuGraphAddHostNode(&host_node, graph_, nullptr, 0, &host));
  run_once();
  EXPECT_TRUE(open);
  TWIN_OK(cuStreamDestroy(other));
  TWIN_OK(cuEventDestroy(event));
}

/// Launches of one instance take turns; the end of a context waits for no turn.
TEST_F(GraphLaunchTest, AContextEndsThoughItsLaunchWaitsForAnother) {
  std::atomic<int> calls{0};
  std::atomic<bool> open{false};
  CUDA_HOST_NODE_PARAMS params{};
  params.fn = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
  params.userData = &calls;
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddHostNode(&node, graph_, nullptr, 0, &params));
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuLaunchHostFunc(
      stream_,
      [](void* user) {
        while (!*static_cast<std::atomic<bool>*>(user)) std::this_thread::yield();
      },
      &open));
  TWIN_OK(cuGraphLaunch(exec, stream_));
  CUcontext other = nullptr;
  CUstream second = nullptr;
  TWIN_OK(cuCtxCreate(&other, nullptr, 0, 0));
  TWIN_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  TWIN_OK(cuGraphLaunch(exec, second));
  TWIN_OK(cuCtxPopCurrent(nullptr));
  auto ended = std::async(std::launch::async, [other] { return cuCtxDestroy(other); });
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(calls, 1) << "its work is executed all the same";
  open = true;
  TWIN_OK(ended.get());
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(calls, 2);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ALaunchOfNoNodesIsOrderedWorkAllTheSame) {
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphUpload(exec, stream_));
  run(exec);
  cuuint64_t flags = 9;
  TWIN_OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 0u);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, AnErrorInANodeIsALateErrorOfTheLaunch) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUdeviceptr nowhere = 16;
  void* list[] = {&nowhere};
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(wild_, list, 1);
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &params));
  add_scale(x.address, 0, 9, {node});
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("wild"), std::string::npos)
      << cuda_twin_last_fault();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS) << "it sticks";
}

TEST_F(GraphLaunchTest, FaultsOfInstantiationAndLaunchAreAsDocumented) {
  add_empty();
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FAIL_INSTANTIATE", "2"), 1);
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&second, graph_, 0), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuGraphInstantiate(&second, graph_, 0));
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FAIL_LAUNCH", "1"), 1);
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  run(exec);
  TWIN_OK(cuGraphExecDestroy(second));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, NodesWithoutAPathBetweenThemRace) {
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  const CUgraphNode b = add_scale(x.address, 1, 1);
  run_once();
  EXPECT_GT(cuda_twin_findings(), 0u);
  cuda_twin_drop_findings();
  TWIN_OK(cuGraphAddDependencies(graph_, &a, &b, nullptr, 1));
  run_once();
  EXPECT_EQ(cuda_twin_findings(), 0u);
}

TEST_F(GraphLaunchTest, WorkAfterALaunchIsOrderedAfterAllItsNodes) {
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const Buffer<std::uint32_t> x(Words(4, 1));
  const Buffer<std::uint32_t> y(Words(4, 1));
  add_scale(x.address, 1, 1);
  add_scale(y.address, 1, 1);
  const CUgraphExec exec = instantiate();
  Args of_x(x.address, 2, 0);
  Args of_y(y.address, 2, 0);
  for (int i = 0; i < 3; ++i) {
    TWIN_OK(cuGraphLaunch(exec, stream_));
    TWIN_OK(cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, stream_, of_x.list, nullptr));
    TWIN_OK(cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, stream_, of_y.list, nullptr));
  }
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(cuda_twin_findings(), 0u);
  EXPECT_EQ(x.read(), Words(4, ((1 + 1) * 2 + 1) * 4 + 2));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, LaunchesOfOneInstanceInTwoStreamsAreOrdered) {
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  const Buffer<std::uint32_t> x(Words(4, 1));
  add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  CUstream other = nullptr;
  TWIN_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 4; ++i) TWIN_OK(cuGraphLaunch(exec, (i & 1) != 0 ? stream_ : other));
  TWIN_OK(cuStreamSynchronize(stream_));
  TWIN_OK(cuStreamSynchronize(other));
  EXPECT_EQ(x.read(), Words(4, 31));
  EXPECT_EQ(cuda_twin_findings(), 0u);
  // Two instances are not.
  const CUgraphExec second = instantiate();
  TWIN_OK(cuGraphLaunch(exec, stream_));
  TWIN_OK(cuGraphLaunch(second, other));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_GT(cuda_twin_findings(), 0u);
  TWIN_OK(cuStreamDestroy(other));
  TWIN_OK(cuGraphExecDestroy(second));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ManyNodesOfARandomGraphRunEachAfterItsDependencies) {
  // Node i notes its time; its dependencies must have noted theirs before.
  constexpr int kNodes = 60;
  struct Entry {
    std::atomic<int>* clock;
    int time = 0;
  };
  std::atomic<int> clock{0};
  std::vector<Entry> entries(kNodes, Entry{&clock});
  std::vector<CUgraphNode> nodes;
  std::vector<std::pair<int, int>> edges;
  std::uint32_t random = 1;
  for (int i = 0; i < kNodes; ++i) {
    std::vector<CUgraphNode> after;
    for (int j = 0; j < i; ++j) {
      random = random * 1664525u + 1013904223u;
      if (random >> 29 != 0) continue;
      after.push_back(nodes[static_cast<std::size_t>(j)]);
      edges.emplace_back(j, i);
    }
    CUDA_HOST_NODE_PARAMS host{};
    host.userData = &entries[static_cast<std::size_t>(i)];
    host.fn = [](void* user) {
      auto& e = *static_cast<Entry*>(user);
      e.time = ++*e.clock;
    };
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddHostNode(&node, graph_, after.data(), after.size(), &host));
    nodes.push_back(node);
  }
  ASSERT_GT(edges.size(), 100u);
  for (const char* seed : {"0", "5", "6"}) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", seed), 1);
    run_once();
    for (const auto& [from, to] : edges)
      EXPECT_LT(entries[static_cast<std::size_t>(from)].time,
                entries[static_cast<std::size_t>(to)].time);
  }
  EXPECT_EQ(clock, 3 * kNodes);
}

}  // namespace
}  // namespace cuda_graphs_test

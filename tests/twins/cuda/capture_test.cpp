// Capture of streams into graphs.
#include <atomic>
#include <thread>

#include "capture.h"

namespace cuda_capture_test {
namespace {

TEST_F(CaptureTest, WorkIsCapturedAndRunsWhenTheGraphIsLaunched) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_);
  EXPECT_EQ(status(a_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  TWIN_OK(scale(a_, x.address, 2, 1));
  TWIN_OK(scale(a_, x.address, 10, 0));
  const CUgraph graph = end(a_);
  EXPECT_EQ(status(a_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(x.read(), Words(4, 1)) << "nothing runs while it is captured";
  EXPECT_EQ(count_nodes(graph), 2u);
  EXPECT_EQ(count_edges(graph), 1u);
  run(graph, 2);
  EXPECT_EQ(x.read(), Words(4, 610));
}

TEST_F(CaptureTest, AllKindsOfAsynchronousWorkAreCaptured) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  Words host(4, 3);
  Words back(4, 0);
  std::atomic<int> calls{0};
  begin(a_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TWIN_OK(cuMemcpyHtoDAsync(x.address, host.data(), 16, a_));
  TWIN_OK(scale(a_, x.address, 2, 0));
  TWIN_OK(cuMemsetD32Async(x.address, 9, 1, a_));
  TWIN_OK(cuMemcpyDtoHAsync(back.data(), x.address, 16, a_));
  TWIN_OK(cuLaunchHostFunc(
      a_, [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &calls));
  const CUgraph graph = end(a_);
  std::vector<CUgraphNode> nodes(5);
  std::size_t count = nodes.size();
  TWIN_OK(cuGraphGetNodes(graph, nodes.data(), &count));
  ASSERT_EQ(count, 5u);
  const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_KERNEL,
                                      CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                      CU_GRAPH_NODE_TYPE_HOST};
  for (std::size_t i = 0; i < count; ++i) {
    CUgraphNodeType type{};
    TWIN_OK(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, expected[i]) << i;
  }
  host.assign(4, 5);  // a captured copy reads its source when it runs
  run(graph);
  EXPECT_EQ(back, (Words{9, 10, 10, 10}));
  EXPECT_EQ(calls, 1);
}

TEST_F(CaptureTest, EventsForkAndJoinStreams) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const Buffer<std::uint32_t> y(Words(4, 1));
  begin(a_);
  TWIN_OK(scale(a_, x.address, 1, 1));
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  EXPECT_EQ(status(b_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  TWIN_OK(cuMemcpyDtoDAsync(y.address, x.address, 16, b_));
  TWIN_OK(scale(b_, y.address, 5, 0));
  TWIN_OK(cuEventRecord(second_event_, b_));
  TWIN_OK(cuStreamWaitEvent(a_, second_event_, 0));
  TWIN_OK(scale(a_, x.address, 100, 0));
  const CUgraph graph = end(a_);
  EXPECT_EQ(status(b_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(count_nodes(graph), 4u);
  EXPECT_EQ(count_edges(graph), 4u) << "a to b, along b, and both to the last node";
  run(graph);
  EXPECT_EQ(x.read(), Words(4, 200));
  EXPECT_EQ(y.read(), Words(4, 10));
}

TEST_F(CaptureTest, AStreamThatJoinedBelongsToTheSameCapture) {
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  CUstreamCaptureStatus found{};
  cuuint64_t ids[2] = {};
  CUgraph graphs[2] = {};
  TWIN_OK(cuStreamGetCaptureInfo_v2(a_, &found, &ids[0], &graphs[0], nullptr, nullptr));
  TWIN_OK(cuStreamGetCaptureInfo_v2(b_, &found, &ids[1], &graphs[1], nullptr, nullptr));
  EXPECT_EQ(found, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(graphs[0], graphs[1]);
  const CUgraph graph = end(a_);
  EXPECT_EQ(graph, graphs[0]);
  TWIN_OK(cuGraphDestroy(graph));
  begin(a_);
  TWIN_OK(cuStreamGetCaptureInfo_v2(a_, &found, &ids[1], nullptr, nullptr, nullptr));
  EXPECT_NE(ids[0], ids[1]);
  TWIN_OK(cuGraphDestroy(end(a_)));
}

TEST_F(CaptureTest, TheNextNodesDependenciesAreShownAndReplaced) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_);
  TWIN_OK(scale(a_, x.address, 1, 1));
  CUstreamCaptureStatus found{};
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  TWIN_OK(cuStreamGetCaptureInfo(a_, &found, nullptr, &graph, &nodes, &edges, &count));
  ASSERT_EQ(count, 1u);
  const CUgraphNode kernel = nodes[0];
  EXPECT_EQ(edges[0].type, 0);
  // A node of our own after it, which the stream's next work waits for instead.
  CUgraphNode own = nullptr;
  TWIN_OK(cuGraphAddEmptyNode(&own, graph, &kernel, 1));
  TWIN_OK(
      cuStreamUpdateCaptureDependencies(a_, &own, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  TWIN_OK(scale(a_, x.address, 10, 0));
  TWIN_OK(cuStreamGetCaptureInfo(a_, &found, nullptr, nullptr, &nodes, &edges, &count));
  ASSERT_EQ(count, 1u);
  const CUgraphNode last = nodes[0];
  CUgraphNode before[2] = {};
  std::size_t many = 2;
  TWIN_OK(cuGraphNodeGetDependencies(last, before, nullptr, &many));
  EXPECT_EQ(many, 1u);
  EXPECT_EQ(before[0], own);
  TWIN_OK(
      cuStreamUpdateCaptureDependencies(a_, &own, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  TWIN_OK(cuStreamGetCaptureInfo_v2(a_, &found, nullptr, nullptr, &nodes, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(b_, &own, nullptr, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(a_, &own, nullptr, 1, 7), CUDA_ERROR_INVALID_VALUE);
  run(end(a_));
  EXPECT_EQ(x.read(), Words(4, 20));
}

TEST_F(CaptureTest, AStreamCapturesIntoAGraphOfTheCaller) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUgraph graph = nullptr;
  TWIN_OK(cuGraphCreate(&graph, 0));
  CUgraphNode first = nullptr;
  TWIN_OK(cuGraphAddEmptyNode(&first, graph, nullptr, 0));
  TWIN_OK(
      cuStreamBeginCaptureToGraph(a_, graph, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(first), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(scale(a_, x.address, 1, 4));
  EXPECT_EQ(end(a_), graph);
  EXPECT_EQ(count_edges(graph), 1u);
  run(graph);
  EXPECT_EQ(x.read(), Words(4, 5));
}

TEST_F(CaptureTest, ALaunchOfAGraphIsCapturedAsAChildGraph) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(a_);
  TWIN_OK(scale(a_, x.address, 3, 0));
  const CUgraph inner = end(a_);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, inner, 0));
  TWIN_OK(cuGraphDestroy(inner));
  begin(a_);
  TWIN_OK(scale(a_, x.address, 1, 1));
  TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(scale(a_, x.address, 1, 100));
  const CUgraph graph = end(a_);
  TWIN_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(count_nodes(graph), 3u);
  run(graph);
  EXPECT_EQ(x.read(), Words(4, 106));
}

/// README.md, "Limits": 262,144 nodes, with those of child graphs.
TEST_F(CaptureTest, ACapturedGraphHasALargestSize) {
  constexpr int kNodes = 511, kLaunches = 512;  // a child graph is a node, too
  const auto nothing = [](void*) {};
  begin(a_);
  for (int i = 0; i < kNodes; ++i) TWIN_OK(cuLaunchHostFunc(a_, nothing, nullptr));
  const CUgraph inner = end(a_);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, inner, 0));
  TWIN_OK(cuGraphDestroy(inner));
  for (const bool with_child : {false, true}) {
    begin(a_);
    for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(cuGraphLaunch(exec, a_), CUDA_SUCCESS) << i;
    EXPECT_EQ(with_child ? cuGraphLaunch(exec, a_) : cuLaunchHostFunc(a_, nothing, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  TWIN_OK(cuGraphExecDestroy(exec));
}

/// README.md, "Limits": 32 levels.
TEST_F(CaptureTest, CapturedLaunchesOfCapturedLaunchesEndSomewhere) {
  begin(a_);
  CUgraph graph = end(a_);
  int levels = 1;
  for (CUresult code = CUDA_SUCCESS; code == CUDA_SUCCESS && levels < 100;) {
    CUgraphExec exec = nullptr;
    TWIN_OK(cuGraphInstantiate(&exec, graph, 0));
    TWIN_OK(cuGraphDestroy(graph));
    begin(a_);
    code = cuGraphLaunch(exec, a_);
    if (code == CUDA_SUCCESS) {
      graph = end(a_);
      ++levels;
    } else {
      EXPECT_EQ(code, CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    TWIN_OK(cuGraphExecDestroy(exec));
  }
  EXPECT_EQ(levels, 32);
}

/// The device must hold all blocks of a cooperative launch at once, also when a graph has it.
TEST_F(CaptureTest, CooperativeNodesFitTheDevice) {
  constexpr unsigned kTooMany = 132 * 32 + 1;  // multiprocessors, and blocks of each at most
  const Buffer<std::uint32_t> x(Words(32, 1));
  CUdeviceptr address = x.address;
  std::uint32_t factor = 2, summand = 0;
  void* list[] = {&address, &factor, &summand};
  begin(a_);
  TWIN_OK(cuLaunchCooperativeKernel(scale_add_, 1, 1, 1, 32, 1, 1, 0, a_, list));
  const CUgraph graph = end(a_);
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  TWIN_OK(cuGraphGetNodes(graph, &node, &count));
  CUDA_KERNEL_NODE_PARAMS params{};
  TWIN_OK(cuGraphKernelNodeGetParams(node, &params));
  params.gridDimX = kTooMany;
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &params), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph, 0));
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, node, &params),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  TWIN_OK(cuGraphLaunch(exec, c_));
  TWIN_OK(cuStreamSynchronize(c_));
  EXPECT_EQ(x.read(), Words(32, 2));
  // A node of an ordinary launch may be as large.
  CUgraphNode plain = nullptr;
  params.kernelParams = list;
  TWIN_OK(cuGraphAddKernelNode(&plain, graph, nullptr, 0, &params));
  begin(a_);
  EXPECT_EQ(cuLaunchCooperativeKernel(scale_add_, kTooMany, 1, 1, 32, 1, 1, 0, a_, list),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  TWIN_OK(cuGraphDestroy(end(a_)));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ExternalEventsBecomeNodes) {
  begin(a_);
  TWIN_OK(cuStreamWaitEvent(a_, event_, CU_EVENT_WAIT_EXTERNAL));
  TWIN_OK(cuEventRecordWithFlags(second_event_, a_, CU_EVENT_RECORD_EXTERNAL));
  const CUgraph graph = end(a_);
  std::vector<CUgraphNode> nodes(2);
  std::size_t count = 2;
  TWIN_OK(cuGraphGetNodes(graph, nodes.data(), &count));
  ASSERT_EQ(count, 2u);
  CUgraphNodeType type{};
  TWIN_OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  TWIN_OK(cuGraphNodeGetType(nodes[1], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  run(graph);
  EXPECT_EQ(cuEventSynchronize(second_event_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(a_, event_, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecordWithFlags(event_, a_, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureTest, BeginAndEndInTheWrongStateAreErrors) {
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
      << "the legacy stream";
  EXPECT_EQ(cuStreamBeginCapture(a_, static_cast<CUstreamCaptureMode>(3)),
            CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(a_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  begin(a_);
  EXPECT_EQ(cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamEndCapture(a_, nullptr), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphDestroy(end(a_)));
  EXPECT_EQ(cuStreamBeginCapture(reinterpret_cast<CUstream>(event_), CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CaptureTest, TheStreamOfAThreadCaptures) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  begin(CU_STREAM_PER_THREAD);
  TWIN_OK(scale(CU_STREAM_PER_THREAD, x.address, 4, 0));
  run(end(CU_STREAM_PER_THREAD));
  EXPECT_EQ(x.read(), Words(4, 4));
}

TEST_F(CaptureTest, ADestroyedStreamBreaksItsCapture) {
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  TWIN_OK(cuStreamDestroy(b_));
  EXPECT_EQ(end_badly(a_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  TWIN_OK(cuStreamCreate(&b_, CU_STREAM_NON_BLOCKING));
  begin(a_);
  TWIN_OK(cuEventRecord(event_, a_));
  TWIN_OK(cuStreamWaitEvent(b_, event_, 0));
  TWIN_OK(cuStreamDestroy(a_));
  EXPECT_EQ(status(b_), CU_STREAM_CAPTURE_STATUS_NONE) << "the capture cannot be ended any more";
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_GRAPHS), 0u);
  TWIN_OK(cuStreamCreate(&a_, CU_STREAM_NON_BLOCKING));
}

TEST_F(CaptureTest, ThreadsCaptureAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      if (cuCtxSetCurrent(gpu_.context) != CUDA_SUCCESS) ++wrong;
      CUstream mine = nullptr;
      CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
      (void)cuThreadExchangeStreamCaptureMode(&relaxed);
      if (cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) ++wrong;
      CUdeviceptr address = 0;
      if (cuMemAlloc(&address, 16) != CUDA_SUCCESS) ++wrong;
      std::uint32_t got[4] = {};
      for (int i = 0; i < 10; ++i) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        if (cuStreamBeginCapture(mine, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS ||
            cuMemsetD32Async(address, t, 4, mine) != CUDA_SUCCESS ||
            scale(mine, address, 2, 1) != CUDA_SUCCESS ||
            cuMemcpyDtoHAsync(got, address, 16, mine) != CUDA_SUCCESS ||
            cuStreamEndCapture(mine, &graph) != CUDA_SUCCESS ||
            cuGraphInstantiate(&exec, graph, 0) != CUDA_SUCCESS ||
            cuGraphLaunch(exec, mine) != CUDA_SUCCESS ||
            cuStreamSynchronize(mine) != CUDA_SUCCESS || cuGraphExecDestroy(exec) != CUDA_SUCCESS ||
            cuGraphDestroy(graph) != CUDA_SUCCESS)
          ++wrong;
        for (const std::uint32_t word : got)
          if (word != t * 2 + 1) ++wrong;
      }
      if (cuMemFree(address) != CUDA_SUCCESS || cuStreamDestroy(mine) != CUDA_SUCCESS) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace cuda_capture_test

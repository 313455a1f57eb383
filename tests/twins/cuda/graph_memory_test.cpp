// Stream-ordered memory of graphs.
#include "pools.h"

namespace cuda_pools_test {
namespace {

class GraphPoolTest : public PoolsTest {
 protected:
  GraphPoolTest() { TWIN_OK(cuGraphCreate(&graph_, 0)); }
  ~GraphPoolTest() override { (void)cuGraphDestroy(graph_); }

  CUgraphNode add_allocation(std::size_t bytes, CUdeviceptr* address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps = props();
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params));
    *address = params.dptr;
    return node;
  }
  CUgraphNode add_fill(CUdeviceptr address, std::uint32_t value, CUgraphNode after) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = address;
    params.elementSize = 4;
    params.value = value;
    params.width = 4;
    params.height = 1;
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddMemsetNode(&node, graph_, &after, 1, &params, nullptr));
    return node;
  }
  Words read(CUdeviceptr address) {
    Words back(4);
    TWIN_OK(cuMemcpyDtoHAsync(back.data(), address, 16, a_));
    TWIN_OK(cuStreamSynchronize(a_));
    return back;
  }
  CUgraph graph_ = nullptr;
};

TEST_F(GraphPoolTest, AGraphAllocatesUsesAndFrees) {
  CUdeviceptr address = 0;
  CUgraphNode node = add_allocation(64, &address);
  node = add_fill(address, 5, node);
  CUdeviceptr result = 0;
  TWIN_OK(cuMemAlloc(&result, 16));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = address;
  copy.dstDevice = result;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, &node, 1, &copy, nullptr));
  CUgraphNode freed = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, address));
  CUgraphNodeType type{};
  TWIN_OK(cuGraphNodeGetType(freed, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, address), CUDA_ERROR_INVALID_VALUE)
      << "freed twice";
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(read(result), Words(4, 5));
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE) << "the graph frees it";
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuMemFree(result));
}

TEST_F(GraphPoolTest, MemoryThatAGraphLeavesIsUsableUntilItIsFreed) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  add_fill(address, 8, node);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  EXPECT_EQ(cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE) << "no launch has made it";
  TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(used(), 512u);
  EXPECT_EQ(read(address), Words(4, 8));
  EXPECT_EQ(cuGraphLaunch(exec, a_), CUDA_ERROR_INVALID_VALUE) << "it is not freed";
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 1u);
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(read(address), Words(4, 8)) << "at the same address again";
  TWIN_OK(cuMemFree(address));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphPoolTest, AUseAfterTheFreeFaultsWhileTheGraphIsAlive) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuMemsetD32Async(address, 1, 4, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuMemsetD32Async(address, 2, 4, a_));
  EXPECT_EQ(cuStreamSynchronize(a_), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(GraphPoolTest, MemoryOutlivesItsGraphUntilItIsFreed) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  add_fill(address, 8, node);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuGraphDestroy(graph_));
  EXPECT_EQ(read(address), Words(4, 8));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 0u);
}

TEST_F(GraphPoolTest, AnotherGraphFreesTheMemory) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, nullptr, 0, address));
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, address), CUDA_ERROR_INVALID_VALUE)
      << "another graph frees it";
  CUgraphExec makes = nullptr, frees = nullptr;
  TWIN_OK(cuGraphInstantiate(&makes, graph_, 0));
  TWIN_OK(cuGraphInstantiate(&frees, second, 0));
  EXPECT_EQ(cuGraphLaunch(frees, a_), CUDA_ERROR_INVALID_VALUE) << "nothing to free";
  for (int i = 0; i < 3; ++i) {
    TWIN_OK(cuGraphLaunch(makes, a_));
    TWIN_OK(cuGraphLaunch(frees, a_));
  }
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  TWIN_OK(cuGraphExecDestroy(makes));
  TWIN_OK(cuGraphExecDestroy(frees));
  TWIN_OK(cuGraphDestroy(second));
}

TEST_F(GraphPoolTest, ALaunchThatFailsFreesNothing) {
  CUdeviceptr made = 0, missing = 0;
  add_allocation(64, &made);
  CUgraphExec makes = nullptr, frees = nullptr;
  TWIN_OK(cuGraphInstantiate(&makes, graph_, 0));
  const CUgraph launched = graph_;
  TWIN_OK(cuGraphCreate(&graph_, 0));
  add_allocation(64, &missing);  // of a graph that is never launched
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, nullptr, 0, made));
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, &node, 1, missing));
  TWIN_OK(cuGraphInstantiate(&frees, second, 0));
  TWIN_OK(cuGraphLaunch(makes, a_));
  EXPECT_EQ(cuGraphLaunch(frees, a_), CUDA_ERROR_INVALID_VALUE) << "one is not allocated";
  TWIN_OK(cuMemsetD32Async(made, 1, 16, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 512u);
  TWIN_OK(cuMemFreeAsync(made, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  for (const CUgraphExec exec : {makes, frees}) TWIN_OK(cuGraphExecDestroy(exec));
  for (const CUgraph graph : {launched, second}) TWIN_OK(cuGraphDestroy(graph));
}

/// Memory may be freed by a node again when no graph has the node that would have freed it.
TEST_F(GraphPoolTest, AFreeThatCameToNothingIsForgotten) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  CUgraphNode freed = nullptr;
  TWIN_OK(cuStreamBeginCapture(b_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  TWIN_OK(cuMemFreeAsync(address, b_));
  EXPECT_EQ(cuMemFreeAsync(address, b_), CUDA_ERROR_INVALID_VALUE) << "twice in a graph";
  CUgraph captured = nullptr;
  EXPECT_EQ(cuStreamEndCapture(b_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  TWIN_OK(cuGraphAddMemFreeNode(&freed, second, nullptr, 0, address));
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, second, nullptr, 0, address), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphDestroy(second));
  TWIN_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, graph_, &node, 1, address), CUDA_ERROR_INVALID_CONTEXT);
  TWIN_OK(cuCtxSetCurrent(gpu_.context));
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, &node, 1, address));
}

TEST_F(GraphPoolTest, AnInstanceMayFreeItsMemoryAtTheNextLaunch) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 512u);
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphPoolTest, GraphsWithMemoryHaveOneInstanceAndNoCopies) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  const CUgraphNode after = add_fill(address, 1, node);
  CUgraph other = nullptr;
  EXPECT_EQ(cuGraphClone(&other, graph_), CUDA_ERROR_NOT_SUPPORTED);
  TWIN_OK(cuGraphCreate(&other, 0));
  CUgraphNode child = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, other, nullptr, 0, graph_), CUDA_ERROR_NOT_SUPPORTED);
  TWIN_OK(cuGraphDestroy(other));
  EXPECT_EQ(cuGraphDestroyNode(after), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph_, &node, &after, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec first = nullptr, second = nullptr;
  TWIN_OK(cuGraphInstantiate(&first, graph_, 0));
  EXPECT_EQ(cuGraphInstantiate(&second, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphExecDestroy(first));
  TWIN_OK(cuGraphInstantiate(&second, graph_, 0));
  TWIN_OK(cuGraphExecDestroy(second));
}

TEST_F(GraphPoolTest, AFreeMustComeAfterTheAllocation) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  CUgraphNode freed = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, nullptr, 0, address));
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_EQ(params.hErrNode_out, freed);
  TWIN_OK(cuGraphAddDependencies(graph_, &node, &freed, nullptr, 1));
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphPoolTest, ParametersOfMemoryNodesAreChecked) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps = props();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE)
      << "0 bytes";
  params.bytesize = 8;
  params.poolProps.location.id = 9;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, 64), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr plain = allocate(64, a_);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, plain), CUDA_ERROR_INVALID_VALUE)
      << "no memory of a graph";
  TWIN_OK(cuMemFreeAsync(plain, a_));
  TWIN_OK(cuStreamSynchronize(a_));
}

TEST_F(GraphPoolTest, CaptureTurnsStreamOrderedMemoryIntoNodes) {
  TWIN_OK(cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuMemsetD32Async(address, 6, 4, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  EXPECT_EQ(used(), 0u) << "a capture allocates nothing";
  CUgraph captured = nullptr;
  TWIN_OK(cuStreamEndCapture(a_, &captured));
  std::vector<CUgraphNode> nodes(3);
  std::size_t count = 3;
  TWIN_OK(cuGraphGetNodes(captured, nodes.data(), &count));
  ASSERT_EQ(count, 3u);
  CUgraphNodeType type{};
  TWIN_OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  TWIN_OK(cuGraphNodeGetType(nodes[2], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, captured, 0));
  for (int i = 0; i < 2; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuGraphDestroy(captured));
  // Memory that no graph allocated cannot be freed in a capture.
  const CUdeviceptr plain = allocate(64, a_);
  TWIN_OK(cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemFreeAsync(plain, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamEndCapture(a_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  TWIN_OK(cuMemFreeAsync(plain, a_));
  TWIN_OK(cuStreamSynchronize(a_));
}

}  // namespace
}  // namespace cuda_pools_test

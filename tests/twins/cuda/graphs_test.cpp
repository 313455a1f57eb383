// Graphs made node by node, instantiated, updated and launched.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace cuda_graphs_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;

// x[i] = x[i] * k + c: the order of several of them shows in the result.
constexpr const char* kKernels = R"(
.visible .entry scale_add(.param .u64 p, .param .u32 k, .param .u32 c) {
  .reg .b64 %a; .reg .b32 %x, %k, %c, %t;
  ld.param.u64 %a, [p]; ld.param.u32 %k, [k]; ld.param.u32 %c, [c];
  mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;
  ld.global.u32 %x, [%a]; mad.lo.u32 %x, %x, %k, %c; st.global.u32 [%a], %x; ret;
}
.visible .entry other(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %t;
  ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;
  st.global.u32 [%a], 7; ret;
}
.visible .entry wild(.param .u64 p) {
  .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1; ret;
})";

class GraphsTest : public testing::Test {
 protected:
  GraphsTest() {
    TWIN_OK(cuModuleLoadData(&module_, twin_test::module(kKernels).c_str()));
    TWIN_OK(cuModuleGetFunction(&scale_add_, module_, "scale_add"));
    TWIN_OK(cuModuleGetFunction(&other_, module_, "other"));
    TWIN_OK(cuModuleGetFunction(&wild_, module_, "wild"));
    TWIN_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuGraphCreate(&graph_, 0));
  }
  ~GraphsTest() override {
    (void)cuGraphDestroy(graph_);
    (void)cuStreamDestroy(stream_);
    (void)cuModuleUnload(module_);
  }

  struct Args {
    CUdeviceptr p;
    std::uint32_t k, c;
    void* list[3] = {&p, &k, &c};
    Args(CUdeviceptr p_, std::uint32_t k_, std::uint32_t c_) : p(p_), k(k_), c(c_) {}
  };
  static CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, void** list,
                                               unsigned threads = 4) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = threads;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = list;
    return params;
  }
  CUgraphNode add_scale(CUdeviceptr p, std::uint32_t k, std::uint32_t c,
                        const std::vector<CUgraphNode>& after = {}) {
    Args args(p, k, c);
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), &params));
    return node;
  }
  CUgraphNode add_empty(const std::vector<CUgraphNode>& after = {}) {
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddEmptyNode(&node, graph_, after.data(), after.size()));
    return node;
  }
  static CUDA_MEMCPY3D copy_params(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = from;
    params.dstDevice = to;
    params.WidthInBytes = bytes;
    params.Height = params.Depth = 1;
    return params;
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
    return exec;
  }
  void run(CUgraphExec exec) {
    TWIN_OK(cuGraphLaunch(exec, stream_));
    TWIN_OK(cuStreamSynchronize(stream_));
  }
  void run_once() {
    const CUgraphExec exec = instantiate();
    run(exec);
    TWIN_OK(cuGraphExecDestroy(exec));
  }
  std::size_t count_nodes() const {
    std::size_t count = 0;
    TWIN_OK(cuGraphGetNodes(graph_, nullptr, &count));
    return count;
  }

  Gpu gpu_;
  CUmodule module_ = nullptr;
  CUfunction scale_add_ = nullptr, other_ = nullptr, wild_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
};

using Words = std::vector<std::uint32_t>;

TEST_F(GraphsTest, NodesRunInTheOrderOfTheirEdges) {
  const Buffer<std::uint32_t> x(Words{1, 2, 3, 4});
  const CUgraphNode first = add_scale(x.address, 3, 1);
  const CUgraphNode second = add_scale(x.address, 10, 5, {first});
  add_scale(x.address, 2, 7, {second});
  run_once();
  Words expected;
  for (std::uint32_t i = 1; i <= 4; ++i) expected.push_back(((i * 3 + 1) * 10 + 5) * 2 + 7);
  EXPECT_EQ(x.read(), expected);
}

TEST_F(GraphsTest, EdgesAgainstTheOrderOfAdditionDecide) {
  const Buffer<std::uint32_t> x(Words{1, 1, 1, 1});
  const CUgraphNode last = add_scale(x.address, 10, 0);
  const CUgraphNode first = add_scale(x.address, 1, 4);
  TWIN_OK(cuGraphAddDependencies(graph_, &first, &last, nullptr, 1));
  run_once();
  EXPECT_EQ(x.read(), Words(4, 50));
}

TEST_F(GraphsTest, EveryLaunchRunsAllNodesAgain) {
  const Buffer<std::uint32_t> x(Words(4, 0));
  add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 5; ++i) TWIN_OK(cuGraphLaunch(exec, stream_));
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(x.read(), Words(4, 31));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, AnInstanceKeepsItsNodesWhenTheGraphChanges) {
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

TEST_F(GraphsTest, AnInstanceMayBeDestroyedWhileItsLaunchIsQueued) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  add_scale(x.address, 2, 1);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, stream_));
  TWIN_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(x.read(), Words(4, 15));
}

TEST_F(GraphsTest, KernelParametersAreCopiedWhenTheNodeIsAdded) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  Args args(x.address, 5, 2);
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &params));
  args.k = 100;
  args.p = 0;
  run_once();
  EXPECT_EQ(x.read(), Words(4, 7));
}

TEST_F(GraphsTest, CopiesFillsAndHostFunctionsAreNodes) {
  const Buffer<std::uint32_t> from(Words(4, 0));
  const Buffer<std::uint32_t> to(Words(4, 9));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = from.address;
  fill.elementSize = 4;
  fill.value = 0x01020304;
  fill.width = 3;
  fill.height = 1;
  CUgraphNode filled = nullptr;
  TWIN_OK(cuGraphAddMemsetNode(&filled, graph_, nullptr, 0, &fill, nullptr));
  const CUDA_MEMCPY3D copy = copy_params(to.address, from.address, from.bytes());
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy, nullptr));
  std::atomic<int> calls{0};
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
  host.userData = &calls;
  CUgraphNode called = nullptr;
  TWIN_OK(cuGraphAddHostNode(&called, graph_, &copied, 1, &host));
  run_once();
  EXPECT_EQ(to.read(), (Words{0x01020304, 0x01020304, 0x01020304, 0}));
  EXPECT_EQ(calls, 1);
}

TEST_F(GraphsTest, FillsOfTwoDimensionsAndSmallElements) {
  const Buffer<std::uint8_t> x(32, std::uint8_t{1});
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = x.address + 2;
  fill.elementSize = 2;
  fill.value = 0xABCD;
  fill.width = 2;
  fill.height = 3;
  fill.pitch = 8;
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, nullptr));
  run_once();
  std::vector<std::uint8_t> expected(32, 1);
  for (const std::size_t row : {2u, 10u, 18u})
    for (const std::size_t i : {0u, 2u}) {
      expected[row + i] = 0xCD;
      expected[row + i + 1] = 0xAB;
    }
  EXPECT_EQ(x.read(), expected);
}

TEST_F(GraphsTest, CopiesOfPlanesReadAndWriteTheirPitches) {
  // 2 planes of 2 rows of 3 bytes, out of planes of 3 rows of 4 bytes, into planes of 2 rows of 5.
  std::vector<std::uint8_t> source(24);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i);
  const Buffer<std::uint8_t> from(source);
  const Buffer<std::uint8_t> to(20, std::uint8_t{255});
  CUDA_MEMCPY3D copy = copy_params(to.address, from.address, 3);
  copy.srcPitch = 4;
  copy.srcHeight = 3;
  copy.dstPitch = 5;
  copy.dstHeight = 2;
  copy.srcXInBytes = 1;
  copy.Height = copy.Depth = 2;
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr));
  run_once();
  std::vector<std::uint8_t> expected(20, 255);
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 2; ++y)
      for (std::size_t b = 0; b < 3; ++b)
        expected[z * 10 + y * 5 + b] = source[z * 12 + y * 4 + 1 + b];
  EXPECT_EQ(to.read(), expected);
}

TEST_F(GraphsTest, NodesOfEveryTypeSayTheirType) {
  const Buffer<std::uint32_t> x(Words(4, 0));
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  std::vector<CUgraphNode> nodes(4);
  nodes[0] = add_scale(x.address, 1, 0);
  nodes[1] = add_empty();
  TWIN_OK(cuGraphAddEventRecordNode(&nodes[2], graph_, nullptr, 0, event));
  TWIN_OK(cuGraphAddEventWaitNode(&nodes[3], graph_, nullptr, 0, event));
  const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_EMPTY,
                                      CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                      CU_GRAPH_NODE_TYPE_WAIT_EVENT};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    TWIN_OK(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, expected[i]) << i;
  }
  TWIN_OK(cuEventDestroy(event));
}

TEST_F(GraphsTest, QueriesListNodesRootsAndEdges) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty({a});
  const CUgraphNode c = add_empty({a});
  const CUgraphNode d = add_empty({b, c});
  std::vector<CUgraphNode> nodes(6, a);
  std::size_t count = nodes.size();
  TWIN_OK(cuGraphGetNodes(graph_, nodes.data(), &count));
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(nodes, (std::vector<CUgraphNode>{a, b, c, d, nullptr, nullptr}));
  count = 1;
  CUgraphNode root = nullptr;
  TWIN_OK(cuGraphGetRootNodes(graph_, &root, &count));
  EXPECT_EQ(root, a);
  count = 0;
  TWIN_OK(cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 4u);
  std::vector<CUgraphNode> from(4), to(4);
  TWIN_OK(cuGraphGetEdges(graph_, from.data(), to.data(), nullptr, &count));
  EXPECT_EQ(from, (std::vector<CUgraphNode>{a, a, b, c}));
  EXPECT_EQ(to, (std::vector<CUgraphNode>{b, c, d, d}));
  std::vector<CUgraphNode> near(2);
  count = 2;
  TWIN_OK(cuGraphNodeGetDependencies(d, near.data(), nullptr, &count));
  EXPECT_EQ(near, (std::vector<CUgraphNode>{b, c}));
  TWIN_OK(cuGraphNodeGetDependentNodes(a, near.data(), nullptr, &count));
  EXPECT_EQ(near, (std::vector<CUgraphNode>{b, c}));
  TWIN_OK(cuGraphNodeGetDependencies(a, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
}

TEST_F(GraphsTest, EdgesAreAddedAndRemovedOnce) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty();
  TWIN_OK(cuGraphAddDependencies(graph_, &a, &b, nullptr, 1));
  EXPECT_EQ(cuGraphAddDependencies(graph_, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph_, &a, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphRemoveDependencies(graph_, &a, &b, nullptr, 1));
  EXPECT_EQ(cuGraphRemoveDependencies(graph_, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {a, a};
  const CUgraphNode ends[] = {b, b};
  EXPECT_EQ(cuGraphAddDependencies(graph_, twice, ends, nullptr, 2), CUDA_ERROR_INVALID_VALUE);
  std::size_t count = 9;
  TWIN_OK(cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u) << "a refused list adds nothing";
}

TEST_F(GraphsTest, ProgrammaticEdgesAreBetweenKernelsAndOrderThem) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode first = add_scale(x.address, 1, 1);
  const CUgraphNode second = add_scale(x.address, 10, 0);
  const CUgraphNode empty = add_empty();
  CUgraphEdgeData data{};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  TWIN_OK(cuGraphAddDependencies(graph_, &first, &second, &data, 1));
  EXPECT_EQ(cuGraphAddDependencies(graph_, &first, &empty, &data, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphEdgeData wrong = data;
  wrong.from_port = 0;
  EXPECT_EQ(cuGraphAddDependencies(graph_, &second, &first, &wrong, 1), CUDA_ERROR_INVALID_VALUE);
  wrong = data;
  wrong.reserved[4] = 1;
  EXPECT_EQ(cuGraphAddDependencies(graph_, &second, &first, &wrong, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphNode from = nullptr, to = nullptr;
  CUgraphEdgeData got{};
  std::size_t count = 1;
  EXPECT_EQ(cuGraphGetEdges(graph_, &from, &to, nullptr, &count), CUDA_ERROR_LOSSY_QUERY);
  TWIN_OK(cuGraphGetEdges(graph_, &from, &to, &got, &count));
  EXPECT_EQ(got.from_port, 1);
  EXPECT_EQ(got.type, 1);
  EXPECT_EQ(cuGraphRemoveDependencies(graph_, &first, &second, nullptr, 1),
            CUDA_ERROR_INVALID_VALUE)
      << "the edge has data";
  run_once();
  EXPECT_EQ(x.read(), Words(4, 20));
}

TEST_F(GraphsTest, ACycleIsRefusedAtInstantiation) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty({a});
  TWIN_OK(cuGraphAddDependencies(graph_, &b, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_TRUE(params.hErrNode_out == a || params.hErrNode_out == b);
  TWIN_OK(cuGraphRemoveDependencies(graph_, &b, &a, nullptr, 1));
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  params.hUploadStream = stream_;
  TWIN_OK(cuGraphInstantiateWithParams(&exec, graph_, &params));
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  EXPECT_EQ(params.hErrNode_out, nullptr);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, ClonesAreIndependentAndKnowTheirOrigins) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  const CUgraphNode b = add_scale(x.address, 10, 0, {a});
  CUgraph copy = nullptr;
  TWIN_OK(cuGraphClone(&copy, graph_));
  CUgraphNode b_copy = nullptr;
  TWIN_OK(cuGraphNodeFindInClone(&b_copy, b, copy));
  EXPECT_NE(b_copy, b);
  TWIN_OK(cuGraphDestroyNode(b));
  EXPECT_EQ(cuGraphNodeFindInClone(&b_copy, b_copy, copy), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, copy, 0));
  TWIN_OK(cuGraphDestroy(copy));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 20));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, ChildGraphsRunBetweenTheirNeighbours) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  CUgraph child = nullptr;
  TWIN_OK(cuGraphCreate(&child, 0));
  Args args(x.address, 3, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
  CUgraphNode inner[2];
  TWIN_OK(cuGraphAddKernelNode(&inner[0], child, nullptr, 0, &params));
  args.k = 1;
  args.c = 5;
  TWIN_OK(cuGraphAddKernelNode(&inner[1], child, inner, 1, &params));
  const CUgraphNode before = add_scale(x.address, 1, 1);
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddChildGraphNode(&node, graph_, &before, 1, child));
  add_scale(x.address, 100, 0, {node});
  TWIN_OK(cuGraphDestroy(child));
  CUgraph copy = nullptr;
  TWIN_OK(cuGraphChildGraphNodeGetGraph(node, &copy));
  EXPECT_NE(copy, child);
  EXPECT_EQ(cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE) << "the node owns it";
  run_once();
  EXPECT_EQ(x.read(), Words(4, ((1 + 1) * 3 + 5) * 100));
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(before, &copy), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphDestroyNode(node));
  std::size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(copy, nullptr, &count), CUDA_ERROR_INVALID_VALUE)
      << "a child graph ends with its node";
}

TEST_F(GraphsTest, ChildGraphsOfChildGraphsEndSomewhere) {
  add_empty();
  CUresult code = CUDA_SUCCESS;
  int levels = 0;
  for (; levels < 200 && code == CUDA_SUCCESS; ++levels) {
    CUgraphNode node = nullptr;
    code = cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, graph_);
    if (code == CUDA_SUCCESS) code = cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, graph_);
  }
  EXPECT_EQ(code, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_GT(levels, 4);
}

TEST_F(GraphsTest, NodesOfAnyTypeAreAddedByOneFunction) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const Buffer<std::uint32_t> y(Words(4, 0));
  Args args(x.address, 2, 3);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = kernel_params(scale_add_, args.list);
  CUgraphNode kernel = nullptr;
  TWIN_OK(cuGraphAddNode(&kernel, graph_, nullptr, nullptr, 0, &params));
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyParams = copy_params(y.address, x.address, x.bytes());
  CUgraphNode copy = nullptr;
  TWIN_OK(cuGraphAddNode(&copy, graph_, &kernel, nullptr, 1, &params));
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = x.address;
  params.memset.elementSize = 4;
  params.memset.value = 77;
  params.memset.width = 1;
  params.memset.height = 1;
  CUgraphNode fill = nullptr;
  TWIN_OK(cuGraphAddNode(&fill, graph_, &copy, nullptr, 1, &params));
  run_once();
  EXPECT_EQ(y.read(), Words(4, 5));
  EXPECT_EQ(x.read(), (Words{77, 5, 5, 5}));
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  EXPECT_EQ(cuGraphAddNode(&fill, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  params.type = static_cast<CUgraphNodeType>(15);
  EXPECT_EQ(cuGraphAddNode(&fill, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  params.reserved0[1] = 1;
  EXPECT_EQ(cuGraphAddNode(&fill, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  CUgraphEdgeData data{};
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  params.reserved0[1] = 0;
  EXPECT_EQ(cuGraphAddNode(&fill, graph_, &kernel, &data, 1, &params), CUDA_ERROR_INVALID_VALUE)
      << "a programmatic edge to a node that is no kernel";
}

TEST_F(GraphsTest, ParametersOfKernelNodesAreReturnedAndChanged) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode node = add_scale(x.address, 6, 2);
  CUDA_KERNEL_NODE_PARAMS got{};
  TWIN_OK(cuGraphKernelNodeGetParams(node, &got));
  EXPECT_EQ(got.func, scale_add_);
  EXPECT_EQ(got.blockDimX, 4u);
  EXPECT_EQ(got.gridDimZ, 1u);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(got.kernelParams[0]), x.address);
  EXPECT_EQ(*static_cast<std::uint32_t*>(got.kernelParams[1]), 6u);
  EXPECT_EQ(*static_cast<std::uint32_t*>(got.kernelParams[2]), 2u);
  Args args(x.address, 7, 1);
  got.kernelParams = args.list;
  got.blockDimX = 2;
  TWIN_OK(cuGraphKernelNodeSetParams(node, &got));
  run_once();
  EXPECT_EQ(x.read(), (Words{8, 8, 1, 1}));
  got.blockDimX = 4096;
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &got), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphKernelNodeGetParams(add_empty(), &got), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, ParametersOfCopiesFillsAndHostFunctionsAreReturnedAndChanged) {
  const Buffer<std::uint32_t> x(Words{1, 2, 3, 4});
  const Buffer<std::uint32_t> y(Words(4, 0));
  CUDA_MEMCPY3D copy = copy_params(y.address, x.address, 4);
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, nullptr, 0, &copy, nullptr));
  CUDA_MEMCPY3D got{};
  TWIN_OK(cuGraphMemcpyNodeGetParams(copied, &got));
  EXPECT_EQ(got.srcDevice, x.address);
  EXPECT_EQ(got.dstDevice, y.address);
  EXPECT_EQ(got.WidthInBytes, 4u);
  got.WidthInBytes = 8;
  TWIN_OK(cuGraphMemcpyNodeSetParams(copied, &got));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = x.address;
  fill.elementSize = 4;
  fill.value = 5;
  fill.width = fill.height = 1;
  CUgraphNode filled = nullptr;
  TWIN_OK(cuGraphAddMemsetNode(&filled, graph_, &copied, 1, &fill, nullptr));
  CUDA_MEMSET_NODE_PARAMS fill_got{};
  TWIN_OK(cuGraphMemsetNodeGetParams(filled, &fill_got));
  EXPECT_EQ(fill_got.value, 5u);
  EXPECT_EQ(fill_got.width, 1u);
  fill_got.value = 6;
  TWIN_OK(cuGraphMemsetNodeSetParams(filled, &fill_got));
  int calls = 0;
  CUDA_HOST_NODE_PARAMS host{[](void* user) { *static_cast<int*>(user) += 1; }, &calls};
  CUgraphNode called = nullptr;
  TWIN_OK(cuGraphAddHostNode(&called, graph_, &filled, 1, &host));
  CUDA_HOST_NODE_PARAMS host_got{};
  TWIN_OK(cuGraphHostNodeGetParams(called, &host_got));
  EXPECT_EQ(host_got.userData, &calls);
  host_got.fn = [](void* user) { *static_cast<int*>(user) += 10; };
  TWIN_OK(cuGraphHostNodeSetParams(called, &host_got));
  run_once();
  EXPECT_EQ(y.read(), (Words{1, 2, 0, 0}));
  EXPECT_EQ(x.read(), (Words{6, 2, 3, 4}));
  EXPECT_EQ(calls, 10);
}

TEST_F(GraphsTest, WrongParametersAreRefusedWhenTheNodeIsAdded) {
  const Buffer<std::uint32_t> x(Words(4, 0));
  CUgraphNode node = nullptr;
  Args args(x.address, 1, 1);
  CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(scale_add_, args.list);
  kernel.gridDimY = 0;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_ERROR_INVALID_VALUE);
  kernel = kernel_params(nullptr, args.list);
  EXPECT_NE(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D copy = copy_params(x.address, x.address, 0);
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = x.address;
  fill.elementSize = 3;
  fill.width = fill.height = 1;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  fill.elementSize = 4;
  fill.dst = x.address + 2;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  fill.dst = x.address;
  fill.width = 2;
  fill.height = 2;
  fill.pitch = 4;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_HOST_NODE_PARAMS host{};
  EXPECT_EQ(cuGraphAddHostNode(&node, graph_, nullptr, 0, &host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph_, nullptr, 0, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(count_nodes(), 0u);
}

TEST_F(GraphsTest, HandlesOfOthersAndOfTheDeadAreRefused) {
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  CUgraphNode foreign = nullptr;
  TWIN_OK(cuGraphAddEmptyNode(&foreign, second, nullptr, 0));
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode own = add_empty();
  const CUgraphNode twice[] = {own, own};
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, twice, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph_, &own, &foreign, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphDestroy(second));
  EXPECT_EQ(cuGraphDestroy(second), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeType type{};
  EXPECT_EQ(cuGraphNodeGetType(foreign, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(foreign), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, second, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, second, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&exec, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(nullptr, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 1u << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  // Numbers that are handles of something else.
  EXPECT_EQ(cuGraphDestroy(reinterpret_cast<CUgraph>(stream_)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(reinterpret_cast<CUgraphNode>(graph_)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(&second, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, ADestroyedNodeTakesItsEdgesWithIt) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty({a});
  const CUgraphNode c = add_empty({b});
  TWIN_OK(cuGraphDestroyNode(b));
  std::size_t count = 9;
  TWIN_OK(cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  std::vector<CUgraphNode> roots(2);
  count = 2;
  TWIN_OK(cuGraphGetRootNodes(graph_, roots.data(), &count));
  EXPECT_EQ(roots, (std::vector<CUgraphNode>{a, c}));
}

TEST_F(GraphsTest, ParametersOfAnInstanceChangeForLaterLaunchesOnly) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode node = add_scale(x.address, 1, 1);
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphLaunch(exec, stream_));
  Args args(x.address, 10, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
  TWIN_OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 20));
  // The function may change, too.
  params = kernel_params(other_, args.list);
  TWIN_OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 7));
  CUgraphNode stranger = add_empty();
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, stranger, &params), CUDA_ERROR_INVALID_VALUE)
      << "added after the instantiation";
  TWIN_OK(cuGraphDestroyNode(node));
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, node, &params), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, CopiesAndFillsOfAnInstanceChangeWithinTheirKind) {
  const Buffer<std::uint32_t> x(Words{1, 2, 3, 4});
  const Buffer<std::uint32_t> y(Words(4, 0));
  std::uint32_t host = 42;
  CUDA_MEMCPY3D copy = copy_params(y.address, x.address, 16);
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, nullptr, 0, &copy, nullptr));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = x.address;
  fill.elementSize = 4;
  fill.width = 2;
  fill.height = 1;
  CUgraphNode filled = nullptr;
  TWIN_OK(cuGraphAddMemsetNode(&filled, graph_, &copied, 1, &fill, nullptr));
  CUDA_MEMSET_NODE_PARAMS square = fill;
  square.height = 2;
  square.pitch = 8;
  square.width = 1;
  CUgraphNode squared = nullptr;
  TWIN_OK(cuGraphAddMemsetNode(&squared, graph_, &filled, 1, &square, nullptr));
  const CUgraphExec exec = instantiate();

  copy = copy_params(y.address + 4, x.address, 8);
  TWIN_OK(cuGraphExecMemcpyNodeSetParams(exec, copied, &copy, nullptr));
  CUDA_MEMCPY3D wrong = copy;
  wrong.srcMemoryType = CU_MEMORYTYPE_HOST;
  wrong.srcHost = &host;
  wrong.WidthInBytes = 4;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(exec, copied, &wrong, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "host memory instead of the device's";
  wrong = copy;
  wrong.Height = 2;
  wrong.WidthInBytes = 4;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(exec, copied, &wrong, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "two dimensions";
  fill.value = 9;
  fill.width = 1;
  TWIN_OK(cuGraphExecMemsetNodeSetParams(exec, filled, &fill, nullptr));
  square.value = 8;
  TWIN_OK(cuGraphExecMemsetNodeSetParams(exec, squared, &square, nullptr));
  square.width = 2;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, squared, &square, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, copied, &fill, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "another type of node";
  run(exec);
  EXPECT_EQ(y.read(), (Words{0, 1, 2, 0}));
  EXPECT_EQ(x.read(), (Words{8, 2, 8, 4}));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, HostFunctionsAndChildGraphsOfAnInstanceChange) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  int calls = 0;
  CUDA_HOST_NODE_PARAMS host{[](void* user) { *static_cast<int*>(user) += 1; }, &calls};
  CUgraphNode called = nullptr;
  TWIN_OK(cuGraphAddHostNode(&called, graph_, nullptr, 0, &host));
  CUgraph child = nullptr;
  TWIN_OK(cuGraphCreate(&child, 0));
  Args args(x.address, 1, 5);
  CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
  CUgraphNode inner = nullptr;
  TWIN_OK(cuGraphAddKernelNode(&inner, child, nullptr, 0, &params));
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
  const CUgraphExec exec = instantiate();
  host.fn = [](void* user) { *static_cast<int*>(user) += 100; };
  TWIN_OK(cuGraphExecHostNodeSetParams(exec, called, &host));
  args.c = 50;
  TWIN_OK(cuGraphKernelNodeSetParams(inner, &params));
  TWIN_OK(cuGraphExecChildGraphNodeSetParams(exec, node, child));
  run(exec);
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(x.read(), Words(4, 51));
  CUgraphNode more = nullptr;
  TWIN_OK(cuGraphAddEmptyNode(&more, child, &inner, 1));
  EXPECT_EQ(cuGraphExecChildGraphNodeSetParams(exec, node, child), CUDA_ERROR_INVALID_VALUE);
  // A node of the node's own copy is a node of the instance, too.
  CUgraph copy = nullptr;
  TWIN_OK(cuGraphChildGraphNodeGetGraph(node, &copy));
  std::size_t count = 1;
  CUgraphNode inner_copy = nullptr;
  TWIN_OK(cuGraphGetNodes(copy, &inner_copy, &count));
  args.c = 1000;
  TWIN_OK(cuGraphExecKernelNodeSetParams(exec, inner_copy, &params));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 1051));
  TWIN_OK(cuGraphDestroy(child));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, DisabledNodesAreLeftOut) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  const CUgraphNode b = add_scale(x.address, 10, 0, {a});
  const CUgraphNode empty = add_empty({b});
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphNodeSetEnabled(exec, a, 0));
  unsigned enabled = 9;
  TWIN_OK(cuGraphNodeGetEnabled(exec, a, &enabled));
  EXPECT_EQ(enabled, 0u);
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 10));
  TWIN_OK(cuGraphNodeSetEnabled(exec, a, 1));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 110));
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, empty, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphExecDestroy(exec));
}

class GraphUpdateTest : public GraphsTest {
 protected:
  /// A second graph beside graph_.
  GraphUpdateTest() { TWIN_OK(cuGraphCreate(&next_, 0)); }
  ~GraphUpdateTest() override { (void)cuGraphDestroy(next_); }
  template <class Body>
  void in_next(Body body) {
    std::swap(graph_, next_);
    body();
    std::swap(graph_, next_);
  }
  CUresult update(CUgraphExec exec) { return cuGraphExecUpdate(exec, next_, &info_); }

  CUgraph next_ = nullptr;
  CUgraphExecUpdateResultInfo info_{};
};

TEST_F(GraphUpdateTest, AnEqualTopologyTakesOverAllParameters) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  add_scale(x.address, 2, 0, {a});
  const CUgraphExec exec = instantiate();
  in_next([&] {
    const CUgraphNode first = add_scale(x.address, 3, 0);
    add_scale(x.address, 1, 4, {first});
  });
  TWIN_OK(update(exec));
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 7));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, NodesArePairedByTheirEdgesNotByTheirOrder) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const Buffer<std::uint32_t> y(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  CUDA_MEMCPY3D copy = copy_params(y.address, x.address, 16);
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, &a, 1, &copy, nullptr));
  const CUgraphExec exec = instantiate();
  in_next([&] {  // the copy is added first
    CUgraphNode later = nullptr;
    TWIN_OK(cuGraphAddMemcpyNode(&later, graph_, nullptr, 0, &copy, nullptr));
    const CUgraphNode first = add_scale(x.address, 5, 0);
    TWIN_OK(cuGraphAddDependencies(graph_, &first, &later, nullptr, 1));
  });
  TWIN_OK(update(exec));
  run(exec);
  EXPECT_EQ(y.read(), Words(4, 5));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, AnotherNumberOfNodesIsAChangedTopology) {
  add_empty();
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info_.errorNode, nullptr);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, AnotherEdgeIsAChangedTopology) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty({a});
  add_empty({b});
  const CUgraphExec exec = instantiate();
  CUgraphNode last = nullptr;
  in_next([&] {
    const CUgraphNode first = add_empty();
    const CUgraphNode second = add_empty({first});
    last = add_empty({first, second});
  });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info_.errorNode, last);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, MoreLastNodesAreAChangedTopology) {
  const CUgraphNode a = add_empty();
  add_empty({a});
  const CUgraphExec exec = instantiate();
  CUgraphNode second = nullptr;
  in_next([&] {
    add_empty();
    second = add_empty();
  });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info_.errorNode, second);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, DependenciesThatCrossAreAChangedTopology) {
  const CUgraphNode a = add_empty();
  const CUgraphNode b = add_empty();
  add_empty({a, b});
  add_empty({a, b});
  const CUgraphExec exec = instantiate();
  CUgraphNode other[4] = {};
  in_next([&] {
    other[0] = add_empty();
    other[1] = add_empty();
    other[2] = add_empty({other[0], other[1]});
    other[3] = add_empty({other[1], other[0]});
  });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info_.errorNode, other[3]);
  EXPECT_EQ(info_.errorFromNode, other[1]);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, AnotherTypeOfNodeIsRefusedAndNothingChanges) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const CUgraphNode a = add_scale(x.address, 1, 1);
  add_scale(x.address, 10, 0, {a});
  const CUgraphExec exec = instantiate();
  CUgraphNode wrong = nullptr;
  in_next([&] {
    wrong = add_empty();
    add_scale(x.address, 77, 7, {wrong});
  });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info_.errorNode, wrong);
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 20));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, OtherMemoryForACopyIsAChangedParameter) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  std::uint32_t host[4] = {};
  CUDA_MEMCPY3D copy = copy_params(x.address, x.address + 8, 8);
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr));
  const CUgraphExec exec = instantiate();
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  in_next([&] { TWIN_OK(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr)); });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  EXPECT_EQ(info_.errorNode, node);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, ChildGraphsAreUpdatedInside) {
  const Buffer<std::uint32_t> x(Words(4, 1));
  const auto with_child = [&](std::uint32_t c, bool extra) {
    CUgraph child = nullptr;
    TWIN_OK(cuGraphCreate(&child, 0));
    Args args(x.address, 1, c);
    const CUDA_KERNEL_NODE_PARAMS params = kernel_params(scale_add_, args.list);
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddKernelNode(&node, child, nullptr, 0, &params));
    if (extra) TWIN_OK(cuGraphAddEmptyNode(&node, child, nullptr, 0));
    TWIN_OK(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
    TWIN_OK(cuGraphDestroy(child));
    return node;
  };
  with_child(1, false);
  const CUgraphExec exec = instantiate();
  CUgraphNode next_node = nullptr;
  in_next([&] { next_node = with_child(30, false); });
  TWIN_OK(update(exec));
  run(exec);
  EXPECT_EQ(x.read(), Words(4, 31));
  TWIN_OK(cuGraphDestroyNode(next_node));
  in_next([&] { with_child(500, true); });
  EXPECT_EQ(update(exec), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdateTest, HandlesThatAreNoneAreInvalidValues) {
  EXPECT_EQ(cuGraphExecUpdate(nullptr, graph_, &info_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(info_.result, CU_GRAPH_EXEC_UPDATE_ERROR);
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(cuGraphExecUpdate(exec, nullptr, &info_), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, ThreadedLaunchesOfOneInstanceNeverOverlap) {
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

TEST_F(GraphsTest, IndependentNodesRunInAnOrderThatTheSeedPicks) {
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

TEST_F(GraphsTest, EventsInGraphsAreRecordedAndWaitedFor) {
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

TEST_F(GraphsTest, AWaitInAGraphDoesNotHoldUpTheNodeThatEndsIt) {
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

TEST_F(GraphsTest, ALaunchOfNoNodesIsOrderedWorkAllTheSame) {
  const CUgraphExec exec = instantiate();
  TWIN_OK(cuGraphUpload(exec, stream_));
  run(exec);
  cuuint64_t flags = 9;
  TWIN_OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 0u);
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphsTest, AnErrorInANodeIsALateErrorOfTheLaunch) {
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

TEST_F(GraphsTest, FaultsOfInstantiationAndLaunchAreAsDocumented) {
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

TEST_F(GraphsTest, NodesWithoutAPathBetweenThemRace) {
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

TEST_F(GraphsTest, WorkAfterALaunchIsOrderedAfterAllItsNodes) {
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

TEST_F(GraphsTest, LaunchesOfOneInstanceInTwoStreamsAreOrdered) {
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

TEST_F(GraphsTest, ManyNodesOfARandomGraphRunEachAfterItsDependencies) {
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

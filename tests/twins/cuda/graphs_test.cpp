// Graphs made node by node: nodes, edges, parameters, copies.
#include <atomic>

#include "graphs.h"

namespace cuda_graphs_test {
namespace {

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
  count = 9;
  TWIN_OK(cuGraphNodeGetDependentNodes(a, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  TWIN_OK(cuGraphNodeGetDependencies(c, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
}

}  // namespace
}  // namespace cuda_graphs_test

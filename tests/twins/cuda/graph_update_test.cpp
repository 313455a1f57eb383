// Executable graphs that change.

#include "graphs.h"

namespace cuda_graphs_test {
namespace {

class GraphExecTest : public GraphsTest {};

TEST_F(GraphExecTest, ParametersOfAnInstanceChangeForLaterLaunchesOnly) {
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

TEST_F(GraphExecTest, CopiesAndFillsOfAnInstanceChangeWithinTheirKind) {
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

TEST_F(GraphExecTest, HostFunctionsAndChildGraphsOfAnInstanceChange) {
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

TEST_F(GraphExecTest, DisabledNodesAreLeftOut) {
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

}  // namespace
}  // namespace cuda_graphs_test

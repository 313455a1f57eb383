// Functions in the forms of drivers before their parameters changed. Versions and parameters are
// those of the vendor's cudaTypedefs.h.
#include <array>
#include <cstring>

#include "graphs.h"

namespace old_forms_test {
namespace {

using cuda_graphs_test::GraphsTest;
using cuda_graphs_test::Words;
using twin_test::Buffer;

struct OldForm {
  const char* name;
  int first, newer;  ///< the versions that have it as their newest form: from `first` below `newer`
};
constexpr OldForm kForms[] = {
    {"cuGraphAddKernelNode", 10000, 12000},
    {"cuGraphKernelNodeGetParams", 10000, 12000},
    {"cuGraphKernelNodeSetParams", 10000, 12000},
    {"cuGraphExecKernelNodeSetParams", 10010, 12000},
    {"cuGraphInstantiate", 11000, 12000},
    {"cuGraphExecUpdate", 10020, 12000},
    {"cuGraphAddDependencies", 10000, 12030},
    {"cuGraphRemoveDependencies", 10000, 12030},
    {"cuGraphGetEdges", 10000, 12030},
    {"cuGraphNodeGetDependencies", 10000, 12030},
    {"cuGraphNodeGetDependentNodes", 10000, 12030},
    {"cuGraphAddNode", 12020, 12030},
    {"cuStreamGetCaptureInfo", 10010, 11030},
    {"cuStreamUpdateCaptureDependencies", 11030, 12030},
    {"cuStreamWriteValue32", 8000, 11070},
    {"cuStreamWaitValue32", 8000, 11070},
    {"cuStreamWriteValue64", 9000, 11070},
    {"cuStreamWaitValue64", 9000, 11070},
};

void* find(const char* name, int version) {
  void* found = nullptr;
  cuda_twin_set("CUDA_TWIN_DRIVER", "13000");
  (void)cuGetProcAddress(name, &found, version, 0, nullptr);
  return found;
}

class OldForms : public GraphsTest {
 protected:
  /// The function that a program finds with this version. The driver is of this version after that.
  template <class Form>
  static Form old(const char* name, int version = 11000) {
    void* const found = find(name, version);
    EXPECT_NE(found, nullptr) << name;
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DRIVER", std::to_string(version).c_str()), 1);
    return reinterpret_cast<Form>(found);
  }
  // Types of the older forms.
  using AddKernel = CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const void*);
  using GetKernel = CUresult (*)(CUgraphNode, void*);
  using SetKernel = CUresult (*)(CUgraphNode, const void*);
  using SetExecKernel = CUresult (*)(CUgraphExec, CUgraphNode, const void*);
  using Instantiate = CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);
  using Update = CUresult (*)(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*);
  using EditEdges = CUresult (*)(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t);
  using ListEdges = CUresult (*)(CUgraph, CUgraphNode*, CUgraphNode*, size_t*);
  using Neighbours = CUresult (*)(CUgraphNode, CUgraphNode*, size_t*);
  using AddNode = CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                               CUgraphNodeParams*);
  using CaptureInfo = CUresult (*)(CUstream, CUstreamCaptureStatus*, cuuint64_t*);
  using SetTails = CUresult (*)(CUstream, CUgraphNode*, size_t, unsigned);
  using Value32 = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  using Value64 = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned);

  CUgraph capture_scale(CUdeviceptr p, std::uint32_t k, std::uint32_t c) {
    CUgraph graph = nullptr;
    Args args(p, k, c);
    TWIN_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    TWIN_OK(cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, stream_, args.list, nullptr));
    TWIN_OK(cuStreamEndCapture(stream_, &graph));
    return graph;
  }
};

/// The parameters of a kernel node in CUDA 11.0, 56 bytes, and a guard behind them.
struct OldParams {
  CUfunction func;
  unsigned grid[3], block[3], shared;
  void** list;
  void** extra;
};
static_assert(sizeof(OldParams) == 56);
struct Surrounded {
  OldParams params;
  std::array<std::uint64_t, 2> behind = {0x1111, 0x2222};
};
Surrounded params_of(CUfunction function, void** list) {
  return {{function, {1, 1, 1}, {4, 1, 1}, 0, list, nullptr}};
}

TEST_F(OldForms, AreFoundForTheVersionsThatHaveThem) {
  for (const OldForm& form : kForms) {
    void* const found = find(form.name, form.first);
    EXPECT_NE(found, nullptr) << form.name;
    EXPECT_EQ(find(form.name, form.newer - 10), found) << form.name;
    EXPECT_NE(find(form.name, form.newer), found) << form.name;
    EXPECT_NE(find(form.name, form.first - 10), found) << form.name;
  }
}

TEST_F(OldForms, AGraphIsCapturedLaunchedAndUpdatedOn11) {
  const Buffer<std::uint32_t> x(Words{1, 2, 3, 4});
  const auto instantiate = old<Instantiate>("cuGraphInstantiate");
  const auto change = old<Update>("cuGraphExecUpdate");
  const CUgraph first = capture_scale(x.address, 2, 1);
  const CUgraph second = capture_scale(x.address, 1, 100);
  CUgraphExec exec = nullptr;
  std::array<char, 8> log = {'?', '?'};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, first, 0), CUDA_ERROR_NOT_FOUND);  // 11.4
  TWIN_OK(instantiate(&exec, first, &node, log.data(), log.size()));
  EXPECT_EQ(node, nullptr);
  EXPECT_STREQ(log.data(), "");
  run(exec);
  EXPECT_EQ(x.read(), (Words{3, 5, 7, 9}));
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
  TWIN_OK(change(exec, second, &node, &result));
  EXPECT_EQ(result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  run(exec);
  EXPECT_EQ(x.read(), (Words{103, 105, 107, 109}));
  EXPECT_EQ(change(exec, graph_, &node, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(change(exec, graph_, nullptr, nullptr), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(cuda_twin_count_calls("cuGraphExecUpdate"), 3u);
  EXPECT_EQ(cuda_twin_count_calls("cuGraphExecUpdate_v2"), 0u);
  for (const CUgraph graph : {first, second}) TWIN_OK(cuGraphDestroy(graph));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(OldForms, KernelNodesHaveTheirFirst56Bytes) {
  const Buffer<std::uint32_t> x(Words{1, 2, 3, 4});
  const auto add = old<AddKernel>("cuGraphAddKernelNode");
  const auto get = old<GetKernel>("cuGraphKernelNodeGetParams");
  const auto set = old<SetKernel>("cuGraphKernelNodeSetParams");
  const auto set_exec = old<SetExecKernel>("cuGraphExecKernelNodeSetParams");
  Args args(x.address, 2, 1), later(x.address, 3, 0), last(x.address, 1, 5);
  const Surrounded given = params_of(scale_add_, args.list);
  CUgraphNode node = nullptr;
  TWIN_OK(add(&node, graph_, nullptr, 0, &given));
  Surrounded read{};
  TWIN_OK(get(node, &read));
  EXPECT_EQ(read.params.func, scale_add_);
  ASSERT_NE(read.params.list, nullptr);
  EXPECT_EQ(read.params.block[0], 4u);
  EXPECT_EQ(*static_cast<std::uint32_t*>(read.params.list[1]), 2u);
  EXPECT_EQ(read.behind, given.behind);
  const Surrounded changed = params_of(scale_add_, later.list);
  TWIN_OK(set(node, &changed));
  CUgraphExec exec = nullptr;
  TWIN_OK(old<Instantiate>("cuGraphInstantiate")(&exec, graph_, nullptr, nullptr, 0));
  run(exec);
  EXPECT_EQ(x.read(), (Words{3, 6, 9, 12}));
  const Surrounded final_one = params_of(scale_add_, last.list);
  TWIN_OK(set_exec(exec, node, &final_one));
  run(exec);
  EXPECT_EQ(x.read(), (Words{8, 11, 14, 17}));
  for (const CUresult code : {add(&node, graph_, nullptr, 0, nullptr), get(node, nullptr),
                              set(node, nullptr), set_exec(exec, node, nullptr)}) {
    EXPECT_EQ(code, CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_NE(std::string(cuda_twin_last_message()).find("cuGraphExecKernelNodeSetParams: "),
            std::string::npos)
      << cuda_twin_last_message();
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(OldForms, EdgesHaveNoData) {
  const CUgraphNode a = add_empty(), b = add_empty(), c = add_empty();
  const CUgraphNode from[] = {a, a}, to[] = {b, c};
  const auto add = old<EditEdges>("cuGraphAddDependencies");
  const auto remove = old<EditEdges>("cuGraphRemoveDependencies");
  const auto edges = old<ListEdges>("cuGraphGetEdges");
  const auto before = old<Neighbours>("cuGraphNodeGetDependencies");
  const auto after = old<Neighbours>("cuGraphNodeGetDependentNodes");
  TWIN_OK(add(graph_, from, to, 2));
  CUgraphNode first[2] = {}, second[2] = {};
  size_t count = 2;
  TWIN_OK(edges(graph_, first, second, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(first[1], a);
  EXPECT_EQ(second[1], c);
  TWIN_OK(remove(graph_, from, to, 1));
  count = 2;
  TWIN_OK(after(a, first, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(first[0], c);
  count = 2;
  TWIN_OK(before(c, first, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(first[0], a);
  EXPECT_EQ(remove(graph_, from, to, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(OldForms, InstantiationNamesTheNodeAndTheReason) {
  const CUgraphNode a = add_empty(), b = add_empty({a});
  TWIN_OK(cuGraphAddDependencies(graph_, &b, &a, nullptr, 1));
  const auto instantiate = old<Instantiate>("cuGraphInstantiate");
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  std::array<char, 200> log{};
  EXPECT_EQ(instantiate(&exec, graph_, &node, log.data(), log.size()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(node == a || node == b);
  EXPECT_NE(std::string(log.data()).find("cycle"), std::string::npos) << log.data();
  log = {'?', '?', '?', '?'};
  EXPECT_EQ(instantiate(&exec, graph_, nullptr, log.data(), 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(std::strlen(log.data()), 2u);
  EXPECT_EQ(log[3], '?');
  EXPECT_EQ(instantiate(&exec, graph_, nullptr, log.data(), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(OldForms, NodesOfAnyKindAndCaptureDependencies) {
  const auto add = old<AddNode>("cuGraphAddNode", 12020);
  const CUgraphNode a = add_empty();
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode b = nullptr;
  TWIN_OK(add(&b, graph_, &a, 1, &params));
  size_t count = 0;
  TWIN_OK(old<Neighbours>("cuGraphNodeGetDependencies")(b, nullptr, &count));
  EXPECT_EQ(count, 1u);

  const Buffer<std::uint32_t> x(Words{0});
  const auto ask = old<CaptureInfo>("cuStreamGetCaptureInfo");
  const auto replace = old<SetTails>("cuStreamUpdateCaptureDependencies", 11030);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  cuuint64_t id = 0;
  TWIN_OK(ask(stream_, &status, &id));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  TWIN_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  TWIN_OK(ask(stream_, &status, &id));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0u);
  TWIN_OK(cuMemsetD32Async(x.address, 1, 1, stream_));
  TWIN_OK(replace(stream_, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  TWIN_OK(cuMemsetD32Async(x.address, 2, 1, stream_));
  CUgraph graph = nullptr;
  TWIN_OK(cuStreamEndCapture(stream_, &graph));
  size_t roots = 0;
  TWIN_OK(cuGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(roots, 2u);  // the second fill does not follow the first one
  TWIN_OK(cuGraphDestroy(graph));
}

TEST_F(OldForms, StreamsWriteAndWaitForValues) {
  const Buffer<std::uint64_t> x(std::vector<std::uint64_t>{0, 0});
  const auto write32 = old<Value32>("cuStreamWriteValue32");
  const auto wait32 = old<Value32>("cuStreamWaitValue32");
  const auto write64 = old<Value64>("cuStreamWriteValue64");
  const auto wait64 = old<Value64>("cuStreamWaitValue64");
  TWIN_OK(write32(stream_, x.address, 5, 0));
  TWIN_OK(wait32(stream_, x.address, 5, CU_STREAM_WAIT_VALUE_EQ));
  TWIN_OK(write64(stream_, x.address + 8, std::uint64_t{1} << 40, 0));
  TWIN_OK(wait64(stream_, x.address + 8, std::uint64_t{1} << 40, CU_STREAM_WAIT_VALUE_AND));
  TWIN_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(x.read(), (std::vector<std::uint64_t>{5, std::uint64_t{1} << 40}));
  EXPECT_EQ(write64(stream_, x.address + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace old_forms_test

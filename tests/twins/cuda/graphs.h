// A stream, kernels and a graph for tests of graphs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace cuda_graphs_test {

using twin_test::Buffer;
using twin_test::Gpu;
using Words = std::vector<std::uint32_t>;

// x[i] = x[i] * k + c: the order of several of them shows in the result.
inline constexpr const char* kKernels = R"(
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

}  // namespace cuda_graphs_test

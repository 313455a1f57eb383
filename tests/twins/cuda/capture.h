// Four streams, two events and a kernel, for tests of capture.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support.h"

namespace cuda_capture_test {

using twin_test::Buffer;
using twin_test::Gpu;
using Words = std::vector<std::uint32_t>;

inline constexpr const char* kKernels = R"(
.visible .entry scale_add(.param .u64 p, .param .u32 k, .param .u32 c) {
  .reg .b64 %a; .reg .b32 %x, %k, %c, %t;
  ld.param.u64 %a, [p]; ld.param.u32 %k, [k]; ld.param.u32 %c, [c];
  mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;
  ld.global.u32 %x, [%a]; mad.lo.u32 %x, %x, %k, %c; st.global.u32 [%a], %x; ret;
})";

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    TWIN_OK(cuModuleLoadData(&module_, twin_test::module(kKernels).c_str()));
    TWIN_OK(cuModuleGetFunction(&scale_add_, module_, "scale_add"));
    for (CUstream* stream : {&a_, &b_, &c_})
      TWIN_OK(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuStreamCreate(&blocking_, CU_STREAM_DEFAULT));
    TWIN_OK(cuEventCreate(&event_, 0));
    TWIN_OK(cuEventCreate(&second_event_, 0));
  }
  ~CaptureTest() override {
    for (CUstream stream : {a_, b_, c_, blocking_}) (void)cuStreamDestroy(stream);
    (void)cuEventDestroy(event_);
    (void)cuEventDestroy(second_event_);
    (void)cuModuleUnload(module_);
  }

  CUresult scale(CUstream stream, CUdeviceptr p, std::uint32_t k, std::uint32_t c) {
    void* list[] = {&p, &k, &c};
    return cuLaunchKernel(scale_add_, 1, 1, 1, 4, 1, 1, 0, stream, list, nullptr);
  }
  void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    TWIN_OK(cuStreamBeginCapture(stream, mode));
  }
  CUgraph end(CUstream stream) {
    CUgraph graph = nullptr;
    TWIN_OK(cuStreamEndCapture(stream, &graph));
    EXPECT_NE(graph, nullptr);
    return graph;
  }
  /// The error that ends a broken capture. No graph comes out.
  CUresult end_badly(CUstream stream) {
    CUgraph graph = reinterpret_cast<CUgraph>(this);
    const CUresult code = cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    return code;
  }
  CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    TWIN_OK(cuStreamIsCapturing(stream, &found));
    return found;
  }
  void run(CUgraph graph, int times = 1) {
    CUgraphExec exec = nullptr;
    TWIN_OK(cuGraphInstantiate(&exec, graph, 0));
    TWIN_OK(cuGraphDestroy(graph));
    for (int i = 0; i < times; ++i) TWIN_OK(cuGraphLaunch(exec, c_));
    TWIN_OK(cuStreamSynchronize(c_));
    TWIN_OK(cuGraphExecDestroy(exec));
  }
  static std::size_t count_nodes(CUgraph graph) {
    std::size_t count = 0;
    TWIN_OK(cuGraphGetNodes(graph, nullptr, &count));
    return count;
  }
  static std::size_t count_edges(CUgraph graph) {
    std::size_t count = 0;
    TWIN_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    return count;
  }

  Gpu gpu_;
  CUmodule module_ = nullptr;
  CUfunction scale_add_ = nullptr;
  CUstream a_ = nullptr, b_ = nullptr, c_ = nullptr, blocking_ = nullptr;
  CUevent event_ = nullptr, second_event_ = nullptr;
};

}  // namespace cuda_capture_test

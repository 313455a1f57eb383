// Reads of memory that nothing wrote, each next to a program without the fault.
#include "support.h"

namespace initialised_test {
namespace {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

std::string kernel(const std::string& body) {
  return module(R"(
.visible .entry k(.param .u64 from, .param .u64 to)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<8>;
  .reg .pred %p<4>;
  .shared .align 16 .b8 tile[1024];
  .local .align 16 .b8 stack[64];
  ld.param.u64 %rd0, [from];
  ld.param.u64 %rd1, [to];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %rd2, %r0, 4, %rd0;
  mad.wide.u32 %rd3, %r0, 4, %rd1;
  mov.u32 %r6, tile;
  mad.lo.u32 %r7, %r0, 4, %r6;
)" + body + "\n  ret;\n}\n");
}

struct Outcome {
  CUresult code = CUDA_SUCCESS;
  std::string fault;
  std::vector<std::string> findings;
};

/// Threads run `body` with unwritten memory at `from` and zeros at `to`, 256 bytes each.
Outcome run(const std::string& body, unsigned threads = 32, const char* findings = "stop") {
  Gpu gpu;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", findings), 1);
  auto from = Buffer<std::uint32_t>::unwritten(64);
  Buffer<std::uint32_t> to(64, 0);
  Outcome result;
  std::string log;
  result.code =
      launch(kernel(body), "k", Dim(1), Dim(threads), {&from.address, &to.address}, 0, &log);
  EXPECT_EQ(log, "");
  result.fault = cuda_twin_last_fault();
  for (std::size_t i = 0; i < cuda_twin_findings(); ++i) {
    const char* check = nullptr;
    const char* text = nullptr;
    cuda_twin_finding(i, &check, &text);
    result.findings.push_back(std::string(check) + ": " + text);
  }
  return result;
}

void expect_found(const Outcome& result, const std::string& text) {
  EXPECT_EQ(result.code, CUDA_ERROR_LAUNCH_FAILED);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].rfind("uninitialised read", 0), 0u) << result.findings[0];
  EXPECT_NE(result.findings[0].find(text), std::string::npos) << result.findings[0];
}
void expect_clean(const Outcome& result) {
  EXPECT_EQ(result.code, CUDA_SUCCESS) << result.fault;
  EXPECT_EQ(result.findings.size(), 0u);
}

TEST(CudaInitialised, GlobalMemoryThatNothingWrote) {
  expect_found(run("  ld.global.u32 %r1, [%rd2];\n"), "thread (0,0,0)");
  expect_clean(run("  st.global.u32 [%rd2], %r0;\n  ld.global.u32 %r1, [%rd2];\n"));
}

TEST(CudaInitialised, OneByteIsEnough) {
  const std::string all_but_one =
      "  st.global.u8 [%rd0], %r0;\n  st.global.u8 [%rd0+1], %r0;\n  st.global.u8 [%rd0+3], %r0;\n";
  expect_found(run(all_but_one + "  ld.global.u32 %r1, [%rd0];\n", 1), "byte 2 of a read of 4");
  expect_clean(
      run(all_but_one + "  st.global.u8 [%rd0+2], %r0;\n  ld.global.u32 %r1, [%rd0];\n", 1));
  expect_clean(run(all_but_one + "  ld.global.u16 %r1, [%rd0];\n", 1));
}

TEST(CudaInitialised, TheLaneIsNamed) {
  expect_found(run("  setp.ne.u32 %p0, %r0, 17;\n  @%p0 st.global.u32 [%rd2], %r0;\n"
                   "  ld.global.u32 %r1, [%rd2];\n"),
               "thread (17,0,0)");
}

TEST(CudaInitialised, ScatteredLanes) {
  const std::string code =
      "  sub.u32 %r2, 31, %r0;\n  mad.wide.u32 %rd4, %r2, 4, %rd0;\n  setp.ne.u32 %p0, %r0, 4;\n";
  expect_found(run(code + "  @%p0 st.global.u32 [%rd2], %r0;\n  ld.global.u32 %r1, [%rd4];\n"),
               "thread (27,0,0)");
  expect_clean(run(code + "  st.global.u32 [%rd2], %r0;\n  ld.global.u32 %r1, [%rd4];\n"));
}

TEST(CudaInitialised, SharedMemory) {
  expect_found(run("  ld.shared.u32 %r1, [%r7];\n"), "shared address");
  expect_clean(run("  st.shared.u32 [%r7], %r0;\n  ld.shared.u32 %r1, [%r7];\n"));
}

TEST(CudaInitialised, SharedMemoryIsNewInEachBlock) {
  Gpu gpu;
  Buffer<std::uint32_t> to(64, 0);
  const std::string body =
      "  mov.u32 %r1, %ctaid.x;\n  setp.ne.u32 %p0, %r1, 0;\n  @!%p0 st.shared.u32 [%r7], %r0;\n"
      "  ld.shared.u32 %r1, [%r7];\n";
  EXPECT_EQ(launch(kernel(body), "k", Dim(2), Dim(32), {&to.address, &to.address}),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("block (1,0,0)"), std::string::npos)
      << cuda_twin_last_fault();
}

TEST(CudaInitialised, LocalMemory) {
  expect_found(run("  ld.local.u32 %r1, [stack+4];\n"), "local address");
  expect_clean(run("  st.local.u64 [stack], %rd0;\n  ld.local.u32 %r1, [stack+4];\n"));
}

/// struct { char c; int x; }: compilers copy bytes 1 to 3, which no program writes.
TEST(CudaInitialised, PaddingInLocalMemoryIsNotReported) {
  const std::string members = "  st.local.u8 [stack], 7;\n  st.local.u32 [stack+4], 9;\n";
  for (const std::string load :
       {"  ld.local.u32 %r1, [stack];\n", "  ld.local.v2.u32 {%r1, %r2}, [stack];\n",
        "  ld.local.u64 %rd5, [stack];\n  cvt.u32.u64 %r1, %rd5;\n",
        "  mov.u64 %rd4, stack;\n  cvta.local.u64 %rd4, %rd4;\n  ld.u32 %r1, [%rd4];\n"}) {
    const std::string use = "  and.b32 %r1, %r1, 255;\n  setp.ne.u32 %p1, %r1, 7;\n  @%p1 trap;\n";
    expect_clean(run(members + load + use));
  }
}

TEST(CudaInitialised, EachElementOfALocalLoadNeedsAWrittenByte) {
  expect_found(run("  st.local.u32 [stack], 1;\n  ld.local.v2.u32 {%r1, %r2}, [stack];\n"),
               "byte 4 of a read of 8");
  expect_found(run("  st.local.u8 [stack+15], %r0;\n  st.local.u8 [stack+3], %r0;\n"
                   "  ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [stack];\n"),
               "byte 4 of a read of 16");
  expect_found(run("  st.local.u8 [stack], %r0;\n  ld.local.u8 %r1, [stack+1];\n"),
               "byte 0 of a read of 1");
  // Shared and global memory stay exact.
  expect_found(run("  st.shared.u8 [tile], 1;\n  ld.shared.u32 %r1, [tile];\n", 1),
               "byte 1 of a read of 4");
  expect_found(run("  st.global.u8 [%rd0], 1;\n  ld.global.u32 %r1, [%rd0];\n", 1),
               "byte 1 of a read of 4");
}

TEST(CudaInitialised, VectorsAndAtomics) {
  expect_found(run("  st.global.u32 [%rd0], %r0;\n  ld.global.v2.u32 {%r1, %r2}, [%rd0];\n", 1),
               "byte 4 of a read of 8");
  expect_found(run("  red.global.add.u32 [%rd0], %r0;\n", 1), "byte 0");
  expect_clean(run("  st.global.u32 [%rd0], %r0;\n  red.global.add.u32 [%rd0], %r0;\n", 1));
}

TEST(CudaInitialised, AsyncCopiesCountWhenTheyAreWaitedFor) {
  const std::string copy =
      "  cp.async.ca.shared.global [%r7], [%rd3], 4;\n  cp.async.commit_group;\n";
  expect_found(run(copy + "  ld.shared.u32 %r1, [%r7];\n  cp.async.wait_group 0;\n"),
               "shared address");
  expect_found(run(copy + "  cp.async.wait_group 1;\n  ld.shared.u32 %r1, [%r7];\n"),
               "shared address");
  expect_clean(run(copy + "  cp.async.wait_group 0;\n  ld.shared.u32 %r1, [%r7];\n"));
  expect_found(run("  cp.async.ca.shared.global [%r7], [%rd2], 4;\n"), "allocation");
}

TEST(CudaInitialised, DiscardedMemoryHasNoValue) {
  const std::string written = "  st.global.u32 [%rd1+4], %r0;\n";
  expect_found(
      run(written + "  discard.global.L2 [%rd1], 128;\n  ld.global.u32 %r1, [%rd1+4];\n", 1),
      "byte 0");
  expect_clean(run(written + "  ld.global.u32 %r1, [%rd1+4];\n", 1));
}

TEST(CudaInitialised, CopiesOnTheDeviceKeepWhatIsUnwritten) {
  Gpu gpu;
  auto from = Buffer<std::uint32_t>::unwritten(64);
  Buffer<std::uint32_t> to(64, 0);
  TWIN_OK(cuMemsetD32(from.address, 7, 32));
  TWIN_OK(cuMemcpyDtoD(to.address, from.address, 256));
  EXPECT_EQ(launch(kernel("  ld.global.u32 %r1, [%rd2];\n"), "k", Dim(1), Dim(32),
                   {&to.address, &to.address}),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(launch(kernel("  ld.global.u32 %r1, [%rd2+128];\n"), "k", Dim(1), Dim(32),
                   {&to.address, &to.address}),
            CUDA_ERROR_LAUNCH_FAILED);
}

TEST(CudaInitialised, RecordedFindingsLetTheKernelGoOnWithPoison) {
  const Outcome result =
      run("  ld.global.u32 %r1, [%rd2];\n  add.u32 %r1, %r1, 1;\n  setp.ne.u32 %p0, %r1, 0;\n"
          "  @%p0 trap;\n",
          32, "record");
  EXPECT_EQ(result.code, CUDA_SUCCESS) << result.fault;
  EXPECT_EQ(result.findings.size(), 1u);
}

TEST(CudaInitialised, WithoutTheCheckPoisonIsRead) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  // Small and large allocations have storage of different kinds.
  for (const std::size_t words : {std::size_t{64}, std::size_t{1} << 20, std::size_t{9} << 20}) {
    auto from = Buffer<std::uint32_t>::unwritten(words);
    Buffer<std::uint32_t> to(64, 0);
    const CUdeviceptr last = from.address + 4 * (words - 32);
    ASSERT_EQ(launch(kernel("  ld.global.u32 %r1, [%rd2];\n  st.global.u32 [%rd3], %r1;\n"), "k",
                     Dim(1), Dim(32), {const_cast<CUdeviceptr*>(&last), &to.address}),
              CUDA_SUCCESS)
        << cuda_twin_last_fault();
    EXPECT_EQ(to.read()[0], 0xFFFFFFFFu);
    EXPECT_EQ(to.read()[31], 0xFFFFFFFFu);
    EXPECT_EQ(to.read()[32], 0u);
  }
}

/// 32 words are written, and 32 are not. The finding's text, or "".
std::string finding_of_a_copy(CUresult (*copy)(void* host, CUdeviceptr from), bool pinned = false) {
  auto from = Buffer<std::uint32_t>::unwritten(64);
  TWIN_OK(cuMemsetD32(from.address, 7, 32));
  std::vector<std::uint32_t> pageable(64);
  void* host = pageable.data();
  if (pinned) TWIN_OK(cuMemHostAlloc(&host, 256, 0));
  cuda_twin_drop_findings();
  TWIN_OK(copy(host, from.address));
  TWIN_OK(cuCtxSynchronize());
  if (pinned) TWIN_OK(cuMemFreeHost(host));
  EXPECT_LE(cuda_twin_findings(), 1u);
  const char* check = nullptr;
  const char* text = nullptr;
  return cuda_twin_finding(0, &check, &text) == 1 ? std::string(check) + ": " + text : "";
}

TEST(CudaInitialised, CopiesToTheHostAreCheckedByASetting) {
  const auto all = [](void* host, CUdeviceptr from) { return cuMemcpyDtoH(host, from, 256); };
  const auto written = [](void* host, CUdeviceptr from) { return cuMemcpyDtoH(host, from, 128); };
  const auto unified = [](void* host, CUdeviceptr from) {
    return cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(host), from, 256, nullptr);
  };
  /// Rows of 8 bytes, 64 bytes apart: the third one is the first that nothing wrote.
  const auto rows = [](void* host, CUdeviceptr from) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.srcPitch = 64;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.dstPitch = 8;
    copy.WidthInBytes = 8;
    copy.Height = 4;
    return cuMemcpy2D(&copy);
  };
  const auto on_device = [](void*, CUdeviceptr from) {
    CUdeviceptr to = 0;
    TWIN_OK(cuMemAlloc(&to, 256));
    const CUresult code = cuMemcpyDtoD(to, from, 256);
    TWIN_OK(cuMemFree(to));
    return code;
  };
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  EXPECT_EQ(finding_of_a_copy(all), "");
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_COPIES", "on"), 1);
  const std::string start = "uninitialised read: byte 128 of a part of 256 of a copy to the host";
  EXPECT_EQ(finding_of_a_copy(all).rfind(start, 0), 0u) << finding_of_a_copy(all);
  EXPECT_EQ(finding_of_a_copy(unified).rfind(start, 0), 0u);
  EXPECT_EQ(finding_of_a_copy(all, true).rfind(start, 0), 0u);
  const std::string row = "uninitialised read: byte 0 of a part of 8 of a copy to the host";
  EXPECT_EQ(finding_of_a_copy(rows).rfind(row, 0), 0u) << finding_of_a_copy(rows);
  EXPECT_EQ(finding_of_a_copy(written), "");
  EXPECT_EQ(finding_of_a_copy(on_device), "");
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  EXPECT_EQ(finding_of_a_copy(all), "");
}

/// f writes its variable only where its argument is 1, and reads it.
TEST(CudaInitialised, LocalVariablesOfACallAreNotThoseOfTheCallBefore) {
  const auto text = [](const char* second) {
    return module(
        std::string(".func f(.reg .u32 %w) {\n  .local .b32 v; .reg .u32 %x; .reg .pred %q;\n"
                    "  setp.eq.u32 %q, %w, 1;\n  @%q st.local.u32 [v], 5;\n"
                    "  ld.local.u32 %x, [v];\n  ret;\n}\n"
                    ".visible .entry k(.param .u64 p) {\n  .reg .u32 %a;\n"
                    "  mov.u32 %a, 1;\n  call f, (%a);\n  mov.u32 %a, ") +
        second + ";\n  call f, (%a);\n  ret;\n}\n");
  };
  {
    Gpu gpu;
    Buffer<std::uint32_t> unused(1, 0);
    EXPECT_EQ(launch(text("1"), "k", Dim(1), Dim(32), {&unused.address}), CUDA_SUCCESS);
  }
  Gpu gpu;
  Buffer<std::uint32_t> unused(1, 0);
  EXPECT_EQ(launch(text("0"), "k", Dim(1), Dim(32), {&unused.address}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("uninitialised read"), std::string::npos);
}

}  // namespace
}  // namespace initialised_test

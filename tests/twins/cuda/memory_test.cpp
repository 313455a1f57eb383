// ld, st and their like: widths, spaces, vectors, modifiers, and the errors of addresses.
#include <chrono>
#include <csignal>
#include <cstring>
#include <numeric>

#include "support.h"

namespace memory_test {
namespace {

using twin_test::Buffer;
using twin_test::compile_error;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::lanes;
using twin_test::launch;
using twin_test::module;

/// A kernel of one pointer parameter p (%rd0) with %r0 = %tid.x and %rd1 = p + 4 * %tid.x.
std::string kernel(const std::string& body, const std::string& before = "") {
  return module(before + R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<16>;
  .reg .b32 %r<16>;
  .reg .b16 %h<8>;
  .reg .f32 %f<8>;
  .reg .f64 %fd<4>;
  .reg .pred %p<4>;
  ld.param.u64 %rd0, [p];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %rd1, %r0, 4, %rd0;
)" + body + R"(
  ret;
}
)");
}

template <class T>
CUresult run(const std::string& body, Buffer<T>& buffer, unsigned threads = 32,
             const std::string& before = "") {
  std::string log;
  const CUresult code =
      launch(kernel(body, before), "k", Dim(1), Dim(threads), {&buffer.address}, 0, &log);
  EXPECT_EQ(log, "");
  return code;
}

std::vector<std::uint32_t> counting(std::size_t n, std::uint32_t first = 0) {
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(CudaMemory, FloatsAreLoadedIntoWiderRegistersOfBits) {
  Gpu gpu;
  Buffer<std::uint32_t> numbers({0x3F000000, 0x80000000, 0x7FC00000, 0xFF7FFFFF});
  // 0.5 goes through a register of 64 bits, whose upper half stays 0.
  ASSERT_EQ(run(R"(
  ld.global.f32 %rd2, [%rd1];
  shr.u64 %rd3, %rd2, 32;
  setp.ne.u64 %p0, %rd3, 0;
  @%p0 trap;
  add.u64 %rd2, %rd2, 1;
  st.global.f32 [%rd1], %rd2;)",
                numbers, 4),
            CUDA_SUCCESS);
  EXPECT_EQ(numbers.read(),
            (std::vector<std::uint32_t>{0x3F000001, 0x80000001, 0x7FC00001, 0xFF800000}));
}

TEST(CudaMemory, NarrowRegistersHaveNoBitsBeyondTheirWidth) {
  Gpu gpu;
  Buffer<std::uint32_t> data(std::vector<std::uint32_t>(32, 0x80));
  ASSERT_EQ(run(R"(
  ld.global.s8 %h0, [%rd1];
  mov.u16 %h1, 0xFF80;
  setp.eq.u16 %p0, %h0, %h1;
  mov.b32 %r1, {%h0, %h1};
  @!%p0 mov.u32 %r1, 0;
  st.global.u32 [%rd1], %r1;
)",
                data),
            CUDA_SUCCESS);
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(32, 0xFF80FF80));
}

TEST(CudaMemory, VectorsOfAllWidths) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(256));
  // Lane i swaps the first with the last element of its four.
  ASSERT_EQ(run(R"(
  mad.wide.u32 %rd1, %r0, 16, %rd0;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
  st.global.v4.u32 [%rd1], {%r4, %r2, %r3, %r1};
  ld.global.v2.b64 {%rd2, %rd3}, [%rd1+512];
  st.global.v2.b64 [%rd1+512], {%rd3, %rd2};
)",
                data),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result[4 * i], 4 * i + 3);
    EXPECT_EQ(result[4 * i + 1], 4 * i + 1);
    EXPECT_EQ(result[4 * i + 3], 4 * i);
    EXPECT_EQ(result[128 + 4 * i], 128 + 4 * i + 2);
    EXPECT_EQ(result[128 + 4 * i + 3], 128 + 4 * i + 1);
  }
}

TEST(CudaMemory, VectorsOfBytesWithASink) {
  Gpu gpu;
  Buffer<std::uint32_t> data(std::vector<std::uint32_t>(32, 0x04838201));
  ASSERT_EQ(run(R"(
  ld.global.v4.s8 {%r1, _, %r2, %r3}, [%rd1];
  add.s32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
)",
                data),
            CUDA_SUCCESS);
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(32, static_cast<std::uint32_t>(1 - 125)));
}

TEST(CudaMemory, ScatteredAndDivergentLanes) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(64));
  // Odd lanes write backwards into the upper half.
  ASSERT_EQ(run(R"(
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p0, %r1, 1;
  sub.u32 %r2, 63, %r0;
  mad.wide.u32 %rd2, %r2, 4, %rd0;
  mul.lo.u32 %r3, %r0, 100;
  @%p0 st.global.u32 [%rd2], %r3;
)",
                data),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result[63 - i], i % 2 == 1 ? 100 * i : 63 - i);
    EXPECT_EQ(result[i], i);
  }
}

TEST(CudaMemory, SharedAndGenericAddresses) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(64));
  ASSERT_EQ(run(R"(
  .shared .align 16 .b32 tile[64];
  mov.u32 %r1, tile;
  mad.lo.u32 %r1, %r0, 4, %r1;
  ld.global.u32 %r2, [%rd1];
  st.shared.u32 [%r1], %r2;
  bar.sync 0;
  cvta.shared.u64 %rd2, tile;
  mov.u32 %r3, %ntid.x;
  sub.u32 %r3, %r3, %r0;
  sub.u32 %r3, %r3, 1;
  mad.wide.u32 %rd3, %r3, 4, %rd2;
  ld.u32 %r4, [%rd3];
  st.u32 [%rd1], %r4;
)",
                data, 64),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(result[i], 63 - i);
}

TEST(CudaMemory, LocalMemoryIsOfOneThread) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(32));
  ASSERT_EQ(run(R"(
  .local .align 8 .b8 stack[32];
  mov.u64 %rd2, stack;
  cvta.local.u64 %rd3, %rd2;
  ld.global.u32 %r1, [%rd1];
  st.local.u32 [stack+8], %r1;
  add.u32 %r2, %r1, 1000;
  st.u32 [%rd3+12], %r2;
  ld.local.v2.u32 {%r3, %r4}, [%rd2+8];
  add.u32 %r3, %r3, %r4;
  st.global.u32 [%rd1], %r3;
)",
                data),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], 2 * i + 1000);
}

TEST(CudaMemory, ConstantsAndGlobalVariables) {
  Gpu gpu;
  Buffer<std::uint32_t> data(4, 0);
  const std::string variables =
      ".const .align 4 .u32 table[4] = {7, 11, 13, 17};\n"
      ".global .align 4 .u32 cell = 5;\n";
  ASSERT_EQ(run(R"(
  mov.u64 %rd2, table;
  mad.wide.u32 %rd2, %r0, 4, %rd2;
  ld.const.u32 %r1, [%rd2];
  ld.global.u32 %r2, [cell];
  mul.lo.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
)",
                data, 4, variables),
            CUDA_SUCCESS);
  EXPECT_EQ(data.read(), (std::vector<std::uint32_t>{35, 55, 65, 85}));
}

TEST(CudaMemory, ConstantMemoryIsReadOnlyAndNoOther) {
  const std::string variables =
      ".const .align 4 .u32 table[4] = {7, 11, 13, 17};\n"
      ".global .align 4 .u32 cell = 5;\n";
  const std::string before = "  mov.u64 %rd2, table;\n  mov.u64 %rd3, cell;\n";
  const struct {
    std::string access;
    std::string message;  // empty: it is right
  } cases[] = {
      {"ld.const.u32 %r1, [%rd2+4];", ""},
      {"cvta.const.u64 %rd2, %rd2; ld.u32 %r1, [%rd2];", ""},
      {"ld.global.u32 %r1, [%rd3];", ""},
      {"ld.const.u32 %r1, [%rd3];", "0 bytes into variable cell (4 bytes), is not in .const"},
      {"ld.const.u32 %r1, [%rd0];", "into allocation"},
      {"@%p0 mov.u64 %rd2, %rd3; ld.const.u32 %r1, [%rd2];", "is not in .const"},
      {"st.global.u32 [%rd2], %r1;", "into variable table (16 bytes), is read-only"},
      {"st.u32 [%rd2], %r1;", "into variable table (16 bytes), is read-only"},
      {"red.global.add.u32 [%rd2], %r1;", "into variable table (16 bytes), is read-only"},
  };
  for (const auto& row : cases) {
    Gpu gpu;
    Buffer<std::uint32_t> data(32, 1);
    const std::string odd = "  and.b32 %r1, %r0, 1;\n  setp.ne.u32 %p0, %r1, 0;\n";
    const CUresult code = run(before + odd + "  " + row.access + "\n", data, 32, variables);
    EXPECT_EQ(code, row.message.empty() ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS) << row.access;
    const std::string fault = cuda_twin_last_fault();
    EXPECT_NE(fault.find(row.message), std::string::npos) << row.access << "\n" << fault;
  }
}

TEST(CudaMemory, ModifiersThatAreHintsLoadAndStoreTheSame) {
  Gpu gpu;
  const std::vector<std::string> loads = {
      "ld.global.ca.u32 %d, [%l0];",
      "ld.global.cg.u32 %d, [%l0];",
      "ld.global.cs.u32 %d, [%l0];",
      "ld.global.lu.u32 %d, [%l0];",
      "ld.global.cv.u32 %d, [%l0];",
      "ld.global.nc.u32 %d, [%l0];",
      "ld.global.ca.nc.u32 %d, [%l0];",
      "ld.volatile.global.u32 %d, [%l0];",
      "ld.weak.global.u32 %d, [%l0];",
      "ld.relaxed.gpu.global.u32 %d, [%l0];",
      "ld.acquire.sys.global.u32 %d, [%l0];",
      "ld.relaxed.cta.u32 %d, [%l0];",
      "ld.global.L1::evict_last.u32 %d, [%l0];",
      "ld.global.L1::evict_normal.u32 %d, [%l0];",
      "ld.global.L1::evict_unchanged.u32 %d, [%l0];",
      "ld.L1::evict_first.u32 %d, [%l0];",
      "ld.global.nc.L1::evict_first.L2::64B.u32 %d, [%l0];",
      "ld.L2::64B.u32 %d, [%l0];",
      "ld.global.nc.L1::no_allocate.L2::128B.u32 %d, [%l0];",
      "ld.global.L2::256B.u32 %d, [%l0];",
      "ld.mmio.relaxed.sys.global.u32 %d, [%l0];",
      "createpolicy.fractional.L2::evict_last.b64 %l1, 1.0; ld.global.L2::cache_hint.u32 %d, "
      "[%l0], %l1;",
      "ldu.global.u32 %d, [%l0];",
      "ld.ca.u32 %d, [%l0];",
      "ld.cg.u32 %d, [%l0];",
      "ld.cs.u32 %d, [%l0];",
      "ld.lu.u32 %d, [%l0];",
      "ld.cv.u32 %d, [%l0];",
      "ld.volatile.u32 %d, [%l0];",
      "ld.acquire.sys.u32 %d, [%l0];",
      "ld.mmio.relaxed.sys.u32 %d, [%l0];",
      "ld.global.nc.L2::256B.u32 %d, [%l0];",
      "ld.global.cg.nc.L2::256B.u32 %d, [%l0];",
      "ld.global.cs.nc.u32 %d, [%l0];",
      "createpolicy.fractional.L2::evict_last.b64 %l1, 1.0; "
      "ld.global.nc.L2::cache_hint.v2.u32 {%r1, %d}, [%l0], %l1;",
      "prefetch.global.L2 [%l0]; ld.global.u32 %d, [%l0];",
      ".local .b32 own; prefetch.local.L1 [own]; prefetch.local.L2 [own]; ld.global.u32 %d, [%l0];",
      "applypriority.global.L2::evict_normal [%l0], 128; ld.global.u32 %d, [%l0];",
      "prefetchu.L1 [%l0]; ld.u32 %d, [%l0];"};
  Buffer<std::uint32_t> source(std::vector<std::uint32_t>(64, 0xC0FFEE));
  const std::vector<std::uint64_t> address(32, source.address);
  for (const auto& load : loads) {
    const auto result = lanes<std::uint32_t>("mov.b64 %l0, %a; " + load, address);
    EXPECT_EQ(result, std::vector<std::uint32_t>(32, 0xC0FFEE)) << load;
  }
  const std::vector<std::string> stores = {
      "st.global.wb.u32 [%l0], %r1;",
      "st.global.cg.u32 [%l0], %r1;",
      "st.global.cs.u32 [%l0], %r1;",
      "st.global.wt.u32 [%l0], %r1;",
      "st.volatile.global.u32 [%l0], %r1;",
      "st.relaxed.gpu.global.u32 [%l0], %r1;",
      "st.release.gpu.global.u32 [%l0], %r1;",
      "st.weak.u32 [%l0], %r1;",
      "st.wb.u32 [%l0], %r1;",
      "st.cg.u32 [%l0], %r1;",
      "st.cs.u32 [%l0], %r1;",
      "st.wt.u32 [%l0], %r1;",
      "st.volatile.u32 [%l0], %r1;",
      "st.release.sys.u32 [%l0], %r1;",
      "st.mmio.relaxed.sys.u32 [%l0], %r1;",
      "st.mmio.relaxed.sys.global.u32 [%l0], %r1;",
      "st.global.L1::no_allocate.u32 [%l0], %r1;",
      "st.global.L1::evict_normal.u32 [%l0], %r1;",
      "st.global.L1::evict_unchanged.u32 [%l0], %r1;",
      "st.L1::evict_first.u32 [%l0], %r1;",
      "st.global.L1::evict_last.u32 [%l0], %r1;",
      "createpolicy.fractional.L2::evict_last.b64 %l1, 1.0; "
      "st.global.L2::cache_hint.u32 [%l0], %r1, %l1;",
      "createpolicy.fractional.L2::evict_last.b64 %l1, 1.0; "
      "st.L1::evict_first.L2::cache_hint.u32 [%l0], %r1, %l1;"};
  std::uint32_t value = 1;
  for (const auto& store : stores) {
    lanes<std::uint32_t>("mov.b64 %l0, %a; mov.u32 %r1, " + std::to_string(++value) + "; " + store +
                             " mov.u32 %d, 0;",
                         address);
    EXPECT_EQ(source.read()[0], value) << store;
  }
}

TEST(CudaMemory, WhatIsNoLoadOrStoreIsAnError) {
  Gpu gpu;
  const std::vector<std::string> wrong = {
      "ld.global.f16 %h0, [%l0];",
      "ld.global.v4.u64 {%l0,%l1,%l2,%l3}, [%l4];",
      "ld.global.v2.u32 %r0, [%l0];",
      "ld.global.v2.u32 {%r0,%r1,%r2}, [%l0];",
      "ld.shared.nc.u32 %r0, [%r1];",
      "ld.global.u32 %h0, [%l0];",
      "ld.global.f32 %g0, [%l0];",
      "ld.relaxed.global.u32 %r0, [%l0];",
      "ld.global.wb.u32 %r0, [%l0];",
      "st.global.ca.u32 [%l0], %r0;",
      "st.const.u32 [%l0], %r0;",
      "st.param.u32 [out], %r0;",
      "ld.global.u32 %r0, %l0;",
      "st.acquire.gpu.global.u32 [%l0], %r0;",
      "ld.volatile.global.nc.u32 %r0, [%l0];",
      "ld.global.L2::cache_hint.u32 %r0, [%l0];",
      "cp.async.cg.shared.global [%r0], [%l0], 8;",
      "cp.async.ca.global.shared [%l0], [%r0], 8;",
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%l0], 16, [%r1];",
      "mbarrier.init.shared.b64 [%r0], 1;",
      "createpolicy.fractional.L2::evict_last.b64 %l1, 1.5;"};
  for (const auto& code : wrong) {
    std::string log;
    EXPECT_EQ(compile_error<>(code, &log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
}

TEST(CudaMemory, OlderTargetsLackNewForms) {
  Gpu gpu;
  CUmodule loaded = nullptr;
  const auto text = [](const char* version, const char* target, const char* code) {
    return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" +
           ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %l;\n.reg .b32 %r;\nld.param.u64 %l, "
           "[p];\n" +
           code + "\nret;\n}\n";
  };
  const char* const relaxed = "ld.relaxed.gpu.global.u32 %r, [%l];";
  EXPECT_EQ(twin_test::load(text("6.0", "sm_61", relaxed), &loaded), CUDA_ERROR_INVALID_PTX);
  const char* const hint = "ld.global.L1::evict_last.u32 %r, [%l];";
  EXPECT_EQ(twin_test::load(text("7.3", "sm_80", hint), &loaded), CUDA_ERROR_INVALID_PTX);
  const char* const copy = "cp.async.ca.shared.global [%r], [%l], 4;";
  EXPECT_EQ(twin_test::load(text("7.0", "sm_75", copy), &loaded), CUDA_ERROR_INVALID_PTX);
  ASSERT_EQ(twin_test::load(text("7.0", "sm_80", copy), &loaded), CUDA_SUCCESS);
  TWIN_OK(cuModuleUnload(loaded));
}

// --- Addresses that are wrong. The launch's error is as the driver's, and sticks.

struct Wrong {
  CUresult code = CUDA_SUCCESS;
  std::string text;
};

Wrong run_wrong(const std::string& body, std::size_t words, unsigned threads = 32) {
  Gpu gpu;
  Buffer<std::uint32_t> data(words, 0);
  Wrong result;
  result.code = launch(kernel(body), "k", Dim(1), Dim(threads), {&data.address});
  result.text = cuda_twin_last_fault();
  return result;
}

TEST(CudaMemory, OneByteBeyondTheEndIsAnError) {
  const Wrong wrong = run_wrong("  st.global.u8 [%rd0+128], %r0;\n", 32, 1);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("0 bytes past the end of allocation"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("(128 bytes)"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("st.global.u8"), std::string::npos) << wrong.text;
  EXPECT_EQ(run_wrong("  st.global.u8 [%rd0+127], %r0;\n", 32, 1).code, CUDA_SUCCESS);
}

TEST(CudaMemory, ARunOfLanesOneByteTooFarIsAnError) {
  const std::string bytes = "  cvt.u64.u32 %rd2, %r0;\n  add.u64 %rd2, %rd2, %rd0;\n";
  EXPECT_EQ(run_wrong(bytes + "  st.global.u8 [%rd2+96], %r0;\n", 32).code, CUDA_SUCCESS);
  const Wrong wrong = run_wrong(bytes + "  st.global.u8 [%rd2+97], %r0;\n", 32);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (31,0,0)"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, TheLaneThatIsOutsideIsNamed) {
  const Wrong wrong = run_wrong("  ld.global.u32 %r1, [%rd1];\n", 31);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (31,0,0)"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, AnAccessAcrossTheEndIsAnError) {
  const Wrong wrong = run_wrong("  ld.global.v2.u32 {%r1, %r2}, [%rd0+120];\n", 31, 1);
  EXPECT_EQ(wrong.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(wrong.text.find("crosses the end"), std::string::npos) << wrong.text;
}

TEST(CudaMemory, AddressesThatWrapAroundAreErrors) {
  for (const char* const code : {"  mov.u64 %rd2, -4; ld.global.u32 %r1, [%rd2];\n",
                                 "  mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];\n",
                                 "  setp.eq.u32 %p0, %r0, 3; mov.u64 %rd2, -4; selp.b64 %rd2, "
                                 "%rd2, %rd0, %p0; st.global.u32 [%rd2], %r0;\n",
                                 "  mov.u64 %rd2, 0x100000000000000; st.global.u32 [%rd2], %r0;\n",
                                 "  mov.u64 %rd2, 0x0200000000000000; ld.u32 %r1, [%rd2];\n"}) {
    EXPECT_EQ(run_wrong(code, 32).code, CUDA_ERROR_ILLEGAL_ADDRESS) << code;
  }
}

TEST(CudaMemory, MisalignedAccessesAreErrors) {
  const Wrong wrong = run_wrong(
      "  setp.eq.u32 %p0, %r0, 5;\n  mov.u64 %rd2, 2;\n  @!%p0 mov.u64 %rd2, 0;\n"
      "  add.u64 %rd2, %rd1, %rd2;\n  ld.global.u32 %r1, [%rd2];\n",
      64);
  EXPECT_EQ(wrong.code, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_NE(wrong.text.find("thread (5,0,0)"), std::string::npos) << wrong.text;
  EXPECT_EQ(run_wrong("  ld.global.v2.u32 {%r1, %r2}, [%rd0+4];\n", 32, 1).code,
            CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run_wrong("  .shared .b32 s[4]; st.shared.u32 [s+2], %r0;\n", 32, 1).code,
            CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST(CudaMemory, SharedAndLocalMemoryHaveEnds) {
  const Wrong shared = run_wrong(
      "  .shared .align 4 .b32 s[4];\n  st.shared.u32 [s+12], %r0;\n  st.shared.u32 [s+16], %r0;\n",
      32, 1);
  EXPECT_EQ(shared.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(shared.text.find("the block has 16 bytes"), std::string::npos) << shared.text;
  const Wrong local = run_wrong(
      "  .local .align 4 .b32 s[4];\n  st.local.u32 [s+12], %r0;\n  mov.u64 %rd2, s;\n"
      "  st.local.u32 [%rd2+4096], %r0;\n",
      32, 1);
  EXPECT_EQ(local.code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(CudaMemory, SharedAndLocalMemoryEndAtABytesPrecision) {
  for (const char* const space : {"shared", "local"}) {
    const auto code = [&](const char* offset) {
      return std::string("  .") + space + " .align 16 .b8 s[16];\n  st." + space + ".u8 [s+" +
             offset + "], %r0;\n";
    };
    EXPECT_EQ(run_wrong(code("15"), 32, 1).code, CUDA_SUCCESS) << space;
    EXPECT_EQ(run_wrong(code("16"), 32, 1).code, CUDA_ERROR_ILLEGAL_ADDRESS) << space;
  }
}

TEST(CudaMemory, ConstantsAreNotWritten) {
  Gpu gpu;
  Buffer<std::uint32_t> data(1, 0);
  const std::string text =
      kernel("  mov.u64 %rd2, table;\n  cvta.const.u64 %rd2, %rd2;\n  st.u32 [%rd2], %r0;\n",
             ".const .align 4 .u32 table[4] = {7, 11, 13, 17};\n");
  EXPECT_EQ(launch(text, "k", Dim(1), Dim(1), {&data.address}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("variable table"), std::string::npos)
      << cuda_twin_last_fault();
}

TEST(CudaMemory, FreedMemoryIsAnError) {
  Gpu gpu;
  CUdeviceptr freed = 0;
  {
    Buffer<std::uint32_t> data(32, 0);
    freed = data.address;
  }
  EXPECT_EQ(launch(kernel("  ld.global.u32 %r1, [%rd1];\n"), "k", Dim(1), Dim(32), {&freed}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("was freed"), std::string::npos)
      << cuda_twin_last_fault();
}

TEST(CudaMemoryDeathTest, TheHostCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto touch = [] {
    Gpu gpu;
    Buffer<std::uint32_t> data(32, 1);
    volatile std::uint32_t* const pointer = reinterpret_cast<std::uint32_t*>(data.address);
    std::exit(*pointer == 1 ? 0 : 1);
  };
  EXPECT_DEATH(touch(), "");
}

// --- cp.async.

std::string copying(const std::string& code) {
  return R"(
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r1, tile;
  mad.lo.u32 %r1, %r0, 16, %r1;
  mad.wide.u32 %rd2, %r0, 16, %rd0;
)" + code +
         R"(
  ld.shared.u32 %r2, [%r1+4];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2;
)";
}

TEST(CudaMemory, AsyncCopiesArriveWhenWaitedFor) {
  for (const char* const code :
       {"cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.wait_all;",
        "cp.async.ca.shared.global.L2::128B [%r1], [%rd2], 16; cp.async.commit_group; "
        "cp.async.wait_group 0;",
        "cp.async.ca.shared.global [%r1], [%rd2], 8; cp.async.wait_all;",
        "cp.async.cg.shared.global [%r1], [%rd2], 16, 16; cp.async.commit_group; "
        "cp.async.commit_group; cp.async.wait_group 1;",
        "cp.async.ca.shared.global [%r1+4], [%rd2+4], 4; cp.async.wait_all;",
        "cp.async.cg.shared.global.L2::64B [%r1], [%rd2], 16; cp.async.wait_all;",
        "cp.async.ca.shared::cta.global.L2::256B [%r1], [%rd2], 8; cp.async.wait_all;",
        "createpolicy.fractional.L2::evict_first.b64 %rd5; "
        "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %rd5; cp.async.wait_all;",
        "createpolicy.fractional.L2::evict_first.b64 %rd5; "
        "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%r1], [%rd2], 16, 16, %rd5; "
        "cp.async.wait_all;"}) {
    Gpu gpu;
    Buffer<std::uint32_t> data(counting(128));
    ASSERT_EQ(run(copying(code), data), CUDA_SUCCESS) << code << cuda_twin_last_fault();
    const auto result = data.read();
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], 4 * i + 2) << code;
  }
}

TEST(CudaMemory, AsyncCopiesOfTheLastGroupsMayBeUnderWay) {
  // Of four groups the first two are complete, and the word of the third one is 0xFFFFFFFF.
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  Buffer<std::uint32_t> data(counting(128));
  std::string code;
  for (const char* at : {"0", "4", "8", "12"}) {
    code += "cp.async.ca.shared.global [%r1+" + std::string(at) + "], [%rd2+" + at +
            "], 4; cp.async.commit_group; ";
  }
  ASSERT_EQ(run(copying(code + "cp.async.wait_group 2; ld.shared.u32 %r5, [%r1]; "
                               "ld.shared.u32 %r6, [%r1+8]; cp.async.wait_group 1; "
                               "ld.shared.u32 %r7, [%r1+8]; ld.shared.u32 %r8, [%r1+12]; "
                               "add.u32 %r6, %r6, %r5; add.u32 %r8, %r8, %r7; "
                               "st.global.v2.u32 [%rd2+8], {%r6, %r8};"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result[4 * i], 4 * i + 2) << i;
    EXPECT_EQ(result[4 * i + 2], 4 * i - 1) << i;
    EXPECT_EQ(result[4 * i + 3], 4 * i + 1) << i;
  }
}

TEST(CudaMemory, AsyncCopiesPadWithZeros) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  // Lanes below 16 copy 4 bytes of 16, the others 8.
  ASSERT_EQ(run(copying("setp.lt.u32 %p0, %r0, 16; selp.u32 %r3, 4, 8, %p0;"
                        "cp.async.cg.shared.global [%r1], [%rd2], 16, %r3; cp.async.wait_all;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], i < 16 ? 1 : 50 + 4 * i + 2);
}

TEST(CudaMemory, AsyncCopiesPadReusedBuffersToo) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  // A full copy first: the second one reads nothing and must not show the first one's bytes.
  ASSERT_EQ(run(copying("cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.wait_all;"
                        "cp.async.cg.shared.global [%r1], [%rd2], 16, 0; cp.async.wait_all;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(data.read()[0], 1u);
}

TEST(CudaMemory, AsyncCopiesThatAreIgnoredReadNothing) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(128, 50));
  ASSERT_EQ(run(copying("setp.lt.u32 %p0, %r0, 16; @%p0 mov.u64 %rd2, 0;"
                        "cp.async.ca.shared.global [%r1], [%rd2], 16, %p0; cp.async.wait_all;"
                        "mad.wide.u32 %rd2, %r0, 16, %rd0;"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], i < 16 ? 1 : 50 + 4 * i + 2);
}

TEST(CudaMemory, AsyncCopiesAreNotThereBeforeTheWait) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
  Buffer<std::uint32_t> data(counting(128));
  ASSERT_EQ(run(copying("cp.async.cg.shared.global [%r1], [%rd2], 16; cp.async.commit_group;"
                        "cp.async.wait_group 1;"),
                data),
            CUDA_SUCCESS);
  const auto result = data.read();
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[4 * i], 0u);  // 0xFFFFFFFF + 1
}

TEST(CudaMemory, AsyncCopiesOfThreadsThatEndedCostNothing) {
  Gpu gpu;
  // The last thread never waits for its copy.
  const auto start = std::chrono::steady_clock::now();
  Buffer<std::uint32_t> data(counting(128));
  ASSERT_EQ(run(copying(R"(
  cp.async.ca.shared.global [%r1], [%rd2], 16;
  setp.eq.u32 %p0, %r0, 31;
  @%p0 ret;
  cp.async.wait_all;
  mov.u32 %r5, 0;
AGAIN:
  cp.async.ca.shared.global [%r1], [%rd2], 16;
  cp.async.wait_all;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p0, %r5, 40000;
  @%p0 bra AGAIN;)"),
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(data.read()[120], 122u);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 10);
}

TEST(CudaMemory, CountsOfBytesAndSectors) {
  Gpu gpu;
  Buffer<std::uint32_t> data(counting(1024));
  cuda_twin_reset_counts();
  ASSERT_EQ(run(R"(
  ld.global.u32 %r1, [%rd1];
  mad.wide.u32 %rd2, %r0, 128, %rd0;
  st.global.u32 [%rd2], %r1;
  .shared .align 4 .b32 s[1024];
  mov.u32 %r2, s;
  mad.lo.u32 %r2, %r0, 8, %r2;
  st.shared.u32 [%r2], %r1;
)",
                data),
            CUDA_SUCCESS)
      << cuda_twin_last_fault();
  cuda_twin_kernel_counts counts;
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_EQ(counts.global_bytes_read, 128u);
  EXPECT_EQ(counts.global_bytes_written, 128u);
  EXPECT_EQ(counts.global_sectors, 4u + 32u);
  EXPECT_EQ(counts.bank_conflicts, 1u);  // a stride of two words: two lanes a bank
  EXPECT_EQ(counts.worst_bank_conflict, 1u);
  EXPECT_EQ(counts.blocks_without_write, 0u);
}

TEST(CudaMemory, BankConflictsOfVectorsAreThoseOfEachPhase) {
  // A phase is 8 lanes of 16 bytes, 16 lanes of 8 bytes or 32 lanes of up to 4 bytes.
  struct Case {
    const char* address;  // of lane %r0, in %r1
    const char* access;
    std::uint64_t conflicts;
  };
  const std::string v4 = "st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};";
  const std::string v2 = "st.shared.v2.b32 [%r2], {%r0, %r0};";
  const std::string b8 = "st.shared.b8 [%r2], %r0;";
  const Case cases[] = {
      // Neighbours swapped: the 8 lanes of a phase have all banks among them.
      {"xor.b32 %r1, %r0, 1; shl.b32 %r1, %r1, 4;", v4.c_str(), 0},
      // 32 bytes apart, lanes 0 and 4 of a phase share banks: 4 phases of a pass more.
      {"shl.b32 %r1, %r0, 5;", v4.c_str(), 4},
      // All 8 lanes of a phase in the same banks: 4 phases of 7 passes more.
      {"shl.b32 %r1, %r0, 7;", v4.c_str(), 28},
      // One place is one word of each bank.
      {"mov.u32 %r1, 512;", "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];", 0},
      // Lanes 0, 8, 16 and 24 are each alone in their phases.
      {"shl.b32 %r1, %r0, 7; and.b32 %r3, %r0, 7; setp.eq.u32 %p0, %r3, 0;",
       "@%p0 st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};", 0},
      // Lanes 8 to 15 are one phase, and the inactive lanes have no part in it.
      {"shl.b32 %r1, %r0, 7; and.b32 %r3, %r0, 24; setp.eq.u32 %p0, %r3, 8;",
       "@%p0 st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};", 7},
      {"xor.b32 %r1, %r0, 1; shl.b32 %r1, %r1, 3;", v2.c_str(), 0},
      {"shl.b32 %r1, %r0, 4;", v2.c_str(), 2},
      {"shl.b32 %r1, %r0, 7;", v2.c_str(), 30},
      {"shl.b32 %r1, %r0, 7;", b8.c_str(), 31},
      // Bytes 2, 6, 10, ... and 128: word 32 shares the bank of word 0.
      {"mul.lo.u32 %r1, %r0, 4; add.u32 %r1, %r1, 2; setp.eq.u32 %p0, %r0, 31;"
       "@%p0 mov.u32 %r1, 128;",
       b8.c_str(), 1},
  };
  for (const Case& each : cases) {
    Gpu gpu;
    Buffer<std::uint32_t> data(counting(32));
    cuda_twin_reset_counts();
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_CHECK_INITIALISED", "off"), 1);
    EXPECT_EQ(run(std::string(each.address) +
                      "  .shared .align 16 .b8 s[4096];\n  mov.u32 %r2, s;\n"
                      "  add.u32 %r2, %r2, %r1;\n  " +
                      each.access,
                  data),
              CUDA_SUCCESS)
        << cuda_twin_last_fault();
    cuda_twin_kernel_counts counts;
    ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
    EXPECT_EQ(counts.bank_conflicts, each.conflicts) << each.address << each.access;
    EXPECT_EQ(counts.worst_bank_conflict, each.conflicts) << each.address << each.access;
  }
}

TEST(CudaMemory, CountsOfDifferentParameters) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".entry k(.param .u64 out, .param .u32 value) {\n  ret;\n}\n"
      ".entry other(.param .u64 out, .param .u32 value) {\n  ret;\n}\n";
  Gpu gpu;
  const Buffer<std::uint32_t> data(counting(4));
  cuda_twin_reset_counts();
  std::uint64_t address = data.address;
  for (std::uint32_t value : {1u, 2u, 1u}) {
    ASSERT_EQ(twin_test::launch(text, "k", 1, 1, {&address, &value}), CUDA_SUCCESS);
    ASSERT_EQ(twin_test::launch(text, "other", 1, 1, {&address, &address}), CUDA_SUCCESS);
  }
  cuda_twin_kernel_counts counts;
  ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
  EXPECT_EQ(counts.launches, 3u);
  EXPECT_EQ(counts.parameter_sets, 2u);
  ASSERT_EQ(cuda_twin_count_kernel("other", &counts), 1);
  EXPECT_EQ(counts.parameter_sets, 1u);
  ASSERT_EQ(cuda_twin_count_kernel(nullptr, &counts), 1);
  EXPECT_EQ(counts.parameter_sets, 3u);
}

TEST(CudaMemory, CountsOfBlocksThatWriteNothing) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {\n"
      "  .reg .b64 %a;\n  .reg .b32 %i;\n  .reg .pred %p;\n"
      "  mov.u32 %i, %ctaid.x;\n  setp.ne.u32 %p, %i, 0;\n  @%p ret;\n"
      "  ld.param.u64 %a, [out];\n  st.global.u32 [%a], %i;\n  ret;\n}\n";
  for (const char* threads : {"1", "4"}) {
    Gpu gpu;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", threads), 1);
    Buffer<std::uint32_t> data(counting(4));
    cuda_twin_reset_counts();
    ASSERT_EQ(twin_test::launch(text, "k", 100, 1, {&data.address}), CUDA_SUCCESS);
    cuda_twin_kernel_counts counts;
    ASSERT_EQ(cuda_twin_count_kernel("k", &counts), 1);
    EXPECT_EQ(counts.blocks, 100u);
    EXPECT_EQ(counts.blocks_without_write, 99u) << threads;
  }
}

}  // namespace
}  // namespace memory_test

// ld, st and their like: widths, spaces, vectors, modifiers.
#include "memory_kernels.h"

namespace memory_test {
namespace {

using twin_test::compile_error;
using twin_test::lanes;

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

TEST(CudaMemory, LocalMemoryIsOfOneLane) {
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

}  // namespace
}  // namespace memory_test

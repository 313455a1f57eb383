// Registers that share storage: each text would give another sum if two that live at the same time
// had one slot.
#include <sstream>

#include "support.h"

namespace ptx_registers_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::module;

/// The %sum that one thread stores after `code`.
std::uint32_t sum_of(const std::string& code, const std::string& functions = "") {
  Buffer<std::uint32_t> out(1, 0xDEADu);
  std::string log;
  const std::string text =
      module(functions + ".visible .entry k(.param .u64 out) {\n.reg .b64 %at;\n.reg .b32 %sum;\n" +
             "ld.param.u64 %at, [out];\nmov.u32 %sum, 0;\n" + code +
             "st.global.u32 [%at], %sum;\nret;\n}\n");
  const CUresult code_of_launch = twin_test::launch(text, "k", 1, 1, {&out.address}, 0, &log);
  EXPECT_EQ(code_of_launch, CUDA_SUCCESS) << log << cuda_twin_last_fault() << "\n" << text;
  return out.read()[0];
}

TEST(PtxRegisters, AGuardedWriteKeepsTheOldValueInALoop) {
  const Gpu gpu;
  EXPECT_EQ(sum_of(R"(
    .reg .b32 %x, %i, %t; .reg .pred %never, %more;
    mov.u32 %x, 5;
    mov.u32 %i, 0;
  LOOP:
    setp.eq.u32 %never, %i, 100;
    @%never mov.u32 %x, 9;
    add.u32 %sum, %sum, %x;
    mul.lo.u32 %t, %i, 1000;
    add.u32 %sum, %sum, %t;
    add.u32 %i, %i, 1;
    setp.lt.u32 %more, %i, 4;
    @%more bra LOOP;
  )"),
            4u * 5 + 1000 * (0 + 1 + 2 + 3));
}

TEST(PtxRegisters, AnInstructionReadsBeforeItWrites) {
  const Gpu gpu;
  EXPECT_EQ(sum_of(R"(
    .reg .b32 %x, %i, %t; .reg .pred %more;
    mov.u32 %x, 5;
    mov.u32 %i, 0;
  LOOP:
    add.u32 %x, %x, 1;
    add.u32 %sum, %sum, %x;
    mul.lo.u32 %t, %i, 1000;
    add.u32 %sum, %sum, %t;
    add.u32 %i, %i, 1;
    setp.lt.u32 %more, %i, 4;
    @%more bra LOOP;
  )"),
            6u + 7 + 8 + 9 + 1000 * (0 + 1 + 2 + 3));
}

TEST(PtxRegisters, AValueComesFromALaterBlock) {
  const Gpu gpu;
  EXPECT_EQ(sum_of(R"(
    .reg .b32 %x, %t;
    bra LATER;
  EARLIER:
    mov.u32 %t, 300;
    add.u32 %sum, %sum, %t;
    add.u32 %sum, %sum, %x;
    bra END;
  LATER:
    mov.u32 %x, 7;
    bra EARLIER;
  END:
  )"),
            307u);
}

TEST(PtxRegisters, AGuardIsARead) {
  const Gpu gpu;
  EXPECT_EQ(sum_of(R"(
    .reg .pred %yes, %no;
    setp.eq.u32 %yes, %sum, 0;
    setp.ne.u32 %no, %sum, 0;
    @%yes add.u32 %sum, %sum, 1;
    @%no add.u32 %sum, %sum, 10;
    @!%no add.u32 %sum, %sum, 100;
  )"),
            101u);
}

TEST(PtxRegisters, ALoopKeepsWhatItReadsAtItsEnd) {
  const Gpu gpu;
  EXPECT_EQ(sum_of(R"(
    .reg .b32 %a, %b, %i; .reg .b64 %w; .reg .pred %more;
    mov.u32 %a, 3;
    mov.u32 %i, 0;
  LOOP:
    add.u32 %b, %a, %i;
    mov.b64 %w, {%b, %i};
    add.u32 %sum, %sum, %b;
    mov.b64 {%b, _}, %w;
    add.u32 %sum, %sum, %b;
    add.u32 %i, %i, 1;
    setp.lt.u32 %more, %i, 5;
    @%more bra LOOP;
  )"),
            2u * (5 * 3 + 0 + 1 + 2 + 3 + 4));
}

TEST(PtxRegisters, ParametersAndResultsOfFunctions) {
  const Gpu gpu;
  // `unused` is written by every call, `result` is read by it; both have no such instruction.
  const std::string functions = R"(
.func (.reg .u32 result) twice_and_store (.reg .u32 unused, .reg .u32 a, .reg .u64 at) {
  .reg .b32 %t, %u;
  add.u32 result, a, a;
  mov.u32 %t, 12345;
  add.u32 %u, %t, 1;
  st.global.u32 [at], %u;
  ret;
}
.func (.reg .u32 result) count_down (.reg .u32 n) {
  .reg .b32 %m; .reg .pred %p;
AGAIN:
  mul.lo.u32 %m, n, n;
  mov.u32 result, %m;
  setp.gt.u32 %p, n, 3;
  @%p sub.u32 n, n, 1;
  @%p bra AGAIN;
}
)";
  EXPECT_EQ(sum_of(R"(
    .reg .b32 %a, %b, %c, %d;
    mov.u32 %c, 70;
    mov.u32 %a, 21;
    call (%b), twice_and_store, (99, %a, %at);
    call (%d), count_down, (%c);
    add.u32 %sum, %b, %c;
    add.u32 %sum, %sum, %d;
    ld.global.u32 %b, [%at];
    add.u32 %sum, %sum, %b;
  )",
                   functions),
            42u + 70 + 9 + 12346);
}

TEST(PtxRegisters, TemporariesShareStorage) {
  const Gpu gpu;
  std::ostringstream text;
  text << ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<3000>, %s<200>;\nmov.u32 %r0, 1;\n";
  for (unsigned i = 1; i < 3000; ++i) {
    text << "add.u32 %r" << i << ", %r" << i - 1 << ", %r" << i - 1 << ";\n";
  }
  // Special registers come by way of temporaries.
  for (unsigned i = 0; i < 200; ++i) text << "cvt.u32.u16 %s" << i << ", %tid.x;\n";
  text << "ret;\n}\n";
  CUmodule loaded = nullptr;
  ASSERT_EQ(twin_test::load(module(text.str()), &loaded), CUDA_SUCCESS);
  CUfunction function = nullptr;
  TWIN_OK(cuModuleGetFunction(&function, loaded, "k"));
  int registers = 0;
  TWIN_OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  EXPECT_LE(registers, 16);
  TWIN_OK(cuModuleUnload(loaded));
}

}  // namespace
}  // namespace ptx_registers_test

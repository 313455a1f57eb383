// One atomic operation by each lane on one place in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support.h"

namespace twin_test {

/// Every thread executes `code` on [%rd0] (global) with its operand %a (register type `type`), and
/// stores %d into out[thread].
inline std::string atomic_kernel(const std::string& type, const std::string& code,
                                 const std::string& memory) {
  const std::string bytes = type == "b64" ? "8" : type == "b16" ? "2" : "4";
  return module(
      ".visible .entry k(.param .u64 cell, .param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %rd<8>;\n  .reg .b32 %r<4>;\n  .reg ." +
      type +
      " %a, %d, %c;\n"
      "  ld.param.u64 %rd0, [cell];\n  ld.param.u64 %rd1, [in];\n"
      "  ld.param.u64 %rd2, [out];\n  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n"
      "  mov.u32 %r2, %ntid.x;\n  mad.lo.u32 %r0, %r1, %r2, %r0;\n"
      "  mad.wide.u32 %rd1, %r0, " +
      bytes +
      ", %rd1;\n"
      "  mad.wide.u32 %rd2, %r0, " +
      bytes +
      ", %rd2;\n"
      "  ld.global." +
      memory + " %a, [%rd1];\n  mov." + type + " %d, %a;\n" + code + "\n  st.global." + memory +
      " [%rd2], %d;\n  ret;\n}\n");
}

template <class T>
struct AtomicResult {
  T cell;
  std::vector<T> before;  ///< %d of each thread
};

template <class T>
AtomicResult<T> run_atomic(const std::string& code, T start, const std::vector<T>& operands) {
  const std::string type = sizeof(T) == 8 ? "b64" : sizeof(T) == 2 ? "b16" : "b32";
  Buffer<T> cell(1, start);
  Buffer<T> in(operands);
  Buffer<T> out(operands.size(), T{});
  std::string log;
  EXPECT_EQ(launch(atomic_kernel(type, code, type), "k", Dim(1),
                   Dim(static_cast<unsigned>(operands.size())),
                   {&cell.address, &in.address, &out.address}, 0, &log),
            CUDA_SUCCESS)
      << code << log << cuda_twin_last_fault();
  return {cell.read()[0], out.read()};
}

/// Each lane gets the value that the lanes before it leave.
template <class T, class F>
void expect_in_order(const std::string& code, T start, const std::vector<T>& operands, F f) {
  const AtomicResult<T> result = run_atomic(code, start, operands);
  T value = start;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    EXPECT_EQ(result.before[i], value) << code << " lane " << i;
    value = f(value, operands[i]);
  }
  EXPECT_EQ(result.cell, value) << code;
}

}  // namespace twin_test

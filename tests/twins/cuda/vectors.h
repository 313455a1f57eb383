// Kernels over vectors of 32-bit numbers, for tests of the driver.
#pragma once

#include <string>

#include "support.h"

namespace twin_test {

/// Kernels for tests of the driver.
///
/// Kernel add_one adds 1 to each of n numbers. Kernel spin writes the numbers from 1 to count to
/// one word. Kernel out_of_bounds writes far beyond any allocation. Kernel shared reverses n
/// numbers of a block through dynamic shared memory.
inline std::string vector_kernels() {
  return module(R"(
.global .align 4 .u32 counter = 7;
.global .align 8 .u64 pointer = counter;
.const .align 4 .u32 table[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 bytes[];

.visible .entry add_one(.param .u64 address, .param .u32 n) {
  .reg .pred %out;
  .reg .b32 %i, %block, %size, %n, %value;
  .reg .b64 %at, %offset;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.u32 %i, %block, %size, %i;
  ld.param.u32 %n, [n];
  setp.ge.u32 %out, %i, %n;
  @%out ret;
  ld.param.u64 %at, [address];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %at, %at, %offset;
  ld.global.u32 %value, [%at];
  add.u32 %value, %value, 1;
  st.global.u32 [%at], %value;
  ret;
}

.visible .entry spin(.param .u64 address, .param .u32 count) {
  .reg .pred %more;
  .reg .b32 %i, %n;
  .reg .b64 %at;
  ld.param.u64 %at, [address];
  ld.param.u32 %n, [count];
  mov.u32 %i, 0;
again:
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %n;
  @%more bra again;
  st.global.u32 [%at], %i;
  ret;
}

.visible .entry out_of_bounds(.param .u64 address) {
  .reg .b32 %zero;
  .reg .b64 %at;
  ld.param.u64 %at, [address];
  mov.u32 %zero, 0;
  st.global.u32 [%at+1073741824], %zero;
  ret;
}

.visible .entry reverse(.param .u64 address) {
  .reg .b32 %i, %size, %value, %spot, %base;
  .reg .b64 %at, %offset;
  mov.u32 %i, %tid.x;
  mov.u32 %size, %ntid.x;
  ld.param.u64 %at, [address];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %at, %at, %offset;
  ld.global.u32 %value, [%at];
  mov.u32 %base, bytes;
  mad.lo.u32 %spot, %i, 4, %base;
  st.shared.u32 [%spot], %value;
  bar.sync 0;
  sub.u32 %size, %size, 1;
  sub.u32 %i, %size, %i;
  mad.lo.u32 %spot, %i, 4, %base;
  ld.shared.u32 %value, [%spot];
  st.global.u32 [%at], %value;
  ret;
}

.visible .entry bump() {
  .reg .b32 %value;
  ld.global.u32 %value, [counter];
  add.u32 %value, %value, 1;
  st.global.u32 [counter], %value;
  ret;
}
)",
                "7.0", "sm_60");
}

/// The kernels, loaded in the current context.
struct Kernels {
  CUmodule loaded = nullptr;
  Kernels() {
    std::string log;
    EXPECT_EQ(load(vector_kernels(), &loaded, &log), CUDA_SUCCESS) << log;
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels() {
    if (loaded != nullptr) (void)cuModuleUnload(loaded);
  }
  CUfunction operator[](const char* name) const {
    CUfunction function = nullptr;
    TWIN_OK(cuModuleGetFunction(&function, loaded, name));
    return function;
  }
  /// Adds 1 to each of n numbers.
  CUresult add_one(CUdeviceptr address, unsigned n, CUstream stream) const {
    void* arguments[] = {&address, &n};
    return cuLaunchKernel((*this)["add_one"], (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream,
                          arguments, nullptr);
  }
  CUresult spin(CUdeviceptr address, unsigned count, CUstream stream) const {
    void* arguments[] = {&address, &count};
    return cuLaunchKernel((*this)["spin"], 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }
  CUresult out_of_bounds(CUdeviceptr address, CUstream stream) const {
    void* arguments[] = {&address};
    return cuLaunchKernel((*this)["out_of_bounds"], 1, 1, 1, 1, 1, 1, 0, stream, arguments,
                          nullptr);
  }
};

}  // namespace twin_test

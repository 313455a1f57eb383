/* What the C programs for the driver's interface have in common. tools/prove-twin compiles each
 * with the twin's header, and with the vendor's where that is installed. */
#ifndef CONSUMER_H
#define CONSUMER_H

#ifdef CONSUMER_VENDOR_HEADER
#include <cuda.h>
#else
#include <cuda_twin/driver.h>
#endif
#include <cuda_twin/control.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(CUresult result, const char* what) {
  const char* name = NULL;
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s: %s\n", what, name != NULL ? name : "?", cuda_twin_last_message());
  exit(1);
}

enum { kCount = 1000, kBlock = 256, kGrid = (kCount + kBlock - 1) / kBlock };

/* inc(a, n): a[i] += 1 for i < n. */
static const char kIncrement[] =
    ".version 7.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
    ".visible .entry inc(.param .u64 a, .param .u32 n) {\n"
    "  .reg .pred %out;\n"
    "  .reg .b32 %i, %block, %size, %n;\n"
    "  .reg .b64 %x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mad.lo.u32 %i, %block, %size, %i;\n"
    "  ld.param.u32 %n, [n];\n"
    "  setp.ge.u32 %out, %i, %n;\n"
    "  @%out ret;\n"
    "  ld.param.u64 %x, [a];\n"
    "  mad.wide.u32 %x, %i, 4, %x;\n"
    "  ld.global.u32 %n, [%x];\n"
    "  add.u32 %n, %n, 1;\n"
    "  st.global.u32 [%x], %n;\n"
    "  ret;\n"
    "}\n";

/* Kernel inc in the current context. */
static inline CUfunction load_increment(CUmodule* module) {
  CUfunction function;
  check(cuModuleLoadData(module, kIncrement), "module");
  check(cuModuleGetFunction(&function, *module, "inc"), "function");
  return function;
}

/* Adds 1 to each of kCount values at `values`. */
static inline void launch_increment(CUfunction function, CUstream stream, CUdeviceptr values) {
  unsigned count = kCount;
  void* parameters[] = {&values, &count};
  check(cuLaunchKernel(function, kGrid, 1, 1, kBlock, 1, 1, 0, stream, parameters, NULL), "launch");
}

static inline void expect_all(const unsigned* values, unsigned expected) {
  for (int i = 0; i < kCount; ++i) {
    if (values[i] == expected) continue;
    fprintf(stderr, "value %d is %u, not %u\n", i, values[i], expected);
    exit(1);
  }
}

#endif

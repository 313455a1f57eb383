/* A program in C for the driver's interface: it adds two vectors with PTX of its own. The twin's
 * version comes as an argument. tools/prove-twin compiles and runs it against what was installed.
 */
#include <string.h>

#include "consumer.h"

/* As programs made with the vendor's header of 13.0 have them in memory. */
#if !defined(CONSUMER_VENDOR_HEADER) || CUDA_VERSION >= 13000
_Static_assert(sizeof(CUlaunchConfig) == 56, "CUlaunchConfig");
_Static_assert(sizeof(CUlaunchAttribute) == 72, "CUlaunchAttribute");
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");
_Static_assert(sizeof(CUDA_MEMCPY3D) == 200, "CUDA_MEMCPY3D");
_Static_assert(sizeof(CUgraphNodeParams) == 256, "CUgraphNodeParams");
_Static_assert(sizeof(CUtensorMap) == 128, "CUtensorMap");
_Static_assert(sizeof(CUmemPoolProps) == 88, "CUmemPoolProps");
#endif

static const char kAdd[] =
    ".version 7.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {\n"
    "  .reg .pred %out;\n"
    "  .reg .b32 %i, %block, %size, %n;\n"
    "  .reg .b64 %at, %x, %y, %z;\n"
    "  .reg .f32 %p, %q, %sum;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mad.lo.u32 %i, %block, %size, %i;\n"
    "  ld.param.u32 %n, [n];\n"
    "  setp.ge.u32 %out, %i, %n;\n"
    "  @%out ret;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  ld.param.u64 %x, [a];\n"
    "  ld.param.u64 %y, [b];\n"
    "  ld.param.u64 %z, [c];\n"
    "  add.u64 %x, %x, %at;\n"
    "  add.u64 %y, %y, %at;\n"
    "  add.u64 %z, %z, %at;\n"
    "  ld.global.f32 %p, [%x];\n"
    "  ld.global.f32 %q, [%y];\n"
    "  add.rn.f32 %sum, %p, %q;\n"
    "  st.global.f32 [%z], %sum;\n"
    "  ret;\n"
    "}\n";

int main(int count, char** arguments) {
  float a[kCount], b[kCount], c[kCount];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr x, y, z;
  int version = 0;
  char name[16];
  unsigned n = kCount;

  check(cuInit(0), "initialisation");
  check(cuDriverGetVersion(&version), "version");
  snprintf(name, sizeof name, "%d.%d", version / 1000, version % 1000 / 10);
  if (count != 2 || strcmp(name, arguments[1]) != 0) {
    fprintf(stderr, "the driver's version is %s\n", name);
    return 1;
  }
  for (int i = 0; i < kCount; ++i) {
    a[i] = (float)i;
    b[i] = 0.5f * (float)(kCount - i);
  }
  check(cuDeviceGet(&device, 0), "device");
  check(cuDevicePrimaryCtxRetain(&context, device), "context");
  check(cuCtxSetCurrent(context), "context");
  check(cuModuleLoadData(&module, kAdd), "module");
  check(cuModuleGetFunction(&add, module, "add"), "function");
  check(cuMemAlloc(&x, sizeof a), "memory");
  check(cuMemAlloc(&y, sizeof b), "memory");
  check(cuMemAlloc(&z, sizeof c), "memory");
  check(cuMemcpyHtoD(x, a, sizeof a), "copy");
  check(cuMemcpyHtoD(y, b, sizeof b), "copy");
  {
    void* parameters[] = {&x, &y, &z, &n};
    check(cuLaunchKernel(add, kGrid, 1, 1, kBlock, 1, 1, 0, NULL, parameters, NULL), "launch");
  }
  check(cuMemcpyDtoH(c, z, sizeof c), "copy back");
  for (int i = 0; i < kCount; ++i) {
    if (c[i] != a[i] + b[i]) {
      fprintf(stderr, "%g + %g = %g\n", a[i], b[i], c[i]);
      return 1;
    }
  }
  check(cuMemFree(x), "free");
  check(cuMemFree(y), "free");
  check(cuMemFree(z), "free");
  check(cuModuleUnload(module), "unload");
  check(cuDevicePrimaryCtxRelease(device), "release");
  return 0;
}

/* A program in C for two devices: a kernel of the first writes memory of the second, which is then
 * copied to the first. */
#include "consumer.h"

int main(void) {
  static unsigned host[kCount];
  CUdevice devices[2];
  CUcontext contexts[2];
  CUmodule module;
  CUfunction increment;
  CUdeviceptr here, there;
  int count = 0, reaches = 0;

  if (!cuda_twin_set("CUDA_TWIN_DEVICES", "2")) return 1;
  check(cuInit(0), "initialisation");
  check(cuDeviceGetCount(&count), "devices");
  if (count != 2) return 1;
  for (int i = 0; i < 2; ++i) {
    check(cuDeviceGet(&devices[i], i), "device");
    check(cuDevicePrimaryCtxRetain(&contexts[i], devices[i]), "context");
  }
  check(cuDeviceCanAccessPeer(&reaches, devices[0], devices[1]), "peers");
  if (!reaches) return 1;
  check(cuCtxSetCurrent(contexts[1]), "context");
  check(cuMemAlloc(&there, sizeof host), "memory");
  check(cuMemsetD32(there, 1, kCount), "fill");
  check(cuCtxSynchronize(), "synchronization");
  check(cuCtxSetCurrent(contexts[0]), "context");
  check(cuCtxEnablePeerAccess(contexts[1], 0), "peers");
  check(cuMemAlloc(&here, sizeof host), "memory");
  increment = load_increment(&module);
  launch_increment(increment, NULL, there);
  check(cuMemcpyPeer(here, contexts[0], there, contexts[1], sizeof host), "copy to a peer");
  check(cuMemcpyDtoH(host, here, sizeof host), "copy");
  expect_all(host, 2);

  check(cuModuleUnload(module), "module");
  check(cuMemFree(here), "memory");
  check(cuMemFree(there), "memory");
  for (int i = 0; i < 2; ++i) check(cuDevicePrimaryCtxRelease(devices[i]), "release");
  return 0;
}

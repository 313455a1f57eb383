/* A program in C with two streams: the second waits for an event of the first, and two events take
 * the time. */
#include "consumer.h"

int main(void) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction increment;
  CUdeviceptr values;
  CUstream first, second;
  CUevent start, half, end;
  unsigned* host;
  float milliseconds = -1;

  check(cuInit(0), "initialisation");
  check(cuDeviceGet(&device, 0), "device");
  check(cuDevicePrimaryCtxRetain(&context, device), "context");
  check(cuCtxSetCurrent(context), "context");
  increment = load_increment(&module);
  check(cuMemAlloc(&values, kCount * sizeof(unsigned)), "memory");
  check(cuMemHostAlloc((void**)&host, kCount * sizeof(unsigned), 0), "pinned memory");
  check(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), "stream");
  check(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), "stream");
  check(cuEventCreate(&start, CU_EVENT_DEFAULT), "event");
  check(cuEventCreate(&half, CU_EVENT_DISABLE_TIMING), "event");
  check(cuEventCreate(&end, CU_EVENT_DEFAULT), "event");

  check(cuEventRecord(start, first), "record");
  check(cuMemsetD32Async(values, 5, kCount, first), "fill");
  launch_increment(increment, first, values);
  check(cuEventRecord(half, first), "record");
  check(cuStreamWaitEvent(second, half, 0), "wait");
  launch_increment(increment, second, values);
  check(cuMemcpyDtoHAsync(host, values, kCount * sizeof(unsigned), second), "copy");
  check(cuEventRecord(end, second), "record");
  check(cuEventSynchronize(end), "synchronization");
  check(cuEventQuery(half), "query");
  check(cuEventElapsedTime(&milliseconds, start, end), "time");
  if (!(milliseconds >= 0)) return 1;
  expect_all(host, 7);

  check(cuEventDestroy(start), "event");
  check(cuEventDestroy(half), "event");
  check(cuEventDestroy(end), "event");
  check(cuStreamDestroy(first), "stream");
  check(cuStreamDestroy(second), "stream");
  check(cuMemFree(values), "memory");
  check(cuMemFreeHost(host), "pinned memory");
  check(cuModuleUnload(module), "module");
  check(cuDevicePrimaryCtxRelease(device), "release");
  return 0;
}

/* A program in C that captures three launches as a graph, and launches the graph twice. */
#include "consumer.h"

int main(void) {
  static unsigned host[kCount];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction increment;
  CUdeviceptr values;
  CUstream stream;
  CUgraph graph;
  CUgraphExec executable;
  size_t nodes = 0;

  check(cuInit(0), "initialisation");
  check(cuDeviceGet(&device, 0), "device");
  check(cuDevicePrimaryCtxRetain(&context, device), "context");
  check(cuCtxSetCurrent(context), "context");
  increment = load_increment(&module);
  check(cuMemAlloc(&values, sizeof host), "memory");
  check(cuMemsetD32(values, 0, kCount), "fill");
  check(cuCtxSynchronize(), "synchronization");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");

  check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
  for (int i = 0; i < 3; ++i) launch_increment(increment, stream, values);
  check(cuStreamEndCapture(stream, &graph), "capture");
  check(cuGraphGetNodes(graph, NULL, &nodes), "nodes");
  if (nodes != 3) return 1;
  check(cuGraphInstantiate(&executable, graph, 0), "instantiation");
  for (int i = 0; i < 2; ++i) check(cuGraphLaunch(executable, stream), "graph");
  check(cuStreamSynchronize(stream), "synchronization");
  check(cuMemcpyDtoH(host, values, sizeof host), "copy");
  expect_all(host, 6);

  check(cuGraphExecDestroy(executable), "graph");
  check(cuGraphDestroy(graph), "graph");
  check(cuStreamDestroy(stream), "stream");
  check(cuMemFree(values), "memory");
  check(cuModuleUnload(module), "module");
  check(cuDevicePrimaryCtxRelease(device), "release");
  return 0;
}

#include "schedule/costs/estimates.h"

#include <algorithm>
#include <array>

#include "schedule/costs/work.h"

namespace shunt {

namespace {

struct Estimate {
  DeviceKind kind = DeviceKind::kNull;
  DeviceSpeed speed;
};

const DeviceSpeed& usual_for(DeviceKind kind) {
  // A PCI Express 4.0 link of 16 lanes carries 31.5 GB/s (16 GT/s, 128b/130b); copies reach
  // about 25.
  constexpr double kPciLatency = 10e-6;
  constexpr double kPciExpress = 25e9;
  static constexpr std::array kEstimates = {
      // Two threads of an AMD EPYC, measured: docs/internals/kernels.md, "The roofs" and matmul at
      // N = 512. A copy reads and writes, so it gets half of the memory's speed.
      Estimate{DeviceKind::kCpu, {3e11, 4e10, 1e-6, 1e-6, 2e10}},
      // NVIDIA A100 PCIe 40 GB, data sheet: 19.5 Tflop/s in F32, 1555 GB/s. The launch of a kernel
      // takes a few us.
      Estimate{DeviceKind::kGpu, {1.95e13, 1.555e12, 5e-6, kPciLatency, kPciExpress}},
      // Ascend 310P, the smallest chip that is supported: half of an Atlas 300I Duo, which has 280
      // TOPS in 8 bits (so 70 Tflop/s a chip in F16) and 408 GB/s. The host prepares every op: some
      // 20 us, a guess.
      Estimate{DeviceKind::kNpu, {7e13, 2.04e11, 20e-6, kPciLatency, kPciExpress}},
      // NNPA of an IBM z16: over 200 Tflop/s in 32 chips ("AI Accelerator on IBM Telum Processor",
      // ISCA 2022). It reads the host's memory; a copy means changing the layout, which is the
      // CPU's work. Latencies and memory are guesses.
      Estimate{DeviceKind::kAccelerator, {6e12, 1e11, 10e-6, 5e-6, 1e10}},
      // Computes nothing.
      Estimate{DeviceKind::kNull, {1, 1, 1, 1, 1}},
  };
  for (const Estimate& estimate : kEstimates) {
    if (estimate.kind == kind) return estimate.speed;
  }
  return kEstimates.back().speed;
}

/// Time of an operation relative to one of a product of matrices on the same device.
double usual_scale(std::string_view op) {
  // A guess, not measured: attention has the rate of products of floats and an exponential for each
  // score; products of 8-bit numbers are faster.
  constexpr double kAttention = 2;
  return op_with_same_costs(op) == "attention" ? kAttention : 1;
}

}  // namespace

DeviceSpeed estimate_of(const DeviceInfo& device) {
  const DeviceSpeed& usual = usual_for(device.kind);
  DeviceSpeed speed = device.speed.value_or(usual);
  for (double DeviceSpeed::*const rate :
       {&DeviceSpeed::operations_per_second, &DeviceSpeed::bytes_per_second,
        &DeviceSpeed::copy_bytes_per_second}) {
    if (!(speed.*rate > 0)) speed.*rate = usual.*rate;
  }
  for (double DeviceSpeed::*const seconds :
       {&DeviceSpeed::launch_seconds, &DeviceSpeed::copy_latency}) {
    if (!(speed.*seconds >= 0)) speed.*seconds = usual.*seconds;
  }
  return speed;
}

OpCost scaled_cost(const OpCost& measured, std::string_view op, DType dtype) {
  OpCost cost = measured;
  cost.op = op;
  cost.dtype = dtype;
  if (op != measured.op && cost.few_seconds_per_operation > 0) {
    // Another op unpacks other operands: the slower rate is used for both.
    cost.seconds_per_operation =
        std::max(cost.seconds_per_operation, cost.few_seconds_per_operation);
    cost.unpack_seconds_per_byte = 0;
    cost.few_seconds_per_operation = 0;
  }
  const double scale = usual_scale(op) / usual_scale(measured.op);
  for (double* seconds : {&cost.seconds_per_operation, &cost.few_seconds_per_operation})
    *seconds *= scale;
  return cost;
}

}  // namespace shunt

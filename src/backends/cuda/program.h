// Making a segment ready: a kernel for each node, its module loaded; then bind to addresses.
#pragma once

#include "backends/cuda/fusion.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/modules.h"
#include "shunt/device.h"

namespace shunt::cuda {

using Table = KernelTable<CudaKernel>;

/// Table, modules and target must outlive the program. `patterns`: of nodes that are fused.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         Modules& modules, const CudaTarget& target,
                                         std::span<const Pattern> patterns);

}  // namespace shunt::cuda

// Segments made ready for a device: kernels are chosen, and their calls are made without addresses
// to learn their needs.
#pragma once

#include "backends/cann/binding.h"
#include "backends/cann/fusion.h"
#include "backends/cann/memory.h"

namespace shunt::cann {

using Table = KernelTable<CannKernel>;

/// Table, target and memory must outlive the program.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const CannTarget& target, DeviceMemory& memory,
                                         std::span<const Pattern> patterns);

}  // namespace shunt::cann

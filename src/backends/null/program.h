// Making a segment ready: choose kernels, match fusions, state the needs; then bind to addresses.
#pragma once

#include "backends/null/kernel.h"
#include "shunt/device.h"

namespace shunt::null {

using Table = KernelTable<NullKernel>;

/// Unsupported: placement never gives a segment to a device that supports none of its nodes.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const NullTarget& target);

}  // namespace shunt::null

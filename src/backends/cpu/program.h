// A segment on the CPU: a flat list of launches that all threads walk together.
#pragma once

#include <memory>

#include "backend_support/host_binding.h"
#include "backend_support/pool.h"
#include "backends/cpu/fusion.h"
#include "backends/cpu/kernel.h"
#include "shunt/device.h"

namespace shunt::cpu {

using Table = KernelTable<CpuKernel>;

/// Table and pool must outlive the program. Its bindings are HostBindings, which run on the pool.
/// An index that a kernel found out of range is an Error that names the node.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const CpuTarget& target, Pool& pool,
                                         std::span<const Pattern> patterns = {});

}  // namespace shunt::cpu

// A segment on the CPU: a flat list of launches that all threads walk together.
#pragma once

#include <memory>

#include "backends/cpu/fusion.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/pool.h"
#include "shunt/device.h"

namespace shunt::cpu {

using Table = KernelTable<CpuKernel>;

/// Table and pool must outlive the program.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table, Pool& pool,
                                         std::span<const Pattern> patterns = {});

/// Runs a binding made by such a program on its pool. An index that a kernel found out of range is
/// an Error that names the node.
Status run(Binding& binding, const RunArgs& args);

}  // namespace shunt::cpu

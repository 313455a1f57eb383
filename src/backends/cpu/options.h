// The options of the CPU: "cpu.level", "cpu.fuse", "cpu.deterministic", "cpu.memory", and
// "cpu.calibrate", which the command reads.
#pragma once

#include <span>
#include <string>

#include "shunt/registry.h"

namespace shunt::cpu {

struct CpuOptions {
  std::string level;  ///< the highest vector level; empty: the best
  bool fuse = true;
  bool deterministic = false;   ///< CpuTarget::batch_invariant
  bool high_bandwidth = false;  ///< its memory, where there is such
};

std::span<const BackendOption> option_table();
/// Of options whose settings were checked.
CpuOptions parse_options(const Options& options);

}  // namespace shunt::cpu

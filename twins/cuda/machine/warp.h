// A warp while it runs: registers of 32 lanes, and the groups of lanes that stand at the same
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/program/op.h"

namespace cuda_twin {

struct Block;

/// Lanes that are at the same op of the same function call. The group with the lowest op runs;
/// groups that meet become one.
struct Group {
  std::uint32_t op = 0;
  LaneMask lanes = 0;
  std::uint32_t frame = 0;  ///< index into Warp::frames; groups with different frames do not meet
};

struct Warp {
  std::byte* banks[2] = {nullptr, nullptr};  ///< by Bank: kRegisters (current frame), kConstants
  LaneMask* predicates = nullptr;            ///< of the current frame
  std::uint64_t local_base = 0;              ///< of the current frame, in each lane's local memory
  Block* block = nullptr;
  std::uint32_t index = 0;  ///< in the block
  LaneMask lanes = 0;       ///< that exist: the last warp of a block may have fewer
  LaneMask exited = 0;
  std::vector<Group> groups;       ///< groups[0] is the one that runs
  std::uint64_t instructions = 0;  ///< executed so far
  std::uint32_t op = 0;            ///< that runs now: index into Program::ops

  /// Special registers, a value for each lane (tid, laneid); those of the block are in Block.
  alignas(64) std::uint32_t tid[3][kLanes] = {};
};

/// A kernel's error. The machine adds kernel, line, block and thread; the launch ends.
/// `code` is a CUresult: 700 address, 714 stack, 715 instruction, 716 misaligned, 717 address
/// space, 718 pc, 719 launch failed. Always returns Next::kSwitch.
Next fault(Warp& warp, int code, unsigned lane, std::string reason);

/// A finding of a check (race, uninitialised read, divergent barrier): recorded; a fault if the
/// settings say so. `check` is the check's name in the README. Returns what the handler shall
/// return.
Next report(Warp& warp, const char* check, unsigned lane, std::string reason);

}  // namespace cuda_twin

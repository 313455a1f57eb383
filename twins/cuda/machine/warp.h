// A warp while it runs: registers of 32 lanes, and the groups of lanes that stand at the same
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/machine/polls.h"
#include "cuda/program/op.h"

namespace cuda_twin {

struct AsyncCopies;  // memory/async.h
struct Block;
struct CallSite;
struct FunctionInfo;

/// Lanes that are at the same op of the same function call. The deepest call with the lowest op
/// runs first; groups that meet become one.
struct Group {
  enum class State : std::uint8_t {
    kReady,
    kSync,     ///< at a .sync instruction, until more lanes come or end
    kBarrier,  ///< arrived at Group::barrier of the block
  };
  std::uint32_t op = 0;
  LaneMask lanes = 0;
  std::uint32_t frame = 0;  ///< index into Warp::frames; groups with different frames do not meet
  std::uint32_t turn = 0;   ///< quanta of instructions that it used: fewer runs first
  std::uint32_t holds = 0;  ///< of the complete bar.red: lanes whose predicate is true, is false
  std::uint32_t fails = 0;
  LaneMask members = 0;  ///< of the instruction with a member mask at which it waits (meeting.h)
  State state = State::kReady;
  std::uint8_t barrier = 0;
  bool forced = false;    ///< executes its .sync instruction without the lanes that never come
  bool aligned = false;   ///< waits for the whole warp
  bool released = false;  ///< its bar.red is complete
};

/// A call that has not returned for all of its lanes.
struct Frame {
  const FunctionInfo* function = nullptr;
  const CallSite* site = nullptr;  ///< null: the kernel itself
  std::byte* registers = nullptr;
  LaneMask* predicates = nullptr;
  std::uint32_t caller = 0;  ///< index into Warp::frames
  std::uint32_t return_op = 0;
  std::uint32_t depth = 0;
  std::uint64_t local_base = 0;  ///< of its .local variables, in the local memory of a lane
  LaneMask lanes = 0;            ///< in it, or in calls that it made; 0: free
  std::vector<std::byte> storage;
};

struct Warp {
  std::byte* banks[2] = {nullptr, nullptr};  ///< by Bank: kRegisters (current frame), kConstants
  LaneMask* predicates = nullptr;            ///< of the current frame
  std::uint64_t local_base = 0;              ///< of the current frame, in each lane's local memory
  Block* block = nullptr;
  std::shared_ptr<AsyncCopies> copies;  ///< of cp.async; null: none
  std::uint32_t index = 0;              ///< in the block
  LaneMask lanes = 0;                   ///< that exist: the last warp of a block may have fewer
  LaneMask exited = 0;
  std::uint32_t group_count = 0;
  std::uint32_t op = 0;            ///< that runs now: index into Program::ops
  std::uint32_t meet = 0;          ///< op at which the running group meets the next one
  bool reschedule = false;         ///< the running group waits, has split or has ended
  bool yield = false;              ///< the running group lets others go first
  bool waits = false;              ///< it did so in a loop that polls memory
  LaneMask at_cluster = 0;         ///< arrived at the barrier of the cluster, and have not waited
  std::uint64_t instructions = 0;  ///< executed so far
  Group groups[kLanes];            ///< groups[0] is the one that runs
  std::vector<Frame> frames;       ///< frames[0] is the kernel
  std::vector<std::uint32_t> free_frames;  ///< those in which no lane is
  std::size_t frame_bytes = 0;             ///< of the registers of all frames
  Polls polls;                             ///< of its strong reads

  /// Special registers, a value for each lane (tid, laneid); those of the block are in Block.
  alignas(64) std::uint32_t tid[3][kLanes] = {};

  LaneMask alive() const { return lanes & ~exited; }
};

/// A kernel's error. The machine adds kernel, line, block and thread; the launch ends.
/// `code` is a CUresult: 700 address, 714 stack, 715 instruction, 716 misaligned, 717 address
/// space, 718 pc, 719 launch failed. Always returns Next::kSwitch.
Next fault(Warp& warp, int code, unsigned lane, std::string reason);

/// A finding of a check (race, uninitialised read, divergent barrier): recorded; a fault if the
/// settings say so. `check` is the check's name in the README. Returns what the handler shall
/// return.
Next report(Warp& warp, const char* check, unsigned lane, std::string reason);

/// "0-3,7" for a mask of lanes.
std::string lanes_text(LaneMask lanes);

/// For an .aligned instruction. True: all lanes of the warp are in `active`. False: `active` waits
/// for the others; return Next::kSwitch, and the handler is called again when they are here. A
/// finding "aligned" if they have ended or can never come; if that does not end the launch,
/// gather_aligned() then is true without them.
bool gather_aligned(Warp& warp, LaneMask active);

}  // namespace cuda_twin

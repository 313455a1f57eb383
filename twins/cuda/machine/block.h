// A block while it runs, and what all blocks of a launch share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/machine/warp.h"
#include "cuda/memory/space.h"
#include "cuda/program/program.h"

namespace cuda_twin {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

class SharedRaces;  // races/races.h
class GlobalRaces;

/// Checks beyond addresses, as the settings were at the launch.
struct Checks {
  bool initialised = true;
  bool races = true;
  bool warp = true;  ///< aligned instructions, absent lanes, masks, barriers
  bool stop = true;  ///< a finding ends the launch with CUDA_ERROR_LAUNCH_FAILED
};
enum class Sum : std::uint8_t { kSingle, kDouble, kTruncated };  ///< of mma: CUDA_TWIN_MMA_SUM

/// A launch: everything the machine needs, owned by the piece of work that runs it.
struct Launch {
  std::shared_ptr<const Program> program;
  const KernelInfo* kernel = nullptr;
  Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared = 0;
  std::uint64_t stack_bytes = 0;      ///< of a thread, for recursion: CU_LIMIT_STACK_SIZE
  std::vector<std::byte> parameters;  ///< exactly KernelInfo::parameter_bytes
  std::shared_ptr<Space> space;       ///< addresses of the context's device
  std::uint64_t work = 0;  ///< number of this piece of work, for races between pieces (races/)
  int sm = 80;             ///< capability
  std::uint32_t multiprocessors = 1;
  std::uint64_t resident_blocks = 1;    ///< that the device has room for at once
  std::uint64_t instruction_limit = 0;  ///< of warps in all; 0: none
  std::uint64_t seed = 0;               ///< order of blocks and warps
  unsigned host_threads = 1;
  Checks checks;
  Sum sum = Sum::kSingle;
  bool worst_approximations =
      false;  ///< approximate instructions at the edge of their documented error
  bool cooperative = false;
  int device = 0;                             ///< ordinal of the device that runs it
  std::uint32_t devices = ~std::uint32_t{0};  ///< bit d: kernels may use memory of device d
  GlobalRaces* global_races = nullptr;        ///< of this launch; null: not checked
};

/// Counts of a launch, for control.h.
struct LaunchCounts {
  std::uint64_t blocks = 0;
  std::uint64_t instructions[kOpKinds] = {};  ///< of warps
  std::uint64_t lane_instructions = 0;
  std::uint64_t global_bytes_read = 0, global_bytes_written = 0;
  std::uint64_t global_sectors = 0;        ///< of 32 bytes, by warp instruction
  std::uint64_t bank_conflicts = 0;        ///< extra passes over shared memory
  std::uint64_t worst_bank_conflict = 0;   ///< of one access
  std::uint64_t blocks_without_write = 0;  ///< to global memory
};

struct Finding {
  std::string check;
  std::string text;
};

struct LaunchResult {
  int code = 0;        ///< CUresult
  std::string reason;  ///< kernel, line, block, thread, address, allocation
  std::vector<Finding> findings;
  LaunchCounts counts;
};

/// Runs a launch to its end on the calling thread and `host_threads - 1` helpers. machine/run.cpp
LaunchResult run(const Launch& launch);

class Grid;  // machine/grid.h

/// One of the 16 barriers of a block.
struct Barrier {
  std::uint32_t threads = 0;  ///< that it waits for; 0: all that have not ended
  std::uint32_t arrived = 0;  ///< lanes
  std::uint32_t holds = 0;    ///< lanes of bar.red whose predicate is true
  std::uint32_t fails = 0;    ///< lanes of bar.red whose predicate is false
  std::uint32_t warps = 0;    ///< bit i: lanes of warp i arrived
  std::uint32_t op = 0;       ///< of the first that arrived
  LaneMask lanes[32] = {};    ///< that arrived, by warp
};
inline constexpr unsigned kBarriers = 16;
inline constexpr unsigned kClusterBarrier = kBarriers;

struct Block {
  const Launch* launch = nullptr;
  Dim3 index;
  std::uint64_t linear_index = 0;
  std::vector<std::byte> shared;              ///< static, then dynamic
  std::vector<std::uint64_t> shared_written;  ///< a bit a byte
  std::vector<std::byte>
      local;  ///< of all lanes of the block: lane after lane, `local_stride` bytes each
  std::vector<std::uint64_t> local_written;
  SharedRaces* shared_races = nullptr;  ///< null: not checked
  ExtentCache extents;
  LaunchCounts counts;
  std::vector<std::unique_ptr<Warp>> warps;

  std::uint64_t local_stride = 0;   ///< of a lane in `local`: KernelInfo::local_bytes, or more for
                                    ///< the frames of a recursion
  Grid* grid = nullptr;             ///< errors and findings of the launch
  std::uint64_t order = 0;          ///< position in the order of blocks
  std::uint32_t alive = 0;          ///< threads that have not ended
  bool failed = false;              ///< a fault: no instruction runs any more
  Barrier barriers[kBarriers + 1];  ///< and that of a cluster of one block
};

/// Windows of the generic address space. No device address is at or above kSharedWindow.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = (std::uint64_t{1} << 56) + (std::uint64_t{1} << 40);
inline constexpr std::uint64_t kParamWindow = (std::uint64_t{1} << 56) + (std::uint64_t{2} << 40);
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 32;

}  // namespace cuda_twin

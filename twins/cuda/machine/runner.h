// One block and the order in which its warps run. Its memory serves one block after another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/machine/block.h"
#include "cuda/machine/random.h"

namespace cuda_twin {

class Runner {
 public:
  explicit Runner(Grid& grid);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  /// Readies the block at a position of the grid's order.
  void start(std::uint64_t position);

  enum class Outcome : std::uint8_t { kEnded, kFailed, kMore };
  /// Runs the block to its end, an error, until it waits(), or until about `slice` instructions are
  /// executed.
  Outcome run(std::uint64_t slice);

  std::uint64_t position() const { return block_.order; }
  /// Instructions of this block so far.
  std::uint64_t executed() const { return executed_; }
  /// All of its warps that can run poll memory.
  bool waits() const { return polled_ >= kEnoughRounds; }

 private:
  static constexpr std::uint32_t kEnoughRounds = 4;

  void make_warps();
  void clear_memory();
  void start_warp(Warp& warp);
  /// Counts a block that wrote nothing to global memory; before the first block nothing.
  void end_block();
  std::uint64_t quantum(std::uint64_t slice);
  bool run_each_warp(std::uint64_t slice, std::uint64_t& budget);

  Grid& grid_;
  Block block_;
  std::shared_ptr<SharedRaces> races_;
  std::vector<std::uint32_t> order_;  ///< of warps
  Random random_;
  std::uint64_t executed_ = 0;
  std::uint64_t written_before_ = 0;  ///< bytes, before the block
  std::uint32_t polled_ = 0;  ///< rounds in sequence in which its warps did nothing but poll
};

}  // namespace cuda_twin

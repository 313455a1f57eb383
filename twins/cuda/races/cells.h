// Cells that remember the last accesses to each word of global memory. The instructions read and
// write them in loops over lanes (instructions/race_loops.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cuda_twin {

/// Cells of one allocation, a page of them made on first use.
class GlobalCells {
 public:
  GlobalCells() = default;
  GlobalCells(const GlobalCells&) = delete;
  GlobalCells& operator=(const GlobalCells&) = delete;
};

}  // namespace cuda_twin

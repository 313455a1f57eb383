// Counts of launches and copies, and the findings of the checks, for control.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cuda/include/cuda_twin/control.h"
#include "cuda/machine/block.h"

namespace cuda_twin {

void count_launch(const std::string& kernel, const LaunchCounts& counts,
                  std::span<const std::byte> parameters);
void count_copy(cuda_twin_direction direction, std::uint64_t bytes);
void keep_findings(const std::vector<Finding>& findings);
void reset_counts();
void drop_findings();

}  // namespace cuda_twin

#include "backends/cpu/fusion.h"

#include <ranges>

#include "backends/cpu/weight_memory.h"

namespace shunt::cpu {

namespace {

/// Patterns as the search calls them, at a target.
auto at_target(std::span<const Pattern> patterns, const CpuTarget& target) {
  return std::views::transform(patterns, [&target](Pattern pattern) {
    return [pattern, &target](const Surroundings& around, NodeId first) {
      return pattern(around, first, target);
    };
  });
}

}  // namespace

Fusions::Fusions(const SegmentView& segment, std::span<const Pattern> patterns,
                 const CpuTarget& target)
    : shunt::Fusions<CpuKernel>(segment, at_target(patterns, target), [&](const Fused& fused) {
        for (std::size_t i = 0; i < fused.sources.size(); ++i) {
          const NodeId source = fused.sources[i];
          if (source == kNoNode || !is_interleaved(segment, source)) continue;
          if (!fused.kernel->reads_interleaved(i)) return false;
        }
        return true;
      }) {}

}  // namespace shunt::cpu

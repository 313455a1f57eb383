#include "backends/cpu/simd/level.h"

#include <algorithm>
#include <array>

// clang-format off
#include "backends/cpu/simd/int8_targets.h"
#include "hwy/highway.h"
// clang-format on

namespace shunt::cpu::simd {
namespace {

struct Level {
  std::string_view name;
  std::int64_t target;
};

// Best first; a better target has a lower bit in Highway.
constexpr std::array kLevels = {
    Level{"avx3_dl", HWY_AVX3_DL}, Level{"avx3", HWY_AVX3}, Level{"avx2", HWY_AVX2},
    Level{"sse4", HWY_SSE4},       Level{"neon", HWY_NEON}, Level{"scalar", HWY_EMU128},
    Level{"scalar", HWY_SCALAR},
};

/// Targets that were compiled. (In this file, which foreach_target.h does not go through, Highway
/// lists what it would compile.)
constexpr std::int64_t kCompiled = HWY_TARGETS;

/// All that the machine can run, whatever the limit.
std::int64_t runnable() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedTargets() & kCompiled;
}

}  // namespace

std::vector<std::string_view> levels() {
  const std::int64_t chosen = hwy::SupportedTargets();
  const std::int64_t all = runnable();
  hwy::SetSupportedTargetsForTest(chosen);
  std::vector<std::string_view> names;
  for (const Level& level : kLevels) {
    if ((all & level.target) != 0) names.push_back(level.name);
  }
  return names;
}

std::string_view level() {
  const std::int64_t targets = hwy::SupportedTargets() & kCompiled;
  const auto* found = std::ranges::find_if(
      kLevels, [&](const Level& candidate) { return (targets & candidate.target) != 0; });
  return found == kLevels.end() ? "unknown" : found->name;
}

bool allows_level(std::string_view name) {
  const std::int64_t targets = hwy::SupportedTargets() & kCompiled;
  return std::ranges::any_of(kLevels, [&](const Level& candidate) {
    return (targets & candidate.target) != 0 && candidate.name == name;
  });
}

std::size_t level_number() {
  return hwy::GetChosenTarget().GetIndex();
}

bool limit_level(std::string_view name) {
  const std::int64_t before = hwy::SupportedTargets();
  const std::int64_t all = runnable();
  const auto* found = std::ranges::find_if(kLevels, [&](const Level& candidate) {
    return (all & candidate.target) != 0 && candidate.name == name;
  });
  const bool known = name.empty() || found != kLevels.end();
  if (!known) hwy::SetSupportedTargetsForTest(before);
  // All targets at or below the named one: its bit and those above it.
  if (known && !name.empty()) hwy::SetSupportedTargetsForTest(all & -found->target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return known;
}

}  // namespace shunt::cpu::simd

#include "backends/cpu/simd/level.h"

#include <algorithm>

#include "backends/cpu/simd/amx.h"

// clang-format off
#include "backends/cpu/simd/int8_targets.h"
#include "hwy/highway.h"
// clang-format on

namespace shunt::cpu::simd {
namespace {

bool has_avx_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

/// This level adds tiles, and the products of BF16 that are used for few columns.
bool has_amx_bf16() {
#if defined(__x86_64__)
  return has_amx() && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

/// Targets that were compiled. (The header foreach_target.h does not go through this file. So
/// Highway lists the targets that it would compile.)
constexpr std::int64_t kCompiled = HWY_TARGETS;

/// Those at or below a target, as entries of Highway's tables. A better target has a lower bit, and
/// its requirements on a machine include those of the targets below it.
constexpr std::uint64_t entries_from(std::int64_t target) {
  return HWY_CHOSEN_TARGET_SHIFT(kCompiled & -target) | HWY_CHOSEN_TARGET_MASK_SCALAR;
}

constexpr LevelRow row(std::string_view name, std::int64_t target, bool (*there)() = nullptr) {
  return {.name = name,
          .targets = target,
          .there = there,
          .tiles = name == "amx",
          .avx2_vnni = name == "avx2_vnni",
          .entries = entries_from(target)};
}

/// All targets that the machine can run.
std::int64_t runnable() {
#if defined(__aarch64__)
  // Every such machine has NEON. Highway requires AES as well. The Raspberry Pi 4 lacks it, and
  // nothing here uses it.
  return kCompiled;
#else
  static const std::int64_t targets = hwy::SupportedTargets() & kCompiled;
  return targets;
#endif
}

bool can_run(const LevelRow& level) {
  if (&level == &kLevels.back()) return true;  // whatever Highway calls it on this machine
  return (runnable() & level.targets) != 0 && (level.there == nullptr || level.there());
}

}  // namespace

constinit const std::array<LevelRow, 8> kLevels = {
    row("amx", HWY_AVX3_DL, has_amx_bf16),
    row("avx3_dl", HWY_AVX3_DL),
    row("avx3", HWY_AVX3),
    row("avx2_vnni", HWY_AVX2, has_avx_vnni),
    row("avx2", HWY_AVX2),
    row("sse4", HWY_SSE4),
    row("neon", HWY_NEON),
    row("scalar", HWY_EMU128 | HWY_SCALAR),
};

Level Level::best() {
  return Level(*std::ranges::find_if(kLevels, can_run));
}

std::optional<Level> Level::find(std::string_view name) {
  const auto found = std::ranges::find(kLevels, name, &LevelRow::name);
  if (found == kLevels.end() || !can_run(*found)) return {};
  return Level(*found);
}

bool Level::allows(std::string_view name) const {
  const auto other = find(name);
  return other && other->row_ >= row_;
}

std::vector<std::string_view> levels() {
  std::vector<std::string_view> names;
  for (const LevelRow& level : kLevels) {
    if (can_run(level)) names.push_back(level.name);
  }
  return names;
}

}  // namespace shunt::cpu::simd

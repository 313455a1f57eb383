#include "backends/cpu/simd/level.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "backends/cpu/simd/amx.h"

// clang-format off
#include "backends/cpu/simd/int8_targets.h"
#include "hwy/highway.h"
// clang-format on

namespace shunt::cpu::simd {
namespace {

struct Level {
  std::string_view name;
  std::int64_t target;
  /// Whether the machine has what the level needs besides.
  bool (*there)() = nullptr;
};

bool has_avx_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

/// Tiles are what this level adds, beside the products of BF16 that those of few columns take.
bool has_amx_bf16() {
#if defined(__x86_64__)
  return has_amx() && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

// Best first; a better target has a lower bit in Highway.
constexpr std::array kLevels = {
    Level{"amx", HWY_AVX3_DL, has_amx_bf16},
    Level{"avx3_dl", HWY_AVX3_DL},
    Level{"avx3", HWY_AVX3},
    Level{"avx2_vnni", HWY_AVX2, has_avx_vnni},
    Level{"avx2", HWY_AVX2},
    Level{"sse4", HWY_SSE4},
    Level{"neon", HWY_NEON},
    Level{"scalar", HWY_EMU128},
    Level{"scalar", HWY_SCALAR},
};
constexpr std::size_t kAmx = 0;
constexpr std::size_t kAvx2Vnni = 3;
static_assert(kLevels[kAmx].name == "amx" && kLevels[kAvx2Vnni].name == "avx2_vnni");

/// Targets that were compiled. (In this file, which foreach_target.h does not go through, Highway
/// lists what it would compile.)
constexpr std::int64_t kCompiled = HWY_TARGETS;

/// All that the machine can run, whatever the limit: it is asked before there is one.
std::int64_t runnable() {
#if defined(__aarch64__)
  // Every such machine has NEON. Highway wants AES besides, which not all have (the Raspberry Pi 4
  // hasn't), and which nothing here uses.
  return kCompiled;
#else
  static const std::int64_t targets = hwy::SupportedTargets() & kCompiled;
  return targets;
#endif
}

/// The first level from `from` on that the machine can run and, unless `name` is empty, is called
/// so; or as many as there are.
std::size_t find_level(std::string_view name, std::size_t from = 0) {
  const auto found = std::find_if(kLevels.begin() + from, kLevels.end(), [&](const Level& level) {
    return (runnable() & level.target) != 0 && (level.there == nullptr || level.there()) &&
           (name.empty() || level.name == name);
  });
  return static_cast<std::size_t>(found - kLevels.begin());
}

/// The number of the level in use. Highway's choice follows it.
std::atomic<std::size_t>& in_use() {
  static std::atomic<std::size_t> number = find_level("");
  return number;
}

}  // namespace

std::vector<std::string_view> levels() {
  std::vector<std::string_view> names;
  for (std::size_t i = find_level(""); i < kLevels.size(); i = find_level("", i + 1)) {
    names.push_back(kLevels[i].name);
  }
  return names;
}

std::string_view level() {
  const std::size_t number = level_number();
  return number < kLevels.size() ? kLevels[number].name : "unknown";
}

bool allows_level(std::string_view name) {
  return !name.empty() && find_level(name, level_number()) < kLevels.size();
}

std::size_t level_number() {
  return in_use();
}

bool amx_in_use() {
  return in_use() == kAmx;
}

bool avx2_vnni_in_use() {
  return in_use() == kAvx2Vnni;
}

bool limit_level(std::string_view name) {
  const std::size_t number = find_level(name);
  if (number == kLevels.size()) return name.empty();
  // All targets at or below that of the level: its bit and those above it.
  hwy::SetSupportedTargetsForTest(runnable() & -kLevels[number].target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  in_use() = number;
  return true;
}

}  // namespace shunt::cpu::simd

#include "cuda/instructions/opcodes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/settings.h"

namespace cuda_twin {

#define CUDA_TWIN_DECLARE(family) std::span<const Opcode> family##_opcodes();
namespace baseline {
CUDA_TWIN_FAMILIES(CUDA_TWIN_DECLARE)
}
#ifdef CUDA_TWIN_HAS_LEVELS
namespace level_v3 {
CUDA_TWIN_FAMILIES(CUDA_TWIN_DECLARE)
}
namespace level_v4 {
CUDA_TWIN_FAMILIES(CUDA_TWIN_DECLARE)
}
#endif
#undef CUDA_TWIN_DECLARE

namespace {

using Rows = std::unordered_map<std::string_view, std::vector<const Opcode*>>;

void add(Rows& rows, std::span<const Opcode> family) {
  for (const Opcode& opcode : family) rows[opcode.name].push_back(&opcode);
}

#define CUDA_TWIN_ADD(family) add(*rows, level::family##_opcodes());
// Never destroyed: modules are loaded while a process exits, too.
#define CUDA_TWIN_LEVEL_ROWS(name)      \
  const Rows& name##_rows() {           \
    namespace level = cuda_twin::name;  \
    static const Rows& all = *[] {      \
      auto* rows = new Rows;            \
      CUDA_TWIN_FAMILIES(CUDA_TWIN_ADD) \
      return rows;                      \
    }();                                \
    return all;                         \
  }
CUDA_TWIN_LEVEL_ROWS(baseline)
#ifdef CUDA_TWIN_HAS_LEVELS
CUDA_TWIN_LEVEL_ROWS(level_v3)
CUDA_TWIN_LEVEL_ROWS(level_v4)
#endif
#undef CUDA_TWIN_LEVEL_ROWS
#undef CUDA_TWIN_ADD

struct Level {
  const char* name;
  const Rows& (*rows)();
};
// By the value of Setting::kLevel.
constexpr Level kLevels[] = {
    {"baseline", baseline_rows},
#ifdef CUDA_TWIN_HAS_LEVELS
    {"v3", level_v3_rows},
    {"v4", level_v4_rows},
#endif
};

/// Index of the best level that the host's processor has.
std::int64_t best_level() {
#ifdef CUDA_TWIN_HAS_LEVELS
  if (__builtin_cpu_supports("x86-64-v4")) return 2;
  if (__builtin_cpu_supports("x86-64-v3")) return 1;
#endif
  return 0;
}

const Level& chosen_level() {
  static const std::int64_t best = best_level();
  return kLevels[std::min(setting(Setting::kLevel), best)];
}

}  // namespace

const char* level_name() {
  return chosen_level().name;
}

const Opcode* opcode_of(const ptx::Instruction& instruction) {
  const Rows& rows = chosen_level().rows();
  const auto found = rows.find(instruction.name);
  if (found == rows.end()) return nullptr;
  for (const Opcode* opcode : found->second) {
    if (opcode->accepts == nullptr || opcode->accepts(instruction)) return opcode;
  }
  return found->second.front();
}

}  // namespace cuda_twin

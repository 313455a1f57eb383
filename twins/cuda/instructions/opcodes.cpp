#include "cuda/instructions/opcodes.h"

#include <string_view>
#include <unordered_map>
#include <vector>

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

#define CUDA_TWIN_ADD(family) add(rows, level::family##_opcodes());
#define CUDA_TWIN_LEVEL_ROWS(name)     \
  Rows name##_rows() {                 \
    namespace level = cuda_twin::name; \
    Rows rows;                         \
    CUDA_TWIN_FAMILIES(CUDA_TWIN_ADD)  \
    return rows;                       \
  }
CUDA_TWIN_LEVEL_ROWS(baseline)
#ifdef CUDA_TWIN_HAS_LEVELS
CUDA_TWIN_LEVEL_ROWS(level_v3)
CUDA_TWIN_LEVEL_ROWS(level_v4)
#endif
#undef CUDA_TWIN_LEVEL_ROWS
#undef CUDA_TWIN_ADD

Rows best_rows() {
#ifdef CUDA_TWIN_HAS_LEVELS
  if (__builtin_cpu_supports("x86-64-v4")) return level_v4_rows();
  if (__builtin_cpu_supports("x86-64-v3")) return level_v3_rows();
#endif
  return baseline_rows();
}

}  // namespace

const Opcode* opcode_of(const ptx::Instruction& instruction) {
  // Never destroyed: modules are loaded while a process exits, too.
  static const Rows& rows = *new Rows(best_rows());
  const auto found = rows.find(instruction.name);
  if (found == rows.end()) return nullptr;
  for (const Opcode* opcode : found->second) {
    if (opcode->accepts == nullptr || opcode->accepts(instruction)) return opcode;
  }
  return found->second.front();
}

}  // namespace cuda_twin

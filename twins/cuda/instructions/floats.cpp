// The family of floats: its rows are in float_arithmetic.cpp, float_comparison.cpp and
// approximate.cpp.
#include <vector>

#include "cuda/instructions/float_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

std::span<const Opcode> floats_opcodes() {
  // Never freed: calls may come while the process exits.
  static const auto* const kAllForms = [] {
    auto* rows = new std::vector<Opcode>;
    for (const auto part :
         {float_arithmetic_opcodes(), float_comparison_opcodes(), approximation_opcodes()}) {
      rows->insert(rows->end(), part.begin(), part.end());
    }
    return rows;
  }();
  return *kAllForms;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

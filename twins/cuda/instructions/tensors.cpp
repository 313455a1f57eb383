// The family of matrix instructions.
#include <span>

#include "cuda/instructions/matrices.h"
#include "cuda/instructions/mma.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

std::span<const Opcode> tensors_opcodes();

std::span<const Opcode> tensors_opcodes() {
  static constexpr Opcode kOpcodes[] = {
      {"mma", {6, 4}, 70, bind_mma_quads, is_mma_of_quads},
      {"mma", {6, 4}, 70, bind_mma},
      {"ldmatrix", {6, 5}, 75, bind_ldmatrix},
      {"movmatrix", {7, 8}, 75, bind_movmatrix},
      {"stmatrix", {7, 8}, 90, bind_stmatrix},
  };
  return kOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

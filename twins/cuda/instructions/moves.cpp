// Moves, addresses, selections and comparisons: the table of their opcodes.
#include "cuda/instructions/moves.h"

#include "cuda/instructions/opcodes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

constexpr Opcode kMoveOpcodes[] = {
    {"mov", {1, 0}, 0, bind_mov},
    {"cvta", {2, 0}, 20, bind_cvta},
    {"isspacep", {2, 0}, 20, bind_isspacep},
    {"mapa", {7, 8}, 90, bind_mapa},
    {"selp", {1, 0}, 0, bind_selp},
    {"slct", {1, 0}, 0, bind_slct},
    {"setp", {1, 0}, 0, bind_setp},
    {"set", {1, 0}, 0, bind_set},
};

}  // namespace

std::span<const Opcode> moves_opcodes() {
  return kMoveOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

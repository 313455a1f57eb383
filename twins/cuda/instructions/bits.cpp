// Operations on bits: the table of their opcodes.
#include "cuda/instructions/bits.h"

#include "cuda/instructions/opcodes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

constexpr Opcode kBitOpcodes[] = {
    {"and", {1, 0}, 0, bind_and},    {"or", {1, 0}, 0, bind_or},
    {"xor", {1, 0}, 0, bind_xor},    {"not", {1, 0}, 0, bind_not},
    {"cnot", {1, 0}, 0, bind_cnot},  {"lop3", {4, 3}, 50, bind_lop3},
    {"shl", {1, 0}, 0, bind_shl},    {"shr", {1, 0}, 0, bind_shr},
    {"shf", {3, 1}, 32, bind_shf},   {"szext", {7, 6}, 70, bind_szext},
    {"bmsk", {7, 6}, 70, bind_bmsk}, {"bfe", {2, 0}, 20, bind_bfe},
    {"bfi", {2, 0}, 20, bind_bfi},   {"bfind", {2, 0}, 20, bind_bfind},
    {"brev", {2, 0}, 20, bind_brev}, {"clz", {2, 0}, 20, bind_clz},
    {"popc", {2, 0}, 20, bind_popc}, {"fns", {6, 0}, 30, bind_fns},
    {"prmt", {2, 0}, 20, bind_prmt},
};

}  // namespace

std::span<const Opcode> bits_opcodes() {
  return kBitOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

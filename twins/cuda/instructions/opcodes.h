// All opcodes of a level, one span for each family of instructions.
#pragma once

#include <span>
#include <string_view>

#include "cuda/program/binder.h"

namespace cuda_twin {

/// Each family is a .cpp file of this folder (or several) that defines its span in the level's
/// namespace. opcodes.cpp joins them.
#define CUDA_TWIN_FAMILIES(X)                                                                     \
  X(integer) /* add sub mul mad div rem min max abs neg sad mul24 mad24, carry forms, dp4a dp2a:  \
                integer types */                                                                  \
  X(bits)    /* and or xor not cnot shl shr shf bfe bfi bfind brev clz popc prmt lop3 fns */      \
  X(moves)   /* mov (packing and unpacking too), cvta, isspacep, selp, slct, set, setp */         \
  X(floats)  /* f32 and f64: copysign testp rcp sqrt rsqrt sin cos lg2 ex2 tanh */                \
  X(conversions) /* cvt, cvt.pack */                                                              \
  X(memory)      /* ld ldu st prefetch prefetchu cp.async commit and wait, createpolicy, discard, \
                    applypriority */                                                              \
  X(atomics)     /* atom red */                                                                   \
  X(warps)       /* shfl vote match redux activemask elect, bar.warp.sync */                      \
  X(barriers)    /* bar barrier membar fence */                                                   \
  X(control)     /* bra brx call ret exit trap brkpt nanosleep */                                 \
  X(tensors)     /* ldmatrix mma movmatrix */

/// The vector level of the modules that are loaded now: "baseline", "v3" or "v4". It is that of
/// Setting::kLevel, or the best one below that the host has.
const char* level_name();

/// The row of that level that binds this instruction. If rows of its name exist and none accepts
/// it, the first one, whose bind function reports the error. Null if the twin has no opcode of
/// this name.
const Opcode* opcode_of(const ptx::Instruction& instruction);

}  // namespace cuda_twin

#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Independent chains of a thread in loops of arithmetic, so that the latency of an instruction is
/// hidden.
inline constexpr int kPeakChains = 8;
/// Rounds between two branches.
inline constexpr int kPeakUnroll = 16;
/// Bytes that a lane reads at once.
inline constexpr int kPeakLoad = 16;

struct PeakArgs {
  Pointer<u8> data;     ///< of peak_read: every byte is 1
  i64 loads;            ///< of kPeakLoad bytes
  u64 rounds;           ///< of loops of arithmetic: a multiple of kPeakUnroll
  Pointer<u32> result;  ///< never written: it keeps the compiler from dropping the loop
};

}  // namespace shunt::cuda::gpu

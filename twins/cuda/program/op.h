// One decoded instruction: the function that executes it for the 32 lanes of a warp, and where its
// operands are.
#pragma once

#include <cstdint>

namespace cuda_twin {

inline constexpr unsigned kLanes = 32;
using LaneMask = std::uint32_t;  ///< bit i is lane i
inline constexpr LaneMask kAllLanes = 0xFFFFFFFFu;

/// Where operands are. A register of up to 32 bits is 32 consecutive uint32_t, one a lane; a
/// narrower value stands in the low bits and all others are 0. A register of 64 bits is 32
/// consecutive uint64_t; one of 128 bits, 32 times two of them. A predicate is a LaneMask.
enum class Bank : std::uint8_t {
  kRegisters,   ///< of this warp, in the frame of the current function
  kConstants,   ///< literals, one value repeated for 32 lanes; the same for all warps
  kPredicates,  ///< `offset` is an index of LaneMasks
  kNone,        ///< operand absent, or the sink `_`
};

struct Arg {
  Bank bank = Bank::kNone;
  bool flip = false;         ///< of a source predicate: use its complement
  std::uint16_t bytes = 0;   ///< of the register, for each lane: 4, 8 or 16. It may be wider than
                             ///< the instruction's type
  std::uint32_t offset = 0;  ///< in bytes, a multiple of 128; of a predicate, its index
};

struct Warp;
struct Op;

/// kOn: go on with the op after this one. kSwitch: the warp's own state says how it goes on
/// (branch, barrier, exit, fault).
enum class Next : std::uint8_t { kOn, kSwitch };

/// Executes `op` for the lanes in `active`, which is never 0. Other lanes' registers stay as they
/// are.
using Handler = Next (*)(Warp& warp, const Op& op, LaneMask active);

/// Groups for the counts of control.h.
enum class OpKind : std::uint8_t {
  kInteger,
  kFloat,
  kHalf,
  kDouble,
  kConvert,
  kMove,
  kMemory,
  kAtomic,
  kWarp,
  kBarrier,
  kControl,
  kTensor,
  kOther
};
inline constexpr unsigned kOpKinds = 13;

struct Op {
  Handler run = nullptr;
  Arg args[4];                ///< destination first, as PTX writes them
  const Arg* more = nullptr;  ///< operands beyond four: vectors and matrices. The program owns them
  std::uint16_t count_more = 0;
  OpKind kind = OpKind::kOther;
  bool guard_flip = false;
  std::uint32_t guard = kNoGuard;  ///< index of a predicate
  std::uint32_t line = 0;          ///< of the PTX text
  std::uint32_t extra = 0;         ///< for the handler: flags, a width, a target op
  std::int64_t immediate =
      0;  ///< for the handler: an address offset, a table, a pointer that the program owns
  static constexpr std::uint32_t kNoGuard = 0xFFFFFFFFu;
};

}  // namespace cuda_twin

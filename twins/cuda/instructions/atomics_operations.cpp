// The operations of atom and red. Lanes go in order, so that sums of floats in one warp are always
// the same.
#include <bit>
#include <cstring>
#include <limits>

#include "cuda/instructions/atomics.h"
#include "cuda/instructions/fingerprint.h"
#include "cuda/instructions/float_values.h"
#include "cuda/instructions/halves.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

// An operation: the type in memory, and its new value from the old one and the operands.

template <class T>
struct And {
  using Value = T;
  static T apply(T old, T b, T) { return old & b; }
};
template <class T>
struct Or {
  using Value = T;
  static T apply(T old, T b, T) { return old | b; }
};
template <class T>
struct Xor {
  using Value = T;
  static T apply(T old, T b, T) { return old ^ b; }
};
template <class T>
struct Exch {
  using Value = T;
  static T apply(T, T b, T) { return b; }
};
template <class T>
struct Cas {
  using Value = T;
  static T apply(T old, T b, T c) { return old == b ? c : old; }
};
template <class T>
struct AtomicAdd {
  using Value = T;
  static T apply(T old, T b, T) { return old + b; }
};
struct Inc {
  using Value = std::uint32_t;
  static Value apply(Value old, Value b, Value) { return old >= b ? 0 : old + 1; }
};
struct Dec {
  using Value = std::uint32_t;
  static Value apply(Value old, Value b, Value) { return old == 0 || old > b ? b : old - 1; }
};
/// S is the type that is compared.
template <class T, class S>
struct Min {
  using Value = T;
  static T apply(T old, T b, T) { return static_cast<S>(b) < static_cast<S>(old) ? b : old; }
};
template <class T, class S>
struct Max {
  using Value = T;
  static T apply(T old, T b, T) { return static_cast<S>(b) > static_cast<S>(old) ? b : old; }
};

std::uint32_t add_singles(std::uint32_t a, std::uint32_t b, bool flush) {
  auto x = std::bit_cast<float>(a);
  auto y = std::bit_cast<float>(b);
  if (flush) {
    x = flushed(x);
    y = flushed(y);
  }
  const float sum = flush ? flushed(x + y) : x + y;
  return sum != sum ? kFloatNan : std::bit_cast<std::uint32_t>(sum);
}
struct AddF32 {
  using Value = std::uint32_t;
  static Value apply(Value old, Value b, Value) { return add_singles(old, b, true); }
};
struct AddF64 {
  using Value = std::uint64_t;
  static Value apply(Value old, Value b, Value) {
    const double x = std::bit_cast<double>(old);
    const double y = std::bit_cast<double>(b);
    const double sum = x + y;
    return std::bit_cast<std::uint64_t>(sum != sum ? nan_of(x, y) : sum);
  }
};
// A float has more than twice the digits of both formats: its sum rounds again without a trace.
std::uint16_t add_half(std::uint16_t a, std::uint16_t b) {
  return float_to_half_rn(half_to_float(a) + half_to_float(b));
}
std::uint16_t add_bf16(std::uint16_t a, std::uint16_t b) {
  return float_to_bf16_rn(bf16_to_float(a) + bf16_to_float(b));
}
/// A number wins over a NaN, and -0 is less than +0.
template <std::uint16_t kInfinity, bool kGreater>
std::uint16_t extreme(std::uint16_t a, std::uint16_t b) {
  const auto is_nan = [](std::uint16_t x) { return (x & 0x7FFF) > kInfinity; };
  if (is_nan(a)) return is_nan(b) ? std::uint16_t{0x7FFF} : b;
  if (is_nan(b)) return a;
  // Ordered as integers: the sign flipped, and with a sign all other bits, too.
  const auto rank = [](std::uint16_t x) { return (x & 0x8000) != 0 ? 0xFFFF - x : x | 0x8000; };
  return (rank(a) < rank(b)) == kGreater ? b : a;
}
template <bool kGreater>
constexpr auto extreme_half = extreme<0x7C00, kGreater>;
template <bool kGreater>
constexpr auto extreme_bf16 = extreme<0x7F80, kGreater>;

template <std::uint16_t (*kFunction)(std::uint16_t, std::uint16_t)>
struct OfHalf {
  using Value = std::uint16_t;
  static Value apply(Value old, Value b, Value) { return kFunction(old, b); }
};
template <std::uint16_t (*kFunction)(std::uint16_t, std::uint16_t)>
struct OfPair {
  using Value = std::uint32_t;
  static Value apply(Value old, Value b, Value) {
    const std::uint32_t low =
        kFunction(static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
    const std::uint32_t high =
        kFunction(static_cast<std::uint16_t>(old >> 16), static_cast<std::uint16_t>(b >> 16));
    return low | high << 16;
  }
};

std::byte* place_of_lane(const Spots& spots, unsigned lane, unsigned bytes) {
  return spots.count != 0 ? spots.first + std::size_t{lane} * bytes : spots.at[lane];
}

template <class T>
using RegisterOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T lane_value(Warp& warp, const Arg& arg, unsigned lane) {
  if (arg.bank == Bank::kNone) return T{};
  return static_cast<T>(lanes_of<RegisterOf<T>>(warp, arg)[lane]);
}
template <class T>
void set_lane(Warp& warp, const Arg& arg, unsigned lane, T value) {
  if (arg.bank != Bank::kNone) lanes_of<RegisterOf<T>>(warp, arg)[lane] = value;
}

template <class Operation>
Next atomic(Warp& warp, const Op& op, LaneMask active) {
  using T = typename Operation::Value;
  Spots spots;
  if (!atomic_spots(warp, op, active, spots)) return Next::kSwitch;
  Fingerprint fingerprint(active);
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const T b = lane_value<T>(warp, op.args[2], lane);
    const T c = lane_value<T>(warp, op.args[3], lane);
    std::byte* const at = place_of_lane(spots, lane, sizeof(T));
    const T old =
        exchange_atomically<T>(at, [=](T before) { return Operation::apply(before, b, c); });
    set_lane<T>(warp, op.args[0], lane, old);
    fingerprint.add(at, old);
  }
  if (op.args[0].bank == Bank::kNone) return Next::kOn;
  return fingerprint.finish(warp, MemoryExtra::of(op));
}

/// Sums of f32 flush subnormals in global memory, and keep them in shared memory.
Next atomic_add_f32(Warp& warp, const Op& op, LaneMask active) {
  Spots spots;
  if (!atomic_spots(warp, op, active, spots)) return Next::kSwitch;
  const auto& shared = warp.block->shared;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::byte* const at = place_of_lane(spots, lane, 4);
    const bool in_shared = at >= shared.data() && at < shared.data() + shared.size();
    const auto b = lane_value<std::uint32_t>(warp, op.args[2], lane);
    const std::uint32_t old = exchange_atomically<std::uint32_t>(
        at, [=](std::uint32_t before) { return add_singles(before, b, !in_shared); });
    set_lane<std::uint32_t>(warp, op.args[0], lane, old);
  }
  return Next::kOn;
}

/// Each element of a vector is one atomic operation.
template <class Operation>
Next atomic_vector(Warp& warp, const Op& op, LaneMask active) {
  using T = typename Operation::Value;
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!atomic_spots(warp, op, active, spots)) return Next::kSwitch;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::byte* const at = place_of_lane(spots, lane, extra.bytes * extra.vector);
    for (unsigned k = 0; k < extra.vector; ++k) {
      const T b = lane_value<T>(warp, op.more[extra.vector + k], lane);
      const T old = exchange_atomically<T>(
          at + k * sizeof(T), [=](T before) { return Operation::apply(before, b, T{}); });
      set_lane<T>(warp, op.more[k], lane, old);
    }
  }
  return Next::kOn;
}

/// .exch and .cas of 128 bits: two words of 64 for each lane.
template <bool kCompares>
Next atomic_wide(Warp& warp, const Op& op, LaneMask active) {
  constexpr std::size_t kBytes = 16;
  Spots spots;
  if (!atomic_spots(warp, op, active, spots)) return Next::kSwitch;
  const auto* const b = lanes_of<std::uint64_t>(warp, op.args[2]);
  const auto* const c = kCompares ? lanes_of<std::uint64_t>(warp, op.args[3]) : b;
  auto* const to =
      op.args[0].bank == Bank::kNone ? nullptr : lanes_of<std::uint64_t>(warp, op.args[0]);
  Fingerprint fingerprint(active);
  const std::unique_lock lock = lock_wide(true);
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::byte* const at = place_of_lane(spots, lane, kBytes);
    std::uint64_t old[2];
    std::memcpy(old, at, kBytes);
    const bool writes = !kCompares || std::memcmp(old, b + 2 * lane, kBytes) == 0;
    if (writes) std::memcpy(at, c + 2 * lane, kBytes);
    if (to != nullptr) std::memcpy(to + 2 * lane, old, kBytes);
    fingerprint.add(at, old[0]);
    fingerprint.add(at, old[1]);
  }
  return fingerprint.finish(warp, MemoryExtra::of(op));
}

struct Row {
  AtomicOp operation;
  ptx::Type type;
  Handler handler;
};

using ptx::Type;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

constexpr Row kRows[] = {
    {AtomicOp::kAnd, Type::kB32, atomic<And<U32>>},
    {AtomicOp::kAnd, Type::kB64, atomic<And<U64>>},
    {AtomicOp::kOr, Type::kB32, atomic<Or<U32>>},
    {AtomicOp::kOr, Type::kB64, atomic<Or<U64>>},
    {AtomicOp::kXor, Type::kB32, atomic<Xor<U32>>},
    {AtomicOp::kXor, Type::kB64, atomic<Xor<U64>>},
    {AtomicOp::kExch, Type::kB32, atomic<Exch<U32>>},
    {AtomicOp::kExch, Type::kB64, atomic<Exch<U64>>},
    {AtomicOp::kCas, Type::kB16, atomic<Cas<U16>>},
    {AtomicOp::kCas, Type::kB32, atomic<Cas<U32>>},
    {AtomicOp::kCas, Type::kB64, atomic<Cas<U64>>},
    {AtomicOp::kExch, Type::kB128, atomic_wide<false>},
    {AtomicOp::kCas, Type::kB128, atomic_wide<true>},
    {AtomicOp::kAdd, Type::kU32, atomic<AtomicAdd<U32>>},
    {AtomicOp::kAdd, Type::kS32, atomic<AtomicAdd<U32>>},
    {AtomicOp::kAdd, Type::kU64, atomic<AtomicAdd<U64>>},
    {AtomicOp::kAdd, Type::kF32, atomic_add_f32},
    {AtomicOp::kAdd, Type::kF64, atomic<AddF64>},
    {AtomicOp::kAdd, Type::kF16, atomic<OfHalf<add_half>>},
    {AtomicOp::kAdd, Type::kBf16, atomic<OfHalf<add_bf16>>},
    {AtomicOp::kAdd, Type::kF16x2, atomic<OfPair<add_half>>},
    {AtomicOp::kAdd, Type::kBf16x2, atomic<OfPair<add_bf16>>},
    {AtomicOp::kInc, Type::kU32, atomic<Inc>},
    {AtomicOp::kDec, Type::kU32, atomic<Dec>},
    {AtomicOp::kMin, Type::kU32, atomic<Min<U32, U32>>},
    {AtomicOp::kMin, Type::kS32, atomic<Min<U32, S32>>},
    {AtomicOp::kMin, Type::kU64, atomic<Min<U64, U64>>},
    {AtomicOp::kMin, Type::kS64, atomic<Min<U64, S64>>},
    {AtomicOp::kMax, Type::kU32, atomic<Max<U32, U32>>},
    {AtomicOp::kMax, Type::kS32, atomic<Max<U32, S32>>},
    {AtomicOp::kMax, Type::kU64, atomic<Max<U64, U64>>},
    {AtomicOp::kMax, Type::kS64, atomic<Max<U64, S64>>},
};
constexpr Row kVectorRows[] = {
    {AtomicOp::kAdd, Type::kF32, atomic_vector<AddF32>},
    {AtomicOp::kAdd, Type::kF16, atomic_vector<OfHalf<add_half>>},
    {AtomicOp::kAdd, Type::kBf16, atomic_vector<OfHalf<add_bf16>>},
    {AtomicOp::kAdd, Type::kF16x2, atomic_vector<OfPair<add_half>>},
    {AtomicOp::kAdd, Type::kBf16x2, atomic_vector<OfPair<add_bf16>>},
    {AtomicOp::kMin, Type::kF16, atomic_vector<OfHalf<extreme_half<false>>>},
    {AtomicOp::kMin, Type::kBf16, atomic_vector<OfHalf<extreme_bf16<false>>>},
    {AtomicOp::kMin, Type::kF16x2, atomic_vector<OfPair<extreme_half<false>>>},
    {AtomicOp::kMin, Type::kBf16x2, atomic_vector<OfPair<extreme_bf16<false>>>},
    {AtomicOp::kMax, Type::kF16, atomic_vector<OfHalf<extreme_half<true>>>},
    {AtomicOp::kMax, Type::kBf16, atomic_vector<OfHalf<extreme_bf16<true>>>},
    {AtomicOp::kMax, Type::kF16x2, atomic_vector<OfPair<extreme_half<true>>>},
    {AtomicOp::kMax, Type::kBf16x2, atomic_vector<OfPair<extreme_bf16<true>>>},
};

Handler handler_in(std::span<const Row> rows, AtomicOp operation, Type type) {
  for (const Row& row : rows) {
    if (row.operation == operation && row.type == type) return row.handler;
  }
  return nullptr;
}

}  // namespace

bool atomic_spots(Warp& warp, const Op& op, LaneMask active, Spots& spots) {
  const MemoryExtra extra = MemoryExtra::of(op);
  return resolve(warp, op.args[1], op.immediate, extra, extra.access(kRead | kWrite), active,
                 spots);
}

Handler atomic_handler(AtomicOp operation, ptx::Type type) {
  return handler_in(kRows, operation, type);
}
Handler atomic_vector_handler(AtomicOp operation, ptx::Type type) {
  return handler_in(kVectorRows, operation, type);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

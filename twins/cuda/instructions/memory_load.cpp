// Loads: from the spots of the lanes into registers, narrow values extended.
#include <atomic>
#include <cstring>

#include "cuda/instructions/fingerprint.h"
#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

/// A register of 16 declared bits: a sign goes no further.
struct Half {
  std::uint32_t bits;
};
template <class D>
struct Slot {
  using type = D;
};
template <>
struct Slot<Half> {
  using type = std::uint32_t;
};

template <class M, class D>
[[gnu::always_inline]] inline typename Slot<D>::type extended(const std::byte* from) {
  M value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::is_same_v<D, Half>)
    return static_cast<std::uint16_t>(value);
  else
    return static_cast<D>(value);
}

template <class S>
struct Destinations {
  S* to[8];
  S unused[kLanes];
};

template <class S>
void destinations_of(Warp& warp, const Op& op, unsigned vector, Destinations<S>& all) {
  for (unsigned k = 0; k < vector; ++k) {
    const Arg& arg = vector == 1 ? op.args[0] : op.more[k];
    all.to[k] = arg.bank == Bank::kNone ? all.unused : lanes_of<S>(warp, arg);
  }
}

template <class M, class D, unsigned kVector>
Next load(Warp& warp, const Op& op, LaneMask active) {
  using S = typename Slot<D>::type;
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, kRead, active, spots)) return Next::kSwitch;
  Destinations<S> all;
  destinations_of<S>(warp, op, kVector, all);
  if (spots.count == kLanes) {
    const std::byte* const from = spots.first;
    for (unsigned k = 0; k < kVector; ++k) {
      S* const to = all.to[k];
      for (unsigned i = 0; i < kLanes; ++i) {
        to[i] = extended<M, D>(from + (i * kVector + k) * sizeof(M));
      }
    }
    return Next::kOn;
  }
  for (unsigned i = 0; i < spots.count; ++i) {
    for (unsigned k = 0; k < kVector; ++k) {
      all.to[k][i] = extended<M, D>(spots.first + (i * kVector + k) * sizeof(M));
    }
  }
  if (spots.count != 0) return Next::kOn;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    for (unsigned k = 0; k < kVector; ++k) {
      all.to[k][i] = extended<M, D>(spots.at[i] + k * sizeof(M));
    }
  }
  return Next::kOn;
}

const std::byte* spot_of(const Spots& spots, unsigned lane, unsigned bytes) {
  return spots.count != 0 ? spots.first + std::size_t{lane} * bytes : spots.at[lane];
}

/// Volatile, relaxed, acquire: each element is one atomic read, as other host threads may write.
template <class M, class D>
Next load_strong(Warp& warp, const Op& op, LaneMask active) {
  using S = typename Slot<D>::type;
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, extra.access(kRead), active, spots)) {
    return Next::kSwitch;
  }
  Destinations<S> all;
  destinations_of<S>(warp, op, extra.vector, all);
  Fingerprint fingerprint(active);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    const std::byte* const from = spot_of(spots, i, extra.bytes * extra.vector);
    for (unsigned k = 0; k < extra.vector; ++k) {
      auto* const at = reinterpret_cast<M*>(const_cast<std::byte*>(from)) + k;
      const M value = std::atomic_ref<M>(*at).load(std::memory_order_seq_cst);
      all.to[k][i] = extended<M, D>(reinterpret_cast<const std::byte*>(&value));
      fingerprint.add(from, static_cast<std::uint64_t>(value));
    }
  }
  return fingerprint.finish(warp, extra);
}

/// 128 bits: a register has two 64-bit halves for each lane.
Next load_wide(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, extra.access(kRead), active, spots)) {
    return Next::kSwitch;
  }
  if (op.args[0].bank == Bank::kNone) return Next::kOn;
  const std::unique_lock lock = lock_wide(extra.strong);
  auto* const to = lanes_of<std::uint64_t>(warp, op.args[0]);
  Fingerprint fingerprint(active);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    const std::byte* const from = spot_of(spots, i, 16);
    std::memcpy(to + 2 * i, from, 16);
    fingerprint.add(from, to[2 * i] + to[2 * i + 1]);
  }
  return extra.strong ? fingerprint.finish(warp, extra) : Next::kOn;
}

template <class M, class D>
Handler by_vector(unsigned vector, bool strong) {
  if (strong) return load_strong<M, D>;
  if constexpr (sizeof(M) == 4) {
    if (vector == 8) return load<M, D, 8>;
  }
  return vector == 1 ? load<M, D, 1> : vector == 2 ? load<M, D, 2> : load<M, D, 4>;
}

template <class Signed, class Unsigned>
Handler by_width(bool is_signed, unsigned bits, unsigned vector, bool strong) {
  using Wide = std::uint64_t;
  if (bits == 64) {
    return is_signed ? by_vector<Signed, Wide>(vector, strong)
                     : by_vector<Unsigned, Wide>(vector, strong);
  }
  if (!is_signed) return by_vector<Unsigned, std::uint32_t>(vector, strong);
  return bits == 32 ? by_vector<Signed, std::uint32_t>(vector, strong)
                    : by_vector<Signed, Half>(vector, strong);
}

}  // namespace

Handler load_handler(ptx::Type type, unsigned register_bits, unsigned vector, bool strong) {
  const bool is_signed = ptx::kind_of(type) == ptx::Kind::kSigned;
  switch (ptx::bits_of(type)) {
    case 8:
      return by_width<std::int8_t, std::uint8_t>(is_signed, register_bits, vector, strong);
    case 16:
      return by_width<std::int16_t, std::uint16_t>(is_signed, register_bits, vector, strong);
    case 32:
      return by_width<std::int32_t, std::uint32_t>(is_signed, register_bits, vector, strong);
    case 64:
      return by_vector<std::uint64_t, std::uint64_t>(vector, strong);
    case 128:
      return load_wide;
    default:
      return nullptr;
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

// Stores: from registers to the spots of the lanes. Of lanes that write the same place, the last
// one stays.
#include <atomic>
#include <cstring>

#include "cuda/instructions/memory_forms.h"
#include "cuda/instructions/one_place.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

template <class S>
void sources_of(Warp& warp, const Op& op, unsigned vector, const S* (&from)[8]) {
  for (unsigned k = 0; k < vector; ++k) {
    from[k] = lanes_of<S>(warp, vector == 1 ? op.args[0] : op.more[k]);
  }
}

template <class M, class S>
[[gnu::always_inline]] inline void put(std::byte* to, S value) {
  const M narrow = static_cast<M>(value);
  std::memcpy(to, &narrow, sizeof narrow);
}

template <class M, class S, unsigned kVector>
Next store(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, kWrite, active, spots)) return Next::kSwitch;
  const S* from[8];
  sources_of<S>(warp, op, kVector, from);
  const auto same = [&](unsigned a, unsigned b) {
    bool equal = true;
    for (unsigned k = 0; k < kVector; ++k) {
      equal = equal && static_cast<M>(from[k][a]) == static_cast<M>(from[k][b]);
    }
    return equal;
  };
  if (!stores_agree(warp, spots, active, same)) return Next::kSwitch;
  if (spots.count == kLanes) {
    for (unsigned k = 0; k < kVector; ++k) {
      for (unsigned i = 0; i < kLanes; ++i) {
        put<M>(spots.first + (i * kVector + k) * sizeof(M), from[k][i]);
      }
    }
    return Next::kOn;
  }
  for (unsigned i = 0; i < spots.count; ++i) {
    for (unsigned k = 0; k < kVector; ++k) {
      put<M>(spots.first + (i * kVector + k) * sizeof(M), from[k][i]);
    }
  }
  if (spots.count != 0) return Next::kOn;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    for (unsigned k = 0; k < kVector; ++k) put<M>(spots.at[i] + k * sizeof(M), from[k][i]);
  }
  return Next::kOn;
}

std::byte* place_of(const Spots& spots, unsigned lane, unsigned bytes) {
  return spots.count != 0 ? spots.first + std::size_t{lane} * bytes : spots.at[lane];
}

template <class M, class S>
Next store_strong(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, extra.access(kWrite), active, spots)) {
    return Next::kSwitch;
  }
  const S* from[8];
  sources_of<S>(warp, op, extra.vector, from);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) == 0) continue;
    std::byte* const to = place_of(spots, i, extra.bytes * extra.vector);
    for (unsigned k = 0; k < extra.vector; ++k) {
      std::atomic_ref<M>(*(reinterpret_cast<M*>(to) + k))
          .store(static_cast<M>(from[k][i]), std::memory_order_seq_cst);
    }
  }
  return Next::kOn;
}

Next store_wide(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, extra.access(kWrite), active, spots)) {
    return Next::kSwitch;
  }
  const auto* const from = lanes_of<std::uint64_t>(warp, op.args[0]);
  const auto same = [&](unsigned a, unsigned b) {
    return std::memcmp(from + 2 * a, from + 2 * b, 16) == 0;
  };
  if (!extra.strong && !stores_agree(warp, spots, active, same)) return Next::kSwitch;
  const std::unique_lock lock = lock_wide(extra.strong);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) != 0) std::memcpy(place_of(spots, i, 16), from + 2 * i, 16);
  }
  return Next::kOn;
}

template <class M, class S>
Handler by_vector_stored(unsigned vector, bool strong) {
  if (strong) return store_strong<M, S>;
  if constexpr (sizeof(M) == 4) {
    if (vector == 8) return store<M, S, 8>;
  }
  return vector == 1 ? store<M, S, 1> : vector == 2 ? store<M, S, 2> : store<M, S, 4>;
}

template <class M>
Handler by_source(unsigned bytes, unsigned vector, bool strong) {
  return bytes == 8 ? by_vector_stored<M, std::uint64_t>(vector, strong)
                    : by_vector_stored<M, std::uint32_t>(vector, strong);
}

}  // namespace

Handler store_handler(ptx::Type type, unsigned register_bytes, unsigned vector, bool strong) {
  switch (ptx::bits_of(type)) {
    case 8:
      return by_source<std::uint8_t>(register_bytes, vector, strong);
    case 16:
      return by_source<std::uint16_t>(register_bytes, vector, strong);
    case 32:
      return by_source<std::uint32_t>(register_bytes, vector, strong);
    case 64:
      return by_vector_stored<std::uint64_t, std::uint64_t>(vector, strong);
    case 128:
      return store_wide;
    default:
      return nullptr;
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

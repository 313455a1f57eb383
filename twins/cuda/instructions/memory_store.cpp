// Stores: from registers to the spots of the lanes. Of lanes that write the same place, the last
// one stays.
#include <atomic>
#include <cstring>
#include <string>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

template <class S>
void sources_of(Warp& warp, const Op& op, unsigned vector, const S* (&from)[4]) {
  for (unsigned k = 0; k < vector; ++k) {
    from[k] = lanes_of<S>(warp, vector == 1 ? op.args[0] : op.more[k]);
  }
}

template <class M, class S>
[[gnu::always_inline]] inline void put(std::byte* to, S value) {
  const M narrow = static_cast<M>(value);
  std::memcpy(to, &narrow, sizeof narrow);
}

/// For lanes by their place: a table with open addressing.
class LanesByPlace {
 public:
  LanesByPlace() { std::memset(lanes_, kEmpty, sizeof lanes_); }
  /// The first lane with this place; that is `lane` itself if it is new.
  unsigned first(std::byte* const (&at)[kLanes], unsigned lane) {
    const auto place = reinterpret_cast<std::uintptr_t>(at[lane]);
    for (std::size_t i = place / 4 % kSize;; i = (i + 1) % kSize) {
      if (lanes_[i] == kEmpty) lanes_[i] = static_cast<std::uint8_t>(lane);
      if (at[lanes_[i]] == at[lane]) return lanes_[i];
    }
  }

 private:
  static constexpr std::size_t kSize = 64;
  static constexpr std::uint8_t kEmpty = 0xFF;
  std::uint8_t lanes_[kSize];
};

/// Lanes that store to one place of shared memory at once store the same, or have a race.
template <class M, class S>
bool stores_agree(Warp& warp, const Spots& spots, unsigned vector, const S* const (&from)[4],
                  LaneMask active) {
  const Block& block = *warp.block;
  if (block.shared_races == nullptr || spots.count != 0) return true;
  const std::byte* const shared = block.shared.data();
  LanesByPlace places;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool inside = spots.at[lane] >= shared && spots.at[lane] < shared + block.shared.size();
    if ((active >> lane & 1) == 0 || !inside) continue;
    const unsigned first = places.first(spots.at, lane);
    for (unsigned k = 0; first != lane && k < vector; ++k) {
      if (static_cast<M>(from[k][first]) == static_cast<M>(from[k][lane])) continue;
      const std::string text = "lanes " + std::to_string(first) + " and " + std::to_string(lane) +
                               " of warp " + std::to_string(warp.index) +
                               " store different values to one place of shared memory at once";
      return report(warp, "warp race", lane, text) == Next::kOn;
    }
  }
  return true;
}

template <class M, class S, unsigned kVector>
Next store(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  Spots spots;
  if (!resolve(warp, op.args[1], op.immediate, extra, kWrite, active, spots)) return Next::kSwitch;
  const S* from[4];
  sources_of<S>(warp, op, kVector, from);
  if (!stores_agree<M, S>(warp, spots, kVector, from, active)) return Next::kSwitch;
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
  const S* from[4];
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
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1) != 0) std::memcpy(place_of(spots, i, 16), from + 2 * i, 16);
  }
  return Next::kOn;
}

template <class M, class S>
Handler by_vector_stored(unsigned vector, bool strong) {
  if (strong) return store_strong<M, S>;
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

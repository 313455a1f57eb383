// The chosen experts of a matmul_id: a check of their numbers, and their order. One block sorts the
// entries by counting, in two passes. A warp has a part of the entries and counters of its own. So
// the entries of an expert stay in their order.
#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/matmul.h"

using namespace shunt::cuda::gpu;

namespace {

/// Experts that are counted at once, one a thread.
constexpr u32 kCounted = kSortThreads;
constexpr u32 kSortWarps = kSortThreads / kWarp;

/// Calls f(entry, number) for the entries of this warp's part that have one of `count` experts from
/// `first` on. The number is the next one of the expert, and counts up.
template <class F>
DEVICE void number_entries(const Ids& ids, i64 first, u32 count, u32* next, const F& f) {
  const u32 used = (u32)ids.tensor.n[0], entries = used * (u32)ids.tensor.n[1];
  const u32 rounds = (entries + kSortThreads - 1) / kSortThreads;
  for (u32 round = 0; round < rounds; ++round) {
    const u32 entry = (warp() * rounds + round) * kWarp + lane();
    const i64 expert = entry < entries ? id_at(ids, entry % used, entry / used, 0) - first : -1;
    const bool counted = expert >= 0 && expert < count;
    const u32 alike = lanes_alike(counted ? (u32)expert : count, count);
    const u32 earlier = (u32)__builtin_popcount(alike & ((1u << lane()) - 1));
    u32 number = 0;
    if (counted && earlier == 0) {
      number = next[expert];
      next[expert] = number + (u32)__builtin_popcount(alike);
    }
    number = shuffle(number, first_bit(alike)) + earlier;
    if (counted) f(entry, number);
    warp_barrier();
  }
}

/// The tiles of an expert, whose `count` entries begin at `first`.
DEVICE void list_tiles(ExpertTile* tiles, u32 expert, u32 first, u32 count) {
  for (u32 at = 0; at < count; at += kMatmulColumns) {
    const u32 rest = count - at;
    *tiles++ = {expert, first + at, rest < kMatmulColumns ? rest : kMatmulColumns};
  }
}

}  // namespace

/// By itself, since a fault that is found in a block stops a part of its threads.
KERNEL void matmul_check_experts(MatmulArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Ids ids = ids_of(p.ids, run);
  if (is_idle(ids.tensor)) return;
  const i64 experts = tensor_of(p.w, run).n[2];
  for_each_element(ids.tensor,
                   [&](i64 u, RowIndex at) { checked_id(p.common, ids, u, at.i1, 0, experts); });
}

KERNEL void matmul_sort_experts(MatmulArgs p) {
  SHARED u32 next[kSortWarps][kCounted];
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Ids ids = ids_of(p.ids, run);
  const i64 experts = tensor_of(p.w, run).n[2];
  u32 sorted = 0, tiles = 0;
  for (i64 first = 0; first < experts; first += kCounted) {
    const u32 counted = experts - first < kCounted ? (u32)(experts - first) : kCounted;
    for (u32 w = 0; w < kSortWarps; ++w) next[w][thread()] = 0;
    barrier();
    number_entries(ids, first, counted, next[warp()], [](u32, u32) {});
    barrier();
    u32 count = 0;
    for (u32 w = 0; w < kSortWarps; ++w) count += next[w][thread()];
    const RunningSum places = block_running_sum(count);
    const RunningSum lists = block_running_sum((count + kMatmulColumns - 1) / kMatmulColumns);
    u32 place = sorted + places.before;
    list_tiles(p.experts.tiles + tiles + lists.before, (u32)first + thread(), place, count);
    for (u32 w = 0; w < kSortWarps; ++w) {
      const u32 of_warp = next[w][thread()];
      next[w][thread()] = place;
      place += of_warp;
    }
    sorted += places.total;
    tiles += lists.total;
    barrier();
    number_entries(ids, first, counted, next[warp()],
                   [&](u32 entry, u32 at) { p.experts.entries[at] = entry; });
    barrier();
  }
  if (thread() == 0) *p.experts.tile_count = tiles;
}

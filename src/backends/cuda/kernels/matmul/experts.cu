// The chosen experts of a matmul_id: a check of their numbers, and their order. The order is found
// by one block. A warp has an expert and looks for it among all entries, 32 at a time.
#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/kernels/matmul.h"

using namespace shunt::cuda::gpu;

namespace {

/// Calls f(entry, place) for each entry with the expert, in a lane; `place` counts them. Returns
/// how many there are.
template <class F>
DEVICE u32 for_each_entry(const Ids& ids, i64 expert, const F& f) {
  const i64 count = ids.tensor.n[0] * ids.tensor.n[1];
  u32 found = 0;
  for (i64 first = 0; first < count; first += kWarp) {
    const i64 entry = first + lane();
    const bool here =
        entry < count && id_at(ids, entry % ids.tensor.n[0], entry / ids.tensor.n[0], 0) == expert;
    const u32 lanes = ballot(here);
    if (here) f((u32)entry, found + (u32)__builtin_popcount(lanes & ((1u << lane()) - 1)));
    found += (u32)__builtin_popcount(lanes);
  }
  return found;
}

/// The tiles of all experts, and where each one's entries begin, in place of their counts.
DEVICE void list_tiles(const ExpertLists& lists, i64 experts) {
  u32 first = 0, tiles = 0;
  for (u32 expert = 0; expert < experts; ++expert) {
    const u32 count = lists.counts[expert];
    lists.counts[expert] = first;
    for (u32 at = 0; at < count; at += kMatmulColumns) {
      const u32 rest = count - at;
      lists.tiles[tiles++] = {expert, first + at, rest < kMatmulColumns ? rest : kMatmulColumns};
    }
    first += count;
  }
  *lists.tile_count = tiles;
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
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Ids ids = ids_of(p.ids, run);
  const i64 experts = tensor_of(p.w, run).n[2];
  for (i64 expert = warp(); expert < experts; expert += warps()) {
    const u32 found = for_each_entry(ids, expert, [](u32, u32) {});
    if (lane() == 0) p.experts.counts[expert] = found;
  }
  barrier();
  if (thread() == 0) list_tiles(p.experts, experts);
  barrier();
  for (i64 expert = warp(); expert < experts; expert += warps()) {
    u32* const to = p.experts.entries + p.experts.counts[expert];
    for_each_entry(ids, expert, [&](u32 entry, u32 place) { to[place] = entry; });
  }
}

// Modifiers and operands that the memory instructions share.
#include <array>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;

constexpr ptx::Version kPtx74{7, 4};

bool take_level1(Binder& binder, CacheHints& hints) {
  const auto taken = binder.take_one_of({"L1::evict_normal", "L1::evict_unchanged",
                                         "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  if (!taken) return true;
  hints.priority = true;
  return binder.need(kPtx74, 70);
}

bool take_level2(Binder& binder, CacheHints& hints) {
  if (!binder.take_one_of({"L2::evict_normal", "L2::evict_first", "L2::evict_last"})) return true;
  hints.priority = hints.level2 = true;
  return binder.need({8, 8}, 100);
}

}  // namespace

bool take_cache_priorities(Binder& binder, CacheHints& hints) {
  return take_level1(binder, hints) && take_level2(binder, hints);
}

bool take_cache_policy(Binder& binder, CacheHints& hints) {
  hints.policy = binder.take("L2::cache_hint");
  return !hints.policy || binder.need(kPtx74, 80);
}

bool take_prefetch_size(Binder& binder, CacheHints& hints) {
  const auto size = binder.take_one_of({"L2::64B", "L2::128B", "L2::256B"});
  hints.prefetch = size.has_value();
  return !size || binder.need(kPtx74, *size == 2 ? 80 : 75);
}

bool check_cache_hints(Binder& binder, const CacheHints& hints, ptx::Space space) {
  if (hints.operation && hints.priority) {
    return binder.fail("a cache operation and a priority exclude each other");
  }
  const bool any = hints.priority || hints.policy || hints.prefetch;
  return !any || space == PtxSpace::kGlobal || space == PtxSpace::kGeneric ||
         binder.fail("cache hints are for .global and generic addresses");
}

bool take_scope(Binder& binder, bool required) {
  const auto scope = binder.take_one_of({"cta", "gpu", "sys", "cluster"});
  if (!scope) return !required || binder.fail("needs a scope: .cta, .cluster, .gpu or .sys");
  return *scope == 3 ? binder.need({7, 8}, 90) : binder.need({6, 0}, 60);
}

std::optional<ptx::Space> take_space(Binder& binder) {
  struct Row {
    PtxSpace space;
    ptx::Version version;
    int sm;
  };
  static constexpr std::array<std::string_view, 9> kNames = {
      "global",      "shared",       "local",       "param",          "const",
      "shared::cta", "param::entry", "param::func", "shared::cluster"};
  static constexpr std::array<Row, 9> kRows = {{{PtxSpace::kGlobal, {1, 0}, 0},
                                                {PtxSpace::kShared, {1, 0}, 0},
                                                {PtxSpace::kLocal, {1, 0}, 0},
                                                {PtxSpace::kParam, {1, 0}, 0},
                                                {PtxSpace::kConst, {1, 0}, 0},
                                                {PtxSpace::kShared, {7, 8}, 30},
                                                {PtxSpace::kParam, {8, 3}, 0},
                                                {PtxSpace::kParam, {8, 3}, 0},
                                                {PtxSpace::kShared, {7, 8}, 90}}};
  const auto found = binder.take_one_of(kNames);
  if (!found) return PtxSpace::kGeneric;
  const Row& row = kRows[*found];
  if (!binder.need(row.version, row.sm)) return std::nullopt;
  return row.space;
}

std::optional<Binder::Address> take_address(Binder& binder, std::size_t index, MemoryExtra& extra) {
  auto address = binder.address(index, extra.space);
  if (!address) return std::nullopt;
  // An argument of a call is .param, and is in local memory.
  extra.space = address->space;
  return address;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

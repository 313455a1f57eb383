// Modifiers and operands that the memory instructions share.
#include <array>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;

constexpr ptx::Version kPtx74{7, 4};

bool take_level1(Binder& binder) {
  const bool taken = binder
                         .take_one_of({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                                       "L1::evict_last", "L1::no_allocate"})
                         .has_value();
  return !taken || binder.need(kPtx74, 70);
}

bool take_level2(Binder& binder) {
  const bool taken =
      binder.take_one_of({"L2::evict_normal", "L2::evict_first", "L2::evict_last"}).has_value();
  return !taken || binder.need({8, 8}, 100);
}

bool take_prefetch_size(Binder& binder) {
  const auto size = binder.take_one_of({"L2::64B", "L2::128B", "L2::256B"});
  return !size || binder.need(kPtx74, *size == 2 ? 80 : 75);
}

}  // namespace

bool take_cache_hints(Binder& binder, bool& policy) {
  if (!take_level1(binder) || !take_level2(binder)) return false;
  policy = binder.take("L2::cache_hint");
  if (policy && !binder.need(kPtx74, 80)) return false;
  return take_prefetch_size(binder);
}

bool take_scope(Binder& binder, bool required) {
  const auto scope = binder.take_one_of({"cta", "gpu", "sys", "cluster"});
  if (!scope) return !required || binder.fail("needs a scope: .cta, .cluster, .gpu or .sys");
  return *scope == 3 ? binder.need({7, 8}, 90) : binder.need({6, 0}, 60);
}

std::optional<ptx::Space> take_space(Binder& binder) {
  struct Row {
    std::string_view name;
    PtxSpace space;
    ptx::Version version;
    int sm;
  };
  static constexpr std::array<Row, 9> kRows = {
      {{"global", PtxSpace::kGlobal, {1, 0}, 0},
       {"shared", PtxSpace::kShared, {1, 0}, 0},
       {"local", PtxSpace::kLocal, {1, 0}, 0},
       {"param", PtxSpace::kParam, {1, 0}, 0},
       {"const", PtxSpace::kConst, {1, 0}, 0},
       {"shared::cta", PtxSpace::kShared, {7, 8}, 30},
       {"param::entry", PtxSpace::kParam, {8, 3}, 0},
       {"param::func", PtxSpace::kParam, {8, 3}, 0},
       {"shared::cluster", PtxSpace::kShared, {7, 8}, 90}}};
  for (const Row& row : kRows) {
    if (!binder.take(row.name)) continue;
    if (row.name == "shared::cluster") {
      binder.fail("the twin has no .shared::cluster addresses");
      return std::nullopt;
    }
    if (!binder.need(row.version, row.sm)) return std::nullopt;
    return row.space;
  }
  return PtxSpace::kGeneric;
}

std::optional<Binder::Address> take_address(Binder& binder, std::size_t index, MemoryExtra& extra) {
  auto address = binder.address(index, extra.space);
  if (!address) return std::nullopt;
  // An argument of a call is .param, and is in local memory.
  extra.space = address->space;
  return address;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

// shfl.sync and shfl: up, down, bfly, idx.
#include "cuda/instructions/shuffles.h"

#include <string>

#include "cuda/instructions/together.h"
#include "cuda/program/builder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

enum class ShuffleMode : std::uint32_t { kUp, kDown, kBfly, kIdx };

/// args: d, a, b, c; more: p, membermask. extra: the mode.
constexpr unsigned kInRange = 0, kMembers = 1;

struct ShuffleSources {
  alignas(64) std::uint32_t lane[kLanes];
  LaneMask in_range = 0;
};

/// The formulas of the PTX document: `b` has the offset or lane, `c` the clamp and the segment.
template <ShuffleMode kMode>
[[gnu::always_inline]] inline void find_sources(const std::uint32_t* b, const std::uint32_t* c,
                                                ShuffleSources& sources) {
  std::uint32_t in_range[kLanes];
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const std::uint32_t by = b[i] & 31, clamp = c[i] & 31, segment = c[i] >> 8 & 31;
    const std::uint32_t least = i & segment, most = least | (clamp & ~segment);
    std::int32_t from = 0;
    if constexpr (kMode == ShuffleMode::kUp) from = static_cast<std::int32_t>(i - by);
    if constexpr (kMode == ShuffleMode::kDown) from = static_cast<std::int32_t>(i + by);
    if constexpr (kMode == ShuffleMode::kBfly) from = static_cast<std::int32_t>(i ^ by);
    if constexpr (kMode == ShuffleMode::kIdx)
      from = static_cast<std::int32_t>(least | (by & ~segment));
    const auto bound = static_cast<std::int32_t>(most);
    const bool inside = kMode == ShuffleMode::kUp ? from >= bound : from <= bound;
    in_range[i] = inside ? 1 : 0;
    sources.lane[i] = inside ? static_cast<std::uint32_t>(from) : i;
  }
  sources.in_range = lanes_where([&](unsigned i) { return in_range[i] != 0; });
}

Next report_absent(Warp& warp, const ShuffleSources& sources, LaneMask lanes, LaneMask absent) {
  if (!warp.block->launch->checks.warp) return Next::kOn;
  // GCC 12 does not see that the mask has a lane.
  const unsigned lane = first_lane(absent & lanes) % kLanes;
  return report(warp, "absent-lanes", lane,
                "lane " + std::to_string(lane) + " reads lane " +
                    std::to_string(sources.lane[lane]) + ", which does not take part");
}

template <ShuffleMode kMode>
[[gnu::always_inline]] inline Next shuffle_lanes(Warp& warp, const Op& op, LaneMask lanes,
                                                 LaneMask) {
  ShuffleSources sources;
  find_sources<kMode>(lanes_of<std::uint32_t>(warp, op.args[2]),
                      lanes_of<std::uint32_t>(warp, op.args[3]), sources);
  if (lanes != kAllLanes) {
    const LaneMask absent =
        lanes & ~lanes_where([&](unsigned i) { return (lanes >> sources.lane[i] & 1) != 0; });
    if (absent != 0 && report_absent(warp, sources, lanes, absent) != Next::kOn) {
      return Next::kSwitch;
    }
  }
  std::uint32_t from[kLanes];
  const std::uint32_t* a = lanes_of<std::uint32_t>(warp, op.args[1]);
  for (unsigned i = 0; i < kLanes; ++i) from[i] = a[i];
  if (op.args[0].bank != Bank::kNone) {
    each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), lanes,
              [&](unsigned i) { return from[sources.lane[i]]; });
  }
  set_predicate(warp, op.more[kInRange], sources.in_range, lanes);
  return Next::kOn;
}

template <ShuffleMode kMode>
Next shuffle_body(Warp& warp, const Op& op, LaneMask lanes, LaneMask members) {
  return shuffle_lanes<kMode>(warp, op, lanes, members);
}

template <ShuffleMode kMode>
Next shuffle_sync(Warp& warp, const Op& op, LaneMask active) {
  return together<shuffle_body<kMode>>(warp, op, active, op.more[kMembers]);
}

/// Without .sync: the lanes that happen to be here.
template <ShuffleMode kMode>
Next shuffle(Warp& warp, const Op& op, LaneMask active) {
  return shuffle_lanes<kMode>(warp, op, active, active);
}

constexpr Handler kSync[] = {shuffle_sync<ShuffleMode::kUp>, shuffle_sync<ShuffleMode::kDown>,
                             shuffle_sync<ShuffleMode::kBfly>, shuffle_sync<ShuffleMode::kIdx>};
constexpr Handler kPlain[] = {shuffle<ShuffleMode::kUp>, shuffle<ShuffleMode::kDown>,
                              shuffle<ShuffleMode::kBfly>, shuffle<ShuffleMode::kIdx>};

}  // namespace

bool allow_without_sync(Binder& b) {
  const ptx::Module& module = b.builder().module();
  if (module.target.sm < 70 || module.version < ptx::Version{6, 4}) return true;
  return b.fail("needs .sync from PTX 6.4 on for sm_70 and higher");
}

bool bind_shfl(Binder& b) {
  const bool sync = b.take("sync");
  if (sync ? !b.need({6, 0}, 30) : !allow_without_sync(b)) return false;
  const auto mode = b.take_one_of({"up", "down", "bfly", "idx"});
  if (!mode) return b.fail("expected .up, .down, .bfly or .idx");
  if (b.take_type({ptx::Type::kB32}) == ptx::Type::kNone) return false;
  const std::size_t count = sync ? 5 : 4;
  if (!b.expect_operands(count, count)) return false;
  const ptx::Operand& to = b.operand(0);
  const bool pair = to.kind == ptx::Operand::Kind::kPair;
  const Arg d = b.destination(pair ? to.items[0] : to, ptx::Type::kB32);
  Arg extra[2];
  if (pair) extra[kInRange] = b.predicate_destination(to.items[1]);
  const Arg a = b.source(1, ptx::Type::kB32);
  const Arg by = b.source(2, ptx::Type::kB32);
  const Arg clamp = b.source(3, ptx::Type::kB32);
  if (sync) extra[kMembers] = b.source(4, ptx::Type::kB32);
  if (b.failed()) return false;
  Op& op = b.emit(sync ? kSync[*mode] : kPlain[*mode], OpKind::kWarp, {d, a, by, clamp});
  b.more(op, extra);
  return b.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

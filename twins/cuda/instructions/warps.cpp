// shfl vote match redux activemask elect, bar.warp.sync
#include <bit>

#include "cuda/instructions/opcodes.h"
#include "cuda/instructions/reductions.h"
#include "cuda/instructions/shuffles.h"
#include "cuda/instructions/together.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

// --- vote: args d, a, membermask.

enum class Vote : std::uint32_t { kAll, kAny, kUni, kBallot };

template <Vote kVote>
Next vote_lanes(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const LaneMask holds = predicate_of(warp, op.args[1]) & lanes;
  if constexpr (kVote == Vote::kBallot) {
    each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), lanes, [&](unsigned) { return holds; });
    return Next::kOn;
  }
  const bool all = holds == lanes;
  const bool value = kVote == Vote::kAll   ? all
                     : kVote == Vote::kAny ? holds != 0
                                           : all || holds == 0;
  set_predicate(warp, op.args[0], value ? kAllLanes : 0, lanes);
  return Next::kOn;
}

template <Vote kVote>
Next vote_sync(Warp& warp, const Op& op, LaneMask active) {
  return together<vote_lanes<kVote>>(warp, op, active, op.args[2]);
}
template <Vote kVote>
Next vote(Warp& warp, const Op& op, LaneMask active) {
  return vote_lanes<kVote>(warp, op, active, active);
}

constexpr Handler kVoteSync[] = {vote_sync<Vote::kAll>, vote_sync<Vote::kAny>,
                                 vote_sync<Vote::kUni>, vote_sync<Vote::kBallot>};
constexpr Handler kVotePlain[] = {vote<Vote::kAll>, vote<Vote::kAny>, vote<Vote::kUni>,
                                  vote<Vote::kBallot>};

bool bind_vote(Binder& b) {
  const bool sync = b.take("sync");
  if (sync ? !b.need({6, 0}, 30) : !allow_without_sync(b)) return false;
  const auto which = b.take_one_of({"all", "any", "uni", "ballot"});
  if (!which) return b.fail("expected .all, .any, .uni or .ballot");
  const bool ballot = *which == 3;
  if (b.take_type({ballot ? ptx::Type::kB32 : ptx::Type::kPred}) == ptx::Type::kNone) return false;
  const std::size_t count = sync ? 3 : 2;
  if (!b.expect_operands(count, count)) return false;
  const Arg d = ballot ? b.destination(0, ptx::Type::kB32) : b.predicate_destination(0);
  const Arg a = b.predicate_source(1);
  const Arg mask = sync ? b.source(2, ptx::Type::kB32) : Arg{};
  if (b.failed()) return false;
  b.emit(sync ? kVoteSync[*which] : kVotePlain[*which], OpKind::kWarp, {d, a, mask});
  return b.finish();
}

// --- match: args d, a, membermask, p.

template <class T>
Next match_any_lanes(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const T* a = lanes_of<T>(warp, op.args[1]);
  std::uint32_t equal[kLanes] = {};
  for (LaneMask rest = lanes; rest != 0;) {
    const T value = a[first_lane(rest)];
    const LaneMask same = rest & lanes_where([&](unsigned i) { return a[i] == value; });
    for (LaneMask some = same; some != 0; some &= some - 1) equal[first_lane(some)] = same;
    rest &= ~same;
  }
  each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), lanes, [&](unsigned i) { return equal[i]; });
  return Next::kOn;
}

template <class T>
Next match_all_lanes(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const T* a = lanes_of<T>(warp, op.args[1]);
  const T value = a[first_lane(lanes)];
  const bool all = (lanes & ~lanes_where([&](unsigned i) { return a[i] == value; })) == 0;
  const std::uint32_t result = all ? lanes : 0;
  if (op.args[0].bank != Bank::kNone) {
    each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), lanes, [&](unsigned) { return result; });
  }
  set_predicate(warp, op.args[3], all ? kAllLanes : 0, lanes);
  return Next::kOn;
}

template <TogetherBody kBody>
Next match(Warp& warp, const Op& op, LaneMask active) {
  return together<kBody>(warp, op, active, op.args[2]);
}

constexpr Handler kMatch[2][2] = {
    {match<match_any_lanes<std::uint32_t>>, match<match_any_lanes<std::uint64_t>>},
    {match<match_all_lanes<std::uint32_t>>, match<match_all_lanes<std::uint64_t>>}};

bool bind_match(Binder& b) {
  const auto which = b.take_one_of({"any", "all"});
  if (!which) return b.fail("expected .any or .all");
  if (!b.take("sync")) return b.fail("expected .sync");
  const ptx::Type type = b.take_type({ptx::Type::kB32, ptx::Type::kB64});
  if (type == ptx::Type::kNone || !b.expect_operands(3, 3)) return false;
  const ptx::Operand& to = b.operand(0);
  const bool pair = *which == 1 && to.kind == ptx::Operand::Kind::kPair;
  const Arg d = b.destination(pair ? to.items[0] : to, ptx::Type::kB32, false, pair);
  const Arg p = pair ? b.predicate_destination(to.items[1]) : Arg{};
  const Arg a = b.source(1, type);
  const Arg mask = b.source(2, ptx::Type::kB32);
  if (b.failed()) return false;
  b.emit(kMatch[*which][type == ptx::Type::kB64], OpKind::kWarp, {d, a, mask, p});
  return b.finish();
}

// --- activemask, elect, bar.warp.sync

Next activemask(Warp& warp, const Op& op, LaneMask active) {
  each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), active, [&](unsigned) { return active; });
  return Next::kOn;
}

bool bind_activemask(Binder& b) {
  if (b.take_type({ptx::Type::kB32}) == ptx::Type::kNone || !b.expect_operands(1, 1)) return false;
  const Arg d = b.destination(0, ptx::Type::kB32);
  if (b.failed()) return false;
  b.emit(activemask, OpKind::kWarp, {d});
  return b.finish();
}

/// The leader is the lowest lane: args d, membermask, p.
Next elect_lanes(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const unsigned leader = first_lane(lanes);
  if (op.args[0].bank != Bank::kNone) {
    each_lane(lanes_of<std::uint32_t>(warp, op.args[0]), lanes, [&](unsigned) { return leader; });
  }
  set_predicate(warp, op.args[2], LaneMask{1} << leader, lanes);
  return Next::kOn;
}
Next elect(Warp& warp, const Op& op, LaneMask active) {
  return together<elect_lanes>(warp, op, active, op.args[1]);
}

bool bind_elect(Binder& b) {
  if (!b.take("sync")) return b.fail("expected .sync");
  if (!b.expect_operands(2, 2)) return false;
  const ptx::Operand& to = b.operand(0);
  if (to.kind != ptx::Operand::Kind::kPair) return b.fail("expected d|p");
  const Arg d = b.destination(to.items[0], ptx::Type::kB32, false, true);
  const Arg p = b.predicate_destination(to.items[1]);
  const Arg mask = b.source(1, ptx::Type::kB32);
  if (b.failed()) return false;
  b.emit(elect, OpKind::kWarp, {d, mask, p});
  return b.finish();
}

Next warp_barrier_lanes(Warp&, const Op&, LaneMask, LaneMask) {
  return Next::kOn;
}
Next warp_barrier(Warp& warp, const Op& op, LaneMask active) {
  return together<warp_barrier_lanes>(warp, op, active, op.args[0]);
}

bool bind_warp_barrier(Binder& b) {
  if (!b.take("warp") || !b.take("sync")) return b.fail("expected .warp.sync");
  if (!b.need({6, 0}, 30) || !b.expect_operands(1, 1)) return false;
  const Arg mask = b.source(0, ptx::Type::kB32);
  if (b.failed()) return false;
  b.emit(warp_barrier, OpKind::kBarrier, {mask});
  return b.finish();
}

bool is_warp_barrier(const ptx::Instruction& instruction) {
  return !instruction.modifiers.empty() && instruction.modifiers[0] == "warp";
}

constexpr Opcode kWarps[] = {
    {"shfl", {3, 0}, 30, bind_shfl},
    {"vote", {1, 2}, 12, bind_vote},
    {"match", {6, 0}, 70, bind_match},
    {"redux", {7, 0}, 80, bind_redux},
    {"elect", {8, 0}, 90, bind_elect},
    {"activemask", {6, 2}, 30, bind_activemask},
    {"bar", {6, 0}, 30, bind_warp_barrier, is_warp_barrier},
};

}  // namespace

std::span<const Opcode> warps_opcodes() {
  return kWarps;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

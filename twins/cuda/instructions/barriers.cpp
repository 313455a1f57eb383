// bar barrier membar fence
#include <algorithm>
#include <optional>
#include <string>

#include "cuda/instructions/lanes.h"
#include "cuda/instructions/opcodes.h"
#include "cuda/machine/barriers.h"
#include "cuda/machine/groups.h"
#include "cuda/races/races.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

/// Op::extra of a barrier instruction.
enum BarrierFlag : std::uint32_t {
  kAligned = 1,
  kWaits = 2,
  kPopc = 4,
  kAnd = 8,
  kOr = 16,
  kReduces = kPopc | kAnd | kOr,
};
// args: destination, barrier, threads, predicate.

void write_result(Warp& warp, const Op& op, LaneMask active, const Group& group) {
  if ((op.extra & kPopc) != 0) {
    const std::uint32_t holds = group.holds;
    std::uint32_t* to = lanes_of<std::uint32_t>(warp, op.args[0]);
    each_lane(to, active, [&](unsigned) { return holds; });
    return;
  }
  const bool value = (op.extra & kAnd) != 0 ? group.fails == 0 : group.holds != 0;
  set_predicate(warp, op.args[0], value ? kAllLanes : 0, active);
}

/// The barrier and the thread count of the first active lane; lanes that have others stay at the
/// op, and execute it later.
Next read_numbers(Warp& warp, const Op& op, LaneMask& active, Arrival& arrival) {
  const unsigned lane = first_lane(active);
  const std::uint32_t* number = lanes_of<std::uint32_t>(warp, op.args[1]);
  const bool counted = op.args[2].bank != Bank::kNone;
  const std::uint32_t* threads = counted ? lanes_of<std::uint32_t>(warp, op.args[2]) : number;
  arrival.barrier = number[lane];
  arrival.threads = counted ? threads[lane] : 0;
  if (arrival.barrier >= kBarriers) {
    return fault(warp, 719, lane,
                 "barrier " + std::to_string(arrival.barrier) + ": they are 0 to 15");
  }
  if (arrival.threads % kLanes != 0) {
    return fault(
        warp, 719, lane,
        "a barrier of " + std::to_string(arrival.threads) + " threads, which is no multiple of 32");
  }
  const LaneMask same = active & lanes_where([&](unsigned i) {
                          return number[i] == number[lane] && threads[i] == threads[lane];
                        });
  if (same != active) hold(warp, active & ~same, Group::State::kReady);
  active = same;
  return Next::kOn;
}

Next barrier(Warp& warp, const Op& op, LaneMask active) {
  Group& running = warp.groups[0];
  if (running.released) {
    running.released = false;
    write_result(warp, op, active, running);
    return Next::kOn;
  }
  if ((op.extra & kAligned) != 0 && !gather_aligned(warp, active)) return Next::kSwitch;
  Arrival arrival;
  if (read_numbers(warp, op, active, arrival) != Next::kOn) return Next::kSwitch;
  arrival.waits = (op.extra & kWaits) != 0;
  arrival.reduces = (op.extra & kReduces) != 0;
  if (arrival.reduces) arrival.holds = predicate_of(warp, op.args[3]);
  return arrive(warp, active, arrival);
}

/// Op::extra of a fence.
enum class Scope : std::uint32_t { kNone, kBlock, kDevice };

Next fence(Warp& warp, const Op& op, LaneMask active) {
  const auto scope = static_cast<Scope>(op.extra);
  if (scope != Scope::kNone) races::on_fence(warp, active, scope == Scope::kBlock);
  return Next::kOn;
}

Next cluster_arrive(Warp& warp, const Op& op, LaneMask active) {
  if ((op.extra & kAligned) != 0 && !gather_aligned(warp, active)) return Next::kSwitch;
  return arrive_at_cluster(warp, active);
}

Next cluster_wait(Warp& warp, const Op& op, LaneMask active) {
  if ((op.extra & kAligned) != 0 && !gather_aligned(warp, active)) return Next::kSwitch;
  return wait_for_cluster(warp, active);
}

/// Literals out of range are errors of the text.
bool check_literals(Binder& b, std::size_t number, std::size_t threads, bool waits) {
  using Kind = ptx::Operand::Kind;
  if (b.operand(number).kind == Kind::kLiteral && b.operand(number).literal.bits >= kBarriers) {
    return b.fail("barriers are 0 to 15");
  }
  if (threads >= b.operands() || b.operand(threads).kind != Kind::kLiteral) return true;
  const std::uint64_t count = b.operand(threads).literal.bits;
  if (count == 0 && !waits) return b.fail("the number of threads must not be 0");
  return count % kLanes == 0 || b.fail("the number of threads must be a multiple of 32");
}

bool bind_sync(Binder& b, std::uint32_t flags, std::size_t least) {
  if (!b.expect_operands(least, 2) || !check_literals(b, 0, 1, (flags & kWaits) != 0)) {
    return false;
  }
  const Arg number = b.source(0, ptx::Type::kU32);
  const Arg threads = b.operands() == 2 ? b.source(1, ptx::Type::kU32) : Arg{};
  if (b.failed()) return false;
  b.emit(barrier, OpKind::kBarrier, {Arg{}, number, threads, Arg{}}).extra = flags;
  return b.finish();
}

/// d, a {, b}, {!}c
bool bind_reduction(Binder& b, std::uint32_t flags, bool always_aligned) {
  constexpr std::uint32_t kOperations[] = {kPopc, kAnd, kOr};
  const auto operation = b.take_one_of({"popc", "and", "or"});
  if (!operation) return b.fail("expected .popc, .and or .or");
  flags |= kOperations[*operation];
  if (always_aligned || b.take("aligned")) flags |= kAligned;
  const bool counts = *operation == 0;
  if (b.take_type({counts ? ptx::Type::kU32 : ptx::Type::kPred}) == ptx::Type::kNone) return false;
  if (!b.expect_operands(3, 4)) return false;
  const std::size_t last = b.operands() - 1;
  if (!check_literals(b, 1, last == 3 ? 2 : last + 1, true)) return false;
  const Arg to = counts ? b.destination(0, ptx::Type::kU32) : b.predicate_destination(0);
  const Arg number = b.source(1, ptx::Type::kU32);
  const Arg threads = last == 3 ? b.source(2, ptx::Type::kU32) : Arg{};
  const Arg predicate = b.predicate_source(last);
  if (b.failed()) return false;
  b.emit(barrier, OpKind::kBarrier, {to, number, threads, predicate}).extra = flags;
  return b.finish();
}

bool bind_cluster(Binder& b) {
  if (!b.need({7, 8}, 90)) return false;
  const auto which = b.take_first_of({"arrive", "wait"});
  if (!which) return b.fail("expected .arrive or .wait");
  if (*which == 0) {
    b.take_one_of({"release", "relaxed"});
  } else {
    b.take("acquire");
  }
  const std::uint32_t flags = b.take("aligned") ? kAligned : 0u;
  if (!b.expect_operands(0, 0)) return false;
  b.emit(*which == 0 ? cluster_arrive : cluster_wait, OpKind::kBarrier, {}).extra = flags;
  return b.finish();
}

/// bar, which is always aligned, and barrier.
bool bind_barrier(Binder& b, bool always_aligned) {
  if (!always_aligned && b.take_first("cluster")) return bind_cluster(b);
  if (b.take_first("cta") && !b.need({7, 8}, always_aligned ? 0 : 30)) return false;
  const auto which = b.take_first_of({"sync", "arrive", "red"});
  if (!which) return b.fail("expected .sync, .arrive or .red");
  if (*which == 2) return bind_reduction(b, kWaits, always_aligned);
  const std::uint32_t aligned = always_aligned || b.take("aligned") ? kAligned : 0u;
  if (*which == 0) return bind_sync(b, aligned | kWaits, 1);
  return bind_sync(b, aligned, 2);
}

bool is_not_warp_barrier(const ptx::Instruction& instruction) {
  return instruction.modifiers.empty() || instruction.modifiers[0] != "warp";
}

bool emit_fence(Binder& b, Scope scope) {
  if (!b.expect_operands(0, 0)) return false;
  b.emit(fence, OpKind::kBarrier, {}).extra = static_cast<std::uint32_t>(scope);
  return b.finish();
}
/// A proxy fence orders no accesses of the generic proxy.
bool emit_fence(Binder& b) {
  return emit_fence(b, Scope::kNone);
}

bool bind_membar(Binder& b) {
  if (b.take_first("proxy")) {
    if (!b.need({7, 5}, 70)) return false;
    if (!b.take("alias")) return b.fail("expected .alias");
    return emit_fence(b);
  }
  const auto level = b.take_one_of({"cta", "gl", "sys"});
  if (!level) return b.fail("expected .cta, .gl or .sys");
  if (*level == 2 && !b.need({2, 0}, 20)) return false;
  return emit_fence(b, *level == 0 ? Scope::kBlock : Scope::kDevice);
}

std::optional<Scope> take_fence_scope(Binder& b) {
  const auto scope = b.take_one_of({"cta", "cluster", "gpu", "sys"});
  if (!scope) {
    b.fail("expected a scope: .cta, .cluster, .gpu or .sys");
    return std::nullopt;
  }
  if (*scope == 1 && !b.need({7, 8}, 90)) return std::nullopt;
  return *scope < 2 ? Scope::kBlock : Scope::kDevice;  // a cluster is one block
}

/// .acquire.sync_restrict::shared::cluster.cluster, .release.sync_restrict::shared::cta.cluster
bool bind_restricted_fence(Binder& b, Scope scope) {
  if (!b.need({8, 6}, 90)) return false;
  const bool acquires = b.take_first("acquire") && b.take_first("sync_restrict::shared::cluster");
  const bool releases =
      !acquires && b.take_first("release") && b.take_first("sync_restrict::shared::cta");
  if ((!acquires && !releases) || !b.take("cluster")) {
    return b.fail(
        "expected .acquire.sync_restrict::shared::cluster.cluster or "
        ".release.sync_restrict::shared::cta.cluster");
  }
  return emit_fence(b, scope);
}

bool is_restricted(const Binder& b) {
  const auto& modifiers = b.instruction().modifiers;
  return std::any_of(modifiers.begin(), modifiers.end(), [](std::string_view modifier) {
    return modifier.starts_with("sync_restrict");
  });
}

/// fence.proxy.KIND and fence.proxy.tensormap::generic.{acquire,release}.scope
bool bind_proxy_fence(Binder& b) {
  if (b.take("alias")) return b.need({7, 5}, 70) && emit_fence(b);
  if (b.take("async")) {
    b.take_one_of({"global", "shared::cta", "shared::cluster"});
    return b.need({8, 0}, 90) && emit_fence(b);
  }
  if (b.take("async.global") || b.take("async.shared::cta") || b.take("async.shared::cluster")) {
    return b.need({8, 0}, 90) && emit_fence(b);
  }
  if (b.take("async::generic")) return bind_restricted_fence(b, Scope::kNone);
  if (!b.take("tensormap::generic")) return b.fail("unknown proxy");
  if (!b.need({8, 3}, 90)) return false;
  const auto direction = b.take_one_of({"acquire", "release"});
  if (!direction) return b.fail("expected .acquire or .release");
  if (!take_fence_scope(b)) return false;
  if (*direction == 1) return emit_fence(b);
  if (!b.expect_operands(2, 2)) return false;
  b.address(0, ptx::Space::kGeneric);
  const auto size = b.constant(1);
  if (b.failed()) return false;
  if (size != 128) return b.fail("the size of a tensor map is 128");
  b.emit(fence, OpKind::kBarrier, {});
  return b.finish();
}

bool bind_fence(Binder& b) {
  if (b.take_first("proxy")) return bind_proxy_fence(b);
  if (b.take_first("mbarrier_init")) {
    if (!b.take("release") || !b.take("cluster")) return b.fail("expected .release.cluster");
    return b.need({8, 0}, 90) && emit_fence(b);
  }
  if (is_restricted(b)) return bind_restricted_fence(b, Scope::kBlock);
  const auto order = b.take_one_of({"sc", "acq_rel", "acquire", "release"});
  if (order && *order >= 2 && !b.need({8, 6}, 90)) return false;
  const auto scope = take_fence_scope(b);
  return scope && emit_fence(b, *scope);
}

constexpr Opcode kBarrierOpcodes[] = {
    {"bar", {1, 0}, 0, [](Binder& b) { return bind_barrier(b, true); }, is_not_warp_barrier},
    {"barrier", {6, 0}, 30, [](Binder& b) { return bind_barrier(b, false); }},
    {"membar", {1, 4}, 0, bind_membar},
    {"fence", {6, 0}, 70, bind_fence},
};

}  // namespace

std::span<const Opcode> barriers_opcodes() {
  return kBarrierOpcodes;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

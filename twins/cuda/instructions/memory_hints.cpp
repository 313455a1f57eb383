// Instructions that tell the caches something: their addresses are checked, and nothing else
// happens. Also cache policies, which are values.
#include <bit>
#include <cstring>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;
using ptx::Type;

Next no_effect(Warp&, const Op&, LaneMask) {
  return Next::kOn;
}

/// The lanes' ranges must exist.
Next check_range(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  std::uint64_t at[kLanes];
  addresses_of(warp, op.args[1], op.immediate, active, at);
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    Spot spot;
    if (!locate(warp, lane, extra.space, at[lane], extra.bytes, kRead, spot)) return Next::kSwitch;
  }
  return Next::kOn;
}

/// The range has no values any more.
Next discard(Warp& warp, const Op& op, LaneMask active) {
  const MemoryExtra extra = MemoryExtra::of(op);
  std::uint64_t at[kLanes];
  addresses_of(warp, op.args[1], op.immediate, active, at);
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    Spot spot;
    if (!locate_and_check(warp, lane, extra.space, at[lane], extra.bytes, extra.bytes, kWrite,
                          spot)) {
      return Next::kSwitch;
    }
    std::memset(spot.data, 0xFF, extra.bytes);
    clear_written(spot.written, spot.first_bit, extra.bytes);
  }
  return Next::kOn;
}

/// Emits an op for the address of operand 0.
bool emit_range(Binder& binder, Handler handler, MemoryExtra extra) {
  const auto address = take_address(binder, 0, extra);
  if (!address) return false;
  Op& op = binder.emit(handler, OpKind::kMemory, {Arg{}, address->base});
  op.immediate = address->offset;
  op.extra = extra.packed();
  return binder.finish();
}

/// 128 bytes at an address in global memory: discard and applypriority.
bool bind_line(Binder& binder, Handler handler) {
  MemoryExtra extra;
  if (binder.take("global")) extra.space = PtxSpace::kGlobal;
  if (!binder.take(handler == discard ? "L2" : "L2::evict_normal")) {
    return binder.fail("needs its level of the cache");
  }
  if (!binder.need({7, 4}, 80) || !binder.expect_operands(2, 2)) return false;
  const auto size = binder.constant(1);
  if (!size) return false;
  if (*size != 128) return binder.fail("the size is 128");
  extra.bytes = 128;
  return emit_range(binder, handler, extra);
}

// Cache policies: a number that only this twin reads. The kind is in the highest byte, the
// fraction in the lower half.
constexpr std::uint64_t kFractionalPolicy = std::uint64_t{0x10} << 56;
constexpr std::uint64_t kRangePolicy = std::uint64_t{0x20} << 56;

Next create_policy(Warp& warp, const Op& op, LaneMask active) {
  auto* const to = lanes_of<std::uint64_t>(warp, op.args[0]);
  const auto policy = static_cast<std::uint64_t>(op.immediate);
  if (op.args[1].bank == Bank::kNone) {
    each_lane(to, active, [=](unsigned) { return policy; });
  } else {
    const auto* const fraction = lanes_of<std::uint32_t>(warp, op.args[1]);
    each_lane(to, active, [=](unsigned i) { return policy | fraction[i]; });
  }
  return Next::kOn;
}

std::size_t take_priority(Binder& binder, bool primary) {
  constexpr std::size_t kBad = 99;
  const auto found = primary ? binder.take_one_of({"L2::evict_last", "L2::evict_normal",
                                                   "L2::evict_first", "L2::evict_unchanged"})
                             : binder.take_one_of({"L2::evict_first", "L2::evict_unchanged"});
  if (found) return *found;
  if (primary) binder.fail("needs a primary priority");
  return primary ? kBad : 0;
}

bool emit_policy(Binder& binder, std::uint64_t policy, Arg fraction = {}) {
  const Arg to = binder.destination(0, Type::kB64);
  if (binder.failed()) return false;
  binder.emit(create_policy, OpKind::kMemory, {to, fraction}).immediate =
      static_cast<std::int64_t>(policy);
  return binder.finish();
}

bool bind_fractional_policy(Binder& binder) {
  const std::uint64_t primary = take_priority(binder, true);
  const std::uint64_t secondary = take_priority(binder, false);
  if (binder.failed() || binder.take_type({Type::kB64}) == Type::kNone) return false;
  if (!binder.expect_operands(1, 2)) return false;
  std::uint64_t fraction = 0x3F800000;
  const std::uint64_t policy = kFractionalPolicy | primary << 40 | secondary << 36;
  if (binder.operands() == 2) {
    const ptx::Operand& given = binder.operand(1);
    const Arg from = binder.source(1, Type::kF32);
    if (binder.failed()) return false;
    if (given.kind != ptx::Operand::Kind::kLiteral) return emit_policy(binder, policy, from);
    fraction = given.literal.kind == ptx::Literal::Kind::kDouble
                   ? std::bit_cast<std::uint32_t>(
                         static_cast<float>(std::bit_cast<double>(given.literal.bits)))
                   : given.literal.bits;
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(fraction));
    if (!(value > 0.0f && value <= 1.0f)) return binder.fail("the fraction is in (0, 1]");
  }
  return emit_policy(binder, policy | fraction);
}

bool bind_range_policy(Binder& binder) {
  if (binder.take("global")) {
  }
  const std::uint64_t primary = take_priority(binder, true);
  const std::uint64_t secondary = take_priority(binder, false);
  if (binder.failed() || binder.take_type({Type::kB64}) == Type::kNone) return false;
  if (!binder.expect_operands(4, 4)) return false;
  MemoryExtra extra;
  extra.space = PtxSpace::kGlobal;
  if (!take_address(binder, 1, extra)) return false;
  binder.source(2, Type::kU32);
  binder.source(3, Type::kU32);
  if (binder.failed()) return false;
  const ptx::Operand& primary_size = binder.operand(2);
  const ptx::Operand& total_size = binder.operand(3);
  const bool known = primary_size.kind == ptx::Operand::Kind::kLiteral &&
                     total_size.kind == ptx::Operand::Kind::kLiteral;
  if (known && primary_size.literal.bits > total_size.literal.bits) {
    return binder.fail("the primary size is more than the total size");
  }
  return emit_policy(binder, kRangePolicy | primary << 40 | secondary << 36);
}

/// An access property of CUDA C++ becomes a policy.
bool bind_converted_policy(Binder& binder) {
  if (!binder.take("L2") || binder.take_type({Type::kB64}) == Type::kNone) {
    return binder.fail("needs .L2.b64");
  }
  if (!binder.expect_operands(2, 2)) return false;
  binder.source(1, Type::kB64);
  if (binder.failed()) return false;
  return emit_policy(binder, kFractionalPolicy);
}

}  // namespace

bool bind_createpolicy(Binder& binder) {
  if (binder.take_first("fractional")) return bind_fractional_policy(binder);
  if (binder.take_first("range")) return bind_range_policy(binder);
  if (binder.take_first("cvt")) return bind_converted_policy(binder);
  return binder.fail("needs .fractional, .range or .cvt");
}

/// A prefetch of an address that does not exist does nothing.
bool bind_prefetch(Binder& binder) {
  MemoryExtra extra;
  if (binder.take("tensormap") || binder.next() == "const") {
    return binder.fail("the twin has no tensor maps");
  }
  const auto space = binder.take_one_of({"global", "local"});
  if (space) extra.space = *space == 0 ? PtxSpace::kGlobal : PtxSpace::kLocal;
  const auto level = binder.take_one_of({"L1", "L2", "L2::evict_last", "L2::evict_normal"});
  if (!level) return binder.fail("needs a level of the cache");
  if (*level >= 2 && extra.space == PtxSpace::kLocal) return binder.fail("priorities are global");
  if (!binder.expect_operands(1, 1)) return false;
  return emit_range(binder, no_effect, extra);
}

bool bind_prefetchu(Binder& binder) {
  if (!binder.take("L1")) return binder.fail("needs .L1");
  if (!binder.expect_operands(1, 1)) return false;
  return emit_range(binder, no_effect, MemoryExtra{});
}

bool bind_discard(Binder& binder) {
  return bind_line(binder, discard);
}
bool bind_applypriority(Binder& binder) {
  return bind_line(binder, check_range);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

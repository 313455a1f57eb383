// cp.async: global to shared memory. The destination is poisoned and counts as unwritten from the
// instruction on until the thread has waited for it.
#include <bit>
#include <cstring>
#include <memory>

#include "cuda/instructions/memory_forms.h"
#include "cuda/instructions/one_place.h"
#include "cuda/memory/async.h"
#include "cuda/memory/storage.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;
using ptx::Type;

/// The operands of an op, in Op::more from the fifth on.
enum CopyArg : std::size_t { kTo, kFrom, kSourceSize, kIgnore, kToOffset };

AsyncCopies& copies_of(Warp& warp) {
  if (warp.copies == nullptr) warp.copies = std::make_shared<AsyncCopies>();
  return *warp.copies;
}

std::byte* spot_at(const Spots& spots, unsigned lane, unsigned bytes) {
  return spots.count != 0 ? spots.first + std::size_t{lane} * bytes : spots.at[lane];
}

/// Bytes that a lane reads: all, or fewer by src-size, or none by ignore-src.
bool source_bytes(Warp& warp, const Op& op, LaneMask active, unsigned bytes,
                  std::array<unsigned, kLanes>& sizes) {
  sizes.fill(bytes);
  if (op.args[kSourceSize].bank != Bank::kNone) {
    const auto* const given = lanes_of<std::uint32_t>(warp, op.args[kSourceSize]);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1) == 0) continue;
      if (given[i] > bytes) {
        fault(warp, 719, i, "src-size " + std::to_string(given[i]) + " is more than the copy");
        return false;
      }
      sizes[i] = given[i];
    }
  }
  if (op.args[kIgnore].bank == Bank::kPredicates) {
    const LaneMask ignored = predicate_of(warp, op.args[kIgnore]);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((ignored >> i & 1) != 0) sizes[i] = 0;
    }
  }
  return true;
}

LaneMask lanes_of_full_size(const std::array<unsigned, kLanes>& sizes, unsigned bytes) {
  return lanes_where([&](unsigned i) { return sizes[i] == bytes; });
}

/// Reads the source now: whoever writes it before the copy is waited for has a race.
bool read_source(Warp& warp, const Op& op, LaneMask active, AsyncCopy& copy) {
  std::array<unsigned, kLanes> sizes;
  if (!source_bytes(warp, op, active, copy.bytes, sizes)) return false;
  const MemoryExtra extra = MemoryExtra::of(op);
  const LaneMask full = active & lanes_of_full_size(sizes, copy.bytes);
  if (full != 0) {
    Spots spots;
    if (!resolve(warp, op.args[kFrom], op.immediate, extra, kRead, full, spots)) return false;
    for (LaneMask left = full; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::memcpy(copy.data[lane].data(), spot_at(spots, lane, copy.bytes), copy.bytes);
    }
  }
  if (full == active) return true;
  std::uint64_t at[kLanes];
  addresses_of(warp, op.args[kFrom], op.immediate, active, at);
  for (LaneMask left = active & ~full; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    copy.data[lane] = {};
    if (at[lane] % copy.bytes != 0) {
      fault(warp, 716, lane, "misaligned source of cp.async");
      return false;
    }
    Spot spot;
    for (unsigned i = 0; i < sizes[lane]; ++i) {
      if (!locate_and_check(warp, lane, extra.space, at[lane] + i, 1, 1, kRead, spot)) return false;
      copy.data[lane][i] = *spot.data;
    }
  }
  return true;
}

/// Aligned bytes of shared memory count as written or not: one host thread has the block.
void mark(Block& block, std::uint64_t address, unsigned bytes, bool written) {
  std::uint64_t& word = block.shared_written[address / 64];
  const std::uint64_t mask = ((std::uint64_t{1} << bytes) - 1) << address % 64;
  word = written ? word | mask : word & ~mask;
}

Next copy_async(Warp& warp, const Op& op, LaneMask active) {
  AsyncCopies& copies = copies_of(warp);
  copies.pending.emplace_back();
  AsyncCopy& copy = copies.pending.back();
  copy.bytes = MemoryExtra::of(op).bytes;
  copy.group = copies.committed;
  if (!read_source(warp, op, active, copy)) return Next::kSwitch;
  MemoryExtra extra = MemoryExtra::of(op);
  extra.space = PtxSpace::kShared;
  const auto offset = std::int64_t{static_cast<std::int32_t>(op.more[0].offset)};
  addresses_of(warp, op.args[kTo], offset, active, copy.to);
  Spots spots;
  if (!resolve(warp, op.args[kTo], offset, extra, kWrite, active, spots)) return Next::kSwitch;
  const auto same = [&](unsigned a, unsigned b) {
    return std::memcmp(copy.data[a].data(), copy.data[b].data(), copy.bytes) == 0;
  };
  if (!stores_agree(warp, spots, active, same)) return Next::kSwitch;
  Block& block = *warp.block;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::memset(spot_at(spots, lane, copy.bytes), kPoison, copy.bytes);
    mark(block, copy.to[lane], copy.bytes, false);
  }
  copy.lanes = active;
  return Next::kOn;
}

/// The data of lanes arrive, at addresses that the instruction has checked.
bool arrive(Warp& warp, AsyncCopy& copy, LaneMask lanes) {
  Block& block = *warp.block;
  copy.lanes &= ~lanes;
  const bool checked = block.shared_races != nullptr;
  if (checked && !check_shared_writes(warp, copy.to, copy.bytes, lanes)) return false;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    std::memcpy(block.shared.data() + copy.to[lane], copy.data[lane].data(), copy.bytes);
    mark(block, copy.to[lane], copy.bytes, true);
  }
  return true;
}

/// All groups of the lanes but the last `kept` are complete.
Next wait_for_copies(Warp& warp, LaneMask active, std::uint64_t kept) {
  AsyncCopies& copies = copies_of(warp);
  const LaneMask alive = warp.alive();
  for (AsyncCopy& copy : copies.pending) {
    copy.lanes &= alive;  // no wait of the others comes
    const LaneMask complete = copy.lanes & active & lanes_where([&](unsigned i) {
                                return copy.group[i] + kept < copies.committed[i];
                              });
    if (complete != 0 && !arrive(warp, copy, complete)) return Next::kSwitch;
  }
  std::erase_if(copies.pending, [](const AsyncCopy& copy) { return copy.lanes == 0; });
  return Next::kOn;
}

Next commit_group(Warp& warp, const Op&, LaneMask active) {
  AsyncCopies& copies = copies_of(warp);
  for (unsigned i = 0; i < kLanes; ++i) copies.committed[i] += active >> i & 1;
  return Next::kOn;
}

Next wait_group(Warp& warp, const Op& op, LaneMask active) {
  return wait_for_copies(warp, active, static_cast<std::uint64_t>(op.immediate));
}

Next wait_all(Warp& warp, const Op& op, LaneMask active) {
  commit_group(warp, op, active);
  return wait_for_copies(warp, active, 0);
}

bool bind_wait_group(Binder& binder) {
  if (!binder.expect_operands(1, 1)) return false;
  const auto count = binder.constant(0);
  if (!count) return false;
  if (*count < 0) return binder.fail("the number of groups is negative");
  binder.emit(wait_group, OpKind::kMemory, {}).immediate = *count;
  return binder.finish();
}

bool bind_group(Binder& binder, Handler handler) {
  if (!binder.expect_operands(0, 0)) return false;
  binder.emit(handler, OpKind::kMemory, {});
  return binder.finish();
}

/// A copy as far as it is read.
struct Copy {
  bool global_level = false;  ///< .cg
  CacheHints hints;
  MemoryExtra from;
  MemoryExtra to;
};

bool take_spaces(Binder& binder, Copy& copy) {
  if (binder.take("shared::cluster")) return binder.fail("copies to the block's own memory");
  const auto to = take_space(binder);
  if (!to) return false;
  const auto from = take_space(binder);
  if (!from) return false;
  copy.to.space = *to;
  copy.from.space = *from;
  if (*to == PtxSpace::kShared && *from == PtxSpace::kGlobal) return true;
  return binder.fail("copies from .global to .shared");
}

/// cp-size; then src-size, or the predicate ignore-src.
bool take_sizes(Binder& binder, Copy& copy, Arg& size, Arg& ignore) {
  const auto bytes = binder.constant(2);
  if (!bytes) return false;
  const bool good = *bytes == 16 || (!copy.global_level && (*bytes == 4 || *bytes == 8));
  if (!good) return binder.fail("cp-size is 16, or with .ca 4 or 8");
  copy.from.bytes = copy.to.bytes = static_cast<unsigned>(*bytes);
  const std::size_t sized = binder.operands() - (copy.hints.policy ? 1 : 0);
  if (sized == 3) return true;
  if (sized != 4) return binder.fail("needs cp-size, and src-size or ignore-src at most");
  const ptx::Operand& fourth = binder.operand(3);
  if (fourth.negated || binder.register_bits(fourth) == 1) {
    ignore = binder.predicate_source(3);
    return binder.need({8, 3});
  }
  if (fourth.kind == ptx::Operand::Kind::kLiteral && fourth.literal.bits > copy.from.bytes) {
    return binder.fail("src-size is from 0 to cp-size");
  }
  size = binder.source(3, Type::kU32);
  return !binder.failed();
}

bool bind_copy(Binder& binder) {
  Copy copy;
  const auto level = binder.take_one_of({"ca", "cg"});
  if (!level) return binder.fail("needs .ca or .cg");
  copy.global_level = *level == 1;
  if (!take_spaces(binder, copy) || !take_cache_policy(binder, copy.hints) ||
      !take_prefetch_size(binder, copy.hints)) {
    return false;
  }
  if (!binder.expect_operands(3, 5)) return false;
  const auto to = take_address(binder, 0, copy.to);
  const auto from = take_address(binder, 1, copy.from);
  Arg size, ignore;
  if (!to || !from || !take_sizes(binder, copy, size, ignore)) return false;
  if (copy.hints.policy) binder.source(binder.operands() - 1, Type::kB64);
  if (binder.failed()) return false;
  Op& op = binder.emit(copy_async, OpKind::kMemory, {to->base, from->base, size, ignore});
  Arg offset;  // a number, no operand
  offset.offset = static_cast<std::uint32_t>(to->offset);
  binder.more(op, std::span<const Arg>(&offset, 1));
  op.immediate = from->offset;
  op.extra = copy.from.packed();
  return binder.finish();
}

}  // namespace

bool bind_cp(Binder& binder) {
  if (!binder.take_first("async")) return binder.fail("the twin has cp.async only");
  if (binder.take("commit_group")) return bind_group(binder, commit_group);
  if (binder.take("wait_group")) return bind_wait_group(binder);
  if (binder.take("wait_all")) return bind_group(binder, wait_all);
  return bind_copy(binder);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

#include "cuda/machine/operand_copies.h"

#include <cstring>

#include "cuda/machine/groups.h"

namespace cuda_twin {
namespace {

/// visit(lane)
template <class Visit>
void each_of(LaneMask lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(first_lane(lanes));
}

/// A literal is the same everywhere.
const std::byte* values_at(const Warp& warp, const Arg& arg, const Frame& frame) {
  const bool constant = arg.bank == Bank::kConstants;
  return (constant ? warp.banks[static_cast<unsigned>(arg.bank)] : frame.registers) + arg.offset;
}

}  // namespace

const Arg& OperandCopies::operand(const Op& op, std::size_t index) {
  return index < kFirstMore ? op.args[index] : op.more[index - kFirstMore];
}

OperandCopies::OperandCopies(const Op& op) : op_(op), args_(kFirstMore + op.count_more) {
  values_.resize(args_.size());
  predicates_.resize(args_.size());
}

void OperandCopies::take(Warp& warp, const Op& op, std::uint32_t frame, LaneMask lanes) {
  const Frame& from = warp.frames[frame];
  for (std::uint32_t i = 0; i < args_.size(); ++i) {
    const Arg& arg = operand(op, i);
    Arg& copy = args_[i];
    if (arg.bank == Bank::kNone) continue;
    if (arg.bank == Bank::kPredicates) {
      copy.bank = Bank::kPredicates;
      copy.offset = i;
      const LaneMask bits = from.predicates[arg.offset] ^ (arg.flip ? kAllLanes : 0);
      predicates_[i] |= bits & lanes;
      continue;
    }
    copy = {Bank::kRegisters, false, arg.bytes, static_cast<std::uint32_t>(i * sizeof(Value))};
    const std::byte* const values = values_at(warp, arg, from);
    each_of(lanes, [&](unsigned lane) {
      const std::size_t at = std::size_t{arg.bytes} * lane;
      std::memcpy(values_[i].bytes + at, values + at, arg.bytes);
    });
  }
}

void OperandCopies::give(Warp& warp, const Op& op, std::uint32_t frame, LaneMask lanes) const {
  const Frame& to = warp.frames[frame];
  for (std::uint32_t i = 0; i < args_.size(); ++i) {
    const Arg& arg = operand(op, i);
    if (arg.bank == Bank::kPredicates) {
      to.predicates[arg.offset] ^= (predicates_[i] ^ predicates_before_[i]) & lanes;
    }
    if (arg.bank != Bank::kRegisters) continue;
    each_of(lanes, [&](unsigned lane) {
      const std::size_t at = std::size_t{arg.bytes} * lane;
      const std::byte* const value = values_[i].bytes + at;
      if (std::memcmp(value, before_[i].bytes + at, arg.bytes) == 0) return;
      std::memcpy(to.registers + arg.offset + at, value, arg.bytes);
    });
  }
}

}  // namespace cuda_twin

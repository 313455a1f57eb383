// Operands of one instruction that lanes execute together at different places: copies of each
// lane's own registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/machine/warp.h"

namespace cuda_twin {

class OperandCopies {
 public:
  explicit OperandCopies(const Op& op);
  OperandCopies(const OperandCopies&) = delete;
  OperandCopies& operator=(const OperandCopies&) = delete;

  /// Copies the operands of `lanes`, which execute `op` in a frame.
  void take(Warp& warp, const Op& op, std::uint32_t frame, LaneMask lanes);
  /// execute(op) with an op whose operands are the copies.
  template <class Execute>
  Next run(Warp& warp, Execute execute) {
    for (std::size_t i = 0; i < kFirstMore; ++i) op_.args[i] = args_[i];
    op_.more = args_.data() + kFirstMore;
    before_ = values_;
    predicates_before_ = predicates_;
    std::byte* const registers =
        std::exchange(warp.banks[static_cast<unsigned>(Bank::kRegisters)], values_.front().bytes);
    LaneMask* const predicates = std::exchange(warp.predicates, predicates_.data());
    const Next next = execute(op_);
    warp.banks[static_cast<unsigned>(Bank::kRegisters)] = registers;
    warp.predicates = predicates;
    return next;
  }
  /// Writes the copies that the instruction changed to the registers of `lanes`.
  void give(Warp& warp, const Op& op, std::uint32_t frame, LaneMask lanes) const;

 private:
  static constexpr std::size_t kFirstMore = 4;  ///< operands before those of Op::more
  static const Arg& operand(const Op& op, std::size_t index);

  struct Value {
    alignas(64) std::byte bytes[kLanes * 16];
  };

  Op op_;
  std::vector<Arg> args_;  ///< of op_, those of Op::more last
  std::vector<Value> values_, before_;
  std::vector<LaneMask> predicates_, predicates_before_;
};

}  // namespace cuda_twin

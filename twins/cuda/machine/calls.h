// Calls of functions: a frame has the registers of all lanes that called together.
#pragma once

#include <memory>
#include <vector>

#include "cuda/machine/warp.h"
#include "cuda/program/program.h"

namespace cuda_twin {

/// Indices into Program::functions, in order. Calls with one list share it.
using CallTargets = std::shared_ptr<const std::vector<std::uint32_t>>;

/// A call instruction: Op::immediate points to one.
struct CallSite {
  std::uint32_t function = kIndirect;  ///< index into Program::functions
  Arg target;                          ///< of an indirect call: a register with the address
  CallTargets targets;                 ///< that an indirect call may reach; null or empty: all
  std::vector<FunctionInfo::Slot> arguments, results;  ///< in the caller's frame, in order
  static constexpr std::uint32_t kIndirect = 0xFFFFFFFFu;
};

/// Handlers. `call` finds its CallSite in Op::immediate. `ret` is also what a function that has no
/// `ret` at its end needs there.
Next call_function(Warp& warp, const Op& op, LaneMask active);
Next return_from_function(Warp& warp, const Op& op, LaneMask active);

/// Lanes have left a frame. It is free when it has none.
void leave_frame(Warp& warp, std::uint32_t frame, LaneMask lanes);

/// frames[0] for a kernel, with all registers 0.
void enter_kernel(Warp& warp, const FunctionInfo& function);

}  // namespace cuda_twin

#include "cuda/machine/calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "cuda/machine/block.h"
#include "cuda/machine/groups.h"
#include "cuda/memory/space.h"
#include "cuda/program/layout.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kMostDepth = 1024;  ///< of calls, or more with a larger stack
constexpr std::size_t kRegistersOfALane = std::size_t{8} << 20;  ///< bytes of all its frames
constexpr std::uint64_t kFrameAlignment = 16;
constexpr std::uint32_t kNoFrame = 0xFFFFFFFFu;

void give_registers(Warp& warp, Frame& frame, const FunctionInfo& function) {
  const std::size_t predicate_bytes = std::size_t{function.predicates} * sizeof(LaneMask);
  const std::size_t bytes = function.register_bytes + predicate_bytes;
  if (frame.storage.size() < bytes + 64) {
    warp.frame_bytes += bytes + 64 - frame.storage.size();
    frame.storage.resize(bytes + 64);
  }
  const auto at = reinterpret_cast<std::uintptr_t>(frame.storage.data());
  frame.registers = frame.storage.data() + (64 - at % 64) % 64;
  frame.predicates = reinterpret_cast<LaneMask*>(frame.registers + function.register_bytes);
  std::memset(frame.registers, 0, bytes);
  frame.function = &function;
}

/// Index of an unused frame for a call from `caller`, or kNoFrame. Each lane may have as many as if
/// it were alone.
std::uint32_t free_frame(Warp& warp, const Frame& caller) {
  const std::uint64_t most = std::max(kMostDepth, warp.block->local_stride / kFrameAlignment);
  if (caller.depth + 1 >= most) return kNoFrame;
  if (!warp.free_frames.empty()) {
    const std::uint32_t index = warp.free_frames.back();
    warp.free_frames.pop_back();
    return index;
  }
  const auto lanes = static_cast<std::size_t>(std::popcount(warp.lanes));
  if (warp.frame_bytes > lanes * kRegistersOfALane) return kNoFrame;
  warp.frames.emplace_back();
  return static_cast<std::uint32_t>(warp.frames.size() - 1);
}

/// A register or a piece of local memory of one lane.
struct LanePlace {
  std::byte* data;
  std::uint64_t first_local;  ///< index into Block::local, or ~0 for a register
};

LanePlace lane_place(Warp& warp, const Frame& frame, const FunctionInfo::Slot& slot,
                     unsigned lane) {
  if (slot.reg.bank == Bank::kRegisters) {
    return {frame.registers + slot.reg.offset + std::size_t{slot.reg.bytes} * lane,
            ~std::uint64_t{0}};
  }
  if (slot.reg.bank == Bank::kConstants) {
    return {warp.banks[static_cast<unsigned>(Bank::kConstants)] + slot.reg.offset +
                std::size_t{slot.reg.bytes} * lane,
            ~std::uint64_t{0}};
  }
  Block& block = *warp.block;
  const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + lane;
  const std::uint64_t at = thread * block.local_stride + frame.local_base + slot.offset;
  return {block.local.data() + at, at};
}

std::uint64_t bytes_of(const FunctionInfo::Slot& slot) {
  return slot.reg.bank == Bank::kNone ? slot.bytes : slot.reg.bytes;
}

void pass_written(Block& block, const LanePlace& to, const LanePlace& from, std::uint64_t bytes) {
  if (to.first_local == ~std::uint64_t{0} || block.local_written.empty()) return;
  std::uint64_t* bits = block.local_written.data();
  if (from.first_local == ~std::uint64_t{0}) return set_written(bits, to.first_local, bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (all_written(bits, from.first_local + i, 1)) {
      set_written(bits, to.first_local + i, 1);
    } else {
      clear_written(bits, to.first_local + i, 1);
    }
  }
}

bool is_predicate(const FunctionInfo::Slot& slot) {
  return slot.reg.bank == Bank::kPredicates;
}
/// A result that the caller does not want.
bool is_sink(const FunctionInfo::Slot& slot) {
  return slot.reg.bank == Bank::kNone && slot.bytes == 0;
}

/// Copies the arguments of a call between frames: `lanes` of `from_slots` to `to_slots`.
void pass(Warp& warp, LaneMask lanes, const Frame& from,
          const std::vector<FunctionInfo::Slot>& from_slots, const Frame& to,
          const std::vector<FunctionInfo::Slot>& to_slots) {
  const std::size_t slots = std::min(from_slots.size(), to_slots.size());
  for (std::size_t s = 0; s < slots; ++s) {
    if (is_sink(to_slots[s])) continue;
    if (is_predicate(to_slots[s])) {
      LaneMask& target = to.predicates[to_slots[s].reg.offset];
      target = (target & ~lanes) | (from.predicates[from_slots[s].reg.offset] & lanes);
      continue;
    }
    const std::uint64_t bytes = std::min(bytes_of(from_slots[s]), bytes_of(to_slots[s]));
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const unsigned lane = first_lane(rest);
      const LanePlace target = lane_place(warp, to, to_slots[s], lane);
      const LanePlace source = lane_place(warp, from, from_slots[s], lane);
      std::memcpy(target.data, source.data, bytes);
      pass_written(*warp.block, target, source, bytes);
    }
  }
}

/// Where one list has a predicate the other has one, too.
bool same_kinds(const std::vector<FunctionInfo::Slot>& actual,
                const std::vector<FunctionInfo::Slot>& formal) {
  return std::equal(actual.begin(), actual.end(), formal.begin(),
                    [](const FunctionInfo::Slot& a, const FunctionInfo::Slot& f) {
                      return is_sink(a) || is_predicate(a) == is_predicate(f);
                    });
}

bool fits(const CallSite& site, const FunctionInfo& function) {
  return function.is_defined && !function.is_kernel &&
         site.arguments.size() == function.parameters.size() &&
         site.results.size() <= function.results.size() &&
         same_kinds(site.arguments, function.parameters) &&
         same_kinds(site.results, function.results);
}

/// Local variables of a call are not those of an earlier one.
void forget_locals(Warp& warp, const Frame& frame, LaneMask lanes) {
  Block& block = *warp.block;
  const std::uint64_t bytes = frame.function->local_bytes;
  for (LaneMask rest = lanes; bytes != 0 && rest != 0; rest &= rest - 1) {
    const std::uint64_t thread = std::uint64_t{warp.index} * kLanes + first_lane(rest);
    const std::uint64_t at = thread * block.local_stride + frame.local_base;
    std::memset(block.local.data() + at, 0xFF, bytes);
    clear_written(block.local_written.data(), at, bytes);
  }
}

Next enter(Warp& warp, const CallSite& site, std::uint32_t index, LaneMask lanes) {
  const FunctionInfo& function = warp.block->launch->program->functions[index];
  const unsigned lane = first_lane(lanes);
  if (!fits(site, function)) {
    return fault(warp, 719, lane, "a call of " + function.name + " with other parameters");
  }
  const std::uint32_t caller = warp.groups[0].frame;
  const std::uint32_t made = free_frame(warp, warp.frames[caller]);
  if (made == kNoFrame) return fault(warp, 719, lane, "stack overflow: calls are too deep");
  Frame& frame = warp.frames[made];
  const Frame& from = warp.frames[caller];
  frame.local_base = (from.local_base + from.function->local_bytes + kFrameAlignment - 1) /
                     kFrameAlignment * kFrameAlignment;
  if (frame.local_base + function.local_bytes > warp.block->local_stride) {
    return fault(warp, 719, lane,
                 "stack overflow: local memory has " + std::to_string(warp.block->local_stride) +
                     " bytes for each thread");
  }
  give_registers(warp, frame, function);
  frame.site = &site;
  frame.caller = caller;
  frame.return_op = warp.op + 1;
  frame.depth = from.depth + 1;
  frame.lanes = lanes;
  forget_locals(warp, frame, lanes);
  pass(warp, lanes, from, site.arguments, frame, function.parameters);
  return send(warp, lanes, function.first_op, made);
}

/// The function that a lane's address means, or kIndirect.
std::uint32_t function_at(const Warp& warp, const CallSite& site, unsigned lane) {
  const std::byte* bank = warp.banks[static_cast<unsigned>(site.target.bank)] + site.target.offset;
  std::uint64_t address = 0;
  std::memcpy(&address, bank + lane * sizeof(address), sizeof(address));
  const auto& functions = warp.block->launch->program->functions;
  const std::uint64_t index = (address - kFunctionAddress) / 16;
  const bool valid = address >= kFunctionAddress && index < functions.size() &&
                     function_address(static_cast<std::uint32_t>(index)) == address;
  return valid ? static_cast<std::uint32_t>(index) : CallSite::kIndirect;
}

bool may_reach(const CallSite& site, std::uint32_t index) {
  if (site.targets == nullptr || site.targets->empty()) return true;
  return std::binary_search(site.targets->begin(), site.targets->end(), index);
}

/// Lanes that call the same function as the first go there; the others stay at the call.
Next call_indirect(Warp& warp, const CallSite& site, LaneMask active) {
  const unsigned lane = first_lane(active);
  const std::uint32_t index = function_at(warp, site, lane);
  if (index == CallSite::kIndirect || !may_reach(site, index)) {
    return fault(warp, 718, lane,
                 "an indirect call of an address that is no function it may reach");
  }
  LaneMask same = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    if (function_at(warp, site, first_lane(rest)) == index) same |= rest & (~rest + 1);
  }
  if (same != active) hold(warp, active & ~same, Group::State::kReady);
  return enter(warp, site, index, same);
}

}  // namespace

Next call_function(Warp& warp, const Op& op, LaneMask active) {
  const auto& site = *reinterpret_cast<const CallSite*>(op.immediate);
  if (site.function == CallSite::kIndirect) return call_indirect(warp, site, active);
  return enter(warp, site, site.function, active);
}

Next return_from_function(Warp& warp, const Op&, LaneMask active) {
  const std::uint32_t index = warp.groups[0].frame;
  Frame& frame = warp.frames[index];
  if (frame.site == nullptr) return end_lanes(warp, active);
  const Frame& caller = warp.frames[frame.caller];
  pass(warp, active, frame, frame.function->results, caller, frame.site->results);
  leave_frame(warp, index, active);
  return send(warp, active, frame.return_op, frame.caller);
}

void leave_frame(Warp& warp, std::uint32_t frame, LaneMask lanes) {
  LaneMask& in_it = warp.frames[frame].lanes;
  if ((in_it & lanes) == 0) return;
  in_it &= ~lanes;
  if (in_it == 0 && frame != 0) warp.free_frames.push_back(frame);
}

void enter_kernel(Warp& warp, const FunctionInfo& function) {
  if (warp.frames.empty()) warp.frames.resize(1);
  warp.free_frames.clear();
  for (auto i = static_cast<std::uint32_t>(warp.frames.size()); i-- > 0;) {
    warp.frames[i].lanes = 0;
    if (i != 0) warp.free_frames.push_back(i);
  }
  Frame& frame = warp.frames[0];
  give_registers(warp, frame, function);
  frame.lanes = warp.lanes;
  frame.local_base = 0;
}

}  // namespace cuda_twin

// bra brx call ret exit trap brkpt nanosleep griddepcontrol
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/instructions/lanes.h"
#include "cuda/instructions/opcodes.h"
#include "cuda/machine/block.h"
#include "cuda/machine/calls.h"
#include "cuda/machine/groups.h"
#include "cuda/program/builder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

using ptx::Operand;

Next branch(Warp& warp, const Op& op, LaneMask active) {
  Group& running = warp.groups[0];
  if (active != running.lanes) return send(warp, active, op.extra, running.frame);
  running.op = op.extra;
  return Next::kSwitch;
}

/// bra.uni: a guard that differs between lanes is a finding.
Next branch_uniform(Warp& warp, const Op& op, LaneMask active) {
  if (active != warp.groups[0].lanes && warp.block->launch->checks.warp &&
      report(warp, "uniform", first_lane(active), "a .uni branch that some lanes do not take") !=
          Next::kOn) {
    return Next::kSwitch;
  }
  return branch(warp, op, active);
}

/// The ops after this one are branches, one for each of the `extra` targets.
Next branch_indexed(Warp& warp, const Op& op, LaneMask active) {
  const std::uint32_t* index = lanes_of<std::uint32_t>(warp, op.args[0]);
  const std::uint32_t frame = warp.groups[0].frame;
  for (LaneMask rest = active; rest != 0;) {
    const unsigned lane = first_lane(rest);
    const std::uint32_t value = index[lane];
    if (value >= op.extra) {
      return fault(
          warp, 719, lane,
          "brx.idx " + std::to_string(value) + " of " + std::to_string(op.extra) + " targets");
    }
    const LaneMask same = rest & lanes_where([&](unsigned i) { return index[i] == value; });
    send(warp, same, warp.op + 1 + value, frame);
    rest &= ~same;
  }
  return Next::kSwitch;
}

Next exit_threads(Warp& warp, const Op&, LaneMask active) {
  return end_lanes(warp, active);
}

Next trap(Warp& warp, const Op&, LaneMask active) {
  return fault(warp, 719, first_lane(active), "trap");
}

Next breakpoint(Warp& warp, const Op&, LaneMask active) {
  return fault(warp, 719, first_lane(active), "brkpt without a debugger");
}

Next sleep(Warp& warp, const Op&, LaneMask) {
  warp.groups[0].op = warp.op + 1;
  warp.yield = warp.reschedule = true;
  return Next::kSwitch;
}

Next nothing(Warp&, const Op&, LaneMask) {
  return Next::kOn;
}

bool bind_bra(Binder& b) {
  const bool uniform = b.take("uni");
  if (!b.expect_operands(1, 1)) return false;
  if (b.operand(0).kind != Operand::Kind::kName) return b.fail("its target must be a label");
  if (!b.branch_target(b.operand(0).name)) return false;
  b.emit(uniform ? branch_uniform : branch, OpKind::kControl, {});
  return b.finish();
}

bool bind_brx(Binder& b) {
  if (!b.take_first("idx")) return b.fail("expected .idx");
  b.take("uni");
  if (!b.expect_operands(2, 2)) return false;
  const Arg index = b.source(0, ptx::Type::kU32);
  const ptx::TargetList* list =
      b.operand(1).kind == Operand::Kind::kName ? b.target_list(b.operand(1).name) : nullptr;
  if (list == nullptr || list->targets.empty()) return b.fail("expected a list of .branchtargets");
  if (b.failed()) return false;
  b.emit(branch_indexed, OpKind::kControl, {index}).extra =
      static_cast<std::uint32_t>(list->targets.size());
  for (const std::string& target : list->targets) {
    if (!b.branch_target(target)) return false;
    b.emit(branch, OpKind::kControl, {});
  }
  return b.finish();
}

// --- call

ptx::Type bits_type(unsigned bits) {
  return bits <= 16 ? ptx::Type::kB16 : bits <= 32 ? ptx::Type::kB32 : ptx::Type::kB64;
}

/// An argument or result: a register, a literal, or a .param variable. `formal` is null for an
/// indirect call.
bool bind_slot(Binder& b, const Operand& operand, const FunctionInfo::Slot* formal, bool result,
               FunctionInfo::Slot& slot) {
  if (operand.kind == Operand::Kind::kName) {
    const auto place = b.local_place(operand);
    if (!place) return false;
    slot.offset = place->offset;
    slot.bytes = place->bytes;
  } else {
    const unsigned formal_bits = formal == nullptr ? 32 : formal->reg.bytes * 8u;
    const unsigned own = b.register_bits(operand);
    const ptx::Type type = bits_type(own != 0 ? own : formal_bits);
    slot.reg = result ? b.destination(operand, type, false, true) : b.source(operand, type);
    slot.bytes = slot.reg.bytes;
    if (result) {
      b.writes(slot.reg);
    } else {
      b.reads(slot.reg);
    }
  }
  if (b.failed()) return false;
  const auto bytes = [](const FunctionInfo::Slot& s) {
    return s.reg.bank == Bank::kNone ? s.bytes : s.reg.bytes;
  };
  if (formal != nullptr && bytes(*formal) != bytes(slot)) {
    return b.fail("an argument of " + std::to_string(bytes(slot)) + " bytes for a parameter of " +
                  std::to_string(bytes(*formal)));
  }
  return true;
}

bool bind_slots(Binder& b, const Operand* list, const std::vector<FunctionInfo::Slot>* formals,
                bool results, std::vector<FunctionInfo::Slot>& slots) {
  const std::size_t count = list == nullptr ? 0 : list->items.size();
  if (formals != nullptr && (results ? count > formals->size() : count != formals->size())) {
    return b.fail(std::to_string(count) + (results ? " results, of " : " arguments, expected ") +
                  std::to_string(formals->size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    FunctionInfo::Slot slot;
    const FunctionInfo::Slot* formal = formals == nullptr ? nullptr : &(*formals)[i];
    if (!bind_slot(b, list->items[i], formal, results, slot)) return false;
    slots.push_back(slot);
  }
  return true;
}

/// The parts of `call (results), target, (arguments), list`.
struct CallOperands {
  const Operand* results = nullptr;
  const Operand* target = nullptr;
  const Operand* arguments = nullptr;
  const Operand* list = nullptr;
};

bool read_call(Binder& b, CallOperands& call) {
  std::size_t at = 0;
  const std::size_t count = b.operands();
  if (at < count && b.operand(at).kind == Operand::Kind::kList) call.results = &b.operand(at++);
  if (at < count) call.target = &b.operand(at++);
  if (at < count && b.operand(at).kind == Operand::Kind::kList) call.arguments = &b.operand(at++);
  if (at < count) call.list = &b.operand(at++);
  if (at != count || call.target == nullptr)
    return b.fail("expected (results), function, (arguments)");
  return true;
}

/// The functions of a list, or of a variable that is a table of them.
std::optional<std::vector<std::string>> names_of_targets(Binder& b, const std::string& name) {
  if (const ptx::TargetList* list = b.target_list(name)) return list->targets;
  for (const ptx::Variable& table : b.builder().module().variables) {
    if (table.name != name || table.relocations.empty()) continue;
    std::vector<std::string> names;
    for (const auto& relocation : table.relocations) names.push_back(relocation.name);
    return names;
  }
  return std::nullopt;
}

bool bind_targets(Binder& b, const CallOperands& call, CallSite& site) {
  if (call.list == nullptr || call.list->kind != Operand::Kind::kName) {
    return b.fail("an indirect call needs .calltargets or a .callprototype");
  }
  const auto targets = names_of_targets(b, call.list->name);
  if (!targets) return b.fail("no list " + call.list->name);
  for (const std::string& name : *targets) {
    const auto index = b.builder().function_index(name);
    if (!index) return b.fail("no function " + name);
    site.targets.push_back(*index);
  }
  site.target = b.source(*call.target, ptx::Type::kU64);
  b.reads(site.target);
  return !b.failed();
}

bool bind_call(Binder& b) {
  b.take("uni");
  CallOperands call;
  if (!read_call(b, call)) return false;
  auto site = std::make_shared<CallSite>();
  const std::vector<FunctionInfo::Slot>* parameters = nullptr;
  const std::vector<FunctionInfo::Slot>* results = nullptr;
  if (call.target->kind == Operand::Kind::kName) {
    const auto index = b.builder().function_index(call.target->name);
    if (!index) return b.fail("no function " + call.target->name);
    const FunctionInfo& info = b.builder().info(*index);
    if (info.is_kernel) return b.fail(info.name + " is a kernel");
    if (!info.is_defined) return b.fail("function " + info.name + " has no body");
    site->function = *index;
    parameters = &info.parameters;
    results = &info.results;
  } else if (!bind_targets(b, call, *site)) {
    return false;
  }
  if (!bind_slots(b, call.arguments, parameters, false, site->arguments)) return false;
  if (!bind_slots(b, call.results, results, true, site->results)) return false;
  b.emit(call_function, OpKind::kControl, {}).immediate =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(site.get()));
  b.keep(std::move(site));
  return b.finish();
}

bool bind_plain(Binder& b, Handler run) {
  if (!b.expect_operands(0, 0)) return false;
  b.emit(run, OpKind::kControl, {});
  return b.finish();
}

bool bind_ret(Binder& b) {
  b.take("uni");
  return bind_plain(b, return_from_function);
}

bool bind_nanosleep(Binder& b) {
  if (b.take_type({ptx::Type::kU32}) == ptx::Type::kNone || !b.expect_operands(1, 1)) return false;
  const Arg time = b.source(0, ptx::Type::kU32);
  if (b.failed()) return false;
  b.emit(sleep, OpKind::kControl, {time});
  return b.finish();
}

bool bind_griddepcontrol(Binder& b) {
  if (!b.take_one_of({"launch_dependents", "wait"})) {
    return b.fail("expected .launch_dependents or .wait");
  }
  return bind_plain(b, nothing);
}

constexpr Opcode kControl[] = {
    {"bra", {1, 0}, 0, bind_bra},
    {"brx", {6, 0}, 30, bind_brx},
    {"call", {1, 0}, 0, bind_call},
    {"ret", {1, 0}, 0, bind_ret},
    {"exit", {1, 0}, 0, [](Binder& b) { return bind_plain(b, exit_threads); }},
    {"trap", {1, 0}, 0, [](Binder& b) { return bind_plain(b, trap); }},
    {"brkpt", {1, 0}, 0, [](Binder& b) { return bind_plain(b, breakpoint); }},
    {"nanosleep", {6, 3}, 70, bind_nanosleep},
    {"griddepcontrol", {7, 8}, 90, bind_griddepcontrol},
};

}  // namespace

std::span<const Opcode> control_opcodes() {
  return kControl;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

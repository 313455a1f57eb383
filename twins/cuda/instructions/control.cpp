// bra brx call ret exit trap brkpt nanosleep griddepcontrol
#include <algorithm>
#include <memory>
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
  if (b.failed() || !b.builder().count_branch_targets(list->targets.size())) return false;
  b.emit(branch_indexed, OpKind::kControl, {index}).extra =
      static_cast<std::uint32_t>(list->targets.size());
  for (const std::string& target : list->targets) {
    if (!b.branch_target(target)) return false;
    b.emit(branch, OpKind::kControl, {});
  }
  return b.finish();
}

// --- call

using CallSlots = std::vector<FunctionInfo::Slot>;

/// Without a formal parameter, the size of the operand says its type.
ptx::Type type_of(const Binder& b, const Operand& operand, const ptx::Variable* formal) {
  if (formal != nullptr) return formal->type;
  const unsigned bits = b.register_bits(operand);
  if (bits == 1) return ptx::Type::kPred;
  if (bits == 0 || bits == 32) return ptx::Type::kB32;
  return bits <= 16 ? ptx::Type::kB16 : bits <= 64 ? ptx::Type::kB64 : ptx::Type::kB128;
}

/// A register, a predicate or a literal.
bool bind_register(Binder& b, const Operand& operand, ptx::Type type, bool result,
                   CallSlots& slots) {
  if (operand.negated) return b.fail("an argument cannot be negated");
  FunctionInfo::Slot slot;
  if (type == ptx::Type::kPred && operand.kind != Operand::Kind::kRegister && !operand.is_sink()) {
    return b.fail("an argument is no predicate");
  }
  if (type == ptx::Type::kPred) {
    slot.reg = result ? b.predicate_destination(operand) : b.predicate_source(operand);
  } else {
    slot.reg = result ? b.destination(operand, type, false, true) : b.source(operand, type);
  }
  slot.bytes = slot.reg.bytes;
  if (!result) b.reads(slot.reg);
  slots.push_back(slot);
  return !b.failed();
}

/// A .param variable.
bool bind_variable(Binder& b, const Operand& operand, const ptx::Variable* formal,
                   CallSlots& slots) {
  const auto place = b.local_place(operand);
  if (!place) return b.fail(ptx::shown(operand.name) + " is no .param variable");
  const bool fits = formal == nullptr || (formal->bytes == place->bytes && formal->vector == 1);
  if (!fits) {
    return b.fail("an argument of " + std::to_string(place->bytes) + " bytes for a parameter of " +
                  std::to_string(formal->bytes));
  }
  FunctionInfo::Slot slot;
  slot.offset = place->offset;
  slot.bytes = place->bytes;
  slots.push_back(slot);
  return true;
}

/// An argument or result. `formal` is null for an indirect call.
bool bind_slots(Binder& b, const Operand& operand, const ptx::Variable* formal, bool result,
                CallSlots& slots) {
  if (operand.kind == Operand::Kind::kName) return bind_variable(b, operand, formal, slots);
  const std::size_t parts = formal != nullptr ? formal->vector : 1;
  if (result && operand.is_sink()) {
    slots.insert(slots.end(), parts, {});
    return true;
  }
  const bool vector = operand.kind == Operand::Kind::kVector;
  const std::size_t given = vector ? operand.items.size() : 1;
  if (formal != nullptr && given != parts) {
    return b.fail("an argument of " + std::to_string(given) + " registers for a parameter of " +
                  std::to_string(parts));
  }
  if (!vector) return bind_register(b, operand, type_of(b, operand, formal), result, slots);
  for (const Operand& item : operand.items) {
    if (!bind_register(b, item, type_of(b, item, formal), result, slots)) return false;
  }
  return true;
}

bool bind_list(Binder& b, const Operand* list, const std::vector<ptx::Variable>* formals,
               bool results, CallSlots& slots) {
  const std::size_t count = list == nullptr ? 0 : list->items.size();
  if (formals != nullptr && count != formals->size()) {
    return b.fail(std::to_string(count) + (results ? " results" : " arguments") + ", expected " +
                  std::to_string(formals->size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ptx::Variable* formal = formals == nullptr ? nullptr : &(*formals)[i];
    if (!bind_slots(b, list->items[i], formal, results, slots)) return false;
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
bool find_targets(Binder& b, const std::string& name, std::vector<std::uint32_t>& targets) {
  const auto add = [&](const std::string& target) {
    const auto index = b.builder().function_index(target);
    if (!index) return b.fail("no function " + ptx::shown(target));
    targets.push_back(*index);
    return true;
  };
  if (const ptx::TargetList* list = b.target_list(name)) {
    return std::all_of(list->targets.begin(), list->targets.end(), add);
  }
  const ptx::Variable* table = b.builder().table(name);
  if (table == nullptr) return b.fail("no list " + ptx::shown(name));
  return std::all_of(table->relocations.begin(), table->relocations.end(),
                     [&](const auto& relocation) { return add(relocation.name); });
}

CallTargets targets_of(Binder& b, const std::string& name) {
  CallTargets& kept = b.builder().call_targets(name);
  if (kept != nullptr) return kept;
  std::vector<std::uint32_t> targets;
  if (!find_targets(b, name, targets)) return nullptr;
  std::sort(targets.begin(), targets.end());
  kept = std::make_shared<const std::vector<std::uint32_t>>(std::move(targets));
  return kept;
}

bool bind_targets(Binder& b, const CallOperands& call, CallSite& site) {
  if (call.list == nullptr || call.list->kind != Operand::Kind::kName) {
    return b.fail("an indirect call needs .calltargets or a .callprototype");
  }
  site.targets = targets_of(b, call.list->name);
  if (site.targets == nullptr) return false;
  site.target = b.source(*call.target, ptx::Type::kU64);
  b.reads(site.target);
  return !b.failed();
}

bool bind_call(Binder& b) {
  b.take("uni");
  CallOperands call;
  if (!read_call(b, call)) return false;
  auto site = std::make_shared<CallSite>();
  const std::vector<ptx::Variable>* parameters = nullptr;
  const std::vector<ptx::Variable>* results = nullptr;
  if (call.target->kind == Operand::Kind::kName) {
    const auto index = b.builder().function_index(call.target->name);
    if (!index) return b.fail("no function " + ptx::shown(call.target->name));
    const FunctionInfo& info = b.builder().info(*index);
    if (info.is_kernel) return b.fail(ptx::shown(info.name) + " is a kernel");
    if (!info.is_defined) {
      return b.fail("function " + ptx::shown(info.name) + " has no body");
    }
    site->function = *index;
    const ptx::Function& callee = b.builder().module().functions[*index];
    parameters = &callee.parameters;
    results = &callee.results;
  } else if (!bind_targets(b, call, *site)) {
    return false;
  }
  if (!bind_list(b, call.arguments, parameters, false, site->arguments)) return false;
  if (!bind_list(b, call.results, results, true, site->results)) return false;
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

#include "cuda/program/builder.h"

#include <algorithm>
#include <cstring>

#include "cuda/instructions/opcodes.h"
#include "cuda/machine/calls.h"
#include "cuda/program/binder.h"

namespace cuda_twin {
namespace {

/// While a function is bound, a register's offset is its number times this.
constexpr std::uint32_t kVirtual = 1024;
constexpr std::uint32_t kMostRegisters = 1U << 21;
constexpr std::size_t kMostConstants = std::size_t{1} << 18;
constexpr std::size_t kMostBranchTargets = std::size_t{1} << 20;

unsigned bytes_of(ptx::Type type) {
  const unsigned bits = ptx::bits_of(type);
  return bits <= 32 ? 4 : bits / 8;
}

}  // namespace

Builder::Builder(const ptx::Module& module, Program& program, const Layout& layout)
    : module_(module),
      program_(program),
      layout_(layout),
      functions_(ptx::functions_by_name(module)) {
  for (const ptx::Variable& variable : module.variables) {
    if (!variable.relocations.empty()) tables_.emplace(variable.name, &variable);
  }
}

std::optional<std::uint32_t> Builder::function_index(const std::string& name) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return std::nullopt;
  return found->second;
}

bool Builder::fail(std::uint32_t line, std::string reason) {
  if (!error_) error_ = ptx::SyntaxError{line, std::move(reason), false};
  return false;
}

// --- Registers and constants

Arg Builder::register_arg(std::uint32_t number) const {
  return registers_[number];
}

Arg Builder::new_register(unsigned bytes) {
  const auto number = static_cast<std::uint32_t>(usage_.bytes.size());
  if (number >= kMostRegisters) {
    fail(function_->line, "the function has too many registers");
    return {Bank::kRegisters, false, static_cast<std::uint16_t>(bytes), 0};
  }
  usage_.bytes.push_back(static_cast<std::uint16_t>(bytes));
  return {Bank::kRegisters, false, static_cast<std::uint16_t>(bytes), number * kVirtual};
}

Arg Builder::new_predicate() {
  const auto number = static_cast<std::uint32_t>(usage_.bytes.size());
  if (number >= kMostRegisters) fail(function_->line, "the function has too many registers");
  usage_.bytes.push_back(0);
  return {Bank::kPredicates, false, 0, number};
}

void Builder::reads(const Arg& arg) {
  if (arg.bank == Bank::kRegisters) usage_.add(arg.offset / kVirtual, false, false);
  if (arg.bank == Bank::kPredicates) usage_.add(arg.offset, false, false);
}

void Builder::writes(const Arg& arg, bool always) {
  if (arg.bank == Bank::kRegisters) usage_.add(arg.offset / kVirtual, true, always);
  if (arg.bank == Bank::kPredicates) usage_.add(arg.offset, true, always);
}

Arg Builder::constant(std::uint64_t bits, unsigned bytes) {
  const bool wide = bytes == 8;
  if (!wide) bits &= 0xFFFFFFFFU;
  const auto [place, added] = constants_[wide ? 1 : 0].try_emplace(
      bits, static_cast<std::uint32_t>(program_.constants.size()));
  const Arg arg{Bank::kConstants, false, static_cast<std::uint16_t>(wide ? 8 : 4), place->second};
  if (!added) return arg;
  if (constants_[0].size() + constants_[1].size() > kMostConstants) {
    fail(function_->line,
         "the module has more than " + std::to_string(kMostConstants) + " different constants");
    return arg;
  }
  program_.constants.resize(program_.constants.size() + arg.bytes * kLanes);
  std::byte* to = program_.constants.data() + arg.offset;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < arg.bytes; ++i) {
      to[lane * arg.bytes + i] = static_cast<std::byte>(bits >> (8 * i));
    }
  }
  return arg;
}

// --- Output

Op& Builder::emit(const Op& op) {
  if (pending_target_) {
    branches_.push_back({static_cast<std::uint32_t>(ops_.size()), *pending_target_});
    pending_target_.reset();
  }
  return ops_.emplace_back(op);
}

void Builder::more(Op& op, const Arg* args, std::size_t count) {
  std::size_t place = ops_.size();
  while (place > 0 && &ops_[place - 1] != &op) --place;
  if (place == 0) return;
  more_.push_back({static_cast<std::uint32_t>(place - 1), program_.more.size()});
  program_.more.insert(program_.more.end(), args, args + count);
  op.count_more = static_cast<std::uint16_t>(count);
}

void Builder::keep(std::shared_ptr<CallSite> site) {
  sites_.push_back(site);
  program_.owned.push_back(std::move(site));
}

bool Builder::branch_to(const std::string& label) {
  const auto found = labels_.find(label);
  if (found == labels_.end()) return false;
  pending_target_ = found->second;
  usage_.edges.push_back({usage_.instructions, found->second});
  return true;
}

const ptx::TargetList* Builder::target_list(const std::string& name) const {
  const auto found = lists_.find(name);
  return found == lists_.end() ? nullptr : found->second;
}

const ptx::Variable* Builder::table(const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

CallTargets& Builder::call_targets(const std::string& name) {
  return lists_.contains(name) ? targets_of_lists_[name] : targets_of_tables_[name];
}

bool Builder::count_branch_targets(std::size_t count) {
  branch_targets_ += count;
  if (branch_targets_ <= kMostBranchTargets) return true;
  return fail(function_->line, "the brx instructions of the module have more than " +
                                   std::to_string(kMostBranchTargets) + " targets");
}

// --- One function

std::optional<ptx::SyntaxError> Builder::bind(std::uint32_t index) {
  start(index);
  if (function_->is_declaration) return error_;
  for (const ptx::Instruction& instruction : function_->body) {
    if (!bind_instruction(instruction)) return error_;
  }
  bind_end();
  if (!error_) finish();
  return error_;
}

void Builder::start(std::uint32_t index) {
  number_ = index;
  function_ = &module_.functions[index];
  usage_ = {};
  registers_.clear();
  // Not clear(), which costs as much as the largest function so far.
  labels_ = {};
  lists_ = {};
  targets_of_lists_ = {};
  first_ops_.clear();
  ops_.clear();
  branches_.clear();
  more_.clear();
  sites_.clear();
  pending_target_.reset();
  for (const ptx::Register& reg : function_->registers) {
    const bool predicate = reg.type == ptx::Type::kPred;
    registers_.push_back(predicate ? new_predicate() : new_register(bytes_of(reg.type)));
  }
  for (const ptx::Label& label : function_->labels) {
    labels_.emplace(label.name, static_cast<std::uint32_t>(label.instruction));
  }
  for (const ptx::TargetList& list : function_->target_lists) lists_.emplace(list.name, &list);
  // The caller writes parameters before the first instruction. A branch back to that instruction
  // finds them as they are, so the write counts as one that keeps the old value.
  for (const std::uint32_t number : function_->parameter_registers) {
    writes(registers_[number], false);
  }
}

namespace {

bool never_goes_on(const ptx::Instruction& instruction) {
  const std::string& name = instruction.name;
  const bool jumps =
      name == "bra" || name == "brx" || name == "ret" || name == "exit" || name == "trap";
  return jumps && !instruction.guarded;
}

}  // namespace

bool Builder::bind_instruction(const ptx::Instruction& instruction) {
  first_ops_.push_back(static_cast<std::uint32_t>(ops_.size()));
  Binder binder(*this, instruction);
  if (instruction.name == "ret") {
    for (const std::uint32_t number : function_->result_registers) reads(registers_[number]);
  }
  const Opcode* opcode = opcode_of(instruction);
  if (opcode == nullptr) return binder.fail("the twin has no such instruction");
  if (!binder.need(opcode->version, opcode->sm)) return false;
  if (!opcode->bind(binder) || error_) return binder.fail("is not supported in this form");
  if (never_goes_on(instruction)) usage_.ends.push_back(usage_.instructions);
  ++usage_.instructions;
  return true;
}

/// A function ends with an implicit return.
void Builder::bind_end() {
  ptx::Instruction end;
  end.name = "ret";
  end.line = function_->body.empty() ? function_->line : function_->body.back().line;
  bind_instruction(end);
}

void Builder::finish() {
  FunctionInfo& info = program_.functions[number_];
  info.first_op = static_cast<std::uint32_t>(program_.ops.size());
  place_registers();
  link_branches();
  for (const More& more : more_) all_more_.push_back({info.first_op + more.op, more.first});
  program_.ops.insert(program_.ops.end(), ops_.begin(), ops_.end());
  info.end_op = static_cast<std::uint32_t>(program_.ops.size());
}

void Builder::link_branches() {
  const auto base = static_cast<std::uint32_t>(program_.ops.size());
  for (const Branch& branch : branches_) {
    ops_[branch.op].extra = base + first_ops_[branch.instruction];
  }
}

void Builder::place_registers() {
  const Slots slots = place(usage_);
  const auto set = [&](Arg& arg) {
    if (arg.bank == Bank::kPredicates) arg.offset = slots.offset[arg.offset];
    if (arg.bank == Bank::kRegisters) {
      arg.offset = slots.offset[arg.offset / kVirtual] + arg.offset % kVirtual;
    }
  };
  for (Op& op : ops_) {
    for (Arg& arg : op.args) set(arg);
    if (op.guard != Op::kNoGuard) op.guard = slots.offset[op.guard];
  }
  for (const More& more : more_) {
    for (std::size_t i = 0; i < ops_[more.op].count_more; ++i) set(program_.more[more.first + i]);
  }
  for (const auto& site : sites_) {
    set(site->target);
    for (FunctionInfo::Slot& slot : site->arguments) set(slot.reg);
    for (FunctionInfo::Slot& slot : site->results) set(slot.reg);
  }
  for (Arg& arg : registers_) set(arg);
  FunctionInfo& info = program_.functions[number_];
  info.register_bytes = slots.register_bytes;
  info.predicates = slots.predicates;
  set_slots(*function_, info);
}

/// Registers of .reg parameters and results, which the machine fills and reads at calls.
void Builder::set_slots(const ptx::Function& function, FunctionInfo& info) {
  const auto fill = [&](std::vector<FunctionInfo::Slot>& slots,
                        const std::vector<std::uint32_t>& numbers) {
    auto number = numbers.begin();
    for (FunctionInfo::Slot& slot : slots) {
      if (slot.reg.bank != Bank::kNone) slot.reg = registers_[*number++];
    }
  };
  fill(info.parameters, function.parameter_registers);
  fill(info.results, function.result_registers);
}

void Builder::complete() {
  for (const More& more : all_more_) program_.ops[more.op].more = &program_.more[more.first];
}

}  // namespace cuda_twin

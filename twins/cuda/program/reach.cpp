#include "cuda/program/reach.h"

namespace cuda_twin {
namespace {

using ptx::Operand;

class Reacher {
 public:
  explicit Reacher(const ptx::Module& module)
      : module_(module), functions_(ptx::functions_by_name(module)) {
    const std::size_t count = module.functions.size();
    reach_.callees.resize(count);
    reach_.owner.assign(count, Reach::kNone);
    reach_.uses_common.assign(count, false);
    shared_.resize(count);
    for (const ptx::Variable& variable : module.variables) {
      if (variable.space == ptx::Space::kShared)
        reach_.variable_owner[variable.name] = Reach::kNone;
    }
  }

  Reach find() {
    read_tables();
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i) read(i);
    connect_indirect();
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
      if (module_.functions[i].is_kernel) own(i, i);
    }
    own_variables();
    mark_common();
    return std::move(reach_);
  }

 private:
  /// Functions whose address a variable's initial value has.
  void read_tables() {
    for (const ptx::Variable& variable : module_.variables) {
      for (const auto& relocation : variable.relocations) {
        const auto found = functions_.find(relocation.name);
        if (found != functions_.end()) addressed_.push_back(found->second);
      }
    }
  }

  void read(std::uint32_t index) {
    for (const ptx::Instruction& instruction : module_.functions[index].body) {
      const bool call = instruction.name == "call";
      bool named = false;
      for (const Operand& operand : instruction.operands) {
        read(operand, index, call);
        const bool callee =
            operand.kind == Operand::Kind::kName && functions_.contains(operand.name);
        named |= callee;
      }
      if (call && !named) indirect_.push_back(index);
    }
  }

  void read(const Operand& operand, std::uint32_t index, bool call) {
    for (const Operand& item : operand.items) read(item, index, call);
    if (operand.kind != Operand::Kind::kName) return;
    if (reach_.variable_owner.contains(operand.name)) {
      shared_[index].push_back(operand.name);
      return;
    }
    const auto found = functions_.find(operand.name);
    if (found == functions_.end()) return;
    reach_.callees[index].push_back(found->second);
    if (!call) addressed_.push_back(found->second);
  }

  /// An indirect call may reach all functions whose address is taken: by way of one more node, so
  /// that there are few edges.
  void connect_indirect() {
    if (indirect_.empty() || addressed_.empty()) return;
    const auto hub = static_cast<std::uint32_t>(reach_.callees.size());
    reach_.callees.push_back(addressed_);
    reach_.owner.push_back(Reach::kNone);
    reach_.uses_common.push_back(false);
    shared_.emplace_back();
    for (const std::uint32_t index : indirect_) reach_.callees[index].push_back(hub);
  }

  /// A function changes its owner at most twice.
  void own(std::uint32_t start, std::uint32_t kernel) {
    std::vector<std::uint32_t> open{start};
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      open.pop_back();
      std::uint32_t& owner = reach_.owner[index];
      if (owner == kernel || owner == Reach::kMany) continue;
      owner = owner == Reach::kNone ? kernel : Reach::kMany;
      for (const std::uint32_t callee : reach_.callees[index]) open.push_back(callee);
    }
  }

  void own_variables() {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      for (const std::string& name : shared_[i]) {
        std::uint32_t& owner = reach_.variable_owner[name];
        if (owner == reach_.owner[i] || reach_.owner[i] == Reach::kNone) continue;
        owner = owner == Reach::kNone ? reach_.owner[i] : Reach::kMany;
      }
    }
  }

  /// Backwards over the calls, from those that use a common variable.
  void mark_common() {
    std::vector<std::vector<std::uint32_t>> callers(reach_.callees.size());
    for (std::uint32_t i = 0; i < reach_.callees.size(); ++i) {
      for (const std::uint32_t callee : reach_.callees[i]) callers[callee].push_back(i);
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < shared_.size(); ++i) {
      bool common = i < module_.functions.size() && reach_.owner[i] == Reach::kMany &&
                    has_shared(module_.functions[i]);
      for (const std::string& name : shared_[i]) {
        common |= reach_.variable_owner[name] == Reach::kMany;
      }
      if (common) open.push_back(i);
    }
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      open.pop_back();
      if (reach_.uses_common[index]) continue;
      reach_.uses_common[index] = true;
      for (const std::uint32_t caller : callers[index]) open.push_back(caller);
    }
  }

  static bool has_shared(const ptx::Function& function) {
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space == ptx::Space::kShared) return true;
    }
    return false;
  }

  const ptx::Module& module_;
  Reach reach_;
  std::unordered_map<std::string_view, std::uint32_t> functions_;
  std::vector<std::vector<std::string>> shared_;  ///< module-level variables that a function names
  std::vector<std::uint32_t> addressed_, indirect_;
};

}  // namespace

Reach reach_of(const ptx::Module& module) {
  return Reacher(module).find();
}

}  // namespace cuda_twin

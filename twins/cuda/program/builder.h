// A program under construction, as the bind functions see it (binder.h): the function that is bound
// now, its registers, and the places of variables.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/program/layout.h"
#include "cuda/program/liveness.h"
#include "cuda/program/program.h"

namespace cuda_twin {

struct CallSite;  // machine/calls.h
using CallTargets = std::shared_ptr<const std::vector<std::uint32_t>>;

class Builder {
 public:
  Builder(const ptx::Module& module, Program& program, const Layout& layout);

  const ptx::Module& module() const { return module_; }
  const Layout& layout() const { return layout_; }
  const ptx::Function& function() const { return *function_; }
  std::uint32_t function_number() const { return number_; }
  bool in_kernel() const { return function_->is_kernel; }

  /// The place of a function in Module::functions, which is that in Program::functions.
  std::optional<std::uint32_t> function_index(const std::string& name) const;
  /// Parameters, results and local bytes are complete for all functions before the first is bound.
  const FunctionInfo& info(std::uint32_t index) const { return program_.functions[index]; }

  /// Decodes one function, in order of Module::functions. Nothing, or the first error.
  std::optional<ptx::SyntaxError> bind(std::uint32_t index);
  /// After the last function: pointers into the program.
  void complete();

  // --- For the binder.
  Arg register_arg(std::uint32_t number) const;  ///< of Function::registers
  Arg new_register(unsigned bytes);
  Arg new_predicate();
  Arg carry();  ///< carry.cpp
  Arg constant(std::uint64_t bits, unsigned bytes);
  void reads(const Arg& arg);
  void writes(const Arg& arg, bool always);
  bool branch_to(const std::string& label);
  const ptx::TargetList* target_list(const std::string& name) const;
  /// A variable whose initial value has addresses, or null.
  const ptx::Variable* table(const std::string& name) const;
  /// The place to keep the targets of a list or a table for all calls that name it.
  CallTargets& call_targets(const std::string& name);
  /// Of a brx. False after an error: each brx has an op for each of its targets.
  bool count_branch_targets(std::size_t count);
  Op& emit(const Op& op);  ///< stays where it is until the function is complete
  void more(Op& op, const Arg* args, std::size_t count);
  void keep(std::shared_ptr<CallSite> site);
  void own(std::shared_ptr<const void> object) { program_.owned.push_back(std::move(object)); }
  bool fail(std::uint32_t line, std::string reason);
  bool failed() const { return error_.has_value(); }

 private:
  void start(std::uint32_t index);
  bool bind_instruction(const ptx::Instruction& instruction);
  void bind_end();
  void finish();
  void place_registers();
  void link_branches();
  void set_slots(const ptx::Function& function, FunctionInfo& info);

  const ptx::Module& module_;
  Program& program_;
  const Layout& layout_;
  std::unordered_map<std::string_view, std::uint32_t> functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_[2];
  const ptx::Function* function_ = nullptr;
  std::uint32_t number_ = 0;
  std::vector<Arg> registers_;  ///< of the function, by its number
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::unordered_map<std::string, const ptx::TargetList*> lists_;
  std::unordered_map<std::string_view, const ptx::Variable*> tables_;
  std::unordered_map<std::string, CallTargets> targets_of_lists_;  ///< of the function
  std::unordered_map<std::string, CallTargets> targets_of_tables_;
  std::size_t branch_targets_ = 0;        ///< of all brx of the module
  std::vector<std::uint32_t> first_ops_;  ///< of each instruction, relative to the function
  std::deque<Op> ops_;                    ///< of the function
  struct Branch {
    std::uint32_t op = 0, instruction = 0;
  };
  std::vector<Branch> branches_;  ///< ops whose `extra` is a target
  std::optional<std::uint32_t> pending_target_;
  struct More {
    std::uint32_t op = 0;
    std::size_t first = 0;
  };
  std::vector<More> more_;      ///< of the function's ops: places in Program::more
  std::vector<More> all_more_;  ///< of the program's
  std::vector<std::shared_ptr<CallSite>> sites_;
  std::optional<Arg> carry_;  ///< of function `carry_function_`
  std::uint32_t carry_function_ = 0;
  Usage usage_;
  std::optional<ptx::SyntaxError> error_;
};

}  // namespace cuda_twin

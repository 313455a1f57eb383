// Reads one function: header, performance directives, body.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/ptx/scopes.h"
#include "cuda/ptx/variables.h"

namespace cuda_twin::ptx {

class FunctionReader {
 public:
  FunctionReader(Tokens& tokens, Module& module, ModuleNames& names, Function& function);

  /// After .entry or .func: up to and with the body or the semicolon.
  bool read();

 private:
  // Header (functions.cpp)
  bool parameters(std::vector<Variable>& list, std::vector<std::uint32_t>& registers);
  bool parameter(std::vector<Variable>& list, std::vector<std::uint32_t>& registers);
  bool performance();
  bool triple(std::uint32_t (&values)[3]);
  bool one(std::uint32_t& value);

  // Body (body.cpp)
  bool body();
  bool statement();
  bool directive();
  bool location();
  bool registers();
  std::optional<std::uint64_t> range();
  bool variables(Space space);
  bool variable(const VariableForm& form);
  Resolve module_names();
  bool label();
  bool target_list(std::string name, Line line);
  bool targets(TargetList& list);
  bool prototype();

  // Instructions (instructions.cpp)
  bool guard(Instruction& instruction);
  bool instruction();
  bool operand(Operand& operand, unsigned depth);
  bool word(Operand& operand, unsigned depth);
  bool sum(Operand& operand);
  bool pair(Operand& operand);
  bool resolve(Operand& operand, std::string_view name, bool negated);
  bool register_part(Operand& operand, const Symbol& symbol);
  bool address(Operand& operand, unsigned depth);
  bool items(Operand& operand, std::string_view close, unsigned depth);
  bool offset(std::int64_t& value);
  void keep_wishes(Operand& operand, Line line, std::string_view user);

  Tokens& tokens_;
  Module& module_;
  ModuleNames& names_;
  Function& function_;
  Scopes scopes_;
  bool wishes_ = false;  ///< the instruction that is read names something that may be a label
  bool call_ = false;
};

}  // namespace cuda_twin::ptx

// A PTX module as it was read: declarations with their values, functions with their instructions.
// All names are resolved: a register is its number in its function, whatever block declared it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "cuda/ptx/types.h"

namespace cuda_twin::ptx {

using Line = std::uint32_t;  ///< in the PTX text, from 1

/// A name as messages show it.
inline std::string shown(std::string_view name) {
  return std::string(name.substr(0, 80));
}

/// Bits of a literal. An integer has 64; 0f3F800000 is single, 0d... double, and 1.0 double.
struct Literal {
  enum class Kind : std::uint8_t { kInteger, kSingle, kDouble } kind = Kind::kInteger;
  std::uint64_t bits = 0;
  bool is_unsigned = false;
};

/// A module-level variable, one that a function declares in .shared, .local or .param, or a
/// parameter.
struct Variable {
  /// A place in `data` that holds the address of another variable or function, plus `addend`.
  struct Relocation {
    std::size_t offset = 0;
    std::string name;
    std::int64_t addend = 0;
    bool generic = false;  ///< generic(name)
    unsigned bytes = 8;
  };
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  unsigned vector = 1;      ///< .v2, .v4
  std::uint64_t bytes = 0;  ///< 0 for an array without a size (extern .shared)
  std::uint64_t alignment = 1;
  bool is_extern = false;
  bool is_visible = false;
  std::vector<std::byte> data;  ///< initial bytes, may be shorter than `bytes`; the rest is 0
  std::vector<Relocation> relocations;
  Line line = 0;
};

struct Register {
  std::string name;  ///< "%r12"
  Type type = Type::kNone;
};

struct Operand {
  enum class Kind : std::uint8_t {
    kRegister,  ///< `index` into Function::registers
    kSpecial,   ///< `name`: "%tid.x"
    kLiteral,
    kSum,      ///< register + constant: items[0] and `offset`
    kAddress,  ///< [base + offset]: base is items[0] (kRegister, kName or kLiteral)
    kName,     ///< variable, parameter, label or function, plus `offset`
    kVector,   ///< {items...}
    kPair,     ///< p|q: items[0], items[1]
    kSink,     ///< _
    kList,     ///< (items...) of a call
  };
  Kind kind = Kind::kSink;
  bool negated = false;  ///< !p, or -register where an instruction has that
  std::uint32_t index = 0;
  std::int64_t offset = 0;
  Literal literal;
  std::string name;
  std::vector<Operand> items;

  bool is_sink() const { return kind == Kind::kSink; }
};

/// The modifier for an address that .unified follows. No other modifier is written so.
inline constexpr std::string_view kUnified = "].unified";

struct Instruction {
  Line line = 0;
  std::string name;                    ///< "mad"
  std::vector<std::string> modifiers;  ///< "lo", "s32"; "L1::no_allocate" is one
  bool guarded = false;
  bool guard_negated = false;
  std::uint32_t guard = 0;  ///< register
  std::vector<Operand> operands;
};

/// A label stands before the instruction with this index, which may be one past the last.
struct Label {
  std::string name;
  std::size_t instruction = 0;
  Line line = 0;
};
/// name: .branchtargets a, b;  or  name: .calltargets f, g;  or  name: .callprototype ...;
struct TargetList {
  std::string name;
  std::vector<std::string> targets;
  Line line = 0;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  bool is_declaration = false;         ///< no body
  std::optional<std::uint32_t> alias;  ///< the function in Module::functions that has the body
  std::vector<Variable> results;       ///< .param or .reg
  std::vector<Variable> parameters;
  std::vector<std::uint32_t> result_registers, parameter_registers;  ///< of .reg ones, in order;
                                                                     ///< of a vector all parts
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< .shared, .local, .param declared inside; names unique per
                                    ///< scope by a suffix "@N"
  std::vector<Instruction> body;
  std::vector<Label> labels;
  std::vector<TargetList> target_lists;
  std::uint32_t max_threads[3] = {0, 0, 0};       ///< .maxntid; 0: not given
  std::uint32_t required_threads[3] = {0, 0, 0};  ///< .reqntid
  std::uint32_t min_blocks = 0, max_registers = 0;
  std::uint32_t cluster[3] = {0, 0, 0};
  Line line = 0;
};

struct Module {
  Version version;
  Target target;
  Line target_line = 0;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// The functions of a module by name, each with its place in Module::functions: of an alias the
/// place of the function that it stands for.
std::unordered_map<std::string_view, std::uint32_t> functions_by_name(const Module& module);

/// Why a text is no PTX module that the twin can run.
struct SyntaxError {
  Line line = 0;
  std::string reason;
  bool version_unsupported =
      false;  ///< CUDA_ERROR_UNSUPPORTED_PTX_VERSION instead of CUDA_ERROR_INVALID_PTX
};

}  // namespace cuda_twin::ptx

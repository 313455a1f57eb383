// Turns one PTX instruction into ops. Each opcode has a row with a function that reads its
// modifiers, checks the operands and chooses the handler: that function is the opcode's grammar.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/program/op.h"
#include "cuda/ptx/syntax.h"

namespace cuda_twin {

struct CallSite;  // machine/calls.h
struct Place;     // program/layout.h
class Builder;    // program/builder.h: the function and the program under construction

class Binder {
 public:
  Binder(Builder& builder, const ptx::Instruction& instruction);

  // --- Modifiers. Their order is free, as the examples of the PTX document have it, but for those
  // that belong to the name (mul.lo, bar.red). finish() refuses one that is left.
  bool take(std::string_view modifier);        ///< true, and consumed, if it is there
  bool take_first(std::string_view modifier);  ///< true, and consumed, if it is the next one
  /// Index in `choices` of the first modifier that is one of them, or nothing.
  std::optional<std::size_t> take_one_of(std::span<const std::string_view> choices);
  std::optional<std::size_t> take_one_of(std::initializer_list<std::string_view> choices);
  std::optional<std::size_t> take_first_of(std::initializer_list<std::string_view> choices);
  /// The first modifier that is a type. kNone, and the error is set, if there is none or it is not
  /// in `allowed` (empty: any).
  ptx::Type take_type(std::initializer_list<ptx::Type> allowed = {});
  /// The first modifier that is left, not consumed; "" at the end.
  std::string_view next() const;

  // --- Requirements. False, and the error set, if the module's .version or .target is older.
  bool need(ptx::Version version, int sm = 0);
  /// For instructions of one architecture: .target sm_100a.
  bool need_specific_target();

  // --- Operands. `index` counts the instruction's operands from 0. On an error they set it and
  // return an absent Arg.
  std::size_t operands() const;
  const ptx::Operand& operand(std::size_t index) const;
  bool expect_operands(std::size_t least, std::size_t most);
  /// A destination register. Its size must equal that of `type`, or be larger if `wider` (ld, cvt).
  /// `_` is allowed if `sink`.
  Arg destination(std::size_t index, ptx::Type type, bool wider = false, bool sink = false);
  /// A register, literal, special register or variable's address (kName). Same rule of size.
  Arg source(std::size_t index, ptx::Type type, bool wider = false);
  Arg predicate_destination(std::size_t index, bool sink = true);
  Arg predicate_source(std::size_t index);  ///< with Arg::flip for !p
  // The same for any operand, for vectors and pairs.
  Arg destination(const ptx::Operand& operand, ptx::Type type, bool wider = false,
                  bool sink = false);
  Arg source(const ptx::Operand& operand, ptx::Type type, bool wider = false);
  Arg predicate_destination(const ptx::Operand& operand, bool sink = true);
  Arg predicate_source(const ptx::Operand& operand);
  /// Width of a register operand as it was declared: 16 for .b16. 0 for anything else.
  unsigned register_bits(const ptx::Operand& operand) const;
  /// The items of a {vector} of `count`, or the operand itself if count is 1.
  std::optional<std::span<const ptx::Operand>> vector(std::size_t index, std::size_t count);
  /// A literal's value for an integer type; an error for anything else.
  std::optional<std::int64_t> constant(std::size_t index);
  /// A constant of this program, repeated for all lanes; `bytes` is 4 or 8.
  Arg literal(std::uint64_t bits, unsigned bytes);
  /// The carry flag of add.cc and its like: a predicate of the function.
  Arg carry();
  /// A fresh register of `bytes` (4 or 8) for a value between two ops of one instruction.
  Arg temporary(unsigned bytes);

  /// An address operand: a base (absent Arg: 0) and a byte offset. For a variable in .shared or
  /// .local the offset is its place in the window; for .param of the kernel its place in the
  /// parameters; for .global and .const the device address.
  struct Address {
    Arg base;  ///< 4 or 8 bytes, as the register has
    std::int64_t offset = 0;
    ptx::Space space = ptx::Space::kGeneric;  ///< of the variable that it names, else as given
    std::uint64_t variable_bytes = 0;         ///< of that variable, or 0
  };
  std::optional<Address> address(std::size_t index, ptx::Space space);

  /// The place of a .param or .local variable in the current frame: an argument or result of a
  /// call.
  struct LocalPlace {
    std::uint64_t offset = 0, bytes = 0;
  };
  std::optional<LocalPlace> local_place(const ptx::Operand& operand);
  /// For instructions that read or write a register in another way than by its operands.
  void reads(const Arg& arg);
  void writes(const Arg& arg);

  // --- Control flow: the op index is filled in when the function is complete.
  /// Marks op.extra of the op emitted next as the target of this label. An error if the function
  /// has no such label.
  bool branch_target(const std::string& label);
  const ptx::TargetList* target_list(const std::string& name) const;

  // --- Output.
  /// Emits an op with the instruction's guard and line. All of its `args` come from this binder.
  Op& emit(Handler run, OpKind kind, std::initializer_list<Arg> args);
  void more(Op& op, std::span<const Arg> args);  ///< sets Op::more
  /// Keeps a call's data alive with the program. The registers in it get their places when the
  /// function is complete, as those of the ops do.
  void keep(std::shared_ptr<CallSite> site);
  /// Keeps `object` alive with the program. It must hold no Arg of a register.
  void own(std::shared_ptr<const void> object);
  Builder& builder() { return builder_; }
  const ptx::Instruction& instruction() const { return instruction_; }

  /// Sets the error "add.f16: REASON" (the first one stays). Always false.
  bool fail(std::string reason);
  bool failed() const;
  /// At the end of a bind function: true if nothing failed and no modifier is left.
  bool finish();

 private:
  struct Located {
    Arg base;
    std::int64_t offset = 0;
  };
  Arg checked_register(const ptx::Operand& operand, ptx::Type type, bool wider);
  Arg special(const ptx::Operand& operand, ptx::Type type, bool wider);
  Arg value_of(Handler read, Arg to, std::int64_t immediate);
  Arg low_bits(Arg from, unsigned bits);
  Arg sum(const ptx::Operand& operand, ptx::Type type, bool wider);
  Arg address_value(const ptx::Operand& operand, ptx::Type type);
  bool usable(const Place& place, const std::string& name);
  Located locate(const Place& place, std::int64_t offset);
  Arg base_register(const ptx::Operand& base);
  std::optional<Address> named_address(const ptx::Operand& base, ptx::Space space,
                                       std::int64_t offset);

  Builder& builder_;
  const ptx::Instruction& instruction_;
  std::vector<std::string_view> left_;  ///< modifiers that are not consumed
};

/// An opcode: its name, the first PTX version and capability that have it, and its grammar.
/// Families may share a name: `add` has a row for integers and one for floats. The first row that
/// accepts the instruction binds it.
struct Opcode {
  std::string_view name;
  ptx::Version version;
  int sm;
  bool (*bind)(Binder& binder);
  bool (*accepts)(const ptx::Instruction& instruction) = nullptr;  ///< null: all
};

}  // namespace cuda_twin

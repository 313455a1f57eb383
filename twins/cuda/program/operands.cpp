// Operands of an instruction: registers with their types, literals, special registers, addresses.
#include <algorithm>
#include <bit>

#include "cuda/program/binder.h"
#include "cuda/program/builder.h"
#include "cuda/program/special.h"

namespace cuda_twin {
namespace {

using ptx::Kind;
using ptx::Operand;
using ptx::Type;

bool is_integer(Kind kind) {
  return kind == Kind::kSigned || kind == Kind::kUnsigned;
}

/// What PTX allows between an instruction's type and a register's.
bool fits(Type type, Type reg, bool wider) {
  const unsigned bits = ptx::bits_of(type);
  const unsigned size = ptx::bits_of(reg);
  const Kind kind = ptx::kind_of(type);
  const Kind reg_kind = ptx::kind_of(reg);
  if ((kind == Kind::kPred) != (reg_kind == Kind::kPred)) return false;
  if (wider ? size < bits : size != bits) return false;
  if (kind == Kind::kBits || reg_kind == Kind::kBits) return true;
  if (type == Type::kU16x2 || type == Type::kS16x2) return reg == Type::kF16x2;
  if (is_integer(kind)) return is_integer(reg_kind) || reg == Type::kF16x2;
  // Packed and alternate floats travel in registers of bits only, or of their own type.
  return type == reg;
}

std::string described(Type type) {
  return "." + std::string(ptx::name_of(type));
}

std::optional<std::uint64_t> bits_of_literal(const ptx::Literal& literal, Type type) {
  const unsigned bits = ptx::bits_of(type);
  const Kind kind = ptx::kind_of(type);
  if (literal.kind == ptx::Literal::Kind::kInteger) {
    if (kind == Kind::kFloat || kind == Kind::kPred) return std::nullopt;
    return bits >= 64 ? literal.bits : literal.bits & ((std::uint64_t{1} << bits) - 1);
  }
  const bool is_pair = type == Type::kF16x2 || type == Type::kBf16x2 || type == Type::kF32x2;
  if (is_integer(kind) || is_pair || (bits != 32 && bits != 64)) return std::nullopt;
  const bool single = literal.kind == ptx::Literal::Kind::kSingle;
  if (single == (bits == 32)) return literal.bits;
  if (kind != Kind::kFloat) return std::nullopt;
  if (single) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(literal.bits));
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)));
}

}  // namespace

std::size_t Binder::operands() const {
  return instruction_.operands.size();
}

const Operand& Binder::operand(std::size_t index) const {
  static const Operand absent;
  return index < operands() ? instruction_.operands[index] : absent;
}

bool Binder::expect_operands(std::size_t least, std::size_t most) {
  if (operands() >= least && operands() <= most) return true;
  const std::string range =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  return fail("needs " + range + " operands, not " + std::to_string(operands()));
}

unsigned Binder::register_bits(const Operand& operand) const {
  if (operand.kind != Operand::Kind::kRegister) return 0;
  return ptx::bits_of(builder_.function().registers[operand.index].type);
}

Arg Binder::checked_register(const Operand& operand, Type type, bool wider) {
  const ptx::Register& reg = builder_.function().registers[operand.index];
  if (!fits(type, reg.type, wider)) {
    fail(ptx::shown(reg.name) + " is " + described(reg.type) + " where " + described(type) +
         " is needed");
    return {};
  }
  return builder_.register_arg(operand.index);
}

Arg Binder::destination(std::size_t index, Type type, bool wider, bool sink) {
  return destination(operand(index), type, wider, sink);
}

Arg Binder::destination(const Operand& operand, Type type, bool wider, bool sink) {
  if (operand.is_sink() && sink) return {};
  if (operand.kind != Operand::Kind::kRegister || operand.negated) {
    fail("the destination must be a register");
    return {};
  }
  const Arg arg = checked_register(operand, type, wider);
  writes(arg);
  return arg;
}

Arg Binder::predicate_destination(std::size_t index, bool sink) {
  return predicate_destination(operand(index), sink);
}

Arg Binder::predicate_destination(const Operand& operand, bool sink) {
  return destination(operand, Type::kPred, false, sink);
}

Arg Binder::source(std::size_t index, Type type, bool wider) {
  return source(operand(index), type, wider);
}

Arg Binder::source(const Operand& operand, Type type, bool wider) {
  switch (operand.kind) {
    case Operand::Kind::kRegister: {
      if (operand.negated) break;
      const Arg arg = checked_register(operand, type, wider);
      reads(arg);
      return arg;
    }
    case Operand::Kind::kLiteral: {
      if (type == Type::kB128) break;
      const auto bits = bits_of_literal(operand.literal, type);
      if (bits) return literal(*bits, ptx::bits_of(type) > 32 ? 8 : 4);
      fail("the constant is none of type " + described(type));
      return {};
    }
    case Operand::Kind::kSpecial:
      if (!operand.negated) return special(operand, type, wider);
      break;
    case Operand::Kind::kSum:
      return sum(operand, type, wider);
    case Operand::Kind::kName:
      return address_value(operand, type);
    default:
      break;
  }
  fail("an operand is no register, constant or address");
  return {};
}

Arg Binder::special(const Operand& operand, Type type, bool wider) {
  const SpecialRegister* row = special_register(operand.name);
  if (row == nullptr) {
    fail(ptx::shown(operand.name) + " is not declared");
    return {};
  }
  if (instruction_.name != "mov" && instruction_.name != "cvt") {
    fail("only mov and cvt read " + operand.name);
    return {};
  }
  if (!need(row->version, row->sm)) return {};
  const unsigned size = ptx::bits_of(row->type);
  const unsigned bits = ptx::bits_of(type);
  const bool low_part =
      row->legacy_bits != 0 && bits == row->legacy_bits && ptx::kind_of(type) != Kind::kFloat;
  if (!fits(type, row->type, wider) && !low_part) {
    fail(operand.name + " is " + described(row->type) + " where " + described(type) + " is needed");
    return {};
  }
  if (row->type == Type::kPred) return value_of(row->read, builder_.new_predicate(), 0);
  Arg arg = value_of(row->read, temporary(size > 32 ? 8 : 4), 0);
  if (low_part && bits <= 32) arg = low_bits(arg, bits);
  return arg;
}

/// A register that an unguarded op fills.
Arg Binder::value_of(Handler read, Arg to, std::int64_t immediate) {
  Op op;
  op.run = read;
  op.kind = OpKind::kMove;
  op.line = instruction_.line;
  op.args[0] = to;
  op.immediate = immediate;
  builder_.emit(op);
  builder_.writes(to, true);
  return to;
}

Arg Binder::low_bits(Arg from, unsigned bits) {
  Op op;
  op.run = keep_low_bits;
  op.kind = OpKind::kMove;
  op.line = instruction_.line;
  op.args[0] = temporary(4);
  op.args[1] = from;
  op.extra = bits;
  builder_.emit(op);
  return op.args[0];
}

/// A register plus a constant, in the width of the register.
Arg Binder::sum(const Operand& operand, Type type, bool wider) {
  const Operand& base = operand.items[0];
  const Arg from = source(base, type, wider);
  if (failed()) return {};
  const ptx::Register& reg = builder_.function().registers[base.index];
  const unsigned bits = ptx::bits_of(reg.type);
  if (ptx::kind_of(reg.type) == Kind::kFloat || bits > 64) {
    fail("a constant is added to an integer of up to 64 bits, and " + ptx::shown(reg.name) +
         " is " + described(reg.type));
    return {};
  }
  Op op;
  op.run = add_constant;
  op.kind = OpKind::kInteger;
  op.line = instruction_.line;
  op.args[0] = temporary(from.bytes);
  op.args[1] = from;
  op.immediate = operand.offset;
  op.extra = bits;
  builder_.emit(op);
  return op.args[0];
}

/// A variable's or function's address as a value.
Arg Binder::address_value(const Operand& operand, Type type) {
  const unsigned bits = ptx::bits_of(type);
  const unsigned bytes = bits / 8;
  const bool good_type = (bits == 32 || bits == 64) && ptx::kind_of(type) != Kind::kFloat;
  if (!good_type) {
    fail("the address " + ptx::shown(operand.name) + " has no type " + described(type));
    return {};
  }
  if (const auto index = builder_.function_index(operand.name)) {
    if (bits == 64) return literal(function_address(*index), bytes);
    fail("the address of a function has 64 bits");
    return {};
  }
  const Place* place = builder_.layout().find(builder_.function_number(), operand.name);
  if (place == nullptr) {
    fail(ptx::shown(operand.name) + " is no variable");
    return {};
  }
  if (!usable(*place, operand.name)) return {};
  const bool device = place->space == ptx::Space::kGlobal || place->space == ptx::Space::kConst;
  if (device && bits != 64) {
    fail("the address of " + ptx::shown(operand.name) + " has 64 bits");
    return {};
  }
  const Located located = locate(*place, operand.offset);
  if (located.base.bank == Bank::kNone) {
    return literal(static_cast<std::uint64_t>(located.offset), bytes);
  }
  return bytes == 8 ? located.base : low_bits(located.base, 32);
}

bool Binder::usable(const Place& place, const std::string& name) {
  return !place.undefined || fail(ptx::shown(name) + " is declared .extern and not defined");
}

/// Base and offset of a variable. With a base, the offset is in the base already.
Binder::Located Binder::locate(const Place& place, std::int64_t offset) {
  // An offset may leave the address space and wrap around.
  const std::uint64_t sum = place.offset + static_cast<std::uint64_t>(offset);
  const auto at = static_cast<std::int64_t>(sum);
  if (place.dynamic) {
    const auto base = builder_.layout().dynamic_base(builder_.function_number());
    if (base) return {{}, static_cast<std::int64_t>(*base + sum)};
    return {value_of(read_dynamic_base, temporary(8), at), 0};
  }
  if (place.space == ptx::Space::kLocal && !builder_.in_kernel()) {
    return {value_of(read_local_base, temporary(8), at), 0};
  }
  return {{}, at};
}

Arg Binder::predicate_source(std::size_t index) {
  return predicate_source(operand(index));
}

Arg Binder::predicate_source(const Operand& operand) {
  const bool literal = operand.kind == Operand::Kind::kLiteral &&
                       operand.literal.kind == ptx::Literal::Kind::kInteger;
  if (literal) {
    return value_of(set_constant_predicate, builder_.new_predicate(), operand.literal.bits != 0);
  }
  if (operand.kind == Operand::Kind::kSpecial) {
    Arg arg = special(operand, Type::kPred, false);
    arg.flip = operand.negated;
    return arg;
  }
  if (operand.kind != Operand::Kind::kRegister) {
    fail("an operand is no predicate");
    return {};
  }
  Arg arg = checked_register(operand, Type::kPred, false);
  reads(arg);
  arg.flip = operand.negated;
  return arg;
}

std::optional<std::span<const Operand>> Binder::vector(std::size_t index, std::size_t count) {
  const Operand& given = operand(index);
  if (count == 1 && given.kind != Operand::Kind::kVector) {
    return std::span<const Operand>(&given, 1);
  }
  const std::size_t items = given.kind == Operand::Kind::kVector ? given.items.size() : 1;
  if (items == count && given.kind == Operand::Kind::kVector) {
    if (!std::ranges::all_of(given.items, &Operand::is_sink)) {
      return std::span<const Operand>(given.items);
    }
    fail("operand " + std::to_string(index + 1) + " is a vector without a register");
    return std::nullopt;
  }
  fail("operand " + std::to_string(index + 1) + " must be a vector of " + std::to_string(count) +
       ", not of " + std::to_string(items));
  return std::nullopt;
}

std::optional<std::int64_t> Binder::constant(std::size_t index) {
  const Operand& given = operand(index);
  const bool good =
      given.kind == Operand::Kind::kLiteral && given.literal.kind == ptx::Literal::Kind::kInteger;
  if (good) return static_cast<std::int64_t>(given.literal.bits);
  fail("operand " + std::to_string(index + 1) + " must be an integer constant");
  return std::nullopt;
}

Arg Binder::literal(std::uint64_t bits, unsigned bytes) {
  return builder_.constant(bits, bytes);
}

Arg Binder::temporary(unsigned bytes) {
  // Its reads are in the same instruction: to record them would make it live before the write.
  const Arg arg = builder_.new_register(bytes);
  builder_.writes(arg, true);
  return arg;
}

std::optional<Binder::LocalPlace> Binder::local_place(const Operand& operand) {
  const Place* place = operand.kind == Operand::Kind::kName
                           ? builder_.layout().find(builder_.function_number(), operand.name)
                           : nullptr;
  if (place == nullptr || place->space != ptx::Space::kLocal) return std::nullopt;
  return LocalPlace{place->offset, place->bytes};
}

std::optional<Binder::Address> Binder::address(std::size_t index, ptx::Space space) {
  const Operand& given = operand(index);
  if (given.kind != Operand::Kind::kAddress || given.items.size() != 1) {
    fail("operand " + std::to_string(index + 1) + " must be an address in brackets");
    return std::nullopt;
  }
  // Parameters of functions are in the frame's local memory.
  const bool in_frame = space == ptx::Space::kParam && !builder_.in_kernel();
  Address result{{}, given.offset, in_frame ? ptx::Space::kLocal : space, 0};
  const Operand& base = given.items[0];
  if (base.kind == Operand::Kind::kLiteral) {
    result.offset = static_cast<std::int64_t>(base.literal.bits);
    const bool integer = base.literal.kind == ptx::Literal::Kind::kInteger;
    return integer || fail("an address is no float") ? std::optional(result) : std::nullopt;
  }
  if (base.kind == Operand::Kind::kName) return named_address(base, space, given.offset);
  result.base = base_register(base);
  return failed() ? std::nullopt : std::optional(result);
}

Arg Binder::base_register(const Operand& base) {
  const bool is_register = base.kind == Operand::Kind::kRegister && !base.negated;
  if (!is_register) {
    fail("the base of an address must be a register, a variable or a constant");
    return {};
  }
  const ptx::Register& reg = builder_.function().registers[base.index];
  const unsigned bits = ptx::bits_of(reg.type);
  const bool good = (bits == 32 || bits == 64) && ptx::kind_of(reg.type) != Kind::kFloat;
  if (!good) {
    fail("the base " + ptx::shown(reg.name) + " of an address is " + described(reg.type));
    return {};
  }
  const Arg arg = builder_.register_arg(base.index);
  reads(arg);
  return arg;
}

std::optional<Binder::Address> Binder::named_address(const Operand& base, ptx::Space space,
                                                     std::int64_t offset) {
  const Place* place = builder_.layout().find(builder_.function_number(), base.name);
  if (place == nullptr) {
    fail(ptx::shown(base.name) + " is no variable");
    return std::nullopt;
  }
  if (!usable(*place, base.name)) return std::nullopt;
  const bool frame = space == ptx::Space::kParam && place->parameter;
  const bool same = frame || space == place->space || space == ptx::Space::kGeneric;
  if (!same) {
    fail(ptx::shown(base.name) + " is not in ." + std::string(ptx::name_of(space)));
    return std::nullopt;
  }
  const Located located = locate(*place, offset);
  return Address{located.base, located.offset, place->space, place->bytes};
}

}  // namespace cuda_twin

// The grammar that many opcodes share: "name.type d, a, b".
#pragma once

#include <cstdint>
#include <initializer_list>

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// The last type among the modifiers; kNone if there is none.
inline ptx::Type last_type(const ptx::Instruction& instruction) {
  const auto& modifiers = instruction.modifiers;
  for (auto at = modifiers.rbegin(); at != modifiers.rend(); ++at) {
    if (const auto type = ptx::type_named(*at)) return *type;
  }
  return ptx::Type::kNone;
}

inline bool is_integer_form(const ptx::Instruction& instruction) {
  const ptx::Type type = last_type(instruction);
  return type != ptx::Type::kNone && ptx::kind_of(type) != ptx::Kind::kFloat;
}

inline bool is_packed(ptx::Type type) {
  using enum ptx::Type;
  return type == kU16x2 || type == kS16x2 || type == kF16x2 || type == kBf16x2;
}

/// `choose` called with a value of the C++ type for an integer or bit type; null for other types.
template <class Choose>
Handler for_integer(ptx::Type type, Choose choose) {
  using enum ptx::Type;
  switch (type) {
    case kB16:
    case kU16:
      return choose(std::uint16_t{});
    case kS16:
      return choose(std::int16_t{});
    case kB32:
    case kU32:
      return choose(std::uint32_t{});
    case kS32:
      return choose(std::int32_t{});
    case kB64:
    case kU64:
      return choose(std::uint64_t{});
    case kS64:
      return choose(std::int64_t{});
    default:
      return nullptr;
  }
}

/// Emits "name d, a, ..." with these types of the operands, and ends the grammar. A null handler
/// stands for a type that the binder refused.
inline bool emit_form(Binder& binder, Handler run, OpKind kind, ptx::Type to,
                      std::initializer_list<ptx::Type> from) {
  if (binder.failed()) return false;
  if (run == nullptr) return binder.fail("no such type");
  const std::size_t count = from.size() + 1;
  if (!binder.expect_operands(count, count)) return false;
  Arg args[8];
  args[0] = binder.destination(0, to);
  std::size_t index = 1;
  for (const ptx::Type type : from) {
    args[index] = binder.source(index, type);
    ++index;
  }
  if (binder.failed()) return false;
  Op& op = binder.emit(run, kind, {args[0], args[1], args[2], args[3]});
  if (count > 4) binder.more(op, {args + 4, count - 4});
  return binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

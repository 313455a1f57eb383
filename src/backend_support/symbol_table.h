// A vendor's functions as a table: a row each, bound by name into a struct of function pointers.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "shunt/error.h"
#include "shunt/message.h"

namespace shunt {

/// One function: its name, its member of the struct, and the version that brought it.
template <class Symbols>
struct SymbolRow {
  const char* name;
  void (*set)(Symbols& symbols, void* address);
  const char* since = nullptr;  ///< it may be missing in older libraries; null: all have it
};

template <class Member>
struct MemberPointer;
template <class S, class F>
struct MemberPointer<F S::*> {
  using Struct = S;
  using Type = F;
};

/// `symbol<&Symbols::add>("zdnn_add")` is a row of the table.
template <auto Member>
constexpr auto symbol(const char* name, const char* since = nullptr) {
  using Symbols = typename MemberPointer<decltype(Member)>::Struct;
  using Function = typename MemberPointer<decltype(Member)>::Type;
  static_assert(std::is_pointer_v<Function>, "members are pointers to functions");
  return SymbolRow<Symbols>{name,
                            [](Symbols& symbols, void* address) {
                              symbols.*Member = reinterpret_cast<Function>(address);
                            },
                            since};
}

/// The name of a function that the table has, by its member: for messages.
template <auto Member, class Symbols>
const char* name_of(std::span<const SymbolRow<Symbols>> rows) {
  for (const SymbolRow<Symbols>& row : rows) {
    if (row.set == symbol<Member>("").set) return row.name;
  }
  return "";
}

/// Asks `find` for the address of each function: it returns null for one that the library lacks.
/// NotFound, naming the function, if that is one without `since`. `who_has_it` ends the message:
/// "version 1.0 has".
template <class Symbols, class Find>
Result<Symbols> bind_symbols(std::span<const SymbolRow<Symbols>> rows, const Find& find,
                             std::string_view who_has_it) {
  Symbols symbols;
  for (const SymbolRow<Symbols>& row : rows) {
    void* const address = find(row.name);
    if (address == nullptr && row.since == nullptr) {
      return fail(ErrorCode::kNotFound, "it has no {}, which {}", row.name, who_has_it);
    }
    row.set(symbols, address);
  }
  return symbols;
}

}  // namespace shunt

// A vendor's functions as a table: a row each, bound by name into a struct of function pointers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shunt/error.h"
#include "shunt/message.h"

namespace shunt {

/// One function: its name, its member of the struct, and the version that brought it.
template <class Symbols>
struct SymbolRow {
  const char* name;
  void (*set)(Symbols& symbols, void* address);
  const char* since = nullptr;    ///< it may be missing in older libraries; null: all have it
  const char* feature = nullptr;  ///< feature that needs this function: "virtual memory"
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
constexpr auto symbol(const char* name, const char* since = nullptr,
                      const char* feature = nullptr) {
  using Symbols = typename MemberPointer<decltype(Member)>::Struct;
  using Function = typename MemberPointer<decltype(Member)>::Type;
  static_assert(std::is_pointer_v<Function>, "members are pointers to functions");
  return SymbolRow<Symbols>{name,
                            [](Symbols& symbols, void* address) {
                              symbols.*Member = reinterpret_cast<Function>(address);
                            },
                            since, feature};
}

/// The name of a function that the table has, by its member: for messages.
template <auto Member, class Symbols>
const char* name_of(std::span<const SymbolRow<Symbols>> rows) {
  for (const SymbolRow<Symbols>& row : rows) {
    if (row.set == symbol<Member>("").set) return row.name;
  }
  return "";
}

/// A feature that a library lacks, with the first function of it that is missing.
struct MissingFeature {
  std::string_view feature;
  const char* function;
  const char* since;
  /// "no virtual memory: the driver lacks cuMemMap (CUDA 10.2)", for "the driver" and "CUDA".
  std::string to_text(std::string_view library, std::string_view product) const {
    return fmt::format("no {}: {} lacks {} ({} {})", feature, library, function, product, since);
  }
};

/// The features that a library lacks. The rows of a feature follow each other, and have `since`.
template <class Symbols, class Find>
std::vector<MissingFeature> missing_features(std::span<const SymbolRow<Symbols>> rows,
                                             const Find& find) {
  std::vector<MissingFeature> missing;
  for (const SymbolRow<Symbols>& row : rows) {
    if (row.feature == nullptr || find(row.name) != nullptr) continue;
    if (!missing.empty() && missing.back().feature == row.feature) continue;
    missing.push_back({row.feature, row.name, row.since});
  }
  return missing;
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

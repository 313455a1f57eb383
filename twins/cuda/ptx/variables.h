// Declarations of variables, of a module or a function.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cuda/ptx/tokens.h"

namespace cuda_twin::ptx {

struct Linkage {
  bool is_extern = false, is_visible = false;
  bool given = false;
};
/// .extern .visible .weak .common, in any order.
Linkage read_linkage(Tokens& tokens);

std::optional<Space> take_space(Tokens& tokens);

/// Names of a module, each with its place in Module::variables or Module::functions.
struct ModuleNames {
  struct Entry {
    bool is_function = false;
    std::size_t index = 0;
  };
  std::unordered_map<std::string, Entry> entries;
  std::size_t initial_bytes = 0;  ///< of all variables so far
  std::size_t target_bytes = 0;   ///< of all lists of targets so far
  std::uint32_t functions = 0;    ///< read so far, declarations too
};

/// What stands between the state space and the name.
struct VariableForm {
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  unsigned vector = 1;
  std::uint64_t alignment = 0;  ///< 0: natural
};
/// After the space: [.attribute()] [.align N] [.vN] .type [.ptr .space .align N].
bool read_form(Tokens& tokens, VariableForm& form);
/// What the initial value of a variable names, as the module knows it; nothing if there is none.
using Resolve = std::function<std::optional<std::string>(std::string_view name)>;
/// Dimensions and initial value after the name: [2][3] = {...}.
bool read_shape(Tokens& tokens, const VariableForm& form, Variable& variable, ModuleNames& names,
                const Resolve& resolve);

}  // namespace cuda_twin::ptx

#include "cuda/ptx/variables.h"

#include <array>
#include <bit>

#include "cuda/ptx/constants.h"
#include "cuda/ptx/initial.h"

namespace cuda_twin::ptx {
namespace {

constexpr std::uint64_t kLargestAlignment = 1 << 16;

bool read_alignment(Tokens& tokens, std::uint64_t& alignment) {
  const auto value = read_count(tokens, "an alignment", 1, kLargestAlignment);
  if (!value) return false;
  if (!std::has_single_bit(*value)) return tokens.fail("an alignment must be a power of two");
  alignment = *value;
  return true;
}

/// .ptr .global .align 8: says where a parameter points, which nothing here needs.
bool skip_pointer(Tokens& tokens) {
  take_space(tokens);
  std::uint64_t ignored = 0;
  return !tokens.take_dot("align") || read_alignment(tokens, ignored);
}

bool vector_of(std::string_view name, unsigned& vector) {
  constexpr std::array<std::string_view, 3> kNames{"v2", "v4", "v8"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) vector = 2U << i;
  }
  return vector != 1;
}

bool read_dimensions(Tokens& tokens, std::vector<std::uint64_t>& dimensions) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  while (tokens.take_sign("[")) {
    if (dimensions.size() >= 16) return tokens.fail("an array has more than 16 dimensions");
    if (tokens.take_sign("]")) {
      if (!dimensions.empty()) return tokens.fail("only the first dimension may be left out");
      dimensions.push_back(0);
      continue;
    }
    const auto count = read_count(tokens, "an array size", 0, kLargest);
    if (!count || !tokens.expect("]")) return false;
    dimensions.push_back(*count);
  }
  return true;
}

bool set_bytes(Tokens& tokens, const std::vector<std::uint64_t>& dimensions, Variable& variable) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 47;
  std::uint64_t bytes = std::uint64_t{bits_of(variable.type)} / 8 * variable.vector;
  for (const std::uint64_t count : dimensions) {
    if (count != 0 && bytes > kLargest / count) {
      return tokens.fail("variable " + shown(variable.name) + " is too large");
    }
    bytes *= count;
  }
  variable.bytes = bytes;
  return true;
}

}  // namespace

Linkage read_linkage(Tokens& tokens) {
  Linkage linkage;
  for (;; linkage.given = true) {
    if (tokens.take_dot("extern")) {
      linkage.is_extern = true;
    } else if (tokens.take_dot("visible") || tokens.take_dot("weak") || tokens.take_dot("common")) {
      linkage.is_visible = true;
    } else {
      return linkage;
    }
  }
}

std::optional<Space> take_space(Tokens& tokens) {
  constexpr std::array<Space, 6> kSpaces{Space::kRegister, Space::kGlobal, Space::kShared,
                                         Space::kLocal,    Space::kConst,  Space::kParam};
  for (const Space space : kSpaces) {
    if (tokens.take_dot(name_of(space))) return space;
  }
  return std::nullopt;
}

bool read_form(Tokens& tokens, VariableForm& form) {
  while (tokens.at_dot()) {
    const Token token = tokens.next();
    const auto type = type_named(token.text);
    bool good = true;
    if (type && form.type == Type::kNone) {
      form.type = *type;
    } else if (token.text == "align") {
      good = read_alignment(tokens, form.alignment);
    } else if (token.text == "attribute") {
      good = tokens.skip_group("(", ")");
    } else if (token.text == "ptr" && form.space == Space::kParam) {
      good = skip_pointer(tokens);
    } else {
      good = (form.vector == 1 && vector_of(token.text, form.vector)) ||
             tokens.fail_at(token.line, "." + shown(token.text) + " has no place in a declaration");
    }
    if (!good) return false;
  }
  if (form.type == Type::kNone) return tokens.unexpected("a type");
  const bool predicate = form.type == Type::kPred && form.space != Space::kRegister;
  if (predicate) return tokens.fail("predicates are registers only");
  if (form.type == Type::kPred && form.vector > 1) return tokens.fail("a predicate is no vector");
  const bool parts = form.vector <= 4 || form.space != Space::kRegister;
  if (!parts) return tokens.fail("a vector of registers has 2 or 4 parts");
  return bits_of(form.type) * form.vector <= 128 || tokens.fail("a vector has at most 128 bits");
}

bool read_shape(Tokens& tokens, const VariableForm& form, Variable& variable, ModuleNames& names,
                const Resolve& resolve) {
  variable.space = form.space;
  variable.type = form.type;
  variable.vector = form.vector;
  const std::uint64_t natural = std::uint64_t{bits_of(form.type)} / 8 * form.vector;
  variable.alignment = form.alignment != 0 ? form.alignment : natural;
  std::vector<std::uint64_t> dimensions;
  if (!read_dimensions(tokens, dimensions)) return false;
  const bool initialised = tokens.at_sign("=");
  if (initialised && !read_initial(tokens, variable, dimensions, names, resolve)) return false;
  const bool open = !dimensions.empty() && dimensions[0] == 0;
  const bool may_be_open = variable.is_extern || variable.space == Space::kParam;
  if (open && !may_be_open) return tokens.fail(shown(variable.name) + " needs an array size");
  return set_bytes(tokens, dimensions, variable);
}

}  // namespace cuda_twin::ptx

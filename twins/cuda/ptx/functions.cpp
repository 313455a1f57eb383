#include "cuda/ptx/functions.h"

#include "cuda/ptx/constants.h"

namespace cuda_twin::ptx {

FunctionReader::FunctionReader(Tokens& tokens, Module& module, ModuleNames& names,
                               Function& function)
    : tokens_(tokens),
      module_(module),
      names_(names),
      function_(function),
      scopes_(tokens, function, names.functions++) {}

bool FunctionReader::read() {
  if (tokens_.at_sign("(") && !parameters(function_.results, function_.result_registers)) {
    return false;
  }
  if (function_.is_kernel && !function_.results.empty()) {
    return tokens_.fail("a kernel has no results");
  }
  function_.line = tokens_.line();
  const auto name = tokens_.expect_word("the name of a function");
  if (!name) return false;
  function_.name = *name;
  if (tokens_.at_sign("(") && !parameters(function_.parameters, function_.parameter_registers)) {
    return false;
  }
  if (!performance()) return false;
  if (tokens_.take_sign(";")) {
    function_.is_declaration = true;
    return true;
  }
  return body();
}

bool FunctionReader::parameters(std::vector<Variable>& list,
                                std::vector<std::uint32_t>& registers) {
  if (!tokens_.expect("(")) return false;
  while (!tokens_.take_sign(")")) {
    if (!list.empty() && !tokens_.expect(",")) return false;
    if (!parameter(list, registers)) return false;
  }
  return true;
}

bool FunctionReader::parameter(std::vector<Variable>& list, std::vector<std::uint32_t>& registers) {
  const auto space = take_space(tokens_);
  const bool register_allowed = space == Space::kRegister && !function_.is_kernel;
  if (space != Space::kParam && !register_allowed) return tokens_.unexpected("\".param\"");
  VariableForm form{*space};
  if (!read_form(tokens_, form)) return false;
  Variable variable;
  variable.line = tokens_.line();
  const auto name = tokens_.expect_word("the name of a parameter");
  if (!name) return false;
  variable.name = *name;
  if (!read_shape(tokens_, form, variable, names_, module_names())) return false;
  if (*space == Space::kRegister) {
    const bool array = variable.bytes != std::uint64_t{bits_of(form.type)} / 8 * form.vector;
    if (array) return tokens_.fail("a register is no array");
    for (unsigned part = 0; part < form.vector; ++part) {
      registers.push_back(static_cast<std::uint32_t>(function_.registers.size()) + part);
    }
    if (!scopes_.declare_register(*name, form.type, form.vector)) return false;
  } else if (*name != "_" && !scopes_.declare_variable(*name, *space)) {
    return false;
  }
  list.push_back(std::move(variable));
  return true;
}

bool FunctionReader::one(std::uint32_t& value) {
  const auto read = read_count(tokens_, "the value of a directive", 0, 0xFFFFFFFF);
  if (read) value = static_cast<std::uint32_t>(*read);
  return read.has_value();
}

bool FunctionReader::triple(std::uint32_t (&values)[3]) {
  values[1] = values[2] = 1;
  for (unsigned i = 0; i < 3; ++i) {
    const auto read = read_count(tokens_, "a dimension", 1, 0xFFFFFFFF);
    if (!read) return false;
    values[i] = static_cast<std::uint32_t>(*read);
    if (!tokens_.take_sign(",")) return true;
  }
  return tokens_.fail("there are more than three dimensions");
}

bool FunctionReader::performance() {
  std::uint32_t ignored = 0;
  while (tokens_.at_dot()) {
    const Token token = tokens_.next();
    const auto is = [&](std::string_view name) { return token.text == name; };
    bool good = true;
    if (is("maxntid")) {
      good = triple(function_.max_threads);
    } else if (is("reqntid")) {
      good = triple(function_.required_threads);
    } else if (is("reqnctapercluster")) {
      good = triple(function_.cluster);
    } else if (is("minnctapersm") || is("maxnctapersm")) {
      good = one(function_.min_blocks);
    } else if (is("maxnreg")) {
      good = one(function_.max_registers);
    } else if (is("maxclusterrank") || is("abi_preserve") || is("abi_preserve_control")) {
      good = one(ignored);
    } else if (is("pragma")) {
      while (good && !tokens_.take_sign(";")) {
        good = tokens_.peek().kind == Token::Kind::kString || tokens_.at_sign(",") ||
               tokens_.unexpected("\";\"");
        if (good) tokens_.next();
      }
    } else {
      good =
          is("noreturn") || is("explicitcluster") || is("blocksareclusters") || is("unique") ||
          tokens_.fail_at(token.line, "." + shown(token.text) + " is no directive of a function");
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace cuda_twin::ptx

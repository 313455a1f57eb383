#include "cuda/ptx/parser.h"

#include "cuda/ptx/constants.h"
#include "cuda/ptx/debug.h"
#include "cuda/ptx/functions.h"
#include "cuda/ptx/targets.h"

namespace cuda_twin::ptx {
namespace {

class ModuleReader {
 public:
  ModuleReader(std::string_view text, const ParserLimits& limits) : tokens_(text, limits) {}

  std::variant<Module, SyntaxError> read() {
    if (header()) {
      while (tokens_.peek().kind != Token::Kind::kEnd && item()) {
      }
    }
    if (tokens_.error()) return *tokens_.error();
    return std::move(module_);
  }

 private:
  bool header() {
    if (!tokens_.take_dot("version")) return tokens_.unexpected("\".version\"");
    if (!version()) return false;
    while (at_debug(tokens_)) {
      if (!skip_debug(tokens_)) return false;
    }
    if (!tokens_.take_dot("target")) return tokens_.unexpected("\".target\"");
    if (!target()) return false;
    if (!tokens_.take_dot("address_size")) return true;
    const Line line = tokens_.line();
    const auto bits = read_integer(tokens_);
    if (!bits) return false;
    return *bits == 64 || tokens_.fail_at(line, "only .address_size 64 is supported");
  }

  bool version() {
    const Token token = tokens_.peek();
    const std::size_t point = token.text.find('.');
    const auto number = [&](std::string_view digits) {
      std::string problem;
      const Literal value = literal_of(digits.empty() ? "?" : digits, problem);
      const bool good =
          problem.empty() && value.kind == Literal::Kind::kInteger && value.bits < 100;
      return good ? static_cast<int>(value.bits) : -1;
    };
    if (token.kind != Token::Kind::kNumber || point == std::string_view::npos) {
      return tokens_.unexpected("a version such as 7.0");
    }
    module_.version = {number(token.text.substr(0, point)), number(token.text.substr(point + 1))};
    if (module_.version.major < 1 || module_.version.minor < 0) {
      return tokens_.unexpected("a version such as 7.0");
    }
    tokens_.next();
    if (module_.version <= tokens_.limits.newest) return true;
    return tokens_.fail_at(token.line,
                           ".version " + shown(token.text) + " is newer than the driver's " +
                               std::to_string(tokens_.limits.newest.major) + "." +
                               std::to_string(tokens_.limits.newest.minor),
                           true);
  }

  /// Code for several architectures runs on those that have the features of the last one.
  bool target() {
    do {
      const Token token = tokens_.peek();
      const auto name = tokens_.expect_word("a target");
      if (!name) return false;
      const auto named = target_named(*name);
      const bool is_option = module_.target.sm != 0 && is_target_option(*name);
      if (!named && !is_option) {
        return tokens_.fail_at(token.line, shown(*name) + " is no target");
      }
      if (!named) continue;
      if (module_.version < named->needed) {
        return tokens_.fail_at(token.line, ".target " + shown(*name) + " needs .version " +
                                               std::to_string(named->needed.major) + "." +
                                               std::to_string(named->needed.minor) + " or later");
      }
      if (named->target.sm <= module_.target.sm) continue;
      module_.target = named->target;
      module_.target_line = token.line;
    } while (tokens_.take_sign(","));
    return true;
  }

  bool item() {
    if (at_debug(tokens_)) return skip_debug(tokens_);
    if (tokens_.take_sign(";")) return true;
    if (tokens_.at_sign("@") && tokens_.peek(1).is(Token::Kind::kSign, "@")) {
      tokens_.skip_line(tokens_.line());
      return true;
    }
    if (tokens_.take_dot("alias")) return alias();
    const Linkage linkage = read_linkage(tokens_);
    if (tokens_.peek().is(Token::Kind::kDot, "entry")) return function(linkage, true);
    if (tokens_.peek().is(Token::Kind::kDot, "func")) return function(linkage, false);
    return variables(linkage);
  }

  /// .alias name, function; The name is a declared function, and stands for the other one.
  bool alias() {
    const Line line = tokens_.line();
    const auto name = tokens_.expect_word("a function");
    if (!name || !tokens_.expect(",")) return false;
    const auto target = tokens_.expect_word("a function");
    if (!target || !tokens_.expect(";")) return false;
    if (module_.version < Version{6, 3}) {
      return tokens_.fail_at(line, ".alias needs .version 6.3 or later");
    }
    const auto declared = names_.entries.find(std::string(*name));
    const auto defined = names_.entries.find(std::string(*target));
    const auto is_function = [&](auto found) {
      return found != names_.entries.end() && found->second.is_function;
    };
    if (!is_function(declared)) return tokens_.fail_at(line, shown(*name) + " is no function");
    if (!is_function(defined) || !has_body(module_.functions[defined->second.index])) {
      return tokens_.fail_at(line, shown(*target) + " is no function with a body");
    }
    const auto index = static_cast<std::uint32_t>(defined->second.index);
    const Function& body = module_.functions[index];
    if (body.is_kernel) return tokens_.fail_at(line, shown(*target) + " is a kernel");
    Function& alias = module_.functions[declared->second.index];
    if (has_body(alias)) {
      return tokens_.fail_at(line, "the function " + shown(*name) + " is defined twice");
    }
    if (!alike(alias, body)) {
      return tokens_.fail_at(line, shown(*name) + " differs from its declaration");
    }
    alias.alias = body.alias.value_or(index);
    return true;
  }

  static bool has_body(const Function& function) {
    return !function.is_declaration || function.alias;
  }

  bool function(const Linkage& linkage, bool is_kernel) {
    tokens_.next();
    if (tokens_.peek().is(Token::Kind::kDot, "attribute")) {
      tokens_.next();
      if (!tokens_.skip_group("(", ")")) return false;
    }
    Function result;
    result.is_kernel = is_kernel;
    if (!FunctionReader(tokens_, module_, names_, result).read()) return false;
    if (linkage.is_extern && !result.is_declaration) {
      return tokens_.fail_at(result.line,
                             "the function " + shown(result.name) + " is .extern and has a body");
    }
    const auto [place, added] =
        names_.entries.try_emplace(result.name, ModuleNames::Entry{true, module_.functions.size()});
    if (added) {
      module_.functions.push_back(std::move(result));
      return true;
    }
    return redeclare(place->second, std::move(result));
  }

  bool redeclare(const ModuleNames::Entry& before, Function now) {
    if (!before.is_function)
      return tokens_.fail_at(now.line, shown(now.name) + " is declared twice");
    Function& old = module_.functions[before.index];
    if (has_body(old) && has_body(now)) {
      return tokens_.fail_at(now.line, "the function " + shown(now.name) + " is defined twice");
    }
    if (!alike(old, now)) {
      return tokens_.fail_at(now.line, shown(now.name) + " differs from its declaration");
    }
    if (!now.is_declaration) old = std::move(now);
    return true;
  }

  static bool alike(const Function& a, const Function& b) {
    return a.is_kernel == b.is_kernel && same(a.parameters, b.parameters) &&
           same(a.results, b.results);
  }

  static bool same(const std::vector<Variable>& a, const std::vector<Variable>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool differs = a[i].bytes != b[i].bytes || a[i].space != b[i].space ||
                           a[i].alignment != b[i].alignment || a[i].type != b[i].type ||
                           a[i].vector != b[i].vector;
      if (differs) return false;
    }
    return true;
  }

  bool variables(const Linkage& linkage) {
    const Token token = tokens_.peek();
    const auto space = take_space(tokens_);
    if (!space) return tokens_.unexpected("a directive");
    const bool allowed =
        *space == Space::kGlobal || *space == Space::kConst || *space == Space::kShared;
    if (!allowed) {
      return tokens_.fail_at(token.line,
                             "." + shown(token.text) + " has no place outside of functions");
    }
    VariableForm form{*space};
    if (!read_form(tokens_, form)) return false;
    do {
      if (!variable(linkage, form)) return false;
    } while (tokens_.take_sign(","));
    return tokens_.expect(";");
  }

  bool variable(const Linkage& linkage, const VariableForm& form) {
    Variable result;
    result.line = tokens_.line();
    result.is_extern = linkage.is_extern;
    result.is_visible = linkage.is_visible;
    const auto name = tokens_.expect_word("the name of a variable");
    if (!name) return false;
    result.name = *name;
    const auto resolve = [&](std::string_view named) -> std::optional<std::string> {
      std::string found(named);
      if (!names_.entries.contains(found)) return std::nullopt;
      return found;
    };
    if (!read_shape(tokens_, form, result, names_, resolve)) return false;
    const auto [place, added] = names_.entries.try_emplace(
        result.name, ModuleNames::Entry{false, module_.variables.size()});
    if (added) {
      module_.variables.push_back(std::move(result));
      return true;
    }
    const ModuleNames::Entry before = place->second;
    const bool defines = !before.is_function && module_.variables[before.index].is_extern;
    if (!defines) return tokens_.fail_at(result.line, shown(result.name) + " is declared twice");
    if (!result.is_extern) module_.variables[before.index] = std::move(result);
    return true;
  }

  Tokens tokens_;
  Module module_;
  ModuleNames names_;
};

}  // namespace

std::unordered_map<std::string_view, std::uint32_t> functions_by_name(const Module& module) {
  std::unordered_map<std::string_view, std::uint32_t> result;
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    result.emplace(function.name, function.alias.value_or(i));
  }
  return result;
}

std::variant<Module, SyntaxError> parse(std::string_view text, const ParserLimits& limits) {
  if (text.size() > limits.text_bytes) {
    return SyntaxError{1, "the text exceeds " + std::to_string(limits.text_bytes) + " bytes",
                       false};
  }
  return ModuleReader(text, limits).read();
}

}  // namespace cuda_twin::ptx

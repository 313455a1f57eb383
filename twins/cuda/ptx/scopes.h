// The names of a function: registers, variables and labels of its nested blocks.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/ptx/tokens.h"

namespace cuda_twin::ptx {

struct Symbol {
  bool is_register = false;
  std::uint32_t index = 0;  ///< of the register; of a vector its first
  unsigned vector = 1;
  Space space = Space::kRegister;
  std::string unique;  ///< of a variable: its name in Function::variables or Module::variables
};

/// Is a variable of this space one of the module, wherever it is declared?
constexpr bool is_static(Space space) {
  return space == Space::kGlobal || space == Space::kConst;
}

/// Registers get their number at their first use, so that `.reg .b32 %r<100000>` costs nothing.
/// Names are views of the text.
class Scopes {
 public:
  /// `number` is one that no other function of the module has.
  Scopes(Tokens& tokens, Function& function, std::uint32_t number);

  bool push();
  /// Resolves the labels that the block's instructions name. Unknown labels are left to the
  /// enclosing block.
  bool pop();
  std::size_t depth() const { return blocks_.size(); }

  bool declare_register(std::string_view name, Type type, unsigned vector);
  bool declare_range(std::string_view prefix, Type type, unsigned vector, std::uint64_t count);
  /// Returns the unique name, or nothing if the name is taken.
  std::optional<std::string> declare_variable(std::string_view name, Space space);
  std::optional<std::string> declare_label(std::string_view name);

  const Symbol* find(std::string_view name);
  /// `name` may be a label that comes later: it is written over when its block ends.
  void wants_label(std::string* name, Line line, std::string_view user);

 private:
  struct Range {
    Type type = Type::kNone;
    unsigned vector = 1;
    std::uint64_t count = 0;
  };
  struct Wish {
    std::string* name;
    Line line;
    std::string_view user;
  };
  struct Block {
    std::uint32_t number = 0;
    std::unordered_map<std::string_view, Symbol> symbols;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, std::uint64_t>
        smallest;  ///< number of the names "prefix + number"
    std::unordered_map<std::string_view, std::string> labels;
    std::vector<Wish> wishes;
  };
  bool is_free(std::string_view name);
  bool count_registers(std::uint64_t count);
  std::string unique(std::string_view name) const;
  Symbol& add_register(Block& block, std::string_view name, Type type, unsigned vector);
  const Symbol* find_in(Block& block, std::string_view name);

  Tokens& tokens_;
  Function& function_;
  std::uint32_t number_;
  std::vector<Block> blocks_;
  std::uint32_t blocks_made_ = 0;
  std::uint64_t registers_ = 0;
};

}  // namespace cuda_twin::ptx

#include "cuda/ptx/scopes.h"

#include <array>
#include <charconv>

namespace cuda_twin::ptx {
namespace {

struct Numbered {
  std::string_view prefix;
  std::optional<std::uint64_t> number;
};

/// "%r12" is %r and 12; "%r012" and "%r" have no number.
Numbered split(std::string_view name) {
  std::size_t n = name.size();
  while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9') --n;
  const std::string_view digits = name.substr(n);
  const bool canonical =
      !digits.empty() && digits.size() < 10 && (digits == "0" || digits[0] != '0');
  if (!canonical) return {name, std::nullopt};
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return {name.substr(0, n), number};
}

}  // namespace

Scopes::Scopes(Tokens& tokens, Function& function, std::uint32_t number)
    : tokens_(tokens), function_(function), number_(number) {
  blocks_.emplace_back();
}

bool Scopes::push() {
  if (blocks_.size() >= tokens_.limits.nesting) return tokens_.fail("blocks are nested too deeply");
  blocks_.emplace_back().number = ++blocks_made_;
  return true;
}

bool Scopes::pop() {
  Block block = std::move(blocks_.back());
  blocks_.pop_back();
  for (const Wish& wish : block.wishes) {
    const auto found = block.labels.find(*wish.name);
    if (found != block.labels.end()) {
      *wish.name = found->second;
    } else if (!blocks_.empty()) {
      blocks_.back().wishes.push_back(wish);
    } else {
      return tokens_.fail_at(wish.line, shown(wish.user) + ": " + shown(*wish.name) +
                                            " is not defined in function " + shown(function_.name));
    }
  }
  return true;
}

std::string Scopes::unique(std::string_view name) const {
  const std::uint32_t number = blocks_.back().number;
  return number == 0 ? std::string(name) : std::string(name) + "@" + std::to_string(number);
}

bool Scopes::is_free(std::string_view name) {
  Block& block = blocks_.back();
  const bool taken = find_in(block, name) != nullptr || block.labels.contains(name);
  return !taken || tokens_.fail(shown(name) + " is declared twice");
}

bool Scopes::count_registers(std::uint64_t count) {
  registers_ += count;
  if (count <= tokens_.limits.registers && registers_ <= tokens_.limits.registers) return true;
  return tokens_.fail("the function declares more than " +
                      std::to_string(tokens_.limits.registers) + " registers");
}

Symbol& Scopes::add_register(Block& block, std::string_view name, Type type, unsigned vector) {
  constexpr std::array<std::string_view, 4> kParts{".x", ".y", ".z", ".w"};
  const auto index = static_cast<std::uint32_t>(function_.registers.size());
  for (unsigned i = 0; i < vector; ++i) {
    const std::string_view part = vector == 1 ? std::string_view{} : kParts[i];
    function_.registers.push_back({std::string(name) + std::string(part), type});
  }
  return block.symbols[name] = Symbol{true, index, vector, Space::kRegister, {}};
}

bool Scopes::declare_register(std::string_view name, Type type, unsigned vector) {
  if (!is_free(name) || !count_registers(vector)) return false;
  Block& block = blocks_.back();
  add_register(block, name, type, vector);
  const Numbered parts = split(name);
  if (parts.number) {
    std::uint64_t& smallest = block.smallest.try_emplace(parts.prefix, *parts.number).first->second;
    smallest = std::min(smallest, *parts.number);
  }
  return true;
}

bool Scopes::declare_range(std::string_view prefix, Type type, unsigned vector,
                           std::uint64_t count) {
  Block& block = blocks_.back();
  if (!count_registers(count * vector)) return false;
  const auto smallest = block.smallest.find(prefix);
  const bool overlaps = smallest != block.smallest.end() && smallest->second < count;
  if (overlaps || !block.ranges.try_emplace(prefix, Range{type, vector, count}).second) {
    return tokens_.fail(shown(prefix) + "<" + std::to_string(count) + "> is declared twice");
  }
  return true;
}

std::optional<std::string> Scopes::declare_variable(std::string_view name, Space space) {
  if (!is_free(name)) return std::nullopt;
  std::string result = unique(name);
  // The whole name of the function would be too much: it may be as long as the text.
  if (is_static(space)) {
    result = shown(function_.name) + "@" + std::to_string(number_) + "@" + result;
  }
  blocks_.back().symbols[name] = Symbol{false, 0, 1, space, result};
  return result;
}

std::optional<std::string> Scopes::declare_label(std::string_view name) {
  if (!is_free(name)) return std::nullopt;
  return blocks_.back().labels[name] = unique(name);
}

const Symbol* Scopes::find_in(Block& block, std::string_view name) {
  const auto found = block.symbols.find(name);
  if (found != block.symbols.end()) return &found->second;
  if (block.ranges.empty()) return nullptr;
  const Numbered parts = split(name);
  if (!parts.number) return nullptr;
  const auto range = block.ranges.find(parts.prefix);
  if (range == block.ranges.end() || *parts.number >= range->second.count) return nullptr;
  return &add_register(block, name, range->second.type, range->second.vector);
}

const Symbol* Scopes::find(std::string_view name) {
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    if (const Symbol* found = find_in(blocks_[i], name)) return found;
  }
  return nullptr;
}

void Scopes::wants_label(std::string* name, Line line, std::string_view user) {
  blocks_.back().wishes.push_back({name, line, user});
}

}  // namespace cuda_twin::ptx

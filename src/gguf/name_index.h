// Finds things by name, and names that are there twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::gguf {

/// Sorted, not hashed: names come from a file, which could pick them so that they all hash alike.
class NameIndex {
 public:
  NameIndex() = default;
  /// The names must outlive this. Searches find their positions.
  explicit NameIndex(const std::vector<std::string_view>& names);

  std::optional<std::size_t> find(std::string_view name) const;
  /// Two positions of the same name, the lower first; none if all names differ.
  std::optional<std::pair<std::size_t, std::size_t>> duplicate() const;

 private:
  std::vector<std::pair<std::string_view, std::size_t>> sorted_;
};

}  // namespace shunt::gguf

#include "gguf/name_index.h"

#include <algorithm>

namespace shunt::gguf {

using Entry = std::pair<std::string_view, std::size_t>;

NameIndex::NameIndex(const std::vector<std::string_view>& names) {
  sorted_.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) sorted_.emplace_back(names[i], i);
  std::ranges::sort(sorted_);
}

std::optional<std::size_t> NameIndex::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(sorted_, name, {}, &Entry::first);
  if (found == sorted_.end() || found->first != name) return std::nullopt;
  return found->second;
}

std::optional<std::pair<std::size_t, std::size_t>> NameIndex::duplicate() const {
  const auto found = std::ranges::adjacent_find(sorted_, {}, &Entry::first);
  if (found == sorted_.end()) return std::nullopt;
  return std::pair(found->second, std::next(found)->second);
}

}  // namespace shunt::gguf

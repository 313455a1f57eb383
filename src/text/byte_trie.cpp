#include "text/byte_trie.h"

#include <algorithm>

namespace shunt::text {

ByteTrie::ByteTrie(std::vector<Entry> entries) : first_child_{}, labels_{0}, ids_{kNoId} {
  root_.fill(kNoNode);
  std::ranges::sort(entries);
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });

  /// The entries that pass through a node.
  struct Span {
    std::size_t begin, end;
  };
  std::vector<Span> level = {{0, entries.size()}};
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Span> next;
    for (const Span& span : level) {
      first_child_.push_back(static_cast<std::uint32_t>(labels_.size()));
      std::size_t i = span.begin;
      while (i < span.end && entries[i].first.size() == depth) ++i;  // they end here
      while (i < span.end) {
        const auto label = static_cast<unsigned char>(entries[i].first[depth]);
        const std::size_t begin = i;
        while (i < span.end && static_cast<unsigned char>(entries[i].first[depth]) == label) ++i;
        const bool ends = entries[begin].first.size() == depth + 1;
        if (depth == 0) root_[label] = static_cast<std::uint32_t>(labels_.size());
        labels_.push_back(label);
        ids_.push_back(ends ? entries[begin].second : kNoId);
        next.push_back({begin, i});
      }
    }
    level = std::move(next);
  }
  first_child_.push_back(static_cast<std::uint32_t>(labels_.size()));
}

ByteTrie::Match ByteTrie::longest(std::string_view text) const {
  Match match;
  std::uint32_t node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = step(node, text[i]);
    if (node == kNoNode) break;
    if (ids_[node] != kNoId) match = {i + 1, ids_[node]};
  }
  return match;
}

}  // namespace shunt::text

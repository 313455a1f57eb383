// The ids of short words that came lately: most words of a text come again. One entry for each
// hash, the last word wins; memory is bounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace shunt::text {

class WordCache {
 public:
  /// Short texts are not worth it.
  explicit WordCache(std::size_t text_bytes)
      : entries_(text_bytes < kSmallestText ? 0 : kEntries) {}

  /// Empty if the word is not there.
  std::span<const std::int32_t> find(std::string_view word) const {
    if (!holds(word)) return {};
    const Entry& entry = entries_[index_of(word)];
    if (entry.size != word.size() || std::memcmp(entry.bytes, word.data(), word.size()) != 0) {
      return {};
    }
    return {entry.ids, entry.count};
  }

  void insert(std::string_view word, std::span<const std::int32_t> ids) {
    if (!holds(word) || ids.empty() || ids.size() > kMostIds) return;
    Entry& entry = entries_[index_of(word)];
    entry.size = static_cast<std::uint8_t>(word.size());
    entry.count = static_cast<std::uint8_t>(ids.size());
    std::memcpy(entry.bytes, word.data(), word.size());
    std::ranges::copy(ids, entry.ids);
  }

 private:
  static constexpr std::size_t kSmallestText = 4096;
  static constexpr std::size_t kEntries = 8192;
  static constexpr std::size_t kMostBytes = 30;
  static constexpr std::size_t kMostIds = 8;
  struct Entry {
    std::uint8_t size = 0;
    std::uint8_t count = 0;
    char bytes[kMostBytes] = {};
    std::int32_t ids[kMostIds] = {};
  };

  bool holds(std::string_view word) const {
    return !entries_.empty() && !word.empty() && word.size() <= kMostBytes;
  }
  static std::size_t index_of(std::string_view word) {
    return std::hash<std::string_view>()(word) % kEntries;
  }

  std::vector<Entry> entries_;
};

}  // namespace shunt::text

#include "text/charsmap.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt::text {
namespace {

constexpr std::uint32_t kNoNode = 0xFFFFFFFFu;
constexpr std::size_t kMostTrieBytes = std::size_t{16} << 20;

// A unit of the double array. Bits 0 to 7 are the byte that leads to it. Bit 8 says that a key ends
// there. Bits 10 on are an offset (in 256ths if bit 9 is set) from it to its children. A unit with
// bit 31 is the value of the key that ends at its parent.
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}
bool has_value(std::uint32_t unit) {
  return (unit >> 8 & 1u) != 0;
}
/// A value never equals a byte: bit 31 is a part of the label.
std::uint32_t label_of(std::uint32_t unit) {
  return unit & (1u << 31 | 0xFFu);
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & ~(1u << 31);
}

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view bytes) {
  Charsmap map;
  if (bytes.empty()) return map;
  if (bytes.size() < 4) return invalid("a charsmap of {} bytes has no size", bytes.size());
  const std::size_t trie = read_u32(bytes, 0);
  if (trie > bytes.size() - 4 || trie % 4 != 0 || trie == 0 || trie > kMostTrieBytes) {
    return invalid("a charsmap of {} bytes says that its trie has {}; the limit is {}",
                   bytes.size(), trie, std::min(bytes.size() - 4, kMostTrieBytes));
  }
  for (std::size_t at = 4; at < 4 + trie; at += 4) map.units_.push_back(read_u32(bytes, at));
  map.texts_ = bytes.substr(4 + trie);
  if (map.texts_.empty() || map.texts_.back() != '\0') {
    return invalid("the last text of a charsmap does not end");
  }
  SHUNT_TRY(map.check());
  return map;
}

std::uint32_t Charsmap::child(std::uint32_t node, std::uint32_t label) const {
  const std::uint32_t found = node ^ offset_of(units_[node]) ^ label;
  return found < units_.size() && label_of(units_[found]) == label ? found : kNoNode;
}

Status Charsmap::check_value(std::uint32_t node) const {
  if (!has_value(units_[node])) return ok();
  const std::uint32_t at = node ^ offset_of(units_[node]);
  if (at >= units_.size() || (units_[at] >> 31) == 0) {
    return invalid("unit {} of the charsmap's trie has no value at {}", node, at);
  }
  const std::size_t text = value_of(units_[at]);
  if (text >= texts_.size()) {
    return invalid("unit {} of the charsmap's trie refers to byte {} of {}", at, text,
                   texts_.size());
  }
  if (texts_.find('\0', text) - text > kMostBytes) {
    return invalid("a text of the charsmap has more than {} bytes", kMostBytes);
  }
  return ok();
}

/// Visits each node once, depth first. `heights` are the most steps from a node on.
Status Charsmap::check() const {
  constexpr std::uint16_t kNew = 0xFFFF;
  constexpr std::uint16_t kOpen = 0xFFFE;
  struct Visit {
    std::uint32_t node;
    std::uint32_t label = 1;  ///< the next one to try
    std::uint16_t height = 0;
  };
  std::vector<std::uint16_t> heights(units_.size(), kNew);
  std::vector<Visit> path = {{0}};
  heights[0] = kOpen;
  while (!path.empty()) {
    Visit& visit = path.back();
    if (visit.label == 256) {
      SHUNT_TRY(check_value(visit.node));
      heights[visit.node] = visit.height;
      const auto height = static_cast<std::uint16_t>(visit.height + 1);
      path.pop_back();
      if (!path.empty()) path.back().height = std::max(path.back().height, height);
      continue;
    }
    const std::uint32_t next = child(visit.node, visit.label++);
    if (next == kNoNode) continue;
    if (heights[next] == kOpen) {
      return invalid("the charsmap's trie goes in a circle at unit {}", next);
    }
    if (heights[next] != kNew) {
      visit.height = std::max(visit.height, static_cast<std::uint16_t>(heights[next] + 1));
    }
    if (path.size() > kMostBytes || path.size() + visit.height > kMostBytes + 1) {
      return invalid("a rule of the charsmap is for more than {} bytes", kMostBytes);
    }
    if (heights[next] == kNew) {
      heights[next] = kOpen;
      path.push_back({next});
    }
  }
  return ok();
}

Charsmap::Replacement Charsmap::find(std::string_view text) const {
  Replacement found;
  if (units_.empty()) return found;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (node == kNoNode) break;
    if (!has_value(units_[node])) continue;
    const std::uint32_t value = units_[node ^ offset_of(units_[node])];
    found = {texts_.c_str() + value_of(value), i + 1};  // up to its zero; the last byte is one
  }
  return found;
}

}  // namespace shunt::text

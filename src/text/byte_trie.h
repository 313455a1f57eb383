// A set of strings with ids, walked byte by byte. It is built once; a step costs a look at the few
// bytes that may follow. Memory is 9 bytes for each byte of the strings at most.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::text {

class ByteTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::uint32_t kNoNode = 0xFFFFFFFFu;
  static constexpr std::int32_t kNoId = -1;
  using Entry = std::pair<std::string_view, std::int32_t>;

  ByteTrie() : ByteTrie(std::vector<Entry>()) {}
  /// Empty strings are left out; of equal ones that with the lowest id counts.
  explicit ByteTrie(std::vector<Entry> entries);

  /// The node one byte further; kNoNode if no string goes on so.
  std::uint32_t step(std::uint32_t node, char byte) const {
    const auto label = static_cast<unsigned char>(byte);
    if (node == kRoot) return root_[label];
    for (std::uint32_t child = first_child_[node]; child < first_child_[node + 1]; ++child) {
      if (labels_[child] == label) return child;
    }
    return kNoNode;
  }
  /// The id of the string that ends at a node; kNoId if none does.
  std::int32_t id(std::uint32_t node) const { return ids_[node]; }

  struct Match {
    std::size_t size = 0;
    std::int32_t id = kNoId;
  };
  /// The longest string at the start of `text`.
  Match longest(std::string_view text) const;

 private:
  std::array<std::uint32_t, 256> root_;
  // By node, in the order of breadth-first search: children of a node are neighbours.
  std::vector<std::uint32_t> first_child_;
  std::vector<unsigned char> labels_;
  std::vector<std::int32_t> ids_;
};

}  // namespace shunt::text

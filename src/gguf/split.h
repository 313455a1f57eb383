// Files in several parts: the names of the parts, and the metadata about the split.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shunt/gguf.h"

namespace shunt::gguf {

/// "PREFIX-00002-of-00003.gguf"; parts count from 1 there, and from 0 everywhere else.
struct PartName {
  std::string prefix;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
};

std::optional<PartName> parse_part_name(std::string_view path);
std::string part_path(std::string_view prefix, std::uint32_t number, std::uint32_t count);

/// The keys split.no, split.count and split.tensors.count.
struct Split {
  std::uint32_t number = 0;
  std::uint32_t count = 1;               ///< 1 if the file is whole
  std::optional<std::uint64_t> tensors;  ///< of all parts
};

/// The split as the metadata of a part describe it. Without split.count, or if it is 0 or 1, the
/// file is whole.
Result<Split> read_split(std::span<const KeyValue> metadata);

/// That the file at `path` is the first of `split.count` parts, in content and name; its name's
/// prefix.
Result<std::string> check_first_part(const std::string& path, const Split& split);

}  // namespace shunt::gguf

// Reads the metadata: keys and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

inline constexpr std::size_t kMaxKeyBytes = 65535;  // the format's limit
/// The fewest bytes of an entry: length of the key, one byte of it, type, a value of one byte.
inline constexpr std::size_t kLeastEntryBytes = 8 + 1 + 4 + 1;

/// `count` entries, all keys different.
Result<std::vector<KeyValue>> read_metadata(Reader& reader, std::uint64_t count);

/// The value of a key, or null.
const Value* find_value(std::span<const KeyValue> metadata, std::string_view key);

/// How messages name one item of several, counted from 1: "metadata 3 of 12 'general.name'". An
/// empty name is one that is not known yet.
std::string item_name(std::string_view kind, std::uint64_t index, std::uint64_t count,
                      std::string_view name);

}  // namespace shunt::gguf

// The content of a File: its parts, and the joined content of the parts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gguf/name_index.h"
#include "gguf/part.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

/// One part's bytes, and where its tensors' data start in them.
struct PartData {
  std::span<const std::byte> bytes;
  std::size_t data_start = 0;
  std::shared_ptr<const void> mapping;  ///< null if the bytes are the caller's
};

/// Never changed nor moved once it is joined: the indices point into it.
struct FileState {
  std::string path;
  std::uint32_t version = 0;
  std::endian order = std::endian::little;  ///< the first part's
  std::uint64_t alignment = 0;
  std::uint64_t listed_tensors = 0;  ///< of all parts, those left out included
  std::vector<KeyValue> metadata;    ///< the first part's
  std::vector<TensorInfo> tensors;   ///< all parts', in order
  std::vector<PartData> parts;
  NameIndex keys;   ///< of metadata
  NameIndex names;  ///< of tensors
};

/// Adds a part after those that are there.
void add_part(FileState* state, Part part, PartData data);

/// Indexes the added parts, and checks that no two parts have a tensor of the same name and that
/// there are `expected_tensors`, if that is known.
Status join_parts(FileState* state, std::optional<std::uint64_t> expected_tensors);

}  // namespace shunt::gguf

// Writing a file in parts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gguf/file_writer.h"
#include "shunt/gguf_parts.h"

namespace shunt::gguf {

/// The first tensor of each part. Invalid for limits that do not fit.
Result<std::vector<std::size_t>> part_starts(const FileContent& content, const PartLimits& limits);

/// As write_split(), with the data from `pieces`, by the number of a tensor in `content`. Invalid
/// if a part is one of the files `read`.
Result<std::vector<std::string>> write_parts(const std::string& prefix, const FileContent& content,
                                             const PartLimits& limits,
                                             std::span<const std::string> read,
                                             const Writer::Pieces& pieces);

/// "NAME" of "NAME.gguf": the prefix of parts in place of a file.
std::string prefix_of(const std::string& path);
/// Whether a key is about parts.
bool is_split_key(std::string_view key);
/// The paths of all parts of a file that was opened.
std::vector<std::string> paths_of(const File& file);
/// Invalid if `path` leads to one of the files `read`.
Status check_not_read(const std::string& path, std::span<const std::string> read);

}  // namespace shunt::gguf

/// \file
/// GGUF files in several parts, "PREFIX-00001-of-00003.gguf" and so on, as other programs read
/// them: cutting a file into parts, and joining them again. File::open() (gguf.h) reads all parts.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model.gguf"));
/// SHUNT_TRY(gguf::write_split("model", file, {.bytes = std::uint64_t{4} << 30}));
/// SHUNT_ASSIGN(const gguf::File parts, gguf::File::open("model-00001-of-00002.gguf"));
/// SHUNT_TRY(gguf::write_merged("again.gguf", parts));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

/// The most that a part has. A part has at least one tensor, however large that is.
struct PartLimits {
  std::uint64_t bytes = 0;    ///< of its file; 0: no limit
  std::uint64_t tensors = 0;  ///< 0: no limit
};

/// The most parts that are written.
inline constexpr std::size_t kMostParts = 500;

/// Called now and then with bytes of data done and in all. An error ends it.
using CopyProgress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// Writes all of `file` as parts. The first one has its metadata, and each has the keys split.no,
/// split.count and split.tensors.count. Parts get their names when all are complete, the first one
/// last. Takes memory for some of a tensor. The paths of the parts. Invalid without a limit, for
/// more than kMostParts parts, or if a part is a file that is read; else the errors of
/// Writer::write().
Result<std::vector<std::string>> write_split(const std::string& prefix, const File& file,
                                             const PartLimits& limits,
                                             const CopyProgress& progress = {});

/// Writes all of `file`, which may be in parts, as one file without keys about parts. Its tensors
/// keep their order. Invalid if `path` is a file that is read.
Status write_merged(const std::string& path, const File& file, const CopyProgress& progress = {});

/// That the parts of the file whose first one is at `path` are all of its kind in the folder.
/// BadFile, naming one with a number above their count; Io if the folder can't be listed.
Status check_no_other_parts(const std::string& path);

}  // namespace shunt::gguf

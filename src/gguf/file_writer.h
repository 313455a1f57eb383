// Writing the bytes of a GGUF file: header, then data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gguf/header_bytes.h"
#include "shunt/files.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

/// All of a file but its data. Tensors have names, shapes and sizes; offsets are set by these
/// functions. Another alignment than 32 becomes a key.
struct FileContent {
  std::vector<KeyValue> metadata;
  std::vector<TensorInfo> tensors;
  std::uint32_t alignment = 32;
};

/// Invalid unless the tensor can be written: contiguous, of fixed size and not empty.
Status check_writable(const std::string& name, const Tensor& tensor);
/// The bytes up to the data. Invalid for metadata that can't be written.
Result<HeaderBytes> header_of(FileContent content);
/// Writes a file that gets its name when it is committed. Errors are those of Writer::write().
Result<OutputFile> write_content(const std::string& path, FileContent content,
                                 const Writer::Pieces& pieces);

}  // namespace shunt::gguf

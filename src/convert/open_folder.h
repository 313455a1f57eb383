// Everything of a folder, or of an old GGUF file, that a conversion writes.
#pragma once

#include <string>
#include <vector>

#include "model/quantize_source.h"
#include "shunt/convert.h"

namespace shunt {

/// A file that is to be written, without its data, and where the rows of its tensors come from.
struct OpenedFolder {
  std::vector<std::string> inputs;  ///< files that are read, and all others of their folders
  gguf::File file;
  TensorRows rows;                 ///< of the tensors of `file`
  std::vector<std::string> notes;  ///< for the user, a line each
  bool is_adapter = false;
};

/// As FolderConversion::open().
Result<OpenedFolder> open_folder(const std::string& path, const FolderOptions& options);

}  // namespace shunt

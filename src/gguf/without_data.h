// A file that does not exist yet: its keys, and its tensors without data.
#pragma once

#include <string>
#include <vector>

#include "shunt/gguf.h"

namespace shunt::gguf {

/// Its data() gives no bytes. Messages use `name` as the file's name. BadFile for two tensors, or
/// two keys, of the same name.
Result<File> without_data(const std::string& name, std::vector<KeyValue> metadata,
                          std::vector<TensorInfo> tensors);

}  // namespace shunt::gguf

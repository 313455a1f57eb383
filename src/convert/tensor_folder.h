// The tensors of a Hugging Face folder: one safetensors file, or several with an index.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "convert/safetensors.h"

namespace shunt {

/// A tensor by the name that tables have: without the prefixes of modules around the model.
struct NamedTensor {
  const StoredTensor* tensor = nullptr;
  const SafetensorsFile* file = nullptr;
};

/// "layers.0.mlp.up_proj.weight" of "model.language_model.layers.0.mlp.up_proj.weight".
std::string plain_name(std::string_view name);

class TensorFolder {
 public:
  /// Opens all safetensors files of a folder, or one file. NotFound without one; BadFile for an
  /// index that names a file outside the folder, that lacks a file or a tensor of one, and for a
  /// part that the index does not name.
  static Result<TensorFolder> open(const std::string& path);

  /// Adds the tensors of a file; `prefix` stands before their plain names.
  Status add_file(const std::string& path, std::string prefix);

  /// Null if there is none. `name` is a plain one.
  const NamedTensor* find(std::string_view name) const;
  /// All, by plain name.
  const std::map<std::string, NamedTensor, std::less<>>& tensors() const { return tensors_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }

 private:
  Status add_names();

  std::vector<SafetensorsFile> files_;
  std::vector<std::string> prefixes_;  ///< of names, by file
  std::map<std::string, NamedTensor, std::less<>> tensors_;
};

}  // namespace shunt

// The files of sentence-transformers in a folder: the steps from a model's vectors to an embedding.
#pragma once

#include <string>
#include <vector>

#include "convert/file_keys.h"
#include "convert/tensor_folder.h"

namespace shunt {

class SentenceModules {
 public:
  /// Those of modules.json; none for a folder without it. BadFile for another content.
  static Result<SentenceModules> read(const std::string& folder);

  /// Adds the matrices of modules Dense to the tensors, as "dense.0.linear.weight" and so on, and
  /// their sizes to the keys. Unsupported, naming the module, for one that `shunt embed` does not
  /// have.
  Status add_dense(TensorFolder& tensors, std::string_view architecture, FileKeys& keys) const;
  /// Pooling and prompts as keys of the file. `lower_case`: the tokenizer makes all letters small.
  /// Unsupported, naming the module, for one that `shunt embed` does not have.
  Status add_keys(bool lower_case, FileKeys& keys) const;

 private:
  /// A line of modules.json.
  struct Module {
    std::string type;  ///< the name of its class
    std::string path;  ///< of its folder
  };
  std::string path() const;
  std::string path_of(const Module& module, const char* file) const;
  std::vector<Module> dense() const;
  Error unknown(std::size_t number) const;
  Status check_pooled() const;
  Status add_pooling(const Module& module, FileKeys& keys) const;
  Status add_length(bool lower_case, FileKeys& keys) const;
  Status add_prompts(FileKeys& keys) const;

  std::string folder_;
  std::vector<Module> modules_;
};

}  // namespace shunt

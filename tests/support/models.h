// Models made for a test: noise of a known shape, and files with something wrong in them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "shunt/gguf.h"
#include "shunt/synth.h"
#include "support/gguf_bytes.h"

namespace shunt::test {

/// Two layers as small as they can be, for tests that run a model very often.
SynthOptions tiny_shape();

/// A model of noise in a folder that goes with it. Throws if it can't be made.
class SynthModel {
 public:
  explicit SynthModel(const SynthOptions& options = {});
  const std::string& path() const { return path_; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  std::string path_;
};

/// A GGUF file's content, to be changed. `from` is the tensor whose bytes a tensor begins with; the
/// rest is zero.
struct EditedFile {
  struct EditedTensor {
    std::string name;
    Tensor tensor;
    const gguf::TensorInfo* from = nullptr;
    std::vector<std::pair<std::size_t, float>> elements = {};  ///< F32 ones that are others
  };
  std::vector<gguf::KeyValue> metadata;
  std::vector<EditedTensor> tensors;

  void remove_key(const std::string& key);
  void set(const std::string& key, gguf::Value value);
  void remove_tensor(const std::string& name);
  void set_element(const std::string& name, std::size_t index, float value);
  void reshape(const std::string& name, const Shape& shape);
};

/// Writes a copy of the file at `from` with changes. Throws if that can't be done.
void write_edited(const std::string& from, const std::string& to,
                  const std::function<void(EditedFile&)>& edit);

/// The bytes of a file's tensor in the byte order of memory, and its values.
std::vector<std::byte> bytes_of(const gguf::File& file, const gguf::TensorInfo& info);
std::vector<float> values_of(const gguf::File& file, const gguf::TensorInfo& info);

}  // namespace shunt::test

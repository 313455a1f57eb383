#include "support/models.h"

#include <algorithm>
#include <stdexcept>

#include "support/must.h"
#include "tensor/byte_order.h"

namespace shunt::test {
namespace {

EditedFile::EditedTensor& find_tensor(EditedFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.tensors, name, &EditedFile::EditedTensor::name);
  if (found == file.tensors.end()) throw std::runtime_error("there is no tensor " + name);
  return *found;
}

}  // namespace

SynthOptions tiny_shape() {
  SynthOptions options;
  options.width = 16;
  options.feed_forward = 16;
  options.heads = 2;
  options.kv_heads = 1;
  options.vocabulary = 300;
  return options;
}

SynthModel::SynthModel(const SynthOptions& options) : path_(folder_.file("synth.gguf")) {
  must(write_synth_model(path_, options));
}

void EditedFile::remove_key(const std::string& key) {
  if (std::erase_if(metadata, [&](const auto& entry) { return entry.key == key; }) == 0) {
    throw std::runtime_error("there is no key " + key);
  }
}

void EditedFile::set(const std::string& key, gguf::Value value) {
  const auto found = std::ranges::find(metadata, key, &gguf::KeyValue::key);
  if (found == metadata.end()) {
    metadata.push_back({key, std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

void EditedFile::remove_tensor(const std::string& name) {
  find_tensor(*this, name);
  std::erase_if(tensors, [&](const EditedTensor& tensor) { return tensor.name == name; });
}

void EditedFile::set_element(const std::string& name, std::size_t index, float value) {
  find_tensor(*this, name).elements.emplace_back(index, value);
}

void EditedFile::reshape(const std::string& name, const Shape& shape) {
  EditedTensor& tensor = find_tensor(*this, name);
  tensor.tensor = must(make_tensor(tensor.tensor.dtype, shape));
}

void write_edited(const std::string& from, const std::string& to,
                  const std::function<void(EditedFile&)>& edit) {
  const gguf::File file = must(gguf::File::open(from));
  EditedFile edited;
  edited.metadata.assign(file.metadata().begin(), file.metadata().end());
  for (const gguf::TensorInfo& info : file.tensors()) {
    edited.tensors.push_back({info.name, info.tensor, &info});
  }
  edit(edited);
  gguf::Writer writer;
  for (const gguf::KeyValue& entry : edited.metadata) writer.add(entry.key, entry.value);
  for (const auto& tensor : edited.tensors) must(writer.add_tensor(tensor.name, tensor.tensor));
  std::vector<std::byte> bytes;
  must(writer.write(to, [&](std::size_t index) -> Result<std::span<const std::byte>> {
    const auto& tensor = edited.tensors[index];
    bytes.assign(static_cast<std::size_t>(byte_span(tensor.tensor)), std::byte{0});
    const auto data = file.data(*tensor.from);
    std::ranges::copy(data.first(std::min(data.size(), bytes.size())), bytes.begin());
    for (const auto& [at, value] : tensor.elements) {
      store_little(value, &bytes.at(at * sizeof value));
    }
    return bytes;
  }));
}

std::vector<std::byte> bytes_of(const gguf::File& file, const gguf::TensorInfo& info) {
  const std::span<const std::byte> data = file.data(info);
  std::vector<std::byte> bytes(data.begin(), data.end());
  convert_byte_order(info.tensor.dtype, info.order, bytes);
  return bytes;
}

std::vector<float> values_of(const gguf::File& file, const gguf::TensorInfo& info) {
  const std::int64_t count = element_count(info.tensor.shape);
  std::vector<float> values(static_cast<std::size_t>(count));
  trait(info.tensor.dtype).decode(bytes_of(file, info).data(), values.data(), count);
  return values;
}

}  // namespace shunt::test

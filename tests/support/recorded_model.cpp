#include "support/recorded_model.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/to_size.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "support/must.h"
#include "tensor/byte_order.h"

namespace shunt::test {

namespace {

nlohmann::json read_json(const std::string& name) {
  std::ifstream file(std::filesystem::path(SHUNT_TEST_ARCHITECTURES) / (name + ".json"));
  if (!file) throw std::runtime_error("no record of " + name);
  return nlohmann::json::parse(file);
}

/// Base64 (RFC 4648).
std::vector<std::uint8_t> decode_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;  // padding
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(count)));
  }
  return bytes;
}

std::vector<float> decode_floats(const std::string& text) {
  const std::vector<std::uint8_t> bytes = decode_base64(text);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  convert_byte_order(DType::kF32, std::endian::little, std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3;
  return hash;
}

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EB;
  return x ^ (x >> 31U);
}

/// tests/oracle/README.md has the formula.
std::vector<float> generate(const std::string& name, const Tensor& tensor, double scale,
                            double offset) {
  const std::uint64_t seed = fnv1a(name);
  std::vector<float> values(to_size(element_count(tensor.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<double>(splitmix64(seed + i) >> 40U);
    values[i] = static_cast<float>(offset + scale * (bits / 8388608.0 - 1));
  }
  return values;
}

gguf::Value value_of(const nlohmann::json& value) {
  if (value.is_boolean()) return {gguf::ValueType::kBool, value.get<bool>()};
  if (value.is_string()) return {gguf::ValueType::kString, value.get<std::string>()};
  if (value.is_number_unsigned()) return {gguf::ValueType::kU32, value.get<std::uint64_t>()};
  if (value.is_number_integer()) return {gguf::ValueType::kI32, value.get<std::int64_t>()};
  if (value.is_number_float()) return {gguf::ValueType::kF32, value.get<double>()};
  auto array = std::make_shared<gguf::Array>();
  if (!value.empty() && value[0].is_string()) {
    array->type = gguf::ValueType::kString;
    array->strings = value.get<std::vector<std::string>>();
    return {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(array)};
  }
  const bool flags = !value.empty() && value[0].is_boolean();
  const bool floats = !value.empty() && value[0].is_number_float();
  array->type = flags    ? gguf::ValueType::kBool
                : floats ? gguf::ValueType::kF32
                         : gguf::ValueType::kI32;
  for (const nlohmann::json& element : value) {
    if (floats) {
      array->floats.push_back(element.get<double>());
    } else {
      array->integers.push_back(flags ? static_cast<std::int64_t>(element.get<bool>())
                                      : element.get<std::int64_t>());
    }
  }
  return {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(array)};
}

/// A vocabulary of this size: models are given tokens by number.
void add_tokens(gguf::Writer& writer, std::int64_t size) {
  gguf::Array tokens = {
      .type = gguf::ValueType::kString, .strings = {"<unk>"}, .floats = {}, .integers = {}};
  for (std::int64_t i = 1; i < size; ++i) tokens.strings.push_back(fmt::format("t{}", i));
  writer.add_string("tokenizer.ggml.model", "llama");
  writer.add_array("tokenizer.ggml.tokens", std::move(tokens));
  writer.add_u32("tokenizer.ggml.unknown_token_id", 0);
}

std::vector<std::string> names_with(const char* field) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SHUNT_TEST_ARCHITECTURES)) {
    if (const std::string name = entry.path().stem().string(); read_json(name).contains(field))
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> recorded_models() {
  return names_with("logits");
}
std::vector<std::string> recorded_encoders() {
  return names_with("hidden");
}

std::vector<std::string> recorded_rerankers() {
  return names_with("scores");
}

std::string recorded_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  const auto is_other = [](unsigned char c) { return std::isalnum(c) == 0; };
  std::ranges::replace_if(name, is_other, '_');
  return name;
}

RecordedModel read_recorded(const std::string& name) {
  const nlohmann::json record = read_json(name);
  RecordedModel model;
  model.name = name;
  model.architecture = record.at("architecture").get<std::string>();
  model.tokens = record.at("tokens").get<std::vector<std::int32_t>>();
  model.vocabulary = record.at("vocabulary").get<std::int64_t>();
  const auto floats = [&](const char* field) {
    return record.contains(field) ? decode_floats(record.at(field).get<std::string>())
                                  : std::vector<float>();
  };
  model.logits = floats("logits");
  model.hidden = floats("hidden");
  model.scores = floats("scores");
  if (record.contains("types")) {
    const auto types = record.at("types").get<std::vector<std::int32_t>>();
    model.second_text = std::ranges::find(types, 1) - types.begin();
  }
  model.float32_difference = record.at("float32_difference").get<float>();
  return model;
}

namespace {

/// A recorded file's content after a change, and the numbers of its generator.
struct Content {
  Content(const std::string& name, const std::function<void(EditedFile&)>& edit) {
    const nlohmann::json record = read_json(name);
    const std::string architecture = record.at("architecture").get<std::string>();
    file.set("general.architecture", {gguf::ValueType::kString, architecture});
    for (const auto& [key, value] : record.at("keys").items())
      file.set(architecture + "." + key, value_of(value));
    for (const nlohmann::json& row : record.at("tensors")) {
      const auto sizes = row.at(1).get<std::vector<std::int64_t>>();
      Shape shape;
      for (std::size_t i = 0; i < sizes.size(); ++i) shape[i] = sizes[i];
      gguf::TensorInfo info;
      info.name = row.at(0).get<std::string>();
      info.tensor = must(make_tensor(DType::kF32, shape));
      infos.push_back(info);
      scales.emplace_back(row.at(2).get<double>(), row.at(3).get<double>());
    }
    for (const gguf::TensorInfo& info : infos)
      file.tensors.push_back({info.name, info.tensor, &info});
    if (edit) edit(file);
    for (const gguf::KeyValue& entry : file.metadata) writer.add(entry.key, entry.value);
    add_tokens(writer, record.at("vocabulary").get<std::int64_t>());
    for (const auto& tensor : file.tensors) must(writer.add_tensor(tensor.name, tensor.tensor));
  }

  /// A tensor with another name has the values of the one that it was.
  std::vector<float> values(std::size_t index) const {
    const auto& tensor = file.tensors[index];
    const auto& [scale, offset] = scales.at(to_size(tensor.from - infos.data()));
    std::vector<float> made = generate(tensor.from->name, tensor.tensor, scale, offset);
    for (const auto& [at, value] : tensor.elements) made.at(at) = value;
    return made;
  }

  EditedFile file;
  std::vector<gguf::TensorInfo> infos;
  std::vector<std::pair<double, double>> scales;  // and offsets
  gguf::Writer writer;
};

}  // namespace

std::vector<RecordedTensor> recorded_tensors(const std::string& name) {
  const nlohmann::json record = read_json(name);
  std::vector<RecordedTensor> tensors;
  for (const nlohmann::json& row : record.at("tensors")) {
    RecordedTensor tensor;
    tensor.name = row.at(0).get<std::string>();
    tensor.sizes = row.at(1).get<std::vector<std::int64_t>>();
    Shape shape;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) shape[i] = tensor.sizes[i];
    tensor.values = generate(tensor.name, must(make_tensor(DType::kF32, shape)),
                             row.at(2).get<double>(), row.at(3).get<double>());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<gguf::KeyValue> recorded_keys(const std::string& name) {
  const nlohmann::json record = read_json(name);
  std::vector<gguf::KeyValue> keys;
  for (const auto& [key, value] : record.at("keys").items()) keys.push_back({key, value_of(value)});
  return keys;
}

void write_recorded(const std::string& name, const std::string& path,
                    const std::function<void(EditedFile&)>& edit) {
  const Content content(name, edit);
  std::vector<float> values;
  must(content.writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
    values = content.values(index);
    const auto bytes = std::as_writable_bytes(std::span(values));
    convert_byte_order(DType::kF32, std::endian::little, bytes);
    return bytes;
  }));
}

std::vector<std::byte> recorded_zeros(const std::string& name,
                                      const std::function<void(EditedFile&)>& edit) {
  const Content content(name, edit);
  std::vector<std::byte> bytes = must(content.writer.header());
  constexpr std::size_t kAlignment = 32;
  std::size_t size = kAlignment;
  for (const auto& tensor : content.file.tensors)
    size += to_size(byte_span(tensor.tensor)) + kAlignment;
  bytes.resize(bytes.size() + size);
  return bytes;
}

}  // namespace shunt::test

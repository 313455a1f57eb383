#include "support/published_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>

#include "base/to_size.h"
#include "shunt/message.h"
#include "shunt/tensor.h"
#include "support/must.h"
#include "support/recorded_model.h"

namespace shunt::test {

namespace {

namespace fs = std::filesystem;

/// What is done to each number, as published.py counts.
enum class Function : std::uint8_t { kSame, kLessOne, kLog };

std::string with_numbers(std::string name, std::int64_t layer, std::int64_t expert) {
  if (const auto at = name.find("{}"); at != std::string::npos)
    name.replace(at, 2, std::to_string(layer));
  if (const auto at = name.find('#'); at != std::string::npos)
    name.replace(at, 1, std::to_string(expert));
  return name;
}

/// All numbers of a recorded model, one tensor after another.
class RecordedNumbers {
 public:
  explicit RecordedNumbers(const std::string& name) {
    for (const RecordedTensor& tensor : recorded_tensors(name)) {
      starts_[tensor.name] = std::ssize(numbers_);
      numbers_.insert(numbers_.end(), tensor.values.begin(), tensor.values.end());
    }
  }

  /// Adds the numbers of a piece [tensor, start, count, stride, ...], the innermost loop first.
  void gather(const nlohmann::json& piece, std::int64_t layer, std::int64_t distance,
              std::vector<float>& to) const {
    std::vector<std::int64_t> loops;
    for (std::size_t i = 2; i < piece.size(); ++i) loops.push_back(piece[i].get<std::int64_t>());
    const std::string name = with_numbers(piece[0].get<std::string>(), layer, 0);
    add(starts_.at(name) + piece[1].get<std::int64_t>() + distance, loops, to);
  }

 private:
  void add(std::int64_t start, std::span<const std::int64_t> loops, std::vector<float>& to) const {
    if (loops.empty()) {
      to.push_back(numbers_.at(to_size(start)));
      return;
    }
    const std::int64_t stride = loops.back();
    const std::int64_t count = loops[loops.size() - 2];
    for (std::int64_t i = 0; i < count; ++i)
      add(start + i * stride, loops.first(loops.size() - 2), to);
  }

  std::map<std::string, std::int64_t> starts_;
  std::vector<float> numbers_;
};

float applied(Function function, float number) {
  if (function == Function::kLessOne) return number - 1;
  return function == Function::kLog ? std::log(-number) : number;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

/// Of the kind of Llama 2, which is read by every build.
std::string tokenizer_of(std::int64_t size) {
  nlohmann::json vocab = {{"<unk>", 0}};
  for (std::int64_t i = 1; i < size; ++i) vocab[fmt::format("t{}", i)] = i;
  const nlohmann::json tokenizer = {{"model",
                                     {{"type", "BPE"},
                                      {"unk_token", "<unk>"},
                                      {"byte_fallback", true},
                                      {"vocab", vocab},
                                      {"merges", nlohmann::json::array()}}}};
  return tokenizer.dump();
}

}  // namespace

std::vector<std::string> published_models_recorded() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SHUNT_TEST_PUBLISHED))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

PublishedFolder read_published(const std::string& name) {
  std::ifstream file(fs::path(SHUNT_TEST_PUBLISHED) / (name + ".json"));
  if (!file) throw std::runtime_error("no record of the folder of " + name);
  const nlohmann::json record = nlohmann::json::parse(file);
  PublishedFolder folder;
  folder.config = record.at("config");
  const RecordedNumbers numbers(name);
  // [name, layers, experts, distance of experts, shape, function, pieces...]
  for (const nlohmann::json& row : record.at("tensors")) {
    auto layers = row.at(1).get<std::vector<std::int64_t>>();
    if (layers.empty()) layers.push_back(0);
    const auto experts = std::max<std::int64_t>(row.at(2).get<std::int64_t>(), 1);
    const auto function = static_cast<Function>(row.at(5).get<int>());
    for (const std::int64_t layer : layers) {
      for (std::int64_t expert = 0; expert < experts; ++expert) {
        PublishedValues tensor;
        tensor.name = with_numbers(row.at(0).get<std::string>(), layer, expert);
        tensor.shape = row.at(4).get<std::vector<std::int64_t>>();
        for (std::size_t i = 6; i < row.size(); ++i)
          numbers.gather(row[i], layer, expert * row.at(3).get<std::int64_t>(), tensor.values);
        for (float& number : tensor.values) number = applied(function, number);
        folder.tensors.push_back(std::move(tensor));
      }
    }
  }
  return folder;
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i)));
  return bytes + header + data;
}

std::string safetensors_of(const std::vector<PublishedValues>& tensors, bool bf16) {
  const DType type = bf16 ? DType::kBF16 : DType::kF32;
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const PublishedValues& tensor : tensors) {
    std::vector<std::byte> bytes(tensor.values.size() * trait(type).block_bytes);
    must(encode_row(type, tensor.values, {}, bytes));
    convert_byte_order(type, std::endian::little, bytes);
    const std::size_t start = data.size();
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    header[tensor.name] = {{"dtype", bf16 ? "BF16" : "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {start, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

void write_published(const PublishedFolder& folder, const std::string& path) {
  const fs::path root(path);
  fs::create_directories(root);
  write_text(root / "config.json", folder.config.dump());
  const auto vocabulary = folder.config.at("vocab_size").get<std::int64_t>();
  write_text(root / "tokenizer.json", tokenizer_of(vocabulary));
  if (folder.parts == 1) {
    write_text(root / "model.safetensors", safetensors_of(folder.tensors, folder.bf16));
    return;
  }
  nlohmann::json map;
  std::vector<std::vector<PublishedValues>> parts(folder.parts);
  for (std::size_t i = 0; i < folder.tensors.size(); ++i) {
    const std::size_t part = i % folder.parts;
    parts[part].push_back(folder.tensors[i]);
    map[folder.tensors[i].name] =
        fmt::format("model-{:05}-of-{:05}.safetensors", part + 1, folder.parts);
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    write_text(root / fmt::format("model-{:05}-of-{:05}.safetensors", part + 1, folder.parts),
               safetensors_of(parts[part], folder.bf16));
  }
  write_text(root / "model.safetensors.index.json",
             nlohmann::json({{"metadata", nlohmann::json::object()}, {"weight_map", map}}).dump());
}

}  // namespace shunt::test

#include "convert/tensor_folder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include "convert/json_text.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kEnding = ".safetensors";
constexpr std::uint64_t kMostIndexBytes = std::uint64_t{1} << 28;
/// Modules around the layers of a model of text.
constexpr std::array<std::string_view, 9> kAround = {"model.",    "language_model.", "text_model.",
                                                     "backbone.", "transformer.",    "decoder.",
                                                     "bert.",     "roberta.",        "base_model."};
/// Names of the list of layers, beside "layers.".
constexpr std::array<std::string_view, 2> kLists = {"encoder.layer.", "encoder.layers."};

/// "model-00001-of-00003.safetensors"
bool is_part_name(std::string_view name) {
  constexpr std::string_view kPartPattern = "model-#####-of-#####.safetensors";
  const auto fits = [](char c, char of_pattern) {
    return of_pattern == '#' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == of_pattern;
  };
  return std::ranges::equal(name, kPartPattern, fits);
}

/// What an index says: the file of each tensor.
using WeightMap = std::map<std::string, std::string>;

Result<WeightMap> read_index(const std::string& path) {
  SHUNT_ASSIGN(const nlohmann::json index, read_json_file(path, kMostIndexBytes));
  const auto list = index.is_object() ? index.find("weight_map") : index.end();
  if (list == index.end() || !list->is_object() || list->empty()) {
    return fail(ErrorCode::kBadFile, "{}: expected an object \"weight_map\" with files of tensors",
                path);
  }
  WeightMap map;
  for (const auto& [tensor, file] : list->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    const bool inside = name.find('/') == std::string::npos && name.ends_with(kEnding) &&
                        name.find('\0') == std::string::npos;
    if (!inside) {
      return fail(ErrorCode::kBadFile,
                  "{}: tensor {} is in {}; the name of a safetensors file in the same folder is "
                  "expected",
                  path, gguf::printable(tensor), describe_json(file));
    }
    map.emplace(tensor, name);
  }
  return map;
}

/// That the index and the files have the same tensors.
Status check_index(const std::string& path, const WeightMap& map,
                   const std::vector<SafetensorsFile>& files) {
  std::size_t found = 0;
  for (const SafetensorsFile& file : files) {
    const std::string name = fs::path(file.path()).filename().string();
    for (const StoredTensor& tensor : file.tensors()) {
      const auto entry = map.find(tensor.name);
      if (entry == map.end() || entry->second != name) {
        return fail(ErrorCode::kBadFile, "{}: tensor {} is in {}, but not by the index {}",
                    file.path(), gguf::printable(tensor.name), name, path);
      }
      ++found;
    }
  }
  if (found == map.size()) return ok();
  for (const auto& [tensor, name] : map) {
    const auto has = [&](const SafetensorsFile& file) {
      return std::ranges::count(file.tensors(), tensor, &StoredTensor::name) > 0;
    };
    if (std::ranges::none_of(files, has))
      return fail(ErrorCode::kBadFile, "{}: tensor {} is missing in {}", path,
                  gguf::printable(tensor), name);
  }
  return ok();
}

Status check_superfluous(const std::string& folder, const std::set<std::string>& names) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_part_name(name) && !names.contains(name)) {
      return fail(ErrorCode::kBadFile, "{}: the index of the folder does not name this part",
                  entry.path().string());
    }
  }
  return ok();
}

Result<std::vector<SafetensorsFile>> open_parts(const std::string& folder,
                                                const std::string& index) {
  SHUNT_ASSIGN(const WeightMap map, read_index(index));
  std::set<std::string> names;
  for (const auto& [tensor, name] : map) names.insert(name);
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    auto file = SafetensorsFile::open((fs::path(folder) / name).string());
    if (!file) return std::move(file.error()).with_context(index);
    files.push_back(std::move(*file));
  }
  SHUNT_TRY(check_index(index, map, files));
  SHUNT_TRY(check_superfluous(folder, names));
  return files;
}

Result<std::vector<SafetensorsFile>> open_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    SHUNT_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
    std::vector<SafetensorsFile> files;
    files.push_back(std::move(file));
    return files;
  }
  const std::string index = (fs::path(path) / kIndex).string();
  const std::string single = (fs::path(path) / kSingle).string();
  if (fs::exists(index, error)) return open_parts(path, index);
  if (fs::exists(single, error)) return open_files(single);
  return fail(ErrorCode::kNotFound, "{}: neither {} nor {} is there", path, kSingle, kIndex);
}

}  // namespace

std::string plain_name(std::string_view name) {
  const auto is_prefix = [&](std::string_view prefix) { return name.starts_with(prefix); };
  for (;;) {
    const auto* const around = std::ranges::find_if(kAround, is_prefix);
    if (around == kAround.end()) break;
    name.remove_prefix(around->size());
  }
  const auto* const list = std::ranges::find_if(kLists, is_prefix);
  if (list == kLists.end()) return std::string(name);
  return "layers." + std::string(name.substr(list->size()));
}

Result<TensorFolder> TensorFolder::open(const std::string& path) {
  TensorFolder folder;
  SHUNT_ASSIGN(folder.files_, open_files(path));
  folder.prefixes_.resize(folder.files_.size());
  SHUNT_TRY(folder.add_names());
  return folder;
}

Status TensorFolder::add_file(const std::string& path, std::string prefix) {
  SHUNT_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  files_.push_back(std::move(file));
  prefixes_.push_back(std::move(prefix));
  tensors_.clear();  // it points to files, which have moved
  return add_names();
}

Status TensorFolder::add_names() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const SafetensorsFile& file = files_[i];
    for (const StoredTensor& tensor : file.tensors()) {
      const auto [place, is_new] =
          tensors_.try_emplace(prefixes_[i] + plain_name(tensor.name), NamedTensor{&tensor, &file});
      if (is_new) continue;
      return fail(ErrorCode::kBadFile, "{}: tensor {} is there again, as {}", file.path(),
                  gguf::printable(tensor.name), gguf::printable(place->second.tensor->name));
    }
  }
  return ok();
}

const NamedTensor* TensorFolder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace shunt

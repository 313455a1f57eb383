#include "convert/open_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/guarded.h"
#include "convert/adapter.h"
#include "convert/config_rules.h"
#include "convert/old_gguf.h"
#include "convert/sentence_modules.h"
#include "convert/tokenizer_keys.h"
#include "convert/weight_list.h"
#include "convert/weight_rows.h"
#include "gguf/without_data.h"
#include "model/definition.h"
#include "model/quantize_source.h"
#include "model/quantize_types.h"
#include "shunt/message.h"

namespace shunt {

namespace fs = std::filesystem;

namespace {

/// The folder of config.json, and its name.
struct Paths {
  std::string folder;
  std::string name;
};

Paths paths_of(const std::string& path) {
  std::error_code error;
  const fs::path given = fs::absolute(path, error).lexically_normal();
  fs::path folder = fs::is_directory(given, error) ? given : given.parent_path();
  if (!folder.has_filename()) folder = folder.parent_path();  // "NAME/"
  const std::string opened =
      fs::is_directory(path, error) ? path : fs::path(path).parent_path().string();
  return {opened.empty() ? "." : opened, folder.filename().string()};
}

/// The keys general.*.
std::vector<gguf::KeyValue> metadata_of(const Paths& paths, const Published& model,
                                        std::string kind) {
  const auto text = [](std::string key, std::string value) {
    return gguf::KeyValue{std::move(key), {gguf::ValueType::kString, std::move(value)}};
  };
  std::vector<gguf::KeyValue> metadata = {
      text("general.architecture", std::string(model.architecture)),
      text("general.type", std::move(kind))};
  if (!paths.name.empty()) metadata.push_back(text("general.name", paths.name));
  return metadata;
}

bool makes_small_letters(const std::vector<gguf::KeyValue>& tokenizer) {
  const auto key =
      std::ranges::find(tokenizer, "tokenizer.ggml.normalizer.lowercase", &gguf::KeyValue::key);
  return key != tokenizer.end() && std::get<bool>(key->value.data);
}

/// The descriptions of tensors, one after another.
std::vector<gguf::TensorInfo> infos_of(const std::vector<WeightSource>& weights) {
  std::vector<gguf::TensorInfo> infos;
  for (const WeightSource& weight : weights) {
    infos.push_back(weight.info);
    infos.back().order = std::endian::little;
  }
  return infos;
}

/// Reads the weights of a folder, one tensor after the other.
class FolderRows {
 public:
  FolderRows(TensorFolder tensors, std::vector<WeightSource> weights)
      : tensors_(std::move(tensors)), weights_(std::move(weights)) {}

  Result<std::span<const std::byte>> read(std::size_t index, std::int64_t first,
                                          std::int64_t count) {
    const WeightSource& weight = weights_[index];
    // One tensor at a time is in memory.
    if (before_ != nullptr && before_ != &weight) {
      for (const SourceMatrix& matrix : before_->matrices) let_go(matrix.tensor->bytes);
    }
    before_ = &weight;
    return rows_.read(weight, first, count);
  }

 private:
  TensorFolder tensors_;
  std::vector<WeightSource> weights_;
  WeightRows rows_;
  const WeightSource* before_ = nullptr;
};

/// The files of a folder and those in it, such as those of modules. GGUF files are no part of it,
/// and hidden folders have no models.
void add_files(const std::string& folder, std::vector<std::string>& files) {
  constexpr int kDeepest = 3;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    const bool is_hidden = path.filename().string().starts_with(".");
    if (is_hidden || entry.depth() >= kDeepest) entry.disable_recursion_pending();
    std::error_code ignored;
    if (path.extension() != ".gguf" && fs::is_regular_file(path, ignored))
      files.push_back(path.string());
  }
}

/// Whether `path` is a file that starts as GGUF files do. A pipe is not read for that.
bool is_gguf(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::array<char, 4> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file.good() && std::string_view(start.data(), start.size()) == "GGUF";
}

class Opener {
 public:
  Opener(const std::string& path, const FolderOptions& options) : path_(path), options_(options) {}

  Result<OpenedFolder> open() const {
    if (is_gguf(path_)) return renew();
    std::error_code error;
    if (!fs::exists(path_, error) && !error)
      return fail(ErrorCode::kNotFound, "there is no folder or file {}", path_);
    const bool is_adapter =
        fs::is_directory(path_, error) && fs::exists(in_folder(kAdapterConfig), error);
    return is_adapter ? open_adapter() : open_model();
  }

 private:
  std::string in_folder(const char* name) const {
    return (fs::path(paths_.folder) / name).string();
  }

  /// The conversion to a file with these keys and weights.
  Result<OpenedFolder> opened(TensorFolder tensors, std::vector<WeightSource> weights,
                              std::vector<gguf::KeyValue> metadata) const {
    SHUNT_ASSIGN(gguf::File file,
                 gguf::without_data(path_, std::move(metadata), infos_of(weights)));
    OpenedFolder made = {.inputs = {}, .file = std::move(file), .rows = {}, .notes = {}};
    for (const SafetensorsFile& input : tensors.files()) made.inputs.push_back(input.path());
    add_files(paths_.folder, made.inputs);
    const auto rows = std::make_shared<FolderRows>(std::move(tensors), std::move(weights));
    const gguf::TensorInfo* const first_info = made.file.tensors().data();
    made.rows = [rows, first_info](const gguf::TensorInfo& info, std::int64_t first,
                                   std::int64_t count) {
      return rows->read(static_cast<std::size_t>(&info - first_info), first, count);
    };
    return made;
  }

  /// A GGUF file in a form of earlier years.
  Result<OpenedFolder> renew() const {
    if (!options_.base.empty() || !options_.ignored.empty()) {
      return invalid("{}: a base and ignored tensors are for folders, and this is a GGUF file",
                     path_);
    }
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(path_));
    SHUNT_ASSIGN(RenewedGguf renewed, renew_gguf(file));
    SHUNT_TRY(read_model(renewed.file));
    return OpenedFolder{.inputs = gguf::part_paths(path_),
                        .file = std::move(renewed.file),
                        .rows = std::move(renewed.rows),
                        .notes = std::move(renewed.notes)};
  }

  Result<OpenedFolder> open_model() const {
    if (!options_.base.empty())
      return invalid("{}: a base is for the folder of an adapter, which has {}", path_,
                     kAdapterConfig);
    SHUNT_ASSIGN(const Config config, Config::read(in_folder("config.json")));
    SHUNT_ASSIGN(const Published* const model, find_published(config));
    FileKeys keys(model->architecture);
    SHUNT_TRY(add_config_keys(config, *model, keys));
    SHUNT_ASSIGN(TensorFolder tensors, TensorFolder::open(path_));
    SHUNT_ASSIGN(const SentenceModules modules, SentenceModules::read(paths_.folder));
    SHUNT_TRY(modules.add_dense(tensors, model->architecture, keys));
    const ConvertedFolder folder = {config, tensors, *model, options_.ignored};
    SHUNT_ASSIGN(std::vector<WeightSource> weights, list_weights(folder, keys));
    SHUNT_ASSIGN(const std::int64_t vocabulary, config.count("vocab_size"));
    SHUNT_ASSIGN(const auto tokenizer, tokenizer_keys(paths_.folder, config, model->architecture,
                                                      vocabulary, keys.notes));
    SHUNT_TRY(modules.add_keys(makes_small_letters(tokenizer), keys));
    std::vector<gguf::KeyValue> metadata = metadata_of(paths_, *model, "model");
    metadata.insert(metadata.end(), keys.entries().begin(), keys.entries().end());
    metadata.insert(metadata.end(), tokenizer.begin(), tokenizer.end());
    SHUNT_ASSIGN(OpenedFolder made,
                 opened(std::move(tensors), std::move(weights), std::move(metadata)));
    // Shunt must be able to load the file that is written.
    SHUNT_TRY(read_model(made.file));
    made.notes = std::move(keys.notes);
    return made;
  }

  Result<OpenedFolder> open_adapter() const {
    if (!options_.ignored.empty())
      return invalid("{}: all tensors of an adapter are used, so that none can be ignored", path_);
    SHUNT_ASSIGN(const Config adapter, Config::read(in_folder(kAdapterConfig)));
    SHUNT_ASSIGN(const AdapterSettings settings, adapter_settings(adapter));
    const std::string base = options_.base.empty() ? paths_.folder : options_.base;
    auto config = Config::read((fs::path(base) / "config.json").string());
    if (!config && options_.base.empty()) {
      return std::move(config.error())
          .with_context(path_ + ": an adapter needs the folder of its model, --base DIR");
    }
    if (!config) return Error(std::move(config.error()));
    SHUNT_ASSIGN(const Published* const model, find_published(*config));
    FileKeys keys(model->architecture);
    SHUNT_TRY(add_config_keys(*config, *model, keys));
    SHUNT_ASSIGN(TensorFolder tensors, TensorFolder::open(in_folder(kAdapterWeights)));
    const ConvertedFolder folder = {*config, tensors, *model, options_.ignored};
    SHUNT_ASSIGN(std::vector<WeightSource> weights, list_adapter(folder, keys, settings.rank));
    std::vector<gguf::KeyValue> metadata = metadata_of(paths_, *model, "adapter");
    metadata.insert(metadata.end(), settings.keys.begin(), settings.keys.end());
    SHUNT_ASSIGN(OpenedFolder made,
                 opened(std::move(tensors), std::move(weights), std::move(metadata)));
    if (!options_.base.empty()) add_files(options_.base, made.inputs);
    made.is_adapter = true;
    return made;
  }

  const std::string& path_;
  const FolderOptions& options_;
  Paths paths_ = paths_of(path_);
};

}  // namespace

Result<OpenedFolder> open_folder(const std::string& path, const FolderOptions& options) {
  return Opener(path, options).open();
}

}  // namespace shunt

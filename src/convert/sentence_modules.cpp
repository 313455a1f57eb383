#include "convert/sentence_modules.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "convert/config.h"
#include "convert/json_text.h"
#include "convert/pooling_keys.h"
#include "engine/embed/prompt_keys.h"
#include "model/common_numbers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostModulesBytes = std::uint64_t{1} << 20;

/// A mode of the module Pooling.
struct PoolingMode {
  std::string_view name;  ///< today
  const char* flag;       ///< in older folders
  std::optional<EmbeddingPooling> pooling;
};
constexpr std::array kPoolingModes = {
    PoolingMode{"cls", "pooling_mode_cls_token", EmbeddingPooling::kFirst},
    PoolingMode{"mean", "pooling_mode_mean_tokens", EmbeddingPooling::kMean},
    PoolingMode{"lasttoken", "pooling_mode_lasttoken", EmbeddingPooling::kLast},
    PoolingMode{"max", "pooling_mode_max_tokens", {}},
    PoolingMode{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", {}},
    PoolingMode{"weightedmean", "pooling_mode_weightedmean_tokens", {}},
};

/// The number of matrices after a model of this architecture.
constexpr std::size_t kDenseModules = 2;
constexpr std::string_view kDenseArchitecture = "gemma-embedding";

/// Files with the longest text, by the age and the model of a folder.
constexpr std::array kLengthFiles = {"sentence_bert_config.json", "sentence_roberta_config.json",
                                     "sentence_camembert_config.json",
                                     "sentence_xlm-roberta_config.json"};

bool has_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Whether a path is that of the folder or one below it.
bool is_inside(const std::string& path) {
  const fs::path relative(path);
  return relative.is_relative() && path.find('\0') == std::string::npos &&
         std::ranges::count(relative, fs::path("..")) == 0;
}

Result<EmbeddingPooling> find_pooling(const Config& config) {
  constexpr const char* kName = "pooling_mode";
  std::vector<const PoolingMode*> set;
  SHUNT_ASSIGN(const std::string name, config.text(kName, ""));
  for (const PoolingMode& mode : kPoolingModes) {
    SHUNT_ASSIGN(const bool flag, config.flag(mode.flag, false));
    if (name.empty() ? flag : name == mode.name) set.push_back(&mode);
  }
  if (set.size() == 1 && set[0]->pooling) return *set[0]->pooling;
  if (!name.empty() || set.empty()) return config.wrong(kName, R"("cls", "mean" or "lasttoken")");
  return config.wrong(set.back()->flag,
                      "one of pooling_mode_cls_token, pooling_mode_mean_tokens and "
                      "pooling_mode_lasttoken");
}

}  // namespace

Result<SentenceModules> SentenceModules::read(const std::string& folder) {
  SentenceModules modules;
  modules.folder_ = folder;
  if (!has_file(modules.path())) return modules;
  SHUNT_ASSIGN(const nlohmann::json list, read_json_file(modules.path(), kMostModulesBytes));
  const auto bad = [&](const nlohmann::json& found) {
    return fail(ErrorCode::kBadFile,
                "{}: {}; an array of objects is expected, each with the texts \"type\" and "
                "\"path\", which leads to a folder in this one",
                modules.path(), describe_json(found));
  };
  if (!list.is_array()) return bad(list);
  for (const nlohmann::json& each : list) {
    const auto type = each.is_object() ? each.find("type") : each.end();
    const auto path = each.is_object() ? each.find("path") : each.end();
    const bool good = each.is_object() && type != each.end() && path != each.end() &&
                      type->is_string() && path->is_string() && is_inside(path->get<std::string>());
    if (!good) return bad(each);
    const std::string name = type->get<std::string>();
    modules.modules_.push_back({name.substr(name.rfind('.') + 1), path->get<std::string>()});
  }
  return modules;
}

std::string SentenceModules::path() const {
  return (fs::path(folder_) / "modules.json").string();
}

std::string SentenceModules::path_of(const Module& module, const char* file) const {
  return (fs::path(folder_) / module.path / file).string();
}

std::vector<SentenceModules::Module> SentenceModules::dense() const {
  std::vector<Module> found;
  for (const Module& module : modules_) {
    if (module.type == "Dense") found.push_back(module);
  }
  return found;
}

Error SentenceModules::unknown(std::size_t number) const {
  return fail(ErrorCode::kUnsupported,
              "{}: module {} is {} in {}; expected Transformer in the folder itself, Pooling, two "
              "Dense for {}, then Normalize",
              path(), number, gguf::printable(modules_[number].type),
              gguf::printable(modules_[number].path), kDenseArchitecture);
}

Status SentenceModules::add_dense(TensorFolder& tensors, std::string_view architecture,
                                  FileKeys& keys) const {
  const std::vector<Module> found = dense();
  if (found.empty()) return ok();
  if (architecture != kDenseArchitecture || found.size() != kDenseModules) {
    const auto first = std::ranges::find(modules_, "Dense", &Module::type);
    return unknown(static_cast<std::size_t>(first - modules_.begin()));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    SHUNT_ASSIGN(const Config config, Config::read(path_of(found[i], "config.json")));
    SHUNT_ASSIGN(const bool bias, config.flag("bias", false));
    if (bias) return config.wrong("bias", "false");
    constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";
    // Without a function, sentence-transformers has Tanh.
    SHUNT_ASSIGN(const std::string function, config.text("activation_function", ""));
    if (function != kIdentity) return config.wrong("activation_function", kIdentity);
    SHUNT_ASSIGN(const std::int64_t inputs, config.count("in_features"));
    SHUNT_ASSIGN(const std::int64_t outputs, config.count("out_features"));
    keys.count(fmt::format("dense_{}_feat_in", i + 2), inputs);
    keys.count(fmt::format("dense_{}_feat_out", i + 2), outputs);
    SHUNT_TRY(
        tensors.add_file(path_of(found[i], "model.safetensors"), fmt::format("dense.{}.", i)));
  }
  return ok();
}

/// That vectors of texts, which other modules change, are made by a module.
Status SentenceModules::check_pooled() const {
  const auto has = [&](const char* type) {
    return std::ranges::count(modules_, type, &Module::type) > 0;
  };
  if (has("Pooling") || !(has("Dense") || has("Normalize"))) return ok();
  return fail(ErrorCode::kUnsupported,
              "{}: no module Pooling; it is expected where there is Dense or Normalize", path());
}

Status SentenceModules::add_keys(bool lower_case, FileKeys& keys) const {
  if (modules_.empty()) return ok();
  SHUNT_TRY(check_pooled());
  bool normalized = false;
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    const bool in_order = (module.type == "Transformer" && i == 0 && module.path.empty()) ||
                          (module.type == "Pooling" && i == 1) ||
                          (module.type == "Dense" && i > 1 && !normalized) ||
                          (module.type == "Normalize" && i > 1) || module.type == "Dropout";
    if (!in_order) return unknown(i);
    if (module.type == "Pooling") SHUNT_TRY(add_pooling(module, keys));
    normalized = normalized || module.type == "Normalize";
  }
  if (!normalized) {
    keys.notes.push_back(fmt::format(
        "{}: no module Normalize: shunt embed --no-normalize gives the vectors of this model",
        path()));
  }
  SHUNT_TRY(add_length(lower_case, keys));
  return add_prompts(keys);
}

Status SentenceModules::add_pooling(const Module& module, FileKeys& keys) const {
  SHUNT_ASSIGN(const Config config, Config::read(path_of(module, "config.json")));
  constexpr const char* kStated = "word_embedding_dimension|embedding_dimension";
  const std::int64_t width = keys.count_of("embedding_length");
  SHUNT_ASSIGN(const std::int64_t stated, config.count(kStated, width));
  if (stated != width) return config.wrong(kStated, fmt::format("{}, by the model", width));
  SHUNT_ASSIGN(const bool prompt, config.flag("include_prompt", true));
  if (!prompt) return config.wrong("include_prompt", "true: Shunt pools prompts, too");
  SHUNT_ASSIGN(const EmbeddingPooling pooling, find_pooling(config));
  const bool has_classifier = keys.count_of(kPoolingKey) == kRankPooling ||
                              keys.count_of(kClassifierPoolingKey) == kRankPooling;
  if (has_classifier) return config.wrong("pooling_mode", "none, beside a classifier");
  keys.remove(kClassifierPoolingKey);
  keys.count(kPoolingKey, pooling_number(pooling));
  return ok();
}

/// Longer texts are not cut here.
Status SentenceModules::add_length(bool lower_case, FileKeys& keys) const {
  for (const char* const name : kLengthFiles) {
    const fs::path path = fs::path(folder_) / name;
    if (!has_file(path)) continue;
    SHUNT_ASSIGN(const Config config, Config::read(path.string()));
    SHUNT_ASSIGN(const bool small, config.flag("do_lower_case", false));
    if (small && !lower_case)
      return config.wrong("do_lower_case", "false, as the tokenizer keeps capital letters");
    const std::int64_t context = keys.count_of("context_length");
    SHUNT_ASSIGN(const std::int64_t length, config.count("max_seq_length", context));
    if (length >= context) continue;
    keys.notes.push_back(
        fmt::format("{}: max_seq_length is {}: sentence-transformers cuts longer texts there, "
                    "shunt embed does not",
                    path.string(), length));
  }
  return ok();
}

Status SentenceModules::add_prompts(FileKeys& keys) const {
  const fs::path path = fs::path(folder_) / "config_sentence_transformers.json";
  if (!has_file(path)) return ok();
  SHUNT_ASSIGN(const Config config, Config::read(path.string()));
  const nlohmann::json* const prompts = config.find("prompts");
  constexpr const char* kDefaultName = "default_prompt_name";
  if (prompts == nullptr && config.has(kDefaultName))
    return config.wrong(kDefaultName, "null, as there are no prompts");
  if (prompts == nullptr) return ok();
  if (!prompts->is_object()) return config.wrong("prompts", "an object of texts");
  for (const auto& [name, prompt] : prompts->items()) {
    if (!prompt.is_string()) return config.wrong("prompts", "an object of texts");
    keys.add_whole(std::string(kPromptKeys) + name,
                   {gguf::ValueType::kString, prompt.get<std::string>()});
  }
  if (!config.has(kDefaultName)) return ok();
  SHUNT_ASSIGN(const std::string name, config.text(kDefaultName));
  if (!prompts->contains(name)) return config.wrong(kDefaultName, "the name of a prompt");
  keys.add_whole(std::string(kDefaultPromptKey), {gguf::ValueType::kString, name});
  return ok();
}

}  // namespace shunt

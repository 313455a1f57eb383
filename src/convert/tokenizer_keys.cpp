#include "convert/tokenizer_keys.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "convert/chat_template_keys.h"
#include "convert/folder_vocabulary.h"
#include "convert/json_text.h"
#include "convert/sentencepiece_model.h"
#include "convert/tekken.h"
#include "convert/tokenizer_json.h"
#include "convert/wordpiece.h"
#include "engine/vocabulary_keys.h"
#include "gguf/without_data.h"
#include "shunt/message.h"
#include "shunt/vocabulary.h"

namespace shunt {

namespace {

namespace fs = std::filesystem;

/// A file of a folder, or an object without members if it is not there.
Result<Config> read_optional(const std::string& folder, const char* name) {
  const std::string path = (fs::path(folder) / name).string();
  std::error_code error;
  return fs::exists(path, error) ? Config::read(path) : Config::parse("{}", path);
}

/// Reads the tokenizer of a folder; nothing if it has none.
class VocabularyReader {
 public:
  VocabularyReader(const std::string& folder, std::string_view architecture, const Config& settings,
                   std::int64_t rows)
      : folder_(folder), architecture_(architecture), settings_(settings), rows_(rows) {}

  Result<std::optional<FolderVocabulary>> read() const {
    const bool json = has("tokenizer.json");
    // With scores, where tokenizer.json has the order of merges only.
    if (has("tokenizer.model")) {
      auto vocabulary = read_model();
      if (vocabulary) vocabulary->most_tokens = std::min(rows_, kMostFolderTokens);
      if (vocabulary && json) SHUNT_TRY(add_added_tokens(path("tokenizer.json"), *vocabulary));
      // Some folders have a vocabulary of another kind under this name.
      if (vocabulary || !json) return optional(std::move(vocabulary));
    }
    if (json) return optional(read_tokenizer_json(path("tokenizer.json"), architecture_, rows_));
    if (has("tekken.json")) return optional(named(read_tekken(path("tekken.json")), "tekken.json"));
    if (has("vocab.txt")) return optional(read_vocab_txt(path("vocab.txt"), settings_, rows_));
    return std::optional<FolderVocabulary>();
  }

 private:
  static Result<std::optional<FolderVocabulary>> optional(Result<FolderVocabulary> vocabulary) {
    if (!vocabulary) return Error(std::move(vocabulary.error()));
    return std::optional<FolderVocabulary>(std::move(*vocabulary));
  }

  Result<FolderVocabulary> named(Result<FolderVocabulary> vocabulary, const char* name) const {
    if (vocabulary) vocabulary->file = path(name);
    return vocabulary;
  }

  std::string path(const char* name) const { return (fs::path(folder_) / name).string(); }
  bool has(const char* name) const {
    std::error_code error;
    return fs::exists(path(name), error);
  }

  Result<FolderVocabulary> read_model() const {
    const std::string name = path("tokenizer.model");
    SHUNT_ASSIGN(const MappedFile file, MappedFile::open(name));
    return named(parse_sentencepiece(file.bytes(), name), "tokenizer.model");
  }

  const std::string& folder_;
  std::string_view architecture_;
  const Config& settings_;
  std::int64_t rows_;  // of the embedding
};

/// An id by the tokens that are added, a setting that names a token, or config.json.
struct IdSource {
  std::string_view key;  ///< behind "tokenizer.ggml."
  const char* token;     ///< of tokenizer_config.json
  const char* id;        ///< of config.json and generation_config.json
  std::optional<std::int64_t> FolderVocabulary::*own;
  std::optional<std::int64_t> FolderVocabulary::*added;  ///< comes first
  bool of_bert;                ///< whether `added` is of WordPiece, or of the others
  const char* bert_text = "";  ///< the token of WordPiece without a setting
};
using V = FolderVocabulary;
constexpr std::string_view kSeparatorKey = "seperator_token_id";  // as most files spell it
constexpr IdSource kIds[] = {
    {"bos_token_id", "bos_token", "bos_token_id", &V::bos, &V::opening, false},
    {"eos_token_id", "eos_token", "eos_token_id", &V::eos, &V::closing, false},
    {"unknown_token_id", "unk_token", "", &V::unk, nullptr, false},
    {"padding_token_id", "pad_token", "pad_token_id", &V::pad, nullptr, false, "[PAD]"},
    {kSeparatorKey, "sep_token", "", nullptr, &V::closing, true},
    {"cls_token_id", "cls_token", "", nullptr, &V::opening, true},
    {"mask_token_id", "mask_token", "", nullptr, nullptr, true, "[MASK]"},
};

/// Tokens that end a turn, of which generation_config.json has ids beside that of EOS.
constexpr std::string_view kTurnEnds[] = {
    "<|eot_id|>", "<|im_end|>", "<end_of_turn>", "<turn|>",       "<|end|>",
    "<|return|>", "<|eom_id|>", "<|user|>",      "<|endoftext|>", "<|END_OF_TURN_TOKEN|>"};

class KeyWriter {
 public:
  KeyWriter(FolderVocabulary vocabulary, const Config& config)
      : vocabulary_(std::move(vocabulary)), config_(config) {}

  Result<std::vector<gguf::KeyValue>> write(const std::string& folder, const Config& settings,
                                            std::int64_t size) {
    SHUNT_TRY(check_texts(vocabulary_));
    SHUNT_TRY(fill_up(size));
    add_vocabulary();
    SHUNT_ASSIGN(const Config tokens, read_optional(folder, "special_tokens_map.json"));
    SHUNT_ASSIGN(const Config generation, read_optional(folder, "generation_config.json"));
    SHUNT_TRY(add_ids(settings, tokens, generation));
    SHUNT_TRY(add_flags(settings));
    return std::move(keys_);
  }

 private:
  /// The embedding may have more rows than there are tokens.
  Status fill_up(std::int64_t size) {
    const auto count = std::ssize(vocabulary_.tokens);
    if (count > size) {
      return fail(ErrorCode::kBadFile, "{}: vocab_size is {}, but the tokenizer has {}",
                  config_.path(), size, counted(static_cast<std::uint64_t>(count), "token"));
    }
    for (std::int64_t id = 0; id < size; ++id) {
      text::Token unused;
      unused.text = fmt::format("[PAD{}]", id);
      unused.type = text::TokenType::kUnused;
      if (id >= count) vocabulary_.tokens.push_back(std::move(unused));
    }
    return ok();
  }

  void add(std::string_view key, gguf::Value value) {
    keys_.push_back({"tokenizer.ggml." + std::string(key), std::move(value)});
  }
  void add_text(std::string_view key, const std::string& text) {
    add(key, {gguf::ValueType::kString, text});
  }
  void add_flag(std::string_view key, bool flag) { add(key, {gguf::ValueType::kBool, flag}); }
  void add_array(std::string_view key, gguf::Array array) {
    add(key, {gguf::ValueType::kArray,
              std::shared_ptr<const gguf::Array>(std::make_shared<gguf::Array>(std::move(array)))});
  }

  void add_vocabulary() {
    gguf::Array texts;
    texts.type = gguf::ValueType::kString;
    gguf::Array scores;
    scores.type = gguf::ValueType::kF32;
    gguf::Array types;
    types.type = gguf::ValueType::kI32;
    for (const text::Token& token : vocabulary_.tokens) {
      texts.strings.push_back(token.text);
      scores.floats.push_back(token.score);
      types.integers.push_back(static_cast<std::int64_t>(token.type));
    }
    add_text("model", vocabulary_.kind);
    if (!vocabulary_.pre.empty()) add_text("pre", vocabulary_.pre);
    add_array("tokens", std::move(texts));
    if (vocabulary_.has_scores) add_array("scores", std::move(scores));
    add_array("token_type", std::move(types));
    add_rules();
    const bool merges = vocabulary_.kind == "gpt2" || vocabulary_.kind == "gemma4";
    if (merges) {
      gguf::Array list;
      list.type = gguf::ValueType::kString;
      list.strings = std::move(vocabulary_.merges);
      add_array("merges", std::move(list));
    }
    if (vocabulary_.charsmap.empty()) return;
    gguf::Array map;
    map.type = gguf::ValueType::kI8;
    for (const char c : vocabulary_.charsmap)
      map.integers.push_back(static_cast<std::int64_t>(static_cast<signed char>(c)));
    add_array("precompiled_charsmap", std::move(map));
  }

  /// How tokens take the spaces around them; nothing if none does.
  void add_rules() {
    gguf::Array rules;
    rules.type = gguf::ValueType::kU8;
    for (const text::Token& token : vocabulary_.tokens) {
      rules.integers.push_back((token.rules.strip_left ? 1 : 0) |
                               (token.rules.strip_right ? 2 : 0) |
                               (token.rules.single_word ? 4 : 0));
    }
    if (std::ranges::count(rules.integers, 0) == std::ssize(rules.integers)) return;
    keys_.push_back(
        {std::string(vocabulary_keys::kRules),
         {gguf::ValueType::kArray,
          std::shared_ptr<const gguf::Array>(std::make_shared<gguf::Array>(std::move(rules)))}});
  }

  /// The first of an id or a list of ids.
  Result<std::optional<std::int64_t>> first_id(const Config& config, const char* name) const {
    const nlohmann::json* found = config.find(name);
    if (found != nullptr && found->is_array() && !found->empty()) found = &found->front();
    if (found == nullptr || found->is_array()) return std::optional<std::int64_t>();
    const auto count = std::ssize(vocabulary_.tokens);
    if (found->is_number_integer() && found->get<std::int64_t>() == -1)
      return std::optional<std::int64_t>();
    if (!found->is_number_unsigned() ||
        found->get<std::uint64_t>() >= static_cast<std::uint64_t>(count)) {
      return config.wrong(name, fmt::format("an id below {}, the number of tokens", count));
    }
    return std::optional<std::int64_t>(found->get<std::int64_t>());
  }

  /// The id of the token that a setting names, which is a text, or an object with one.
  std::optional<std::int64_t> id_of_token(const Config& settings, const char* name) const {
    const nlohmann::json* found = settings.find(std::string(name) + ".content");
    if (found == nullptr) found = settings.find(name);
    if (found == nullptr || !found->is_string()) return std::nullopt;
    return vocabulary_.find(found->get_ref<const std::string&>());
  }

  bool is_bert() const { return vocabulary_.kind == "bert"; }
  /// WordPiece has one id for both.
  bool has_two_separators() const {
    return vocabulary_.separator && (!is_bert() || vocabulary_.separator == vocabulary_.closing);
  }

  /// The id that the tokenizer's files give: what adds it to a text, a name in a setting, the
  /// tokenizer itself.
  std::optional<std::int64_t> id_of_tokenizer(const IdSource& source, const Config& settings,
                                              const Config& tokens) const {
    if (source.key == kSeparatorKey && has_two_separators()) return vocabulary_.separator;
    std::optional<std::int64_t> id;
    if (source.added != nullptr && source.of_bert == is_bert()) id = vocabulary_.*source.added;
    if (!id) id = id_of_token(settings, source.token);
    if (!id) id = id_of_token(tokens, source.token);
    if (!id && source.own != nullptr) id = vocabulary_.*source.own;
    return id;
  }

  Status add_ids(const Config& settings, const Config& tokens, const Config& generation) {
    for (const IdSource& source : kIds) {
      std::optional<std::int64_t> id = id_of_tokenizer(source, settings, tokens);
      for (const Config* const config : {&generation, &config_}) {
        if (id || *source.id == '\0') continue;
        SHUNT_ASSIGN(id, first_id(*config, source.id));
      }
      if (!id && is_bert()) id = vocabulary_.find(source.bert_text);
      if (id) add(source.key, {gguf::ValueType::kU32, static_cast<std::uint64_t>(*id)});
      if (source.key == "eos_token_id") eos_ = id;
    }
    return add_turn_end(generation);
  }

  /// Of the ids that end a generation, the one that ends a turn.
  Status add_turn_end(const Config& generation) {
    const nlohmann::json* const ids = generation.find("eos_token_id");
    if (ids == nullptr || !ids->is_array()) return ok();
    for (const std::string_view end : kTurnEnds) {
      const auto id = vocabulary_.find(end);
      const bool listed = id && std::ranges::count(*ids, nlohmann::json(*id)) > 0;
      if (!listed || id == eos_) continue;
      add("eot_token_id", {gguf::ValueType::kU32, static_cast<std::uint64_t>(*id)});
      break;
    }
    return ok();
  }

  Status add_flags(const Config& settings) {
    SHUNT_ASSIGN(const bool bos,
                 settings.flag("add_bos_token", vocabulary_.add_bos.value_or(false)));
    SHUNT_ASSIGN(const bool eos,
                 settings.flag("add_eos_token", vocabulary_.add_eos.value_or(false)));
    // WordPiece adds both without a key.
    const bool said_bos = settings.has("add_bos_token") || vocabulary_.add_bos;
    const bool said_eos = settings.has("add_eos_token") || vocabulary_.add_eos;
    if (said_bos && !(is_bert() && bos)) add_flag("add_bos_token", bos);
    if (said_eos && !(is_bert() && eos))
      add_flag(is_bert() ? "add_sep_token" : "add_eos_token", eos);
    if (has_two_separators() && !is_bert()) add_flag("add_sep_token", true);
    if (has_two_separators() && is_bert())
      keys_.push_back(
          {std::string(vocabulary_keys::kTwoSeparators), {gguf::ValueType::kBool, true}});
    if (vocabulary_.lower_case) add_flag("normalizer.lowercase", *vocabulary_.lower_case);
    if (vocabulary_.strip_accents) add_flag("normalizer.strip_accents", *vocabulary_.strip_accents);
    if (vocabulary_.add_space_prefix) add_flag("add_space_prefix", *vocabulary_.add_space_prefix);
    if (vocabulary_.remove_extra_whitespaces)
      add_flag("remove_extra_whitespaces", *vocabulary_.remove_extra_whitespaces);
    return ok();
  }

  FolderVocabulary vocabulary_;
  const Config& config_;
  std::optional<std::int64_t> eos_;
  std::vector<gguf::KeyValue> keys_;
};

/// That it can be used.
Status check_tokenizer(const std::string& path, const std::vector<gguf::KeyValue>& keys) {
  SHUNT_ASSIGN(const gguf::File file, gguf::without_data(path, keys, {}));
  SHUNT_ASSIGN(auto vocabulary, vocabulary_from_gguf(file));
  auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) return fail(ErrorCode::kBadFile, "{}: {}", path, tokenizer.error().message());
  return ok();
}

}  // namespace

Result<std::vector<gguf::KeyValue>> tokenizer_keys(const std::string& folder, const Config& config,
                                                   std::string_view architecture, std::int64_t size,
                                                   std::vector<std::string>& notes) {
  SHUNT_ASSIGN(const Config settings, read_optional(folder, "tokenizer_config.json"));
  SHUNT_ASSIGN(auto vocabulary, VocabularyReader(folder, architecture, settings, size).read());
  std::vector<gguf::KeyValue> keys;
  if (!vocabulary) {
    notes.push_back(fmt::format(
        "{}: no tokenizer.json, tokenizer.model, tekken.json or vocab.txt: the file has no "
        "tokenizer",
        folder));
    return keys;
  }
  notes.insert(notes.end(), vocabulary->notes.begin(), vocabulary->notes.end());
  const std::string file = vocabulary->file;
  SHUNT_ASSIGN(keys, KeyWriter(std::move(*vocabulary), config).write(folder, settings, size));
  SHUNT_TRY(check_tokenizer(file, keys));
  SHUNT_TRY(add_chat_templates(folder, keys));
  return keys;
}

}  // namespace shunt

#include "convert/tokenizer_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "convert/base64.h"
#include "convert/json_text.h"
#include "convert/post_processor.h"
#include "convert/pretokenizer_name.h"
#include "convert/wordpiece.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Json = nlohmann::json;
using text::Token;
using text::TokenType;

constexpr std::uint64_t kMostTokenizerBytes = std::uint64_t{1} << 28;

/// A member of an object; null if there is none.
const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
}

/// Whether a step of this type is anywhere in a part of the file.
bool has_step(const Json& node, std::string_view type) {
  if (node.is_array())
    return std::ranges::any_of(node, [&](const Json& each) { return has_step(each, type); });
  if (!node.is_object()) return false;
  if (member(node, "type") == Json(type)) return true;
  return std::ranges::any_of(node.items(), [&](const auto& item) {
    return item.value().is_structured() && has_step(item.value(), type);
  });
}

/// Reads the parts of a file.
class TokenizerReader {
 public:
  TokenizerReader(const Json& root, std::string path, std::int64_t rows)
      : root_(root), path_(std::move(path)) {
    vocabulary_.file = path_;
    vocabulary_.most_tokens = std::min(rows, kMostFolderTokens);
  }

  Result<FolderVocabulary> read(std::string_view architecture) {
    const Json& model = member(root_, "model");
    const Json& type = member(model, "type");
    const std::string kind = type.is_string() ? type.get<std::string>() : kind_without_type(model);
    if (kind == "BPE") {
      SHUNT_TRY(read_bpe(model, architecture));
    } else if (kind == "Unigram") {
      SHUNT_TRY(read_unigram(model));
    } else if (kind == "WordPiece") {
      SHUNT_TRY(read_wordpiece(model));
    } else {
      return fail(ErrorCode::kUnsupported,
                  "{}: model.type is {}; known are BPE, Unigram and WordPiece", path_,
                  describe_json(type));
    }
    SHUNT_TRY(add_added());
    SHUNT_TRY(read_post_processor(root_, path_, vocabulary_));
    return std::move(vocabulary_);
  }

  Status add_added_to(FolderVocabulary& vocabulary) {
    vocabulary_ = std::move(vocabulary);
    SHUNT_TRY(add_added());
    SHUNT_TRY(read_post_processor(root_, path_, vocabulary_));
    vocabulary = std::move(vocabulary_);
    return ok();
  }

 private:
  template <class... Args>
  Error bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadFile, "{}: {}", path_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  /// Older files do not name the type.
  static std::string kind_without_type(const Json& model) {
    if (member(model, "merges").is_array()) return "BPE";
    return member(model, "vocab").is_array() ? "Unigram" : "";
  }

  Status read_vocab(const Json& vocab, bool has_bytes) {
    if (!vocab.is_object())
      return bad("model.vocab is {}; an object is expected", describe_json(vocab));
    for (const auto& [text, id] : vocab.items()) {
      if (!id.is_number_unsigned())
        return bad("model.vocab: token {} has id {}", gguf::printable(text), describe_json(id));
      Token token;
      token.text = text;
      if (has_bytes && is_byte_token(text)) token.type = TokenType::kByte;
      SHUNT_TRY(set_token(vocabulary_, id.get<std::int64_t>(), std::move(token), path_));
    }
    return ok();
  }

  Status read_merges(const Json& merges) {
    if (!merges.is_array())
      return bad("model.merges is {}; an array is expected", describe_json(merges));
    for (const Json& merge : merges) {
      if (merge.is_string()) {
        vocabulary_.merges.push_back(merge.get<std::string>());
        continue;
      }
      const bool pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (!pair) return bad("model.merges has {}; two texts are expected", describe_json(merge));
      vocabulary_.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    return ok();
  }

  Status read_bpe(const Json& model, std::string_view architecture) {
    const bool bytes = member(model, "byte_fallback") == Json(true);
    SHUNT_TRY(read_vocab(member(model, "vocab"), bytes));
    SHUNT_TRY(read_merges(member(model, "merges")));
    const bool byte_level = has_step(member(root_, "pre_tokenizer"), "ByteLevel") ||
                            has_step(member(root_, "decoder"), "ByteLevel");
    if (byte_level) {
      vocabulary_.kind = "gpt2";
      SHUNT_ASSIGN(vocabulary_.pre, pretokenizer_name(root_, path_));
      return ok();
    }
    if (!bytes) {
      return fail(ErrorCode::kUnsupported,
                  "{}: a BPE without bytes: neither a step ByteLevel nor byte_fallback", path_);
    }
    mark_unknown(member(model, "unk_token"));
    if (architecture == "gemma4") {
      vocabulary_.kind = "gemma4";
      return ok();
    }
    // SentencePiece: merges have the order of the scores of their results.
    vocabulary_.kind = "llama";
    vocabulary_.has_scores = true;
    vocabulary_.add_space_prefix = has_step(member(root_, "normalizer"), "Prepend") ||
                                   prepends(member(root_, "pre_tokenizer"));
    score_by_merges();
    return ok();
  }

  /// A later merge has a lower score. Tokens that no merge makes are never made.
  void score_by_merges() {
    std::map<std::string, float, std::less<>> scores;
    for (std::size_t i = 0; i < vocabulary_.merges.size(); ++i) {
      std::string result = vocabulary_.merges[i];
      if (const std::size_t at = result.find(' '); at != std::string::npos) result.erase(at, 1);
      scores.try_emplace(std::move(result), -static_cast<float>(i));  // the first of several counts
    }
    const auto last = -static_cast<float>(vocabulary_.merges.size());
    for (Token& token : vocabulary_.tokens) {
      const auto found = scores.find(token.text);
      token.score = found == scores.end() ? last : found->second;
    }
    vocabulary_.merges.clear();
  }

  /// Whether a step puts a space in front of a text.
  static bool prepends(const Json& node) {
    if (node.is_array()) return std::ranges::any_of(node, prepends);
    if (!node.is_object()) return false;
    if (member(node, "type") == Json("Metaspace")) {
      const Json& scheme = member(node, "prepend_scheme");
      return scheme.is_string() ? scheme != Json("never")
                                : member(node, "add_prefix_space") != Json(false);
    }
    return prepends(member(node, "pretokenizers"));
  }

  void mark_unknown(const Json& text) {
    if (!text.is_string()) return;
    const auto id = vocabulary_.find(text.get_ref<const std::string&>());
    if (!id) return;
    vocabulary_.tokens[static_cast<std::size_t>(*id)].type = TokenType::kUnknown;
    vocabulary_.unk = id;
  }

  Status read_unigram(const Json& model) {
    vocabulary_.kind = "t5";
    vocabulary_.has_scores = true;
    const Json& vocab = member(model, "vocab");
    if (!vocab.is_array())
      return bad("model.vocab is {}; an array is expected", describe_json(vocab));
    std::int64_t id = 0;
    const bool bytes = member(model, "byte_fallback") == Json(true);
    for (const Json& entry : vocab) {
      const bool pair =
          entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
      if (!pair || !std::isfinite(entry[1].get<float>()))
        return bad("model.vocab has {}; a text and a finite score are expected",
                   describe_json(entry));
      Token token;
      token.text = entry[0].get<std::string>();
      token.score = entry[1].get<float>();
      if (bytes && is_byte_token(token.text)) token.type = TokenType::kByte;
      SHUNT_TRY(set_token(vocabulary_, id++, std::move(token), path_));
    }
    const Json& unknown = member(model, "unk_id");
    if (unknown.is_number_unsigned() && unknown.get<std::uint64_t>() < vocabulary_.tokens.size()) {
      vocabulary_.unk = unknown.get<std::int64_t>();
      vocabulary_.tokens[unknown.get<std::size_t>()].type = TokenType::kUnknown;
    }
    vocabulary_.add_space_prefix = prepends(member(root_, "pre_tokenizer"));
    return read_charsmap(member(root_, "normalizer"));
  }

  Status read_charsmap(const Json& node) {
    const Json& list = member(node, "normalizers");
    if (list.is_array()) {
      for (const Json& each : list) SHUNT_TRY(read_charsmap(each));
      return ok();
    }
    const Json& map = member(node, "precompiled_charsmap");
    if (!map.is_string()) return ok();
    const auto bytes = decode_base64(map.get_ref<const std::string&>());
    if (!bytes) return bad("normalizer.precompiled_charsmap is no base64");
    vocabulary_.charsmap = *bytes;
    return ok();
  }

  Status read_wordpiece(const Json& model) {
    constexpr std::uint64_t kMostCharacters = 100;  // of a word that is no unknown token
    vocabulary_.kind = "bert";
    SHUNT_TRY(read_vocab(member(model, "vocab"), false));
    const Json& most = member(model, "max_input_chars_per_word");
    if (!most.is_null() && most != Json(kMostCharacters)) {
      return fail(ErrorCode::kUnsupported,
                  "{}: model.max_input_chars_per_word is {}; Shunt has {} only", path_,
                  describe_json(most), kMostCharacters);
    }
    SHUNT_TRY(read_bert_steps(root_, path_, vocabulary_));
    const Json& prefix = member(model, "continuing_subword_prefix");
    const std::string inside = prefix.is_string() ? prefix.get<std::string>() : "##";
    mark_unknown(member(model, "unk_token"));
    mark_words(vocabulary_, inside);
    return ok();
  }

  Status add_added() {
    const Json& added = member(root_, "added_tokens");
    if (added.is_null()) return ok();
    if (!added.is_array())
      return bad("added_tokens is {}; an array is expected", describe_json(added));
    for (const Json& entry : added) {
      const Json& id = member(entry, "id");
      const Json& content = member(entry, "content");
      if (!id.is_number_unsigned() || !content.is_string()) {
        return bad("added_tokens has {}; an object with an id and a content is expected",
                   describe_json(entry));
      }
      Token token;
      token.text = content.get<std::string>();
      const bool special = member(entry, "special") == Json(true);
      token.type = special ? TokenType::kControl : TokenType::kUserDefined;
      token.rules = {.strip_left = member(entry, "lstrip") == Json(true),
                     .strip_right = member(entry, "rstrip") == Json(true),
                     .single_word = member(entry, "single_word") == Json(true)};
      SHUNT_TRY(replace(id.get<std::int64_t>(), std::move(token)));
    }
    return ok();
  }

  /// A token of the vocabulary becomes an added one.
  Status replace(std::int64_t id, Token token) {
    const auto count = std::ssize(vocabulary_.tokens);
    if (id >= 0 && id < count) {
      Token& old = vocabulary_.tokens[static_cast<std::size_t>(id)];
      if (old.type == TokenType::kUnknown) token.type = TokenType::kUnknown;
      token.score = old.score;
      old = std::move(token);
      return ok();
    }
    return set_token(vocabulary_, id, std::move(token), path_);
  }

  const Json& root_;
  std::string path_;
  FolderVocabulary vocabulary_;
};

}  // namespace

Result<FolderVocabulary> parse_tokenizer_json(std::string_view text, const std::string& name,
                                              std::string_view architecture, std::int64_t rows) {
  SHUNT_ASSIGN(const Json root, parse_json(text, name));
  return TokenizerReader(root, name, rows).read(architecture);
}

Result<FolderVocabulary> read_tokenizer_json(const std::string& path, std::string_view architecture,
                                             std::int64_t rows) {
  SHUNT_ASSIGN(const Json root, read_json_file(path, kMostTokenizerBytes));
  return TokenizerReader(root, path, rows).read(architecture);
}

Status add_added_tokens(const std::string& path, FolderVocabulary& vocabulary) {
  SHUNT_ASSIGN(const Json root, read_json_file(path, kMostTokenizerBytes));
  return TokenizerReader(root, path, vocabulary.most_tokens).add_added_to(vocabulary);
}

}  // namespace shunt

#include "convert/wordpiece.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/to_size.h"
#include "convert/json_text.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Json = nlohmann::json;
using text::Token;
using text::TokenType;

constexpr std::uint64_t kMostVocabularyBytes = std::uint64_t{1} << 26;
constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581
constexpr std::string_view kInside = "##";

/// BERT's special tokens, which tokenizer_config.json may name otherwise.
struct Special {
  const char* setting;
  const char* text;
  TokenType type;
  std::optional<std::int64_t> FolderVocabulary::*id;
};
constexpr std::array kSpecials = {
    Special{"unk_token", "[UNK]", TokenType::kUnknown, &FolderVocabulary::unk},
    Special{"cls_token", "[CLS]", TokenType::kControl, &FolderVocabulary::opening},
    Special{"sep_token", "[SEP]", TokenType::kControl, &FolderVocabulary::closing},
    Special{"pad_token", "[PAD]", TokenType::kControl, &FolderVocabulary::pad},
    Special{"mask_token", "[MASK]", TokenType::kControl, nullptr},
};

/// The step of this type, alone or in a sequence; null: there is none.
const Json* find_step(const Json& tokenizer, const char* member, std::string_view type) {
  const auto is_it = [&](const Json& node) {
    return node.is_object() && node.contains("type") && node["type"] == Json(type);
  };
  const auto found = tokenizer.find(member);
  if (found == tokenizer.end()) return nullptr;
  if (is_it(*found)) return &*found;
  const auto list = found->is_object() ? found->find("normalizers") : found->end();
  if (!found->is_object() || list == found->end() || !list->is_array()) return nullptr;
  const auto step = std::ranges::find_if(*list, is_it);
  return step == list->end() ? nullptr : &*step;
}

/// True or false; null and a missing one are `otherwise`.
Result<bool> flag_of_step(const Json& step, const char* name, bool otherwise,
                          const std::string& path) {
  const auto found = step.find(name);
  if (found == step.end() || found->is_null()) return otherwise;
  if (found->is_boolean()) return found->get<bool>();
  return fail(ErrorCode::kBadFile, "{}: normalizer.{} is {}; expected true, false or null", path,
              name, describe_json(*found));
}

}  // namespace

void mark_words(FolderVocabulary& vocabulary, std::string_view inside) {
  for (Token& token : vocabulary.tokens) {
    const bool special = token.text.starts_with("[") && token.text.ends_with("]");
    if (special || token.type != TokenType::kNormal) continue;
    if (!inside.empty() && token.text.starts_with(inside) && token.text.size() > inside.size()) {
      token.text.erase(0, inside.size());
    } else {
      token.text.insert(0, kWordStart);
    }
  }
}

Status read_bert_steps(const Json& tokenizer, const std::string& path,
                       FolderVocabulary& vocabulary) {
  const Json* const normalizer = find_step(tokenizer, "normalizer", "BertNormalizer");
  if (normalizer == nullptr ||
      find_step(tokenizer, "pre_tokenizer", "BertPreTokenizer") == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "{}: WordPiece without the steps BertNormalizer in normalizer and "
                "BertPreTokenizer in pre_tokenizer",
                path);
  }
  for (const char* const always : {"clean_text", "handle_chinese_chars"}) {
    SHUNT_ASSIGN(const bool flag, flag_of_step(*normalizer, always, true, path));
    if (flag) continue;
    return fail(ErrorCode::kUnsupported, "{}: normalizer.{} is false; Shunt has true only", path,
                always);
  }
  SHUNT_ASSIGN(vocabulary.lower_case, flag_of_step(*normalizer, "lowercase", true, path));
  SHUNT_ASSIGN(vocabulary.strip_accents,
               flag_of_step(*normalizer, "strip_accents", *vocabulary.lower_case, path));
  return ok();
}

Result<FolderVocabulary> read_vocab_txt(const std::string& path, const Config& settings,
                                        std::int64_t rows) {
  SHUNT_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.size() > kMostVocabularyBytes) {
    return fail(ErrorCode::kBadFile, "{}: {} bytes; at most {} are expected", path, file.size(),
                kMostVocabularyBytes);
  }
  std::string text(to_size(file.size()), '\0');
  SHUNT_TRY(file.read(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  FolderVocabulary vocabulary;
  vocabulary.kind = "bert";
  vocabulary.file = path;
  vocabulary.most_tokens = std::min(rows, kMostFolderTokens);
  for (std::size_t start = 0; start < text.size();) {
    if (std::ssize(vocabulary.tokens) == vocabulary.most_tokens) {
      return fail(ErrorCode::kBadFile,
                  "{}: line {} has a token; {} are expected, by the rows of the embedding", path,
                  vocabulary.most_tokens + 1, vocabulary.most_tokens);
    }
    const std::size_t end = std::min(text.find('\n', start), text.size());
    Token token;
    token.text = text.substr(start, end - start);
    if (token.text.ends_with('\r')) token.text.pop_back();
    vocabulary.tokens.push_back(std::move(token));
    start = end + 1;
  }
  for (const Special& special : kSpecials) {
    SHUNT_ASSIGN(
        const std::string name,
        settings.text(std::string(special.setting) + ".content|" + special.setting, special.text));
    const auto id = vocabulary.find(name);
    if (special.id != nullptr) vocabulary.*special.id = id;
    if (id) vocabulary.tokens[to_size(*id)].type = special.type;
  }
  if (!vocabulary.unk || !vocabulary.opening || !vocabulary.closing) {
    return fail(ErrorCode::kBadFile,
                "{}: one of the unknown, CLS and SEP tokens is missing, such as [UNK]", path);
  }
  SHUNT_ASSIGN(const bool chinese, settings.flag("tokenize_chinese_chars", true));
  if (!chinese) return settings.wrong("tokenize_chinese_chars", "true");
  SHUNT_ASSIGN(const bool lower_case, settings.flag("do_lower_case", true));
  vocabulary.lower_case = lower_case;
  SHUNT_ASSIGN(vocabulary.strip_accents, settings.flag("strip_accents", lower_case));
  mark_words(vocabulary, kInside);
  return vocabulary;
}

}  // namespace shunt

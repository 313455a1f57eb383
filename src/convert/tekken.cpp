#include "convert/tekken.h"

#include <algorithm>
#include <unordered_map>

#include "base/to_size.h"
#include "convert/base64.h"
#include "convert/json_text.h"
#include "convert/pretokenizer_name.h"
#include "shunt/message.h"
#include "text/byte_alphabet.h"

namespace shunt {

namespace {

using TekkenJson = nlohmann::json;
using Ranks = std::unordered_map<std::string, std::int64_t>;

constexpr std::uint64_t kMostTekkenBytes = std::uint64_t{1} << 28;
constexpr std::int64_t kUsualSpecial = 1000;
constexpr std::size_t kMostTokenBytes = 1 << 12;
/// Of the steps to find merges: the square of a token's bytes, for all tokens.
constexpr std::size_t kMostSteps = std::size_t{1} << 31;

/// The two tokens that a token is merged of: those that are left when its bytes are merged by
/// tokens of lower ranks. None for a single byte, and for one that is not made this way.
std::pair<std::string, std::string> parts_of(const std::string& token, const Ranks& ranks,
                                             std::int64_t rank) {
  std::vector<std::string> parts;
  for (const char c : token) parts.emplace_back(1, c);
  while (parts.size() > 2) {
    std::int64_t best = rank;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found == ranks.end() || found->second >= best) continue;
      best = found->second;
      at = i;
    }
    if (best == rank) return {};
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return parts.size() == 2 ? std::pair(parts[0], parts[1]) : std::pair<std::string, std::string>();
}

class TekkenReader {
 public:
  TekkenReader(const TekkenJson& root, const std::string& path) : root_(root), path_(path) {}

  Result<FolderVocabulary> read() {
    SHUNT_ASSIGN(const TekkenJson* const config, member(root_, "config"));
    const auto pattern = config->find("pattern");
    if (pattern == config->end() || !pattern->is_string())
      return bad("config.pattern is missing; an expression is expected");
    vocabulary_.kind = "gpt2";
    SHUNT_ASSIGN(vocabulary_.pre,
                 pretokenizer_name_of(pattern->get<std::string>(), path_ + ": config.pattern"));
    SHUNT_ASSIGN(const std::int64_t special,
                 count(*config, "default_num_special_tokens", kUsualSpecial));
    SHUNT_ASSIGN(const std::int64_t size, count(*config, "default_vocab_size", 0));
    if (size < special)
      return bad("config.default_vocab_size is {}, of it {} special", size, special);
    SHUNT_TRY(add_special(special));
    SHUNT_TRY(add_tokens(special, size - special));
    vocabulary_.bos = vocabulary_.find("<s>");
    vocabulary_.eos = vocabulary_.find("</s>");
    vocabulary_.unk = vocabulary_.find("<unk>");
    vocabulary_.pad = vocabulary_.find("<pad>");
    vocabulary_.add_bos = true;
    return std::move(vocabulary_);
  }

 private:
  template <class... Args>
  Error bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadFile, "{}: {}", path_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Result<const TekkenJson*> member(const TekkenJson& object, const char* name) const {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end() || !found->is_structured()) return bad("{} is missing", name);
    return &*found;
  }

  Result<std::int64_t> count(const TekkenJson& object, const char* name,
                             std::int64_t otherwise) const {
    constexpr std::int64_t kMost = 1 << 24;
    const auto found = object.find(name);
    if (found == object.end()) return otherwise;
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > to_size(kMost))
      return bad("config.{} is {}; a whole number of at most {} is expected", name,
                 describe_json(*found), kMost);
    return found->get<std::int64_t>();
  }

  Status add_special(std::int64_t special) {
    for (std::int64_t id = 0; id < special; ++id) {
      text::Token token;
      token.text = fmt::format("<SPECIAL_{}>", id);
      token.type = text::TokenType::kControl;
      vocabulary_.tokens.push_back(std::move(token));
    }
    const auto list = root_.find("special_tokens");
    // Older files do not list those that all have.
    static const char* const kUsual[] = {"<unk>", "<s>", "</s>"};
    for (std::size_t i = 0; i < std::size(kUsual) && i < to_size(special); ++i)
      vocabulary_.tokens[i].text = kUsual[i];
    if (list == root_.end() || list->is_null()) return ok();
    if (!list->is_array()) return bad("special_tokens is {}", describe_json(*list));
    for (const TekkenJson& entry : *list) {
      const auto rank = entry.is_object() ? entry.find("rank") : entry.end();
      const auto text = entry.is_object() ? entry.find("token_str") : entry.end();
      const bool good = rank != entry.end() && text != entry.end() && rank->is_number_unsigned() &&
                        rank->get<std::uint64_t>() < to_size(special) && text->is_string();
      if (!good) return bad("special_tokens has {}", describe_json(entry));
      vocabulary_.tokens[rank->get<std::size_t>()].text = text->get<std::string>();
    }
    return ok();
  }

  Status add_tokens(std::int64_t special, std::int64_t most) {
    SHUNT_ASSIGN(const TekkenJson* const list, member(root_, "vocab"));
    Ranks ranks;
    std::vector<std::string> tokens;
    for (const TekkenJson& entry : *list) {
      if (std::ssize(tokens) == most) break;
      const auto text = entry.is_object() ? entry.find("token_bytes") : entry.end();
      if (text == entry.end() || !text->is_string())
        return bad("vocab has {}", describe_json(entry));
      const auto bytes = decode_base64(text->get_ref<const std::string&>());
      const std::int64_t rank = std::ssize(tokens);
      if (!bytes || bytes->empty() || bytes->size() > kMostTokenBytes)
        return bad("vocab: token_bytes of rank {} are no base64 of 1 to {} bytes", rank,
                   kMostTokenBytes);
      if (!ranks.try_emplace(*bytes, rank).second)
        return bad("vocab: rank {} has the bytes of rank {}", rank, ranks[*bytes]);
      tokens.push_back(*bytes);
    }
    if (std::ssize(tokens) < most)
      return bad("vocab has {} tokens; config has {}", tokens.size(), most);
    std::size_t steps = 0;
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
      steps += tokens[rank].size() * tokens[rank].size();
      if (steps > kMostSteps) return bad("vocab: tokens up to rank {} are too long", rank);
      text::Token token;
      token.text = text::alphabet_from_bytes(tokens[rank]);
      SHUNT_TRY(set_token(vocabulary_, special + static_cast<std::int64_t>(rank), std::move(token),
                          path_));
      const auto [left, right] = parts_of(tokens[rank], ranks, static_cast<std::int64_t>(rank));
      if (!left.empty())
        vocabulary_.merges.push_back(text::alphabet_from_bytes(left) + " " +
                                     text::alphabet_from_bytes(right));
    }
    return ok();
  }

  const TekkenJson& root_;
  const std::string& path_;
  FolderVocabulary vocabulary_;
};

}  // namespace

Result<FolderVocabulary> read_tekken(const std::string& path) {
  SHUNT_ASSIGN(const TekkenJson root, read_json_file(path, kMostTekkenBytes));
  return TekkenReader(root, path).read();
}

}  // namespace shunt

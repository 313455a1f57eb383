#include "text/character_bpe.h"

#include <string>

#include "text/utf8.h"
#include "text/word_cache.h"

namespace shunt::text {
namespace {

constexpr char32_t kSpaceCharacter = 0x2581;
// Words end at spaces; other places are tried once a segment is as long as this.
constexpr std::size_t kLongSegment = 64;

}  // namespace

/// The state of one encode().
struct CharacterBpe::Run {
  explicit Run(std::size_t text_bytes) : cache(text_bytes) {}

  WordCache cache;
  Merger merger;
  std::string segment;
  std::vector<char32_t> characters;  ///< of the segment
  bool after_unknown = false;
};

CharacterBpe::CharacterBpe(const Vocabulary& vocabulary, const ByteTokens& byte_tokens)
    : tokens_(static_cast<std::int32_t>(vocabulary.tokens.size())),
      next_symbol_(tokens_),
      byte_tokens_(byte_tokens) {
  ascii_.fill(kNoSymbol);
}

void CharacterBpe::add_token(std::string_view text, std::int32_t id) {
  neighbours_.add(text);
  if (utf8_size(text) != text.size()) return;
  const char32_t character = utf8_code_point(text);
  if (character < ascii_.size()) ascii_[character] = id;
  characters_.try_emplace(character, id);
}

std::int32_t CharacterBpe::character_symbol(char32_t character) {
  const auto [found, is_new] = characters_.try_emplace(character, next_symbol_);
  if (is_new) {
    if (character < ascii_.size()) ascii_[character] = next_symbol_;
    ++next_symbol_;
  }
  return found->second;
}

std::int32_t CharacterBpe::find_character(char32_t character) const {
  if (character < ascii_.size()) return ascii_[character];
  const auto found = characters_.find(character);
  return found == characters_.end() ? kNoSymbol : found->second;
}

void CharacterBpe::add_merge(std::int32_t left, std::int32_t right, Merge merge) {
  merges_.insert(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right), merge);
}

Status CharacterBpe::encode(std::string_view text, bool add_space,
                            std::vector<std::int32_t>& ids) const {
  Run run(text.size());
  const auto add = [&](char32_t character, std::string_view bytes) {
    run.characters.push_back(character);
    run.segment += bytes;
  };
  if (add_space) add(kSpaceCharacter, kSpaceSymbol);
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const bool is_space = text.front() == ' ';
    const char32_t character = is_space ? kSpaceCharacter : utf8_code_point(text);
    const bool may_cut = (character == kSpaceCharacter || run.segment.size() >= kLongSegment) &&
                         !run.characters.empty();
    if (may_cut && neighbours_.may_cut(run.characters.back(), character)) {
      SHUNT_TRY(encode_segment(run, ids));
    }
    add(character, is_space ? kSpaceSymbol : text.substr(0, size));
    text.remove_prefix(size);
  }
  return encode_segment(run, ids);
}

/// Appends the ids of the segment, and clears it.
Status CharacterBpe::encode_segment(Run& run, std::vector<std::int32_t>& ids) const {
  const std::string_view segment = run.segment;
  const auto known = run.cache.find(segment);
  Status status;
  if (!known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    run.after_unknown = false;
  } else {
    run.merger.clear();
    std::size_t at = 0;
    for (const char32_t character : run.characters) {
      const std::size_t size = utf8_size(segment.substr(at));
      run.merger.add(static_cast<std::uint32_t>(size), find_character(character));
      at += size;
    }
    run.merger.run(merges_);
    const std::size_t before = ids.size();
    bool all_tokens = true;
    run.merger.for_each([&](std::uint32_t begin, std::uint32_t size, std::int32_t id) {
      if (!status) return;
      if (id >= 0 && id < tokens_) {
        ids.push_back(id);
        run.after_unknown = false;
        return;
      }
      all_tokens = false;
      status = byte_tokens_.append(segment.substr(begin, size), run.after_unknown, ids);
    });
    if (all_tokens) run.cache.insert(segment, std::span(ids).subspan(before));
  }
  run.segment.clear();
  run.characters.clear();
  return status;
}

}  // namespace shunt::text

#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "shunt/message.h"

namespace shunt {

struct Pcre2Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
template <class T>
using Pcre2Owned = std::unique_ptr<T, Pcre2Free>;

namespace {

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

/// Writes \s and \S out as the characters with White_Space. PCRE2's own \s has U+180E besides,
/// which the tokenizers' expressions, written for other libraries, must not match.
std::string with_white_space(std::string_view pattern) {
  constexpr std::string_view kWhiteSpace =
      R"(\x09-\x0D\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      in_class = c == '[' || (in_class && c != ']');
      result += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' && in_class) {
      result += kWhiteSpace;
    } else if (escaped == 's' || (escaped == 'S' && !in_class)) {
      result.append(escaped == 's' ? "[" : "[^").append(kWhiteSpace).append("]");
    } else {
      result.append({c, escaped});
    }
  }
  return result;
}

/// Steps are bounded by a multiple of the text: none of Shunt's expressions needs more than a few
/// steps for each byte, and exponential matching must end as an error.
Pcre2Owned<pcre2_match_context> make_context(std::size_t bytes) {
  constexpr std::size_t kFixed = 1'000'000;
  constexpr std::size_t kPerByte = 16;
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint32_t kHeapKiB = 1u << 20;
  Pcre2Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  const std::size_t limit = bytes > kMost / kPerByte ? kMost : bytes * kPerByte;
  pcre2_set_match_limit(context.get(),
                        static_cast<std::uint32_t>(std::min(std::max(limit, kFixed), kMost)));
  pcre2_set_heap_limit(context.get(), kHeapKiB);
  return context;
}

}  // namespace

struct Regex::Code {
  Pcre2Owned<pcre2_code> code;
  bool compiled = false;  ///< to machine code
};

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string expanded = with_white_space(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pcre2Owned<pcre2_code> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()),
                                            expanded.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset,
                                            nullptr));
  if (!code) {
    return invalid("regular expression {}: {} at {}", expanded, message_of(error), offset);
  }
  // Without executable memory this fails, and matching is slower.
  const bool compiled = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::make_shared<const Code>(Code{std::move(code), compiled}));
}

Status Regex::split(std::vector<std::string_view>& pieces) const {
  RegexPieces cut(*this);
  std::vector<std::string_view> result;
  result.reserve(pieces.size());
  for (const std::string_view whole : pieces) {
    cut.start(whole);
    while (true) {
      SHUNT_ASSIGN(const std::string_view piece, cut.next());
      if (piece.empty()) break;
      result.push_back(piece);
    }
  }
  pieces = std::move(result);
  return ok();
}

struct RegexPieces::Data {
  Pcre2Owned<pcre2_match_data> match;
  Pcre2Owned<pcre2_match_context> context;
  std::size_t context_bytes = 0;  ///< the length of a text that the context's limits are for
};

RegexPieces::RegexPieces(Regex regex) : regex_(std::move(regex)), data_(std::make_unique<Data>()) {
  data_->match.reset(pcre2_match_data_create(1, nullptr));
  if (!data_->match) throw std::bad_alloc();
  data_->context = make_context(0);
}
RegexPieces::RegexPieces(RegexPieces&&) noexcept = default;
RegexPieces::~RegexPieces() = default;

void RegexPieces::start(std::string_view text) {
  text_ = text;
  done_ = 0;
  match_end_ = 0;
  if (text.size() <= data_->context_bytes) return;
  data_->context = make_context(text.size());
  data_->context_bytes = text.size();
}

Result<std::string_view> RegexPieces::next() {
  if (match_end_ > done_) {
    const std::size_t begin = std::exchange(done_, match_end_);
    return text_.substr(begin, done_ - begin);
  }
  if (done_ == text_.size()) return std::string_view();
  // Not checking UTF-8 again matters: PCRE2 would read the whole text for every match. The text was
  // checked once.
  constexpr std::uint32_t kOptions = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  const pcre2_code* code = regex_.code_->code.get();
  int found = PCRE2_ERROR_JIT_STACKLIMIT;
  if (regex_.code_->compiled) {
    found = pcre2_jit_match(code, subject, text_.size(), done_, kOptions, data_->match.get(),
                            data_->context.get());
  }
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter has the heap
    found = pcre2_match(code, subject, text_.size(), done_, kOptions | PCRE2_NO_JIT,
                        data_->match.get(), data_->context.get());
  }
  const std::size_t begin = done_;
  if (found == PCRE2_ERROR_NOMATCH) {
    done_ = text_.size();
    return text_.substr(begin);
  }
  if (found < 0) {
    return fail(ErrorCode::kUnsupported, "cutting {} bytes of text into words: {}", text_.size(),
                message_of(found));
  }
  const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data_->match.get());
  match_end_ = match[1];
  done_ = match[0] > begin ? match[0] : match[1];
  return text_.substr(begin, done_ - begin);
}

Result<bool> Regex::matches(std::string_view text) const {
  constexpr std::uint32_t kOptions = PCRE2_ANCHORED | PCRE2_ENDANCHORED;
  const Pcre2Owned<pcre2_match_data> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw std::bad_alloc();
  const Pcre2Owned<pcre2_match_context> context = make_context(text.size());
  const int found = pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                text.size(), 0, kOptions, data.get(), context.get());
  if (found >= 0) return true;
  const bool not_utf8 = found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21;
  if (found == PCRE2_ERROR_NOMATCH || not_utf8) return false;
  return fail(ErrorCode::kUnsupported, "matching {} bytes of text: {}", text.size(),
              message_of(found));
}

}  // namespace shunt

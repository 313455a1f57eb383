#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

// Longer ones first.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// Number of bytes of whitespace at the front.
std::size_t leading_space(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && is_space(utf8_code_point(text.substr(size)))) {
    size += utf8_size(text.substr(size));
  }
  return size;
}

/// Without whitespace at the end.
std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
    if (!is_space(utf8_code_point(text.substr(last)))) break;
    text = text.substr(0, last);
  }
  return text;
}

/// Digits, with single underscores between them.
std::size_t digits_at(std::string_view text, bool (*is_one)(char)) {
  std::size_t size = 0;
  while (size < text.size()) {
    const bool joined = text[size] == '_' && size > 0;
    const std::size_t digit = joined ? size + 1 : size;
    if (digit >= text.size() || !is_one(text[digit])) break;
    size = digit + 1;
  }
  return size;
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  Result<std::vector<TemplateToken>> read() {
    while (at_ < text_.size()) SHUNT_TRY(read_data());
    tokens_.push_back({TokenKind::kEnd, text_.size(), {}});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  Error fail_at(std::size_t at, std::string message) const {
    return source_.locate(at, Error(ErrorCode::kInvalidArgument, std::move(message)));
  }

  void add(TokenKind kind, std::size_t at, std::string_view text) {
    tokens_.push_back({kind, at, std::string(text)});
  }

  /// The text before a tag, without the whitespace that the tag takes away.
  std::string_view trimmed(std::string_view data, char sign, bool is_variable) const {
    if (sign == '-') return without_trailing_space(data);
    if (sign == '+' || is_variable) return data;
    const std::size_t line = data.rfind('\n') + 1;  // 0 if there is none
    if (line == 0 && !line_starting_) return data;
    const std::string_view last_line = data.substr(line);
    return leading_space(last_line) == last_line.size() ? data.substr(0, line) : data;
  }

  char sign_at(std::size_t at) const {
    return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
  }

  Status read_data() {
    const std::size_t begin = at_;
    std::size_t tag = begin;
    while (true) {
      tag = text_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= text_.size()) {
        add(TokenKind::kData, begin, rest());
        at_ = text_.size();
        return ok();
      }
      const char second = text_[tag + 1];
      if (second == '{' || second == '%' || second == '#') break;
      ++tag;
    }
    const char type = text_[tag + 1];
    const char sign = sign_at(tag + 2);
    const std::string_view data = trimmed(text_.substr(begin, tag - begin), sign, type == '{');
    if (!data.empty()) add(TokenKind::kData, begin, data);
    at_ = tag + 2 + (sign == '\0' ? 0 : 1);
    if (type == '#') return read_comment(tag);
    if (type == '%' && skip_raw_begin()) return read_raw(tag);
    add(type == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, tag, {});
    line_starting_ = false;
    return read_tag(tag, type == '{' ? "}}" : "%}");
  }

  void move_to(std::size_t at) {
    at_ = at;
    line_starting_ = at_ > 0 && text_[at_ - 1] == '\n';
  }

  /// Behind the end of a block or comment at `at`; `sign` is the character before it.
  void leave_block(std::size_t at, char sign) {
    if (sign == '-') {
      at += leading_space(text_.substr(at));
    } else if (sign != '+' && at < text_.size() && text_[at] == '\n') {
      ++at;
    }
    move_to(at);
  }

  Status read_comment(std::size_t tag) {
    const std::size_t end = text_.find("#}", at_);
    if (end == std::string_view::npos) return fail_at(tag, "the comment has no end, \"#}\"");
    leave_block(end + 2, end > at_ ? text_[end - 1] : '\0');
    return ok();
  }

  /// Skips "raw %}"; false if that is not there.
  bool skip_raw_begin() {
    std::size_t at = at_ + leading_space(rest());
    if (!text_.substr(at).starts_with("raw")) return false;
    at += 3;
    at += leading_space(text_.substr(at));
    const bool strips = text_.substr(at).starts_with("-%}");
    if (!strips && !text_.substr(at).starts_with("%}")) return false;
    at += strips ? 3 : 2;
    move_to(strips ? at + leading_space(text_.substr(at)) : at);
    return true;
  }

  /// Up to "{% endraw %}".
  Status read_raw(std::size_t tag) {
    const std::size_t begin = at_;
    for (std::size_t i = text_.find("{%", begin); i != std::string_view::npos;
         i = text_.find("{%", i + 1)) {
      const char sign = sign_at(i + 2);
      std::size_t at = i + 2 + (sign == '\0' ? 0 : 1);
      at += leading_space(text_.substr(at));
      if (!text_.substr(at).starts_with("endraw")) continue;
      at += 6;
      at += leading_space(text_.substr(at));
      const char end_sign = sign_at(at);
      if (end_sign != '\0') ++at;
      if (!text_.substr(at).starts_with("%}")) continue;
      const std::string_view data = trimmed(text_.substr(begin, i - begin), sign, false);
      if (!data.empty()) add(TokenKind::kData, begin, data);
      leave_block(at + 2, end_sign);
      return ok();
    }
    return fail_at(tag, "the raw block has no end, \"{% endraw %}\"");
  }

  /// Whether the tag ends here; then it is left.
  bool leave_tag(std::string_view end) {
    if (!brackets_.empty()) return false;
    const std::string_view here = rest();
    const bool is_block = end == "%}";
    const bool has_sign = !here.empty() && (here[0] == '-' || (is_block && here[0] == '+')) &&
                          here.substr(1).starts_with(end);
    if (!has_sign && !here.starts_with(end)) return false;
    add(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, at_, {});
    const char sign = has_sign ? here[0] : '\0';
    const std::size_t behind = at_ + end.size() + (has_sign ? 1 : 0);
    if (is_block || sign == '-') {
      leave_block(behind, sign);
    } else {
      move_to(behind);
    }
    return true;
  }

  Status read_tag(std::size_t tag, std::string_view end) {
    while (at_ < text_.size()) {
      if (leave_tag(end)) return ok();
      if (const std::size_t space = leading_space(rest()); space > 0) {
        at_ += space;
      } else if (is_decimal(text_[at_])) {
        read_number();
      } else if (is_word(text_[at_])) {
        const std::string_view here = rest();
        const auto stop = std::find_if_not(here.begin(), here.end(), is_word);
        const auto size = static_cast<std::size_t>(stop - here.begin());
        add(TokenKind::kName, at_, here.substr(0, size));
        at_ += size;
      } else if (text_[at_] == '"' || text_[at_] == '\'') {
        SHUNT_TRY(read_string());
      } else {
        SHUNT_TRY(read_operator());
      }
    }
    return fail_at(tag, fmt::format("the tag has no end, \"{}\"", end));
  }

  void read_number() {
    const std::string_view here = rest();
    const auto add_digits = [&](TokenKind kind, std::size_t size) {
      std::string digits(here.substr(0, size));
      std::erase(digits, '_');
      add(kind, at_, digits);
      at_ += size;
    };
    if (here.size() > 2 && here[0] == '0' && !is_decimal(here[1])) {
      const auto is_hex = [](char c) {
        return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      };
      const bool based = std::string_view("xXoObB").find(here[1]) != std::string_view::npos;
      const std::size_t size = based ? digits_at(here.substr(2), is_hex) : 0;
      if (size > 0) return add_digits(TokenKind::kInteger, size + 2);
    }
    const std::size_t whole = digits_at(here, is_decimal);
    // "x.0.1" are two elements, not a fraction.
    const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
    const std::size_t size = after_dot ? whole : whole + fraction_at(here.substr(whole));
    add_digits(size == whole ? TokenKind::kInteger : TokenKind::kFloat, size);
  }

  /// Size of ".5", "e3" or ".5e3" at the front.
  static std::size_t fraction_at(std::string_view text) {
    std::size_t size = 0;
    if (text.starts_with('.')) {
      const std::size_t digits = digits_at(text.substr(1), is_decimal);
      if (digits == 0) return 0;
      size = 1 + digits;
    }
    if (size < text.size() && (text[size] | 32) == 'e') {
      std::size_t exponent = size + 1;
      if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
      const std::size_t digits = digits_at(text.substr(exponent), is_decimal);
      if (digits > 0) size = exponent + digits;
    }
    return size;
  }

  Status read_string() {
    const char quote = text_[at_];
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return fail_at(at_, "the string has no end");
    auto text = unescape(text_.substr(at_ + 1, end - at_ - 1));
    if (!text) return source_.locate(at_, std::move(text.error()));
    add(TokenKind::kString, at_, *text);
    at_ = end + 1;
    return ok();
  }

  Status read_operator() {
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](auto each) { return rest().starts_with(each); });
    if (found == kOperators.end()) {
      const std::string_view character = rest().substr(0, utf8_size(rest()));
      return fail_at(at_, fmt::format("unexpected character \"{}\"", character));
    }
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (kOpening.find(*found) != std::string_view::npos) {
      if (brackets_.size() >= kMostBrackets) {
        return fail_at(at_, fmt::format("brackets are nested more than {} deep", kMostBrackets));
      }
      brackets_ += kClosing[kOpening.find(*found)];
    } else if (kClosing.find(*found) != std::string_view::npos) {
      if (brackets_.empty()) return fail_at(at_, fmt::format("unexpected \"{}\"", *found));
      if (brackets_.back() != found->front()) {
        return fail_at(at_,
                       fmt::format("unexpected \"{}\", expected \"{}\"", *found, brackets_.back()));
      }
      brackets_.pop_back();
    }
    add(TokenKind::kOperator, at_, *found);
    at_ += found->size();
    return ok();
  }

  static constexpr std::size_t kMostBrackets = 100;

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool line_starting_ = true;
  std::string brackets_;  ///< closing ones that are due
  std::vector<TemplateToken> tokens_;
};

}  // namespace

Result<std::vector<TemplateToken>> read_tokens(const Source& source) {
  return Lexer(source).read();
}

}  // namespace shunt::text::jinja

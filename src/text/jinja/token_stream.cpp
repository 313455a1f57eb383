#include "text/jinja/token_stream.h"

#include <algorithm>
#include <array>

namespace shunt::text::jinja {
namespace {

constexpr std::array<std::string_view, 11> kKindNames = {"text",
                                                         "\"{{\"",
                                                         "\"}}\"",
                                                         "\"{%\"",
                                                         "\"%}\"",
                                                         "a name",
                                                         "a string",
                                                         "an integer",
                                                         "a number",
                                                         "an operator",
                                                         "the end of the template"};

std::string describe(TokenKind kind, std::string_view text) {
  if (!text.empty() && (kind == TokenKind::kName || kind == TokenKind::kOperator)) {
    return fmt::format("\"{}\"", text);
  }
  return std::string(kKindNames[static_cast<std::size_t>(kind)]);
}

}  // namespace

const TemplateToken& TokenStream::following() const {
  return tokens_[std::min(index_ + 1, tokens_.size() - 1)];
}

bool TokenStream::is_one_of(std::initializer_list<std::string_view> names) const {
  return is(TokenKind::kName) &&
         std::find(names.begin(), names.end(), current().text) != names.end();
}

const TemplateToken& TokenStream::take() {
  const TemplateToken& token = tokens_[index_];
  if (index_ + 1 < tokens_.size()) ++index_;
  return token;
}

bool TokenStream::skip(TokenKind kind, std::string_view text) {
  if (!is(kind, text)) return false;
  take();
  return true;
}

Status TokenStream::expect(TokenKind kind, std::string_view text) {
  if (!is(kind) || (!text.empty() && current().text != text)) {
    return fail(current().at, fmt::format("expected {}, not {}", describe(kind, text),
                                          describe(current().kind, current().text)));
  }
  take();
  return ok();
}

Result<std::string> TokenStream::expect_name() {
  std::string name = current().text;
  SHUNT_TRY(expect(TokenKind::kName));
  return name;
}

Error TokenStream::unexpected() const {
  return fail(current().at, fmt::format("unexpected {}", describe(current().kind, current().text)));
}

Error TokenStream::fail(std::size_t at, std::string message) const {
  return source_.locate(at, Error(ErrorCode::kInvalidArgument, std::move(message)));
}

NameId TokenStream::id_of(std::string_view name) {
  const auto [found, added] =
      ids_.try_emplace(std::string(name), static_cast<NameId>(names_.size()));
  if (added) names_.emplace_back(name);
  return found->second;
}

}  // namespace shunt::text::jinja

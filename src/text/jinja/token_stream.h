// The tokens of a template, read one by one, and the names of its variables.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shunt/message.h"
#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {

/// The tokens of a template, and the place of the parser among them.
class TokenStream {
 public:
  TokenStream(const Source& source, std::vector<TemplateToken> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  const TemplateToken& current() const { return tokens_[index_]; }
  const TemplateToken& following() const;
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is(TokenKind kind, std::string_view text) const {
    return is(kind) && current().text == text;
  }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  bool is_one_of(std::initializer_list<std::string_view> names) const;

  /// The current token; the stream goes on.
  const TemplateToken& take();
  bool skip(TokenKind kind, std::string_view text);
  Status expect(TokenKind kind, std::string_view text = {});
  Result<std::string> expect_name();

  /// An error at the current token.
  Error unexpected() const;
  Error fail(std::size_t at, std::string message) const;

  NameId id_of(std::string_view name);
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  const Source& source_;
  std::vector<TemplateToken> tokens_;
  std::size_t index_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, NameId> ids_;
};

}  // namespace shunt::text::jinja

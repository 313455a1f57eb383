// A template as tokens: its text with whitespace taken away as the tags say, and the words in tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/source.h"

namespace shunt::text::jinja {

enum class TokenKind : std::uint8_t {
  kData,  ///< text outside of tags
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,  ///< escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct TemplateToken {
  TokenKind kind;
  std::size_t at;    ///< offset in the source
  std::string text;  ///< of integers and floats without underscores
};

/// Blocks take away the whitespace before them in their line, and the line end behind them
/// (lstrip_blocks, trim_blocks). The last token is kEnd.
Result<std::vector<TemplateToken>> read_tokens(const Source& source);

}  // namespace shunt::text::jinja

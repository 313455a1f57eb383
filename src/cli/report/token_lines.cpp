#include "cli/report/token_lines.h"

#include <fmt/format.h>

#include "shunt/gguf.h"

namespace shunt::cli {

Result<std::string> token_lines(const text::Tokenizer& tokenizer,
                                std::span<const std::int32_t> ids) {
  std::string lines;
  for (const std::int32_t id : ids) {
    SHUNT_ASSIGN(const std::string piece, tokenizer.piece(id, true));
    lines += fmt::format("{:>7}  {}\n", id, gguf::printable(piece, piece.size()));
  }
  return lines;
}

Result<Json> token_json(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  Json tokens = Json::array();
  for (const std::int32_t id : ids) {
    SHUNT_ASSIGN(const std::string piece, tokenizer.piece(id, true));
    tokens.push_back({{"id", id}, {"piece", piece}, {"type", to_string(tokenizer.token_type(id))}});
  }
  return tokens;
}

}  // namespace shunt::cli

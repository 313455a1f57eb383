// Reads the text of a PTX module.
#pragma once

#include <string_view>
#include <variant>

#include "cuda/ptx/syntax.h"

namespace cuda_twin::ptx {

/// Bounds that keep hostile text cheap.
struct ParserLimits {
  std::size_t text_bytes = std::size_t{32} << 20;
  std::size_t registers = std::size_t{1} << 20;  ///< of a function
  unsigned nesting = 64;
  std::size_t initial_bytes = std::size_t{64} << 20;  ///< of all initialised variables
  std::size_t target_bytes = std::size_t{64} << 20;   ///< of all lists of targets
  Version newest{99, 9};  ///< a text of a newer .version is refused: version_unsupported
};

/// The module, or the first error. Instructions are not checked here: the binder of each opcode
/// does that (program/binder.h).
std::variant<Module, SyntaxError> parse(std::string_view text, const ParserLimits& limits = {});

}  // namespace cuda_twin::ptx

// Constant expressions: integers of 64 bits, signed or unsigned, and floats.
#pragma once

#include "cuda/ptx/tokens.h"

namespace cuda_twin::ptx {

/// True if a constant expression can start at the next token; "-%r1" and "!%p1" are none.
bool at_constant(const Tokens& tokens);
std::optional<Literal> read_constant(Tokens& tokens);
std::optional<std::int64_t> read_integer(Tokens& tokens);
/// An integer from `least` to `most`.
std::optional<std::uint64_t> read_count(Tokens& tokens, std::string_view role, std::uint64_t least,
                                        std::uint64_t most);

}  // namespace cuda_twin::ptx

// Debug information, which is read over: .loc, .file, .section, .pragma.
#pragma once

#include "cuda/ptx/tokens.h"

namespace cuda_twin::ptx {

bool at_debug(const Tokens& tokens);
bool skip_debug(Tokens& tokens);

}  // namespace cuda_twin::ptx

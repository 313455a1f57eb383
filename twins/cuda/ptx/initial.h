// Initial values of variables.
#pragma once

#include <vector>

#include "cuda/ptx/variables.h"

namespace cuda_twin::ptx {

/// "= 3" or "= {{1, 2}, {f, g + 8}}": fills `data` and `relocations`, and an open first dimension.
bool read_initial(Tokens& tokens, Variable& variable, std::vector<std::uint64_t>& dimensions,
                  ModuleNames& names, const Resolve& resolve);

}  // namespace cuda_twin::ptx

// Strict mode: memory whose bytes were permuted to FRACTAL_NZ, and reads of it that take it for
// anything else.
#pragma once

#include <cstdint>
#include <string>

#include "ascend/call.h"
#include "ascend/tensors/view.h"

namespace ascend_twin {

/// From here on the bytes are NZ as a whole (TransMatmulWeight, casts to NZ). Nothing without
/// strict mode.
void mark_nz(const void* address, std::uint64_t bytes);
/// Other bytes are written over it.
void forget_nz(const void* address, std::uint64_t bytes);
/// In the task's turn. Late objections: NZ bytes as ND, a view into them.
Status check_nz(const View& view, const std::string& what);

}  // namespace ascend_twin

// Data for the sources of a test case.
#pragma once

#include <cstddef>
#include <vector>

#include "conformance/case.h"
#include "graph/op.h"

namespace shunt {

/// Values for a source, contiguous, as its fill says, rounded to its type; the same seed gives the
/// same.
RefTensor make_values(const CaseSource& source, std::uint64_t seed);
/// Bytes of a source. Blocks of formats that take long to encode are drawn from some that were made
/// before: they are to be decoded, not to be compared with make_values().
std::vector<std::byte> make_bytes(const CaseSource& source, std::uint64_t seed);

}  // namespace shunt

// The test cases of every op. Those of a family are beside its ops:
// src/ops/FAMILY/FAMILY_cases.cpp, or in several files FAMILY_PART_cases.cpp. Each file
// NAME_cases.cpp defines `CaseList NAME_cases_list()`; the table of these functions is generated
// from the file names (src/conformance/CMakeLists.txt).
#pragma once

#include <span>
#include <vector>

#include "conformance/case.h"
#include "graph/op.h"

namespace shunt {

/// An op and the function that passes its cases to a sink, always in the same order.
struct OpCases {
  const Op& (*op)();
  void (*make)(const Op& op, const CaseSink& sink);
};
using CaseList = std::span<const OpCases>;

/// The rows of all files.
std::vector<OpCases> all_op_cases();

/// Calls `sink` for each test case of an op. An op without a row in any file has none.
void each_case(const Op& op, const CaseSink& sink);

}  // namespace shunt

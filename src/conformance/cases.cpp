#include "conformance/cases.h"

namespace shunt {

#include "case_list.inc"

std::vector<OpCases> all_op_cases() {
  std::vector<OpCases> all;
  for (const auto list : kCaseLists) {
    for (const OpCases& row : list()) all.push_back(row);
  }
  return all;
}

void each_case(const Op& op, const CaseSink& sink) {
  for (const OpCases& row : all_op_cases()) {
    if (&row.op() == &op) row.make(op, sink);
  }
}

}  // namespace shunt

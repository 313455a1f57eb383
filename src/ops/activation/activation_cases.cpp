#include <limits>
#include <span>
#include <vector>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/activation/activation.h"
#include "ops/common/type_lists.h"

namespace shunt {

namespace {

/// Parameters that the gated units are tested with; the first are the defaults.
template <class P>
std::vector<P> gated_params();
template <>
std::vector<GatedParams> gated_params() {
  return {{}};
}
template <>
std::vector<SwigluOaiParams> gated_params() {
  return {{}, {.alpha = 1, .limit = 0.5F}, {.limit = std::numeric_limits<float>::infinity()}};
}

class GatedCases {
 public:
  GatedCases(const Op& op, const CaseSink& sink) : op_(op), sink_(sink) {}

  void emit(const CaseSource& gate, const CaseSource& up, const Params& params,
            const char* extra = "") const {
    emit_case(sink_, params, {gate, up}, float_error(gate.dtype, kElementError),
              op_.describe(params) + extra);
  }

 private:
  const Op& op_;
  const CaseSink& sink_;
};

void split_cases(const GatedCases& cases, DType type, std::span<const Params> tested) {
  for (const CaseSource& x : unary_sources(type)) {
    const CaseSource plain = source_of(type, sizes_of(x));
    cases.emit(x, plain, tested[0]);
    if (type == DType::kF32)
      cases.emit(filled(plain, Fill::kUniform, -200, 200), x, tested[0], " large");
  }
  // Both halves of one product, as from fused weights.
  const CaseSource part = seen_as(type, {33, 4, 1, 1}, {0, 1, 2, 3}, {33, 0, 0, 0});
  cases.emit(part, part, tested[0]);
  for (const Params& params : tested) {
    cases.emit(seen_as(type, {12, 5, 3, 2}, {1, 0, 2, 3}),
               seen_as(type, {12, 5, 3, 2}, {0, 2, 1, 3}), params);
    for (DType of_up : kFloatTypes) {
      cases.emit(source_of(type, {5000, 2, 1, 1}), source_of(of_up, {5000, 2, 1, 1}), params);
    }
  }
}

template <class P>
void fused_cases(const GatedCases& cases, DType type) {
  for (P each : gated_params<P>()) {
    for (const GateHalf gate : {GateHalf::kFirst, GateHalf::kSecond}) {
      each.gate = gate;
      const Params params = Params::of(each);
      for (const Sizes& sizes :
           {Sizes{64, 5, 1, 1}, Sizes{2, 1, 1, 1}, Sizes{666, 1, 1, 1}, Sizes{14, 3, 2, 2},
            Sizes{0, 3, 1, 1}, Sizes{64, 0, 2, 1}, Sizes{2, 9, 1, 1}, Sizes{10002, 2, 1, 1}}) {
        cases.emit(source_of(type, sizes), not_given(), params);
      }
      cases.emit(seen_as(type, {66, 3, 5, 2}, {0, 2, 1, 3}), not_given(), params);
      cases.emit(seen_as(type, {34, 7, 2, 1}, {1, 0, 2, 3}), not_given(), params);
      cases.emit(seen_as(type, {34, 4, 2, 2}, {0, 1, 2, 3}, {3, 1, 1, 0}), not_given(), params);
    }
  }
}

template <class P>
void gated_cases(const Op& op, const CaseSink& sink) {
  const GatedCases cases(op, sink);
  std::vector<Params> tested;
  for (const P& each : gated_params<P>()) tested.push_back(Params::of(each));
  for (DType type : kFloatTypes) {
    split_cases(cases, type, tested);
    fused_cases<P>(cases, type);
  }
}

}  // namespace

CaseList activation_cases_list() {
  static constexpr OpCases kCases[] = {
      {geglu_op, gated_cases<GatedParams>},       {geglu_erf_op, gated_cases<GatedParams>},
      {geglu_quick_op, gated_cases<GatedParams>}, {reglu_op, gated_cases<GatedParams>},
      {swiglu_op, gated_cases<GatedParams>},      {swiglu_oai_op, gated_cases<SwigluOaiParams>},
  };
  return kCases;
}

}  // namespace shunt

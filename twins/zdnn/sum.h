// How the twin adds up, by its setting. The machine's inner precision and order are not public.
// Trying the other settings reveals a program that depends on one of them.
#pragma once

#include <type_traits>

#include "dlfloat.h"
#include "settings.h"

namespace zdnn_twin {

template <Accumulate kModel>
struct Accumulator {
  static constexpr Accumulate kItsModel = kModel;
  /// Holds each DLFLOAT16 number, and each product of two of them.
  using Number = std::conditional_t<kModel == Accumulate::kSingle, float, double>;
  Number sum = 0;

  /// A product, or another term.
  template <class Term>
  void add(Term term) {
    if constexpr (kModel == Accumulate::kDlfloat) {
      // The double sum of two floats rounded to float is their float sum: 53 bits are more than
      // twice 24.
      sum = static_cast<double>(static_cast<float>(sum + as_dlf(term)));
    } else {
      sum += static_cast<Number>(term);
    }
  }
};

/// Calls f with an Accumulator of the model that is set, for its type.
template <class F>
auto with_accumulator(F f) {
  switch (setting_as<Accumulate>(Setting::kAccumulate)) {
    case Accumulate::kSingle:
      return f(Accumulator<Accumulate::kSingle>());
    case Accumulate::kDouble:
      return f(Accumulator<Accumulate::kDouble>());
    case Accumulate::kDlfloat:
      break;
  }
  return f(Accumulator<Accumulate::kDlfloat>());
}

/// The sum of term(0) ... term(count - 1), in that order.
template <class Term>
double sum_of(std::uint64_t count, Term term) {
  return with_accumulator([&](auto accumulator) {
    for (std::uint64_t i = 0; i < count; ++i) accumulator.add(term(i));
    return static_cast<double>(accumulator.sum);
  });
}

}  // namespace zdnn_twin

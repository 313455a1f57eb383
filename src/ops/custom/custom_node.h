// The content of a node of op `custom`, and the call of its function.
#pragma once

#include "ops/custom/custom.h"

namespace shunt {

/// Most sources it can have.
inline constexpr std::size_t kMaxCustomSources = 8;

struct CustomNode {
  CustomParams custom;
  std::vector<DType> sources;  ///< their types, for the reference, which has none
  template <class F>
  void each(F f) const {
    f("name", custom.name.c_str());
    f("items", custom.items);
  }
};

/// The value that the function returns, or an error for anything that it throws. Both kinds of
/// error have the function's name and the item in their message.
Status call_custom(const CustomParams& custom, const CustomCall& call);

}  // namespace shunt

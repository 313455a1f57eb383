// Results without gaps, and indices that are known when a program is made.
#pragma once

#include <functional>
#include <string>

#include "backends/cann/calls.h"

namespace shunt::cann {

/// Calls write(View) with memory without gaps, and makes its content that of `to`.
template <class Write>
void write_whole(Calls& calls, const View& to, Write write) {
  if (to.is_contiguous()) return write(to);
  const View made = calls.temporary(to.type(), to.sizes());
  write(made);
  calls.copy(to, made);
}

/// Host indices must be below this: they are kept as F32.
inline constexpr std::int64_t kMostHostIndices = std::int64_t{1} << 24;
/// Int32 [size], of which element i is index(i). `key` names the content.
inline View host_indices(Calls& calls, const std::string& key, std::int64_t size,
                         const std::function<std::int64_t(std::int64_t)>& index) {
  const View numbers =
      calls.constant(key, static_cast<std::size_t>(size), [&](std::span<float> to) {
        for (std::size_t i = 0; i < to.size(); ++i)
          to[i] = static_cast<float>(index(static_cast<std::int64_t>(i)));
      });
  return calls.cast(numbers, DataType::kInt32);
}

}  // namespace shunt::cann

#include "base/to_size.h"

#include <fmt/format.h>

#include <stdexcept>

namespace shunt {

void refuse_negative_size(long long number) {
  throw std::length_error(fmt::format("a size or a position is {}", number));
}

}  // namespace shunt

// The numbers of a range as a vector, which matchers of containers take.
#pragma once

#include <vector>

#include "base/indexed_vector.h"

namespace shunt::test {

template <class Index>
std::vector<Index> numbers_of(const IndexRange<Index>& range) {
  std::vector<Index> numbers;
  for (const Index number : range) numbers.push_back(number);
  return numbers;
}

}  // namespace shunt::test

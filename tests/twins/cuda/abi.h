// Sizes, offsets and numbers of the driver's interface, from the header that a file includes.
#pragma once

#include <string>
#include <vector>

namespace abi_test {

struct Fact {
  std::string name;
  long long value;
};
std::vector<Fact> facts_of_twin();
/// Of the vendor's cuda.h; empty where it is not installed or older than 13.0.
std::vector<Fact> facts_of_vendor();

}  // namespace abi_test

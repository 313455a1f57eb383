// Small architectures beside those of the library, whose layers have different caches. Their
// files are described in test_model.h.
#pragma once

#include <vector>

#include "model/definition.h"

namespace shunt::test {

/// "windows", "hybrid" and "mixed", for LoadOptions::architectures and read_model().
std::vector<const Architecture*> test_architectures();

}  // namespace shunt::test

// The cases that tests/oracle/generate.py wrote: an op, its operands, and PyTorch's results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace shunt::test {

struct OracleTensor {
  DType dtype = DType::kF32;
  RefTensor values;  ///< as the type has them
};

struct OracleCase {
  std::string op;
  std::string name;  ///< "opt_step_adamw 3 (beta1=0.8)": for messages
  Params params;
  std::vector<std::optional<OracleTensor>> sources;  ///< none where an optional one is not given
  OracleTensor result;
  std::map<std::size_t, OracleTensor> written;  ///< contents of sources afterwards, by number
  double max_error = 0;                         ///< normalised mean square
};

/// All cases of all files. Throws std::runtime_error if a file is not as it should be.
const std::vector<OracleCase>& oracle_cases();

}  // namespace shunt::test

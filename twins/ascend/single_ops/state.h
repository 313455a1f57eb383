// State of the compiler of single operators from aclInit to aclFinalize.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "ascend/include/acl/acl_single_op.h"

namespace ascend_twin {

inline constexpr int kCompileOptions = ACL_OP_DEBUG_OPTION + 1;

struct SingleOpState {
  std::mutex mutex;
  std::array<std::string, kCompileOptions> options;
  std::set<std::string> compiled;  ///< types with their tensors and attributes
};
/// A fresh one after the devices were made anew.
std::shared_ptr<SingleOpState> single_op_state();

}  // namespace ascend_twin

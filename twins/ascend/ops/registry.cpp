#include <map>

#include "ascend/ops/op.h"

namespace ascend_twin {
namespace {
std::map<std::string_view, const Op*>& single_ops() {
  static auto* all = new std::map<std::string_view, const Op*>;  // no destructor runs at exit
  return *all;
}
}  // namespace

Registered::Registered(const Op& op) {
  single_ops()[op.name] = &op;
}

const Op* find_single_op(std::string_view name) {
  const auto found = single_ops().find(name);
  return found == single_ops().end() ? nullptr : found->second;
}

}  // namespace ascend_twin

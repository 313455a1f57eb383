#include "shunt/graph.h"

#include <algorithm>
#include <array>

#include "base/enum_table.h"
#include "graph/op.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(Role role) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "activation", "weight", "expert weight", "input", "cache", "output"};
  return name_in(kNames, role);
}

DynamicDimValues Graph::max_dynamic_dims() const {
  DynamicDimValues values = {};
  for (std::size_t i = 0; i < dynamic_dims_.size(); ++i) values[i] = dynamic_dims_[i].max;
  return values;
}

std::string Graph::describe(NodeId id) const {
  if (id >= nodes_.size()) return fmt::format("#{} (no such node)", id);
  const Node& at = nodes_[id];
  const std::string_view what = at.is_leaf() ? to_string(at.role) : at.op->info().name;
  return at.name.empty() ? fmt::format("#{} ({})", id, what)
                         : fmt::format("{} ({})", at.name, what);
}

}  // namespace shunt

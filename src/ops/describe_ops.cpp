#include "ops/list.h"
#include "shunt/op_list.h"

namespace shunt {
namespace {

std::string_view storage_of(const OpInfo& info) {
  switch (info.storage) {
    case Storage::kOwn:
      return "own";
    case Storage::kView:
      return "view";
    case Storage::kIntoFirst:
      return "into first source";
  }
  return "unknown";
}

OpDescription describe(const Op& op) {
  const OpInfo& info = op.info();
  OpDescription description;
  description.name = info.name;
  description.family = info.family;
  description.summary = info.summary;
  for (std::string_view source : info.sources) {
    const bool optional = source.ends_with('?');
    if (optional) source.remove_suffix(1);
    description.sources.push_back({std::string(source), optional});
  }
  description.parameters = op.describe_defaults();
  description.storage = storage_of(info);
  description.has_gradient = op.has_gradient();
  return description;
}

}  // namespace

std::vector<OpDescription> describe_ops() {
  std::vector<OpDescription> descriptions;
  for (const Op* op : all_ops()) descriptions.push_back(describe(*op));
  return descriptions;
}

}  // namespace shunt

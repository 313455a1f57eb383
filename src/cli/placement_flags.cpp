#include "cli/placement_flags.h"

#include "base/fail.h"

namespace shunt::cli {

void PlacementFlags::declare(Arguments& arguments) {
  arguments.each("--place", "PATTERN=DEVICE",
                 "what has a name that matches goes to the device, such as 'blk.[0-9].*=cuda0'; "
                 "the first that matches counts",
                 [this](const std::string& text) -> Status {
                   const std::size_t equals = text.rfind('=');
                   if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
                     return invalid("\"{}\" is not PATTERN=DEVICE", text);
                   }
                   pins_.push_back({text.substr(0, equals), text.substr(equals + 1)});
                   return ok();
                 });
  arguments.text("--costs", "FILE",
                 "what was measured (shunt bench --save-costs) predicts times, not estimates",
                 costs_);
  arguments.flag("--rules-only", rules_only_, "rules alone decide what runs where, not costs");
}

Status PlacementFlags::apply(LoadOptions& options) const {
  options.pins = pins_;
  options.rules_only = rules_only_;
  if (costs_) {
    SHUNT_ASSIGN(CostModel costs, CostModel::load(*costs_));
    options.costs = std::make_shared<const CostModel>(std::move(costs));
  }
  return ok();
}

}  // namespace shunt::cli

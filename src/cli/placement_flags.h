// The flags that say what goes to which device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "shunt/engine.h"

namespace shunt::cli {

class PlacementFlags {
 public:
  void declare(Arguments& arguments);
  /// Fills in pins and costs. NotFound, Io or BadFile, naming the file of costs.
  Status apply(LoadOptions& options) const;

 private:
  std::vector<Pin> pins_;
  std::optional<std::string> costs_;
  bool rules_only_ = false;
};

}  // namespace shunt::cli

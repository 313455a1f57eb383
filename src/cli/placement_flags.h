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
  /// Fills in pins, costs and what is streamed. NotFound, Io or BadFile, naming the file of costs.
  Status apply(LoadOptions& options) const;

 private:
  std::vector<Pin> pins_;
  std::optional<std::string> costs_;
  std::int64_t stream_rows_ = LoadOptions{}.stream_rows;
  bool rules_only_ = false;
};

}  // namespace shunt::cli

// The flags that say what goes to which device, and how much of it.
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
  /// Fills in pins, costs, the margin, what is streamed and what may be transcoded. NotFound, Io or
  /// BadFile, naming the file of costs.
  Status apply(LoadOptions& options) const;

 private:
  std::vector<Pin> pins_;
  std::optional<std::string> costs_;
  Transcode transcode_ = Transcode::kPrecise;
  std::optional<std::uint64_t> memory_margin_;
  std::int64_t stream_rows_ = LoadOptions{}.stream_rows;
  bool rules_only_ = false;
};

}  // namespace shunt::cli

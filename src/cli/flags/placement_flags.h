// The flags about placement: pins, splits, costs, streaming, transcoding, memory margins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/engine.h"

namespace shunt::cli {

/// Declares --transcode.
void declare_transcode(Arguments& arguments, Transcode& transcode);
/// Declares --weights.
void declare_weights(Arguments& arguments, WeightMode& mode);

class PlacementFlags {
 public:
  void declare(Arguments& arguments);
  /// Invalid for a placement file beside another flag that places nodes, and for shares without
  /// --split rows.
  Status check() const;
  bool has_file() const { return placement_.has_value(); }
  /// Fills in the placement file, pins, the split, costs, the margin, the rule for streaming, the
  /// allowed transcoding and how the CPU has its weights. NotFound, Io or BadFile, naming the file.
  Status apply(LoadOptions& options) const;

 private:
  PlacementPolicy policy_;  // all but the files
  std::optional<std::string> placement_;
  std::optional<std::string> costs_;
  std::optional<std::int64_t> stream_rows_;
  SplitOptions split_;
  WeightMode weights_ = WeightMode::kAuto;
  std::optional<std::uint64_t> memory_margin_;
};

}  // namespace shunt::cli

/// \file
/// The user's wishes for the placement of a model: pins, a placement file, costs, streaming,
/// transcoding and fallback. LoadOptions::placement is one.
///
/// \code
/// LoadOptions options;
/// options.placement.pins = {{"blk.[0-9].*", "cuda0"}};
/// options.placement.fallback.mode = FallbackMode::kDeny;
/// \endcode
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/plan.h"

namespace shunt {

/// All that a user decides about the placement of a model's steps.
struct PlacementPolicy {
  std::vector<Pin> pins = {};              ///< devices for nodes; the first that matches counts
  std::optional<PlacementFile> file = {};  ///< followed exactly, instead of pins and rules
  /// Predicts the times of steps; null: estimates from DeviceInfo.
  std::shared_ptr<const CostModel> costs = {};
  bool rules_only = false;  ///< only rules place nodes, not costs
  /// Minimum number of result rows for which weights in host memory are streamed to a device
  /// whose offload_op() accepts the op; 0: never.
  std::int64_t stream_rows = PlaceOptions{}.stream_rows;
  /// Whether a weight whose type a device lacks may come to it in another type. Its error is
  /// reported to fallback.log, and is among the model's notes.
  Transcode transcode = Transcode::kPrecise;
  /// Asked about the steps of a session as they will run, with the memory of each device, before
  /// anything is allocated. While a model is loaded, its `log` is also called for each refusal of
  /// memory; sessions, which are asked about with their own options, use on_device_error.log.
  FallbackPolicy fallback = {};
};

}  // namespace shunt

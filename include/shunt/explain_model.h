/// \file
/// The placement of a model's step without loading the model: which device would compute which
/// node, and the reason. `shunt explain` and `shunt place` print it.
///
/// \code
/// SHUNT_ASSIGN(const PlacedStep step, place_step("model.gguf", registry, {}));
/// const Explanation why = explain(*step.graph, step.placement, step.segments);
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/engine.h"
#include "shunt/explain.h"
#include "shunt/plan.h"
#include "shunt/registry.h"

namespace shunt {

struct PlaceStepOptions {
  /// As for Model::load(). Its callbacks are not called, and PlacementPolicy::fallback is not
  /// asked.
  LoadOptions load = {};
  /// Tokens of the step, from 1 to the context; none: LoadOptions::session.batch.
  std::optional<std::int64_t> tokens = {};
  /// Measured costs are kept in this folder (see model_costs.h); empty: no folder.
  std::string cache_folder = {};
  /// Gets a line for costs that could not be measured, read or kept; may be empty.
  std::function<void(std::string_view line)> log = {};
};

/// A step of a model, placed as Model::load() and a session would place it.
struct PlacedStep {
  std::int64_t tokens = 0;
  std::int64_t context = 0;
  std::shared_ptr<const Graph> graph;
  Placement placement;
  std::vector<Segment> segments;
  std::vector<std::string> notes;  ///< decisions about memory, a line each
  std::vector<std::string> times;  ///< the origin of predicted times, a line a device
  bool measured = false;           ///< some predicted times come from measurements
};

/// Places a step. Reads the metadata of the model, not its weights, and allocates nothing on a
/// device. The registry owns the devices of the placement and must outlive it. NotFound, Io,
/// BadFile, Unsupported, OutOfMemory or Invalid, naming the file and the problem.
Result<PlacedStep> place_step(const std::string& path, const Registry& registry,
                              const PlaceStepOptions& options);

}  // namespace shunt

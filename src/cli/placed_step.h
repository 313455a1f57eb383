// The graph of a model's step, placed as loading the model and running a step would place it,
// without reading a weight. And the flags that say of which model, for which devices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/model_file.h"
#include "cli/placement_flags.h"
#include "cli/runtime_flags.h"
#include "model/definition.h"
#include "shunt/plan.h"
#include "shunt/registry.h"

namespace shunt::cli {

struct PlacedStep {
  std::string path;  ///< the model's
  StepShape shape;
  std::unique_ptr<Registry> registry;  ///< owns the devices of the placement
  std::shared_ptr<const StepGraph> step;
  Placement placement;
  std::vector<Segment> segments;
  std::vector<std::string> notes;  ///< the decisions about memory
  std::vector<std::string> times;  ///< a line a device: where its predicted times come from
  bool measured = false;           ///< costs are, at least some
};

class StepFlags {
 public:
  void declare(Arguments& arguments);
  Status check();
  bool has_model() const { return model_.is_given(); }
  bool has_placement() const { return pins_.has_file(); }
  Result<PlacedStep> place() const;

 private:
  ModelFile model_;
  std::vector<std::string> devices_;
  PlacementFlags pins_;
  std::optional<std::int64_t> tokens_;
  SessionOptions session_;
  RuntimeFlags runtime_;
  Options options_;
};

}  // namespace shunt::cli

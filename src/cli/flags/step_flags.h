// The flags of subcommands that place a step of a model without loading it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/arguments.h"
#include "cli/flags/ignore_flag.h"
#include "cli/flags/lora_flag.h"
#include "cli/flags/model_file.h"
#include "cli/flags/placement_flags.h"
#include "cli/flags/runtime_flags.h"
#include "shunt/explain_model.h"
#include "shunt/registry.h"

namespace shunt::cli {

/// A placed step, and the owner of its devices.
struct PlacedModel {
  std::unique_ptr<Registry> registry;
  PlacedStep step;
};

class StepFlags {
 public:
  void declare(Arguments& arguments);
  Status check();
  bool has_model() const { return model_.is_given(); }
  bool has_placement() const { return pins_.has_file(); }
  Result<PlacedModel> place() const;
  /// Of the model, once checked.
  const std::string& path() const { return model_.path(); }

 private:
  ModelFile model_;
  IgnoreFlag ignore_;
  LoraFlag lora_;
  std::vector<std::string> devices_;
  PlacementFlags pins_;
  std::optional<std::int64_t> tokens_;
  SessionOptions session_;
  RuntimeFlags runtime_;
  Options options_;
};

}  // namespace shunt::cli

// The flags of every subcommand that loads a model: which model, on which devices, and which
// fallbacks and device errors are acceptable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/fallback_flags.h"
#include "cli/flags/ignore_flag.h"
#include "cli/flags/lora_flag.h"
#include "cli/flags/model_file.h"
#include "cli/flags/placement_flags.h"
#include "cli/flags/runtime_flags.h"
#include "shunt/engine.h"
#include "shunt/model_costs.h"

namespace shunt::cli {

/// A loaded model and the objects that must outlive it.
struct OpenModel {
  std::unique_ptr<Registry> registry;
  std::shared_ptr<const Model> model;
  double calibration_seconds = 0;  ///< for measuring devices before loading
};

class ModelFlags {
 public:
  /// `devices_names`: the names of the flag that selects devices.
  explicit ModelFlags(std::string devices_names = "-d,--devices")
      : devices_names_(std::move(devices_names)) {}
  /// With `--batch` and `--cache-type`, which go into session().
  void declare(Arguments& arguments);
  /// Invalid for options that make no sense; NotFound if no model is given and there is no default.
  Status check();
  bool is_given() const { return model_.is_given(); }
  void tell_default() const { model_.tell_default(); }
  /// Results are embeddings instead of logits.
  void give_embeddings() { embeddings_ = true; }
  const LoraFlag& lora() const { return lora_; }
  /// Of the runtime, once checked.
  const Options& options() const { return options_; }
  /// By name; none: all.
  const std::vector<std::string>& devices() const { return devices_; }
  const std::string& path() const { return model_.path(); }
  /// The caller adds the context.
  SessionOptions& session() { return session_; }
  const SessionOptions& session() const { return session_; }
  /// Reserves memory for a session with session(). Where times are predicted without --costs,
  /// devices are measured, if no earlier process has done so; peak_memory() does not count that.
  Result<OpenModel> open(PredictTimes predict = PredictTimes::kPlacement) const;
  /// Unsupported, with the path, for a model that computes embeddings.
  Status expect_logits(const OpenModel& open) const;

 private:
  std::string devices_names_;
  ModelFile model_;
  IgnoreFlag ignore_;
  LoraFlag lora_;
  bool embeddings_ = false;
  std::vector<std::string> devices_;
  SessionOptions session_;
  RuntimeFlags runtime_;
  Options options_;
  PlacementFlags pins_;
  FallbackFlags fallback_;
  DeviceErrorFlag device_error_;
};

}  // namespace shunt::cli

// The flags of every subcommand that loads a model: which, on what devices, and what of that is
// acceptable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/fallback_flags.h"
#include "cli/placement_flags.h"
#include "cli/runtime_flags.h"
#include "shunt/engine.h"

namespace shunt::cli {

/// A loaded model and what must outlive it.
struct OpenModel {
  std::unique_ptr<Registry> registry;
  std::shared_ptr<const Model> model;
};

class ModelFlags {
 public:
  /// With `--batch` and `--cache-type`, which go into session().
  void declare(Arguments& arguments);
  /// Invalid without a model, or for options that make no sense.
  Status check();
  const std::string& path() const { return *model_; }
  /// The caller adds the context.
  SessionOptions& session() { return session_; }
  const SessionOptions& session() const { return session_; }
  /// Leaves room for a session of session().
  Result<OpenModel> open() const;

 private:
  std::optional<std::string> model_;
  std::vector<std::string> devices_;
  SessionOptions session_;
  RuntimeFlags runtime_;
  Options options_;
  PlacementFlags pins_;
  FallbackFlags fallback_;
  DeviceErrorFlag device_error_;
};

}  // namespace shunt::cli

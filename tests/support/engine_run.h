// A small model that is loaded and run, to hold its text against that of other devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shunt/engine.h"

namespace shunt::test {

/// A session for a prompt of some tokens.
SessionOptions small_session(std::int64_t context = 32);

struct EngineRun {
  std::shared_ptr<const Model> model = {};
  std::unique_ptr<Session> session = {};
  std::vector<float> logits = {};         ///< of the prompt's last token
  std::vector<std::int32_t> tokens = {};  ///< the likeliest ones that follow it
};

/// Loads a model and appends a prompt, then 8 times the likeliest token. The session's context may
/// differ from the loader's.
Result<EngineRun> run_engine(const std::string& path, const std::vector<Device*>& devices,
                             const LoadOptions& options, std::int64_t context = 32,
                             DType cache_type = DType::kF32);

}  // namespace shunt::test

/// \file
/// Comparing a device with the devices of a loaded model, operation by operation (`shunt verify`).
/// For a graph of your own see verify.h.
///
/// \code
/// SHUNT_ASSIGN(const auto steps, verify(*model, device, prompt));
/// for (const VerifiedStep& step : steps) {
///   for (const NodeCheck& check : step.checks) wrong += check.wrong() ? 1 : 0;
/// }
/// \endcode
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shunt/engine.h"
#include "shunt/verify.h"

namespace shunt {

struct VerifyModelOptions {
  std::optional<double> threshold = {};  ///< see VerifyOptions
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress = {};  ///< of a step
};

/// A step of the model, operation by operation.
struct VerifiedStep {
  std::int64_t tokens = 0;  ///< computed at once
  std::vector<NodeCheck> checks;
};

/// Computes a prompt (at least one token) where the model was loaded to, and each operation once
/// more, alone, on `device`, which need not be one of the model's; see verify() in verify.h. All
/// tokens but the last are computed in steps as a session does it, the last one in a step of its
/// own, so that both kinds of plan are seen. Weights may be transcoded as LoadOptions said. Invalid
/// for tokens that a session would refuse.
Result<std::vector<VerifiedStep>> verify(const Model& model, Device& device,
                                         std::span<const std::int32_t> prompt,
                                         const VerifyModelOptions& options = {});

}  // namespace shunt

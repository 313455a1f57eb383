/// \file
/// Comparing a device with the devices of a loaded model (`shunt verify`): operation by operation,
/// and by the logits of the whole model. For a graph of your own see verify.h.
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
#include <memory>
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
/// own, so that both kinds of plan are seen. An encoder computes all of them in one step. Adapters
/// are used as LoadOptions::session says. Weights may be transcoded as LoadOptions said. Invalid
/// for tokens that a session would refuse.
Result<std::vector<VerifiedStep>> verify(const Model& model, Device& device,
                                         std::span<const std::int32_t> prompt,
                                         const VerifyModelOptions& options = {});

struct CompareLogitsOptions {
  std::int64_t tokens = 32;  ///< at most so many, at least 1
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress = {};  ///< tokens
};

/// A generated token whose likeliest candidate differs.
struct DifferentToken {
  std::int64_t at = 0;        ///< number of the generated token, from 0
  std::int32_t got = 0;       ///< the likeliest one; -1: no logit is a number
  std::int32_t expected = 0;  ///< that of the reference
  double gap = 0;             ///< between the reference's logits of both; infinite for -1
};

/// The difference between the logits of a model on two sets of devices.
struct LogitsComparison {
  std::int64_t tokens = 0;     ///< whose logits are compared
  double error = 0;            ///< of all logits; see NodeCheck::error in verify.h
  double difference = 0;       ///< root mean square of the differences of logits
  double largest = 0;          ///< the largest of them; infinite if only one of two is finite
  std::int64_t different = 0;  ///< tokens whose likeliest candidate differs
  std::optional<DifferentToken> first;  ///< of those
};

/// Continues a prompt (at least one token) with the likeliest tokens of `reference`, and gives
/// `model`, the same model on other devices, the same tokens. Errors of single operations add up
/// here. Where the likeliest tokens differ, a gap below `difference` points to rounding. Ends early
/// where the text or the context ends. Each model uses adapters as LoadOptions::session says.
/// Invalid for other vocabularies, tokens that a session would refuse, or a reference whose logits
/// are not numbers. Unsupported for models that compute embeddings. Otherwise the error of a
/// session.
Result<LogitsComparison> compare_logits(const std::shared_ptr<const Model>& model,
                                        const std::shared_ptr<const Model>& reference,
                                        std::span<const std::int32_t> prompt,
                                        const CompareLogitsOptions& options = {});

}  // namespace shunt

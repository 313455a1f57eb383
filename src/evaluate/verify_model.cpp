// Verifying a device with a model: its weights, a prompt, and the steps that a session makes of it.
#include <algorithm>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "engine/session/sequence_adapters.h"
#include "engine/session/step_inputs.h"
#include "engine/session/zeroed_caches.h"
#include "shunt/message.h"
#include "shunt/verify_model.h"

namespace shunt {

namespace {

class ModelVerifier {
 public:
  ModelVerifier(const ModelState& model, Device& device, const VerifyModelOptions& options)
      : model_(model), device_(device), options_(options) {}

  Result<std::vector<VerifiedStep>> run(std::span<const std::int32_t> prompt) {
    SHUNT_TRY(check_tokens(prompt, model_.info.vocabulary));
    const std::span<const AdapterUse> uses = model_.session.adapters;
    SHUNT_TRY(check_adapters(uses, model_.info.adapters.size()));
    adapters_ = uses_with_effect(uses);
    SessionOptions wanted;
    wanted.cache_type = model_.session.cache_type;  // decides how caches are split
    wanted.adapters.assign(uses.begin(), uses.end());
    SHUNT_ASSIGN(const SessionOptions options, complete(wanted, model_.info));
    const std::int64_t most = session_steps(options).front().tokens;
    const auto count = static_cast<std::int64_t>(prompt.size());
    if (model_.info.is_encoder && count > most) {
      return invalid("a prompt of {} of an encoder, which computes it in one step of up to {}",
                     counted(prompt.size(), "token"), most);
    }
    if (const std::int64_t room = step_shape(options, 1, 1).context; count > room) {
      return invalid("{} tokens do not fit: the context holds {}", count, room);
    }
    std::vector<VerifiedStep> steps;
    while (!prompt.empty()) {
      const std::size_t now = next_step(prompt.size(), to_size(most));
      SHUNT_ASSIGN(
          VerifiedStep step,
          verify_step(shape_of(options, static_cast<std::int64_t>(now), most), prompt.first(now)));
      steps.push_back(std::move(step));
      prompt = prompt.subspan(now);
    }
    return steps;
  }

 private:
  /// The tokens of the next step. The last token has a step of its own, except in encoders, whose
  /// tokens are all in one step.
  std::size_t next_step(std::size_t left, std::size_t most) const {
    if (left == 1 || model_.info.is_encoder) return left;
    return std::min(most, left - 1);
  }

  /// A session's plan of a batch, or of a single token. Results of ops with states have unwritten
  /// memory between tokens and states if a plan has room for more tokens than a step. So models
  /// with states have a plan of exactly these tokens.
  StepShape shape_of(const SessionOptions& options, std::int64_t tokens, std::int64_t most) const {
    const bool exact = tokens == 1 || model_.info.state_bytes > 0;
    return step_shape(options, exact ? tokens : most, 1);
  }

  Result<VerifiedStep> verify_step(const StepShape& shape, std::span<const std::int32_t> tokens) {
    SHUNT_ASSIGN(const auto built, model_.build(shape, model_.weights.transcoded()));
    const StepGraph& step = *built;
    const auto graph = graph_of(built);
    if (caches_.empty()) {
      SHUNT_ASSIGN(caches_, zeroed_caches(model_, *graph, step.caches));
    }
    std::vector<LeafMemory> memory = model_.memory_of(step);
    for (std::size_t i = 0; i < caches_.size(); ++i) {
      memory.push_back({step.caches[i], {caches_[i].get(), 0}});
    }
    SHUNT_ASSIGN(Placement placement,
                 model_.place_step(built, memory, model_.devices, model_.residency.most_streamed));
    VerifyOptions options;
    options.memory = memory;
    options.fill = [&](Plan& plan) { return fill_step(plan, step, tokens, length_, 1, adapters_); };
    options.threshold = options_.threshold;
    options.transcode = model_.placement.transcode;
    options.cancel = options_.cancel;
    options.progress = options_.progress;
    VerifiedStep verified;
    verified.tokens = static_cast<std::int64_t>(tokens.size());
    SHUNT_ASSIGN(verified.checks, verify(graph, std::move(placement), device_, options));
    length_ += verified.tokens;
    return verified;
  }

  const ModelState& model_;
  Device& device_;
  const VerifyModelOptions& options_;
  std::vector<AdapterUse> adapters_;
  std::vector<std::unique_ptr<Buffer>> caches_;
  std::int64_t length_ = 0;  // tokens so far
};

}  // namespace

Result<std::vector<VerifiedStep>> verify(const Model& model, Device& device,
                                         std::span<const std::int32_t> prompt,
                                         const VerifyModelOptions& options) {
  const auto state = model.state();
  return guarded([&] { return ModelVerifier(*state, device, options).run(prompt); });
}

}  // namespace shunt

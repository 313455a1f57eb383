#include "shunt/importance.h"

#include <algorithm>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/model_state.h"
#include "engine/session/sequence_adapters.h"
#include "engine/session/step_inputs.h"
#include "engine/session/zeroed_caches.h"
#include "evaluate/activation_sums.h"
#include "shunt/message.h"
#include "shunt/perplexity.h"

namespace shunt {

namespace {

class Gatherer {
 public:
  /// `adds_bos`: the tokenizer adds a beginning-of-sequence token.
  Gatherer(const ModelState& model, bool adds_bos, const ImportanceOptions& options)
      : model_(model), adds_bos_(adds_bos), options_(options) {
    shape_.context = chunk_length(model.info.context, options.session.context);
    shape_.tokens = std::clamp<std::int64_t>(options.session.batch, 1,
                                             std::max<std::int64_t>(shape_.context, 1));
    shape_.outputs = shape_.tokens;  // the last layer omits tokens without logits
    shape_.cache_type = options.session.cache_type;
  }

  Result<ImportanceMatrix> run(std::span<const std::int32_t> tokens) {
    SHUNT_TRY(check_tokens(tokens, model_.info.vocabulary));
    const std::span<const AdapterUse> uses = options_.session.adapters;
    SHUNT_TRY(check_adapters(uses, model_.info.adapters.size()));
    adapters_ = uses_with_effect(uses);
    shape_.adapter_uses = std::max<std::int64_t>(1, std::ssize(adapters_));
    if (shape_.context < 1) return invalid("chunks of {} tokens", shape_.context);
    const auto chunk = to_size(shape_.context);
    std::uint64_t chunks = tokens.size() / chunk;
    if (options_.most_chunks > 0) chunks = std::min(chunks, options_.most_chunks);
    if (chunks == 0) {
      return invalid("the text has {}, but a chunk has {}", counted(tokens.size(), "token"), chunk);
    }
    if (model_.info.is_encoder && shape_.tokens < shape_.context) {
      return invalid(
          "chunks of {} of an encoder, which computes a chunk in one step, but batches have {}; "
          "see --batch",
          counted(chunk, "token"), shape_.tokens);
    }
    SHUNT_TRY(compile_step());
    for (std::uint64_t i = 0; i < chunks; ++i) {
      const auto from = tokens.subspan(i * chunk, chunk);
      std::vector<std::int32_t> ids(from.begin(), from.end());
      if (adds_bos_) ids.front() = tokens.front();
      if (Status done = compute(ids); !done) {
        return std::move(done.error()).with_context(fmt::format("chunk {} of {}", i + 1, chunks));
      }
      if (options_.progress) options_.progress(i + 1, chunks);
    }
    return result(chunks);
  }

 private:
  Status compile_step() {
    SHUNT_ASSIGN(step_, model_.build(shape_, model_.weights.transcoded()));
    graph_ = graph_of(step_);
    SHUNT_ASSIGN(caches_, zeroed_caches(model_, *graph_, step_->caches));
    std::vector<LeafMemory> memory = model_.memory_of(*step_);
    for (std::size_t i = 0; i < caches_.size(); ++i) {
      memory.push_back({step_->caches[i], {caches_[i].get(), 0}});
    }
    SHUNT_ASSIGN(Placement placement,
                 model_.place_step(step_, memory, model_.devices, model_.residency.most_streamed));
    sums_ = std::make_unique<ActivationSums>(*graph_);
    CompileOptions options;
    options.memory = memory;
    options.observer.nodes = sums_->nodes();
    options.observer.visit = [this](const Observed& observed) {
      // An exception may not pass through the plan.
      stopped_ = guarded([&] { return sums_->add(observed, plan_->dynamic_dims()); });
      return static_cast<bool>(stopped_);
    };
    SHUNT_ASSIGN(plan_, compile(graph_, std::move(placement), options));
    return plan_->set_threads(options_.session.threads);
  }

  Status compute(std::span<const std::int32_t> tokens) {
    for (std::int64_t length = 0; !tokens.empty();) {
      const auto now = tokens.first(std::min(tokens.size(), to_size(shape_.tokens)));
      const auto count = static_cast<std::int64_t>(now.size());
      SHUNT_TRY(fill_step(*plan_, *step_, now, length, count, adapters_));
      Status ran = plan_->run(options_.cancel);
      if (!stopped_) return Error(stopped_.error());
      if (!ran) return ran;
      length += count;
      tokens = tokens.subspan(now.size());
    }
    return ok();
  }

  ImportanceMatrix result(std::uint64_t chunks) const {
    ImportanceMatrix matrix;
    matrix.chunk_count = static_cast<std::uint32_t>(chunks);
    matrix.chunk_size = static_cast<std::uint32_t>(shape_.context);
    const auto sums = sums_->sums();
    for (const WeightLeaf& weight : step_->weights) {
      if (model_.file.mapping(weight.info->part) == nullptr) continue;  // of adapters
      const auto found = sums.find(weight.leaf);
      if (found != sums.end()) matrix.tensors.emplace(weight.info->name, found->second);
    }
    return matrix;
  }

  const ModelState& model_;
  const bool adds_bos_;
  const ImportanceOptions& options_;
  StepShape shape_;
  std::vector<AdapterUse> adapters_;
  std::shared_ptr<const StepGraph> step_;
  std::shared_ptr<const Graph> graph_;
  std::vector<std::unique_ptr<Buffer>> caches_;
  std::unique_ptr<ActivationSums> sums_;
  Status stopped_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace

Result<ImportanceMatrix> gather_importance(const Model& model, std::span<const std::int32_t> tokens,
                                           const ImportanceOptions& options) {
  const auto state = model.state();
  if (!state->part_devices.empty()) {
    return invalid("importance is gathered for whole weights, but this model is split by rows");
  }
  return guarded(
      [&] { return Gatherer(*state, model.tokenizer().adds_bos(), options).run(tokens); });
}

}  // namespace shunt

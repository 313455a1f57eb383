#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/guarded.h"
#include "shunt/message.h"
#include "shunt/train.h"
#include "train/checkpoint.h"
#include "train/loss_plan.h"
#include "train/rows.h"
#include "train/update_plan.h"

namespace shunt {

struct Trainer::State {
  State(const gguf::File& model_file, const TrainingText& learned, Device& device,
        const TrainOptions& wanted)
      : file(model_file),
        text(learned),
        cpu(device),
        options(wanted),
        packer(learned, shuffled(learned, wanted.seed), wanted.context, wanted.rows) {}

  LossShape shape() const { return {options.context, options.rows}; }

  gguf::File file;
  const TrainingText& text;
  Device& cpu;
  TrainOptions options;
  RowPacker packer;
  std::unique_ptr<ModelDefinition> model;
  Parameters parameters;
  LossPlan gradients;
  UpdatePlan update;
  std::optional<LossPlan> loss;  // made at its first use
  std::int64_t steps = 0;
  /// Of the next step, unless they have not been packed yet.
  std::vector<TrainingRows> rows;
};

namespace {

std::span<const Part> parts_for(Optimizer optimizer) {
  static constexpr Part kAll[] = {Part::kValue, Part::kGradient, Part::kMean, Part::kSquare};
  return std::span(kAll).first(optimizer == Optimizer::kAdamw ? 4 : 2);
}

/// Anybody may have put a text together.
Status check_text(const TrainingText& text, const ModelDefinition& model) {
  if (text.documents() == 0) return invalid("there is no text to learn from");
  if (text.starts.size() != text.documents() + 1 || text.starts.front() != 0 ||
      text.starts.back() != text.tokens.size()) {
    return invalid("documents do not begin and end where the tokens do");
  }
  for (std::size_t i = 0; i < text.documents(); ++i) {
    if (text.starts[i] > text.tokens.size() || text.starts[i] + 2 > text.starts[i + 1]) {
      return invalid("document {} has fewer than two tokens", i);
    }
  }
  const auto [low, high] = std::ranges::minmax_element(text.tokens);
  if (*low >= 0 && *high < model.shape().vocabulary) return ok();
  return invalid("token {} is not one of the model's {}", *low < 0 ? *low : *high,
                 model.shape().vocabulary);
}

/// The next rows, none of which are empty.
void pack(RowPacker& packer, std::vector<TrainingRows>& rows, std::int64_t count) {
  rows.resize(static_cast<std::size_t>(count));
  for (TrainingRows& each : rows) packer.fill(each);
}

}  // namespace

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(const gguf::File& start, const TrainingText& text,
                                                 Device& cpu, const TrainOptions& options,
                                                 const gguf::File* checkpoint) {
  SHUNT_TRY(check_train_options(options));
  if (!cpu.memory().host_accessible()) {
    return fail(ErrorCode::kUnsupported,
                "{} can't train: parameters must be in memory that the host can access",
                cpu.name());
  }
  const auto make = [&]() -> Result<std::unique_ptr<Trainer>> {
    auto state = std::make_unique<State>(start, text, cpu, options);
    SHUNT_ASSIGN(state->model, read_model(start));
    SHUNT_TRY(check_text(text, *state->model));
    if (options.context > state->model->shape().context) {
      return invalid("rows of {} tokens are longer than the model's context, {}", options.context,
                     state->model->shape().context);
    }
    GraphBuilder g;  // for its leaves alone
    SHUNT_ASSIGN(const LossGraph leaves, state->model->build_loss(g, state->shape()));
    SHUNT_TRY(g.output(leaves.loss, "loss"));
    SHUNT_ASSIGN(const Graph graph, std::move(g).build());
    SHUNT_ASSIGN(state->parameters, Parameters::create(start, leaves.weights, graph,
                                                       parts_for(options.optimizer), cpu));
    if (checkpoint != nullptr) {
      SHUNT_ASSIGN(state->steps,
                   read_checkpoint(*checkpoint, start, state->parameters, text, options));
    }
    SHUNT_ASSIGN(state->gradients,
                 LossPlan::create(*state->model, state->shape(), state->parameters, true, cpu));
    SHUNT_ASSIGN(state->update, UpdatePlan::create(state->parameters, options, cpu));
    for (std::int64_t step = 0; step < state->steps; ++step) {
      pack(state->packer, state->rows, options.accumulate);
    }
    state->rows.clear();
    return std::unique_ptr<Trainer>(new Trainer(std::move(state)));
  };
  return guarded(make, start.path());
}

std::int64_t Trainer::steps() const {
  return state_->steps;
}

std::uint64_t Trainer::parameters() const {
  std::uint64_t count = 0;
  for (const Parameter& parameter : state_->parameters.all()) count += parameter.count();
  return count;
}

Result<TrainStep> Trainer::step(const std::atomic<bool>* cancel) {
  State& state = *state_;
  const TrainOptions& options = state.options;
  const auto work = [&]() -> Result<TrainStep> {
    const double start = steady_seconds();
    TrainStep step{.step = state.steps + 1};
    if (state.rows.empty()) pack(state.packer, state.rows, options.accumulate);
    for (const TrainingRows& rows : state.rows) step.tokens += rows.scored;
    state.parameters.clear(Part::kGradient);
    for (const TrainingRows& rows : state.rows) {
      SHUNT_ASSIGN(const double loss,
                   state.gradients.run(rows, 1 / static_cast<double>(step.tokens), cancel));
      step.loss += loss;
    }
    SHUNT_ASSIGN(step.gradient, state.update.gradient_length());
    if (!std::isfinite(step.loss) || !std::isfinite(step.gradient)) {
      return fail(ErrorCode::kUnsupported,
                  "step {}: the loss is {} and the gradient's norm {}: training can't continue; a "
                  "lower rate may help",
                  step.step, step.loss, step.gradient);
    }
    step.rate = learning_rate(options, step.step);
    const bool clips = options.clip > 0 && step.gradient > options.clip;
    SHUNT_TRY(state.update.run(step.step, step.rate, clips ? options.clip / step.gradient : 1));
    ++state.steps;
    state.rows.clear();
    step.seconds = steady_seconds() - start;
    return step;
  };
  return guarded(work);
}

Result<TrainScore> Trainer::score(const TrainingText& text, const std::atomic<bool>* cancel) {
  State& state = *state_;
  const auto work = [&]() -> Result<TrainScore> {
    SHUNT_TRY(check_text(text, *state.model));
    if (!state.loss) {
      SHUNT_ASSIGN(state.loss, LossPlan::create(*state.model, state.shape(), state.parameters,
                                                false, state.cpu));
    }
    RowPacker packer(text, in_order(text), state.options.context, state.options.rows);
    TrainScore score;
    for (TrainingRows rows; packer.fill(rows);) {
      SHUNT_ASSIGN(const double loss,
                   state.loss->run(rows, 1 / static_cast<double>(rows.scored), cancel));
      score.nats += loss * static_cast<double>(rows.scored);
      score.tokens += rows.scored;
    }
    return score;
  };
  return guarded(work);
}

Status Trainer::save_model(const std::string& path) const {
  return write_weights(path, state_->file, state_->parameters);
}

Status Trainer::save_checkpoint(const std::string& path) const {
  return write_checkpoint(path, state_->file, state_->parameters, state_->text, state_->options,
                          state_->steps);
}

}  // namespace shunt

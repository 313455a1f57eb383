// A session: tokens in, logits out.
#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "base/guarded.h"
#include "engine/model_state.h"
#include "engine/session_plans.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

constexpr std::int64_t kDefaultContext = 4096;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 24;
constexpr std::uint16_t kHalfMinusInfinity = 0xfc00;

/// The elements of an input.
template <class T>
Result<std::span<T>> input(Plan& plan, Value leaf) {
  SHUNT_ASSIGN(const std::span<std::byte> bytes, plan.input(leaf));
  return std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
}

}  // namespace

struct Session::State {
  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::unique_ptr<SessionPlans> plans;
  std::int64_t length = 0;
  std::uint32_t traced_step = 0;  // with a trace: what it knows a step as

  const ModelState& loaded() const { return model->state(); }

  /// Computes tokens that follow those so far; logits of the last `outputs` of them.
  Result<std::span<const float>> run(std::span<const std::int32_t> tokens, std::int64_t outputs,
                                     StepPlan& at, const std::atomic<bool>* cancel = nullptr) {
    const TraceScope scope(options.trace.get(), traced_step);
    const auto count = static_cast<std::int64_t>(tokens.size());
    Plan& plan = *at.plan;
    SHUNT_TRY(plan.set_extent(at.step.token_count, count));
    SHUNT_TRY(plan.set_extent(at.step.output_count, outputs));
    SHUNT_TRY(plan.set_extent(at.step.row_count, length + count));
    SHUNT_ASSIGN(const auto ids, input<std::int32_t>(plan, at.step.tokens));
    SHUNT_ASSIGN(const auto positions, input<std::int32_t>(plan, at.step.positions));
    SHUNT_ASSIGN(const auto rows, input<std::int64_t>(plan, at.step.cache_rows));
    SHUNT_ASSIGN(const auto mask, input<std::uint16_t>(plan, at.step.mask));
    SHUNT_ASSIGN(const auto output_ids, input<std::int32_t>(plan, at.step.output_ids));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(i);
      ids[index] = tokens[index];
      positions[index] = static_cast<std::int32_t>(length + i);
      rows[index] = length + i;
      // A token may look at itself and at all before it.
      std::uint16_t* row = mask.data() + i * options.context;
      std::fill(row, row + length + i + 1, std::uint16_t{0});
      std::fill(row + length + i + 1, row + length + count, kHalfMinusInfinity);
    }
    for (std::int64_t i = 0; i < outputs; ++i) {
      output_ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(count - outputs + i);
    }
    SHUNT_TRY(plan.run(cancel));
    length += count;
    SHUNT_ASSIGN(const std::span<const std::byte> logits, plan.output(at.step.logits));
    return std::span<const float>(reinterpret_cast<const float*>(logits.data()),
                                  static_cast<std::size_t>(outputs * loaded().info.vocabulary));
  }

  Status check(std::span<const std::int32_t> tokens) const {
    if (tokens.empty()) return invalid("there are no tokens to compute");
    for (std::int32_t token : tokens) {
      if (token < 0 || token >= loaded().info.vocabulary) {
        return invalid("token {} is not one of the model's {}", token, loaded().info.vocabulary);
      }
    }
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (count > options.context - length) {
      return invalid("{} tokens do not fit: the context holds {}, of which {} are taken", count,
                     options.context, length);
    }
    return ok();
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Session>> {
    auto state = std::make_unique<State>();
    state->options = options;
    SessionOptions& chosen = state->options;
    if (chosen.context == 0) chosen.context = std::min(model->info().context, kDefaultContext);
    if (chosen.context < 1 || chosen.context > kMaxContext) {
      return invalid("a context of {} tokens; it may be from 1 to {}", options.context,
                     kMaxContext);
    }
    if (chosen.batch < 1)
      return invalid("batches of {} tokens; it must be at least 1", options.batch);
    if (chosen.cache_type != DType::kF16 && chosen.cache_type != DType::kF32) {
      return invalid("a cache of type {}; it may be F32 or F16", to_string(chosen.cache_type));
    }
    chosen.batch = std::min(chosen.batch, chosen.context);
    state->model = std::move(model);
    SHUNT_ASSIGN(state->plans, SessionPlans::create(state->loaded(), chosen));
    if (chosen.trace) state->traced_step = chosen.trace->declare_host("step");
    return std::unique_ptr<Session>(new Session(std::move(state)));
  });
}

Result<std::span<const float>> Session::append(std::span<const std::int32_t> tokens,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::span<const float>> {
    SHUNT_TRY(state_->check(tokens));
    const auto batch = static_cast<std::size_t>(state_->options.batch);
    while (true) {
      if (cancel != nullptr && cancel->load()) return fail(ErrorCode::kCancelled, "cancelled");
      const auto now = tokens.first(std::min(batch, tokens.size()));
      tokens = tokens.subspan(now.size());
      SHUNT_ASSIGN(StepPlan * plan, now.size() == 1
                                        ? state_->plans->plan_for(1, 1)
                                        : state_->plans->plan_for(state_->options.batch, 1));
      SHUNT_ASSIGN(const auto logits, state_->run(now, tokens.empty() ? 1 : 0, *plan, cancel));
      if (tokens.empty()) return logits;
    }
  });
}

Status Session::append_all(std::span<const std::int32_t> tokens,
                           const std::function<void(std::size_t, std::span<const float>)>& visit) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check(tokens));
    auto batch = static_cast<std::size_t>(state_->options.batch);
    auto plan = state_->plans->plan_for(state_->options.batch, state_->options.batch);
    if (!plan && plan.error().code() == ErrorCode::kOutOfMemory) {
      // Logits of a whole batch do not fit beside the cache: the plan for single tokens is there.
      batch = 1;
      plan = state_->plans->plan_for(1, 1);
    }
    if (!plan) return Error(plan.error());
    for (std::size_t first = 0; first < tokens.size(); first += batch) {
      const auto now = tokens.subspan(first, std::min(batch, tokens.size() - first));
      SHUNT_ASSIGN(const auto logits,
                   state_->run(now, static_cast<std::int64_t>(now.size()), **plan));
      visit(first, logits);
    }
    return ok();
  });
}

Status Session::truncate(std::int64_t length) {
  if (length < 0 || length > state_->length) {
    return invalid("can't go back to {} tokens: there are {}", length, state_->length);
  }
  state_->length = length;
  return ok();
}

const Model& Session::model() const {
  return *state_->model;
}
std::int64_t Session::length() const {
  return state_->length;
}
std::int64_t Session::context() const {
  return state_->options.context;
}

Trace* Session::trace() const {
  return state_->options.trace.get();
}

Ledger Session::ledger() const {
  return state_->plans->ledger();
}
std::span<const std::string> Session::notes() const {
  return state_->plans->notes();
}

SessionMemory Session::memory() const {
  const Ledger ledger = state_->plans->ledger();
  return {.cache = ledger.total(Purpose::kCache),
          .activations = ledger.total(Purpose::kActivations) + ledger.total(Purpose::kInputs)};
}

}  // namespace shunt

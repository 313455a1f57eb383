// A session: tokens in, logits out.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/fail.h"
#include "base/guarded.h"
#include "engine/model_state.h"
#include "engine/recover.h"
#include "engine/session_plans.h"
#include "engine/step_inputs.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

constexpr std::int64_t kDefaultContext = 4096;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 24;

}  // namespace

struct Session::State {
  /// What is to be done about tokens that were appended.
  struct Request {
    std::int64_t first = 0;  ///< from this token of the sequence on logits are wanted
    bool all = false;        ///< many of them at once
    std::function<void(std::int64_t token, std::span<const float> logits)> visit = {};
    const std::atomic<bool>* cancel = nullptr;
  };

  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::shared_ptr<const ModelState> loaded = {};  // what the plans are made of
  std::unique_ptr<SessionPlans> plans = {};       // null after a failure: made again when needed
  std::vector<std::int32_t> tokens = {};
  std::int64_t cached = 0;  // the first so many tokens are in the caches, or in these copies:
  std::optional<std::vector<std::vector<std::byte>>> copies = {};
  std::vector<std::string> notes = {};
  std::size_t said = 0;           // of the notes
  std::uint32_t traced_step = 0;  // with a trace: what it knows a step as

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t vocabulary() const { return model->info().vocabulary; }

  Status check(std::span<const std::int32_t> more) const {
    SHUNT_TRY(check_tokens(more, vocabulary()));
    const auto count = static_cast<std::int64_t>(more.size());
    if (count > options.context - length()) {
      return invalid("{} {} not fit: the context holds {}, {} of them taken",
                     counted(more.size(), "token"), count == 1 ? "does" : "do", options.context,
                     length());
    }
    return ok();
  }

  /// Appends tokens and computes what is not in the caches. After an error the tokens are those
  /// from before.
  Status extend(std::span<const std::int32_t> more, Request request) {
    struct Undo {
      State& state;
      std::int64_t length;
      bool needed = true;
      ~Undo() {
        if (needed) state.truncate(length);
      }
    } undo{*this, length()};
    tokens.insert(tokens.end(), more.begin(), more.end());
    SHUNT_TRY(on_any_devices([&] { return compute(request); }));
    undo.needed = false;
    return ok();
  }

  void truncate(std::int64_t length) {
    tokens.resize(static_cast<std::size_t>(length));
    cached = std::min(cached, length);
  }

  /// Does some work with the plans made; with one device less each time that one fails.
  Status on_any_devices(const std::function<Status()>& work) {
    while (true) {
      Status done = make_plans();
      if (done) done = work();
      if (done) return done;
      SHUNT_TRY(leave_out(done.error()));
    }
  }

  /// The error itself if no device can be left out.
  Status leave_out(const Error& error) {
    const auto device = device_to_leave_out(*loaded, error);
    if (!device) return error;
    std::vector<Device*> others = loaded->devices;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*device));
    set_aside(others);  // now, so that there is room for weights
    return model->current().leave_out(*loaded, error);
  }

  /// Plans of the model as it is now, and the caches filled.
  Status make_plans() {
    const auto now = model->state();
    if (plans && plans->intact() && loaded == now) return ok();
    set_aside(now->devices);
    loaded = now;
    SHUNT_ASSIGN(auto made, SessionPlans::create(*loaded, options));
    if (copies && !made->write_caches(*copies)) lose_cache("");
    copies.reset();
    plans = std::move(made);
    for (; said < notes.size(); ++said) {
      if (loaded->on_device_error.say) loaded->on_device_error.say(notes[said]);
    }
    return ok();
  }

  /// Takes the plans away, and keeps a copy of the caches if all of them are on these devices.
  void set_aside(std::span<Device* const> healthy) {
    if (!plans) return;
    std::string from;
    if (cached > 0 && plans->intact()) {
      if (plans->caches_are_on(healthy)) {
        // The host may have no room for it.
        auto read = guarded([&] { return plans->read_caches(); });
        if (read) copies = std::move(*read);
      } else {
        for (Device* device : loaded->devices) {
          if (std::ranges::count(healthy, device) == 0) from += " with " + device->info().name;
        }
      }
    }
    plans.reset();
    if (!copies) lose_cache(from);
  }

  void lose_cache(const std::string& with) {
    copies.reset();
    const std::int64_t lost = std::exchange(cached, 0);
    if (lost == 0) return;
    notes.push_back(fmt::format("the cache of {} is lost{}; it is computed again",
                                counted(static_cast<std::uint64_t>(lost), "token"), with));
  }

  /// Computes the tokens that are not in the caches.
  Status compute(Request& request) {
    std::int64_t batch_of_all = options.batch;
    while (cached < length()) {
      if (request.cancel != nullptr && request.cancel->load()) {
        return fail(ErrorCode::kCancelled, "cancelled");
      }
      // Where many logits are wanted, their plan is not for tokens before these.
      const bool all = request.all && cached >= request.first;
      const std::int64_t end = request.all && !all ? request.first : length();
      SHUNT_ASSIGN(StepPlan * plan, all ? plan_of_all(batch_of_all) : plan_of(end - cached));
      const std::int64_t count = std::min(all ? batch_of_all : options.batch, end - cached);
      const std::int64_t outputs =
          std::clamp<std::int64_t>(cached + count - request.first, 0, count);
      SHUNT_ASSIGN(const auto logits, run(count, outputs, *plan, request.cancel));
      if (logits.empty()) continue;
      const std::int64_t first = request.first;
      request.first = cached;
      request.visit(first, logits);
    }
    return ok();
  }

  /// The plan for the next tokens, where the logits of at most one are wanted.
  Result<StepPlan*> plan_of(std::int64_t count) { return plans->plan_to_append(count); }

  /// The same where all logits are wanted. Makes `batch` 1 if those of a whole batch do not fit
  /// beside the cache: the plan for single tokens is there.
  Result<StepPlan*> plan_of_all(std::int64_t& batch) {
    auto plan = plans->plan_for(batch, batch);
    if (plan || plan.error().code() != ErrorCode::kOutOfMemory) return plan;
    batch = 1;
    return plans->plan_for(1, 1);
  }

  /// Computes the next tokens; logits of the last `outputs` of them.
  Result<std::span<const float>> run(std::int64_t count, std::int64_t outputs, StepPlan& at,
                                     const std::atomic<bool>* cancel) {
    const TraceScope scope(options.trace.get(), traced_step);
    Plan& plan = *at.plan;
    const auto now = std::span(tokens).subspan(static_cast<std::size_t>(cached),
                                               static_cast<std::size_t>(count));
    SHUNT_TRY(fill_step(plan, at.step, now, cached, outputs));
    SHUNT_TRY(plan.run(cancel));
    cached += count;
    SHUNT_ASSIGN(const std::span<const std::byte> logits, plan.output(at.step.logits));
    return std::span<const float>(reinterpret_cast<const float*>(logits.data()),
                                  static_cast<std::size_t>(outputs * vocabulary()));
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
    if (std::ranges::find(kCacheTypes, chosen.cache_type) == kCacheTypes.end()) {
      return invalid("a cache of type {}; it may be {}", to_string(chosen.cache_type),
                     list_types(kCacheTypes));
    }
    chosen.batch = std::min(chosen.batch, chosen.context);
    state->model = std::move(model);
    if (chosen.trace) state->traced_step = chosen.trace->declare_host("step");
    SHUNT_TRY(state->on_any_devices([] { return ok(); }));
    return std::unique_ptr<Session>(new Session(std::move(state)));
  });
}

Result<std::span<const float>> Session::append(std::span<const std::int32_t> tokens,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::span<const float>> {
    SHUNT_TRY(state_->check(tokens));
    std::span<const float> last;
    State::Request request;
    request.first = state_->length() + static_cast<std::int64_t>(tokens.size()) - 1;
    request.visit = [&](std::int64_t, std::span<const float> logits) { last = logits; };
    request.cancel = cancel;
    SHUNT_TRY(state_->extend(tokens, std::move(request)));
    return last;
  });
}

Status Session::append_all(std::span<const std::int32_t> tokens,
                           const std::function<void(std::size_t, std::span<const float>)>& visit) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check(tokens));
    const std::int64_t before = state_->length();
    State::Request request;
    request.first = before;
    request.all = true;
    request.visit = [&](std::int64_t token, std::span<const float> logits) {
      visit(static_cast<std::size_t>(token - before), logits);
    };
    return state_->extend(tokens, std::move(request));
  });
}

Status Session::truncate(std::int64_t length) {
  if (length < 0 || length > state_->length()) {
    return invalid("can't go back to {} tokens: there are {}", length, state_->length());
  }
  state_->truncate(length);
  return ok();
}

const Model& Session::model() const {
  return *state_->model;
}
std::int64_t Session::length() const {
  return state_->length();
}
std::int64_t Session::context() const {
  return state_->options.context;
}

Trace* Session::trace() const {
  return state_->options.trace.get();
}

Ledger Session::ledger() const {
  return state_->plans ? state_->plans->ledger() : Ledger{};
}

std::vector<std::string> Session::notes() const {
  std::vector<std::string> notes = state_->notes;
  if (state_->plans) {
    notes.insert(notes.end(), state_->plans->notes().begin(), state_->plans->notes().end());
  }
  return notes;
}

SessionMemory Session::memory() const {
  const Ledger ledger = this->ledger();
  return {.cache = ledger.total(Purpose::kCache),
          .activations = ledger.total(Purpose::kActivations) + ledger.total(Purpose::kInputs)};
}

}  // namespace shunt

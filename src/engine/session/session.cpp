// A session: tokens in, logits out.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/load/cache_rows.h"
#include "engine/load/loader.h"
#include "engine/load/recover.h"
#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "engine/session/session_plans.h"
#include "engine/session/step_inputs.h"
#include "shunt/message.h"
#include "shunt/plan.h"

namespace shunt {

struct Session::State {
  /// Tokens that were appended to a sequence, and the logits to compute.
  struct Piece {
    std::int64_t sequence = 0;
    std::int64_t first = 0;  ///< logits are computed from this token on
  };
  struct Request {
    std::vector<Piece> pieces = {};
    bool all = false;  ///< many logits at once; there is one piece
    /// Gets the logits that a step made: those of a piece from a token on, and of the last tokens
    /// of pieces after it.
    std::function<void(std::size_t piece, std::int64_t token, std::span<const float> logits)>
        visit = {};
    const std::atomic<bool>* cancel = nullptr;
  };
  struct Sequence {
    std::vector<std::int32_t> tokens = {};
    std::int64_t cached = 0;   ///< number of first tokens in the caches, or in copies of them
    std::int64_t started = 0;  ///< the same once steps under way have ended; only in compute()
    std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  };

  /// A step that has been started.
  struct Underway {
    StepPlan* plan = nullptr;
    std::uint64_t number = 0;               ///< the plan's
    std::vector<std::int64_t> tokens = {};  ///< by piece
    std::vector<std::int64_t> outputs = {};
  };

  State(std::shared_ptr<const Model> of, const SessionOptions& complete_options)
      : model(std::move(of)),
        options(complete_options),
        sequences(to_size(options.sequences)),
        rows(options.sequences) {
    const auto now = model->state();  // held while it is walked through
    for (const Device* device : now->devices) {
      for (const DeviceWarning& warning : device->warnings()) {
        warned[{device, warning.text}] = warning.count;
      }
    }
  }

  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::shared_ptr<const ModelState> loaded = {};  // the base of the plans
  std::unique_ptr<SessionPlans> plans = {};       // null after a failure: made again when needed
  PerSequence<Sequence> sequences;
  CacheRows rows;
  std::optional<std::vector<std::vector<std::byte>>> copies = {};  // of the caches
  std::vector<float> logits = {};                                  // of several steps
  std::vector<std::string> notes = {};
  std::size_t said = 0;           // of the notes
  std::uint32_t traced_step = 0;  // with a trace: its number for a step
  /// Warnings of devices from before this session.
  std::map<std::pair<const Device*, std::string>, std::uint64_t> warned = {};

  Sequence& of(std::int64_t sequence) { return sequences[sequence]; }
  std::int64_t vocabulary() const { return model->info().vocabulary; }
  std::int64_t cached() const {
    std::int64_t all = 0;
    for (const Sequence& sequence : sequences) all += sequence.cached;
    return all;
  }

  Status check_sequence(std::int64_t sequence) const {
    if (sequence >= 0 && sequence < options.sequences) return ok();
    return invalid("there is no sequence {}: the session has {}", sequence, options.sequences);
  }

  Status check(std::span<const SequenceTokens> more) const {
    if (more.empty()) return invalid("there are no tokens to compute");
    PerSequence<bool> named(sequences.size());
    std::size_t count = 0;
    for (const SequenceTokens& piece : more) {
      SHUNT_TRY(check_sequence(piece.sequence));
      const std::int64_t sequence = piece.sequence;
      if (named[sequence]) return invalid("sequence {} is named twice", sequence);
      named[sequence] = true;
      Status known = check_tokens(piece.tokens, vocabulary());
      if (!known && options.sequences > 1)
        return std::move(known.error()).with_context(fmt::format("sequence {}", sequence));
      SHUNT_TRY(known);
      count += piece.tokens.size();
    }
    std::int64_t taken = 0;
    for (const Sequence& sequence : sequences) taken += sequence.length();
    if (std::cmp_less_equal(count, options.context - taken)) return ok();
    return invalid("{} {} not fit: the context holds {}, {} of them taken", counted(count, "token"),
                   count == 1 ? "does" : "do", options.context, taken);
  }

  /// Appends tokens, and computes the tokens of their sequences that the caches lack. After an
  /// error the tokens are those from before.
  Status extend(std::span<const SequenceTokens> more, Request request) {
    struct Undo {
      State& state;
      std::span<const SequenceTokens> more;
      std::vector<std::int64_t> lengths = {};  // of sequences that may be longer by now
      bool needed = true;
      ~Undo() {
        for (std::size_t i = 0; needed && i < lengths.size(); ++i)
          state.truncate(more[i].sequence, lengths[i]);
      }
    } undo{*this, more};
    undo.lengths.reserve(more.size());
    for (const SequenceTokens& piece : more) {
      Sequence& sequence = of(piece.sequence);
      undo.lengths.push_back(sequence.length());
      sequence.tokens.insert(sequence.tokens.end(), piece.tokens.begin(), piece.tokens.end());
      rows.resize(piece.sequence, sequence.length());
    }
    SHUNT_TRY(on_any_devices([&] { return compute(request); }));
    undo.needed = false;
    return ok();
  }

  void truncate(std::int64_t number, std::int64_t length) {
    Sequence& sequence = of(number);
    sequence.tokens.resize(to_size(length));
    sequence.cached = std::min(sequence.cached, length);
    rows.resize(number, length);
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
      if (loaded->on_device_error.log) loaded->on_device_error.log(notes[said]);
    }
    return ok();
  }

  /// Destroys the plans, and keeps a copy of the caches if all of them are on these devices.
  void set_aside(std::span<Device* const> healthy) {
    if (!plans) return;
    std::string from;
    if (cached() > 0 && plans->intact()) {
      if (plans->caches_are_on(healthy)) {
        // The host may have no room for it.
        auto read = guarded([&] { return plans->read_caches(); });
        if (read) copies = std::move(*read);
      } else {
        for (Device* device : loaded->devices) {
          if (std::ranges::count(healthy, device) == 0)
            from += fmt::format(" with {}", device->name());
        }
      }
    }
    plans.reset();
    if (!copies) lose_cache(from);
  }

  void lose_cache(const std::string& with) {
    copies.reset();
    const std::int64_t lost = cached();
    if (lost == 0) return;
    for (Sequence& sequence : sequences) sequence.cached = 0;
    notes.push_back(fmt::format("the cache of {} is lost{}; it is computed again",
                                counted(static_cast<std::uint64_t>(lost), "token"), with));
  }

  /// Computes the tokens that are not in the caches. Where several devices compute, steps overlap.
  Status compute(Request& request) {
    for (Sequence& sequence : sequences) sequence.started = sequence.cached;
    // After an error, or an exception, some steps may still run; their results are ignored.
    struct WaitedFor : std::deque<Underway> {
      ~WaitedFor() {
        for (const Underway& step : *this)
          (void)guarded([&] { return step.plan->plan->wait(step.number); });
      }
    } underway;
    return compute_steps(request, underway);
  }

  Status compute_steps(Request& request, std::deque<Underway>& underway) {
    std::int64_t batch_of_all = options.batch;
    while (true) {
      // Where many logits are wanted, their plan is not for tokens before these.
      const auto is_ready = [&](const Piece& piece) {
        return of(piece.sequence).started >= piece.first;
      };
      const bool all = request.all && is_ready(request.pieces.front());
      const auto left = [&](const Piece& piece) {
        const Sequence& sequence = of(piece.sequence);
        return (request.all && !all ? piece.first : sequence.length()) - sequence.started;
      };
      std::int64_t count = 0;
      for (const Piece& piece : request.pieces) count += left(piece);
      if (count == 0) return finish_all(request, underway);
      if (request.cancel != nullptr && request.cancel->load()) {
        return fail(ErrorCode::kCancelled, "cancelled");
      }
      // Plans do not wait for each other's steps, and a new plan may replace all others.
      const StepPlan* known =
          all ? plans->find(batch_of_all, batch_of_all) : plans->find_to_append(count);
      if (!underway.empty() && underway.back().plan != known) {
        SHUNT_TRY(finish_all(request, underway));
        continue;  // it may have been made ready for the rest
      }
      SHUNT_ASSIGN(StepPlan * plan, all ? plan_of_all(batch_of_all) : plan_of(count));
      std::int64_t room = all ? batch_of_all : options.batch;
      std::vector<StepPart> parts;
      for (std::size_t i = 0; i < request.pieces.size() && room > 0; ++i) {
        const Piece& piece = request.pieces[i];
        parts.push_back(part_of(piece, std::min(left(piece), room)));
        room -= static_cast<std::int64_t>(parts.back().tokens.size());
      }
      const TraceScope scope(options.trace.get(), traced_step);
      SHUNT_TRY(start(request, parts, *plan, underway));
      while (std::ssize(underway) >= plan->steps_in_flight) {
        SHUNT_TRY(finish_first(request, underway));
      }
    }
  }

  StepPart part_of(const Piece& piece, std::int64_t count) {
    const Sequence& sequence = of(piece.sequence);
    StepPart part;
    part.tokens = std::span(sequence.tokens).subspan(to_size(sequence.started), to_size(count));
    part.length = sequence.started;
    part.outputs = std::clamp<std::int64_t>(sequence.started + count - piece.first, 0, count);
    part.blocks = rows.blocks(piece.sequence);
    return part;
  }

  Status start(const Request& request, std::span<const StepPart> parts, StepPlan& at,
               std::deque<Underway>& underway) {
    SHUNT_TRY(fill_step(*at.plan, *at.step, parts, at.granularity));
    Underway step = {.plan = &at};
    for (const StepPart& part : parts) {
      step.tokens.push_back(static_cast<std::int64_t>(part.tokens.size()));
      step.outputs.push_back(part.outputs);
    }
    underway.push_back(std::move(step));
    const auto number = at.plan->start(request.cancel);
    if (!number) {
      underway.pop_back();
      return Error(number.error());
    }
    underway.back().number = *number;
    for (std::size_t i = 0; i < parts.size(); ++i)
      of(request.pieces[i].sequence).started += underway.back().tokens[i];
    return ok();
  }

  /// Waits for the step that was started first; its logits are those of all its outputs.
  Status finish_first(Request& request, std::deque<Underway>& underway) {
    const Underway step = std::move(underway.front());
    underway.pop_front();
    Plan& plan = *step.plan->plan;
    SHUNT_TRY(plan.wait(step.number));
    SHUNT_ASSIGN(const std::span<const std::byte> bytes, plan.output(step.plan->step->logits));
    for (std::size_t i = 0; i < step.tokens.size(); ++i)
      of(request.pieces[i].sequence).cached += step.tokens[i];
    const auto first = std::ranges::find_if(step.outputs, [](std::int64_t n) { return n > 0; });
    if (first == step.outputs.end()) return ok();
    const auto piece = std::span(step.outputs.begin(), first).size();
    const std::int64_t token = request.pieces[piece].first;
    for (std::size_t i = piece; i < step.outputs.size(); ++i) {
      Piece& with = request.pieces[i];
      if (step.outputs[i] > 0) with.first = of(with.sequence).cached;
    }
    const std::int64_t outputs = std::reduce(step.outputs.begin(), step.outputs.end());
    request.visit(piece, token,
                  {reinterpret_cast<const float*>(bytes.data()), to_size(outputs * vocabulary())});
    return ok();
  }

  Status finish_all(Request& request, std::deque<Underway>& underway) {
    while (!underway.empty()) {
      const TraceScope scope(options.trace.get(), traced_step);
      SHUNT_TRY(finish_first(request, underway));
    }
    return ok();
  }

  /// The plan for the next tokens, where the logits of at most one of a sequence are wanted.
  Result<StepPlan*> plan_of(std::int64_t count) { return plans->plan_to_append(count); }

  /// The same where all logits are wanted. Makes `batch` 1 if those of a whole batch do not fit in
  /// addition to the cache: the plan for single tokens exists.
  Result<StepPlan*> plan_of_all(std::int64_t& batch) {
    auto plan = plans->plan_for(batch, batch);
    if (plan || plan.error().code() != ErrorCode::kOutOfMemory || !plans->intact()) return plan;
    batch = 1;
    return plans->plan_for(1, 1);
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Session>> {
    SHUNT_ASSIGN(const SessionOptions chosen, complete(options, model->info()));
    auto state = std::make_unique<State>(std::move(model), chosen);
    if (chosen.trace) state->traced_step = chosen.trace->declare_host("step");
    SHUNT_TRY(state->on_any_devices([] { return ok(); }));
    return std::unique_ptr<Session>(new Session(std::move(state)));
  });
}

Result<std::span<const float>> Session::append(std::span<const std::int32_t> tokens,
                                               const std::atomic<bool>* cancel) {
  const SequenceTokens only = {0, tokens};
  return append_each({&only, 1}, cancel);
}

Result<std::span<const float>> Session::append_each(std::span<const SequenceTokens> more,
                                                    const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::span<const float>> {
    SHUNT_TRY(state_->check(more));
    const auto each = to_size(state_->vocabulary());
    std::span<const float> last;
    State::Request request;
    for (const auto& [sequence, tokens] : more) {
      const std::int64_t length = state_->of(sequence).length();
      request.pieces.push_back({sequence, length + static_cast<std::int64_t>(tokens.size()) - 1});
    }
    request.visit = [&](std::size_t piece, std::int64_t, std::span<const float> logits) {
      last = logits;
      if (logits.size() == more.size() * each) return;  // of all of them
      std::vector<float>& all = state_->logits;
      all.resize(more.size() * each);
      std::ranges::copy(logits, all.begin() + static_cast<std::ptrdiff_t>(piece * each));
      last = all;
    };
    request.cancel = cancel;
    SHUNT_TRY(state_->extend(more, std::move(request)));
    return last;
  });
}

Status Session::append_all(std::span<const std::int32_t> tokens,
                           const std::function<void(std::size_t, std::span<const float>)>& visit,
                           const std::atomic<bool>* cancel) {
  return guarded([&]() -> Status {
    const SequenceTokens only = {0, tokens};
    SHUNT_TRY(state_->check({&only, 1}));
    const std::int64_t before = length();
    State::Request request;
    request.pieces = {{0, before}};
    request.all = true;
    request.cancel = cancel;
    request.visit = [&](std::size_t, std::int64_t token, std::span<const float> logits) {
      visit(to_size(token - before), logits);
    };
    return state_->extend({&only, 1}, std::move(request));
  });
}

Status Session::truncate(std::int64_t length, std::int64_t sequence) {
  SHUNT_TRY(state_->check_sequence(sequence));
  const std::int64_t now = this->length(sequence);
  if (length < 0 || length > now) {
    return invalid("can't go back to {} tokens: there are {}", length, now);
  }
  state_->truncate(sequence, length);
  return ok();
}

const Model& Session::model() const {
  return *state_->model;
}
std::int64_t Session::sequences() const {
  return state_->options.sequences;
}
std::int64_t Session::length(std::int64_t sequence) const {
  return state_->check_sequence(sequence) ? state_->of(sequence).length() : 0;
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
  for (const Device* device : state_->loaded->devices) {
    for (const DeviceWarning& warning : device->warnings()) {
      const auto before = state_->warned.find({device, warning.text});
      const std::uint64_t known = before == state_->warned.end() ? 0 : before->second;
      if (warning.count <= known) continue;
      notes.push_back(fmt::format("{}: {} ({})", device->name(), warning.text,
                                  counted(warning.count - known, "time")));
    }
  }
  return notes;
}

SessionMemory Session::memory() const {
  const Ledger ledger = this->ledger();
  return {.cache = ledger.total(Purpose::kCache),
          .activations = ledger.total(Purpose::kActivations) + ledger.total(Purpose::kInputs)};
}

}  // namespace shunt

// The state of a session: its sequences, and the steps that compute their tokens. Calls come from
// session.cpp, which checks arguments first.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/ceil_div.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/load/loader.h"
#include "engine/load/recover.h"
#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "engine/session/adapter_fingerprint.h"
#include "engine/session/block_pool.h"
#include "engine/session/layer_content.h"
#include "engine/session/model_fingerprint.h"
#include "engine/session/sequence_adapters.h"
#include "engine/session/sequence_file.h"
#include "engine/session/session_plans.h"
#include "engine/session/step_inputs.h"
#include "shunt/message.h"
#include "shunt/plan.h"

namespace shunt {

struct Session::State {
  /// Tokens that were appended to a sequence, and the logits to compute.
  struct Piece {
    std::int64_t sequence = 0;
    std::int64_t first = 0;       ///< logits are computed from this token on
    std::int64_t following = -1;  ///< SequenceTokens::following
    std::span<const std::int64_t> message_ends = {};
    std::int64_t second_text = -1;
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

  /// A step that has been started.
  struct Underway {
    StepPlan* plan = nullptr;
    std::uint64_t number = 0;               ///< the plan's
    std::vector<std::int64_t> starts = {};  ///< by piece: tokens of its sequence before the step
    std::vector<std::int64_t> ends = {};    ///< and after it
    std::vector<std::int64_t> tokens = {};  ///< by piece
    std::vector<std::int64_t> outputs = {};
  };

  State(std::shared_ptr<const Model> of, const SessionOptions& complete_options)
      : model(std::move(of)),
        options(complete_options),
        adapters(options.sequences),
        scopes(to_size(options.sequences)),
        pool(pool_options(complete_options)),
        layers(pool, options.sequences),
        started(to_size(options.sequences)) {
    for (std::int64_t i = 0; i < options.sequences; ++i)
      set_use(i, adapters.make(options.adapters), "");
    if (model->info().state_bytes > 0) layers.add_states(options.checkpoints);
    if (!model->info().windows.empty()) add_windows();
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
  std::shared_ptr<HostRows> host = {};            // null: none; outlives the plans
  SequenceAdapters adapters;
  std::size_t planned_uses = 0;  // adapters of a sequence that the plans have room for
  PerSequence<std::string> scopes;
  BlockPool pool;  // tokens, and where they are in the caches or in copies of them
  LayerContent layers;
  /// The number of first tokens that will be in the caches once steps under way have ended.
  PerSequence<std::int64_t> started;
  std::map<std::int64_t, std::size_t> writing = {};  // shared blocks that a piece's steps write
  std::int64_t computed = 0;
  std::optional<std::vector<std::vector<std::byte>>> copies = {};  // of the caches
  std::vector<float> logits = {};                                  // of several steps
  std::vector<std::string> notes = {};
  std::size_t said = 0;           // of the notes
  std::uint32_t traced_step = 0;  // with a trace: its number for a step
  /// Warnings of devices from before this session.
  std::map<std::pair<const Device*, std::string>, std::uint64_t> warned = {};

  static BlockPoolOptions pool_options(const SessionOptions& complete) {
    const std::int64_t rows = step_shape(complete, 1, 1).context;
    return {.sequences = complete.sequences,
            .context = complete.context,
            .blocks = ceil_div(rows, kCacheBlock),
            .reuse = complete.reuse_prefixes};
  }

  void add_windows() {
    const StepShape shape = step_shape(options, 1, 1);
    std::vector<WindowRows::Window> all;
    for (const std::int64_t window : model->info().windows)
      all.push_back({window, window_rows(shape, window)});
    layers.add_windows(all);
  }

  std::int64_t vocabulary() const { return model->info().vocabulary; }
  /// Numbers of a token's result.
  std::int64_t outputs() const { return model->info().outputs; }
  std::int64_t cached() {
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < options.sequences; ++i) all += pool.cached(i);
    return all;
  }

  void truncate(std::int64_t sequence, std::int64_t length) {
    pool.truncate(sequence, length);
    layers.truncate(sequence);
  }

  void fork(std::int64_t from, std::int64_t to, std::int64_t length) {
    SequenceAdapters::Sequence use = adapters.at(from);
    std::string scope = scopes[from];
    pool.fork(from, to, length);
    // Before more that may fail: the pool's sequence has the scope of both already.
    adapters.set(to, std::move(use));
    scopes[to] = std::move(scope);
    layers.fork(from, to);
  }

  /// Blocks are shared by sequences with the same scope and the same adapters.
  void set_use(std::int64_t sequence, SequenceAdapters::Sequence use, std::string scope) {
    std::string whole = use.key + '|' + scope;
    // None of these needs memory: all is done, or nothing.
    truncate(sequence, 0);
    adapters.set(sequence, std::move(use));
    scopes[sequence] = std::move(scope);
    pool.set_scope(sequence, std::move(whole));
  }

  void set_adapters(std::int64_t sequence, std::span<const AdapterUse> uses) {
    SequenceAdapters::Sequence use = adapters.make(uses);
    if (use.key == adapters.key(sequence)) return adapters.set(sequence, std::move(use));
    set_use(sequence, std::move(use), scopes[sequence]);
  }

  /// Of the sequence's content: of the model, and of its adapters.
  Result<std::uint64_t> fingerprint(std::int64_t sequence) const {
    SHUNT_ASSIGN(const std::uint64_t of_model, model_fingerprint(loaded->file));
    return adapter_fingerprint(of_model, loaded->adapters.files, adapters.of(sequence));
  }

  Status check_sequence(std::int64_t sequence) const {
    if (sequence >= 0 && sequence < options.sequences) return ok();
    return invalid("there is no sequence {}: the session has {}", sequence, options.sequences);
  }

  /// Tokens of an encoder see those after them, which must be in the same step.
  Status check_one_step(std::span<const SequenceTokens> more) const {
    std::int64_t tokens = 0;
    for (const SequenceTokens& piece : more) tokens += std::ssize(piece.tokens);
    if (tokens <= options.batch) return ok();
    return invalid("{} tokens of an encoder at once, but batches have {}", tokens, options.batch);
  }

  Status check(std::span<const SequenceTokens> more) const {
    if (more.empty()) return invalid("there are no tokens to compute");
    if (model->info().is_encoder) SHUNT_TRY(check_one_step(more));
    PerSequence<bool> named(to_size(options.sequences));
    for (const SequenceTokens& piece : more) {
      SHUNT_TRY(check_sequence(piece.sequence));
      const std::int64_t sequence = piece.sequence;
      if (named[sequence]) return invalid("sequence {} is named twice", sequence);
      if (piece.following < -1 || piece.following > options.context) {
        return invalid("{} tokens can't follow in sequence {}: the context holds {}",
                       piece.following, sequence, options.context);
      }
      for (const std::int64_t end : piece.message_ends) {
        if (end >= 0 && end <= options.context) continue;
        return invalid("a message can't end after {} tokens of sequence {}: the context holds {}",
                       end, sequence, options.context);
      }
      named[sequence] = true;
      if (model->info().is_encoder && pool.length(sequence) > 0) {
        return invalid("sequence {} has {} of an encoder: a text is computed in one call", sequence,
                       counted(to_size(pool.length(sequence)), "token"));
      }
      Status known = check_tokens(piece.tokens, vocabulary());
      if (!known && options.sequences > 1)
        return std::move(known.error()).with_context(fmt::format("sequence {}", sequence));
      SHUNT_TRY(known);
    }
    return ok();
  }

  /// Adds tokens to their sequences; some of them may be there if they do not fit.
  Status add(std::span<const SequenceTokens> more, bool share) {
    const std::int64_t taken = pool.taken();
    for (const SequenceTokens& piece : more) {
      if (pool.append(piece.sequence, piece.tokens, share)) continue;
      std::size_t count = 0;
      for (const SequenceTokens& each : more) count += each.tokens.size();
      return invalid("{} {} not fit: the context holds {}, {} of them taken",
                     counted(count, "token"), count == 1 ? "does" : "do", options.context, taken);
    }
    return ok();
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
        if (needed) state.layers.abandon();
        for (std::size_t i = 0; needed && i < lengths.size(); ++i)
          state.truncate(more[i].sequence, lengths[i]);
      }
    } undo{*this, more};
    undo.lengths.reserve(more.size());
    for (const SequenceTokens& piece : more) undo.lengths.push_back(pool.length(piece.sequence));
    SHUNT_TRY(add(more, !request.all));
    SHUNT_TRY(on_any_devices([&] { return compute(request); }));
    undo.needed = false;
    return ok();
  }

  /// Does some work with the plans made; with one device less each time that one fails.
  Status on_any_devices(const std::function<Status()>& work) {
    while (true) {
      Status done = make_plans();
      // A sequence with more adapters than there is room for is no fault of a device.
      const bool too_many_adapters = !done && done.error().code() == ErrorCode::kOutOfMemory &&
                                     most_adapter_uses() > to_size(adapter_uses(options));
      if (done) done = work();
      if (done || too_many_adapters) return done;
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
    const std::size_t uses = most_adapter_uses();
    if (plans && plans->intact() && loaded == now && uses <= planned_uses) return ok();
    set_aside(now->devices);
    loaded = now;
    SessionOptions wanted = options;
    wanted.adapters.assign(uses, AdapterUse());  // plans have room for as many
    SHUNT_ASSIGN(auto made, SessionPlans::create(*loaded, wanted, host));
    planned_uses = uses;
    if (host == nullptr && made->host() != nullptr) {
      pool.set_host_slots(made->host()->slots());
      layers.set_host_slots(made->host()->slots());
      host = made->host();
    }
    if (copies && !made->write_caches(*copies)) lose_cache("");
    copies.reset();
    plans = std::move(made);
    for (; said < notes.size(); ++said) {
      if (loaded->on_device_error.log) loaded->on_device_error.log(notes[said]);
    }
    return ok();
  }

  /// Adapters of a sequence that has tokens, at most.
  std::size_t most_adapter_uses() const {
    std::size_t most = to_size(adapter_uses(options));
    if (model->info().adapters.empty()) return most;
    for (std::int64_t i = 0; i < options.sequences; ++i) {
      if (pool.length(i) > 0) most = std::max(most, adapters.with_effect(i).size());
    }
    return most;
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
    std::int64_t lost = cached();
    pool.lose_content();
    layers.clear();
    if (!layers.repeats_tokens()) {  // else tokens are computed again, whatever rows there are
      for (const BlockCopy& copy : pool.pending()) lost -= copy.rows * pool.users(copy.to);
    }
    if (lost <= 0) return;
    notes.push_back(fmt::format("the cache of {} is lost{}; it is computed again",
                                counted(static_cast<std::uint64_t>(lost), "token"), with));
  }

  /// Does some work with the rows of caches: with the plans made, and all copies.
  Status on_rows(const std::function<Status()>& work) {
    return on_any_devices([&]() -> Status {
      SHUNT_TRY(plans->make_copies(pool, layers.windows()));
      layers.abandon();
      if (layers.windows() != nullptr) SHUNT_TRY(plans->make_window_copies(*layers.windows()));
      return work();
    });
  }

  /// Computes the tokens that are not in the caches. Where several devices compute, steps overlap.
  Status compute(Request& request) {
    SHUNT_TRY(plans->make_copies(pool, layers.windows()));
    writing.clear();
    layers.abandon();
    for (std::int64_t i = 0; i < options.sequences; ++i) started[i] = 0;
    for (const Piece& piece : request.pieces) {
      layers.open(piece.sequence, piece.first);
      find_start(piece);
      layers.keep_start(piece.sequence);
    }
    // After an error, or an exception, some steps may still run; their results are ignored.
    struct WaitedFor : std::deque<Underway> {
      ~WaitedFor() {
        for (const Underway& step : *this)
          (void)guarded([&] { return step.plan->plan->wait(step.number); });
      }
    } underway;
    try {
      Status done = compute_steps(request, underway);
      if (!done) lose_rewritten(request, underway);
      return done;
    } catch (...) {  // there is no memory
      lose_rewritten(request, underway);
      throw;
    }
  }

  /// Steps that have failed may have written a part of their rows. Those that were in the cache
  /// before, and may be shared, are not any more.
  void lose_rewritten(const Request& request, const std::deque<Underway>& underway) {
    for (const Underway& step : underway) {
      for (std::size_t i = 0; layers.repeats_tokens() && i < step.tokens.size(); ++i) {
        const auto blocks = pool.blocks(request.pieces[i].sequence);
        for (std::int64_t row = step.starts[i]; row < step.ends[i];
             row = (row / kCacheBlock + 1) * kCacheBlock)
          pool.lose_rows(blocks[to_size(row / kCacheBlock)], row % kCacheBlock);
      }
    }
  }

  /// The tokens of a sequence that need no step any more.
  void find_start(const Piece& piece) {
    std::int64_t& start = started[piece.sequence];
    start = layers.repeats_tokens() ? layers.advance(piece.sequence, piece.first)
                                    : std::max(start, pool.cached(piece.sequence));
  }

  Status compute_steps(Request& request, std::deque<Underway>& underway) {
    std::int64_t batch_of_all = options.batch;
    while (true) {
      // Another sequence may have computed tokens of a block that they share.
      for (const Piece& piece : request.pieces) find_start(piece);
      // Where many logits are wanted, their plan is not for tokens before these.
      const Piece& first = request.pieces.front();
      const bool all = request.all && started[first.sequence] >= first.first;
      if (is_done(request, all)) return finish_all(request, underway);
      if (request.cancel != nullptr && request.cancel->load()) {
        return fail(ErrorCode::kCancelled, "cancelled");
      }
      std::vector<StepPart> parts = parts_of(request, all, all ? batch_of_all : options.batch);
      std::int64_t count = 0;
      for (const StepPart& part : parts) count += std::ssize(part.tokens);
      if (count == 0) {  // all of them wait for a block that another one computes
        SHUNT_TRY(finish_first(request, underway));
        continue;
      }
      // Plans do not wait for each other's steps, and a new plan may replace all others.
      const StepPlan* known =
          all ? plans->find(batch_of_all, batch_of_all) : plans->find_to_append(count);
      if (!underway.empty() && underway.back().plan != known) {
        SHUNT_TRY(finish_all(request, underway));
        continue;  // it may have been made ready for the rest
      }
      const std::int64_t batch = batch_of_all;
      SHUNT_ASSIGN(StepPlan * plan, all ? plan_of_all(batch_of_all) : plan_of(count));
      if (batch != batch_of_all) continue;
      const TraceScope scope(options.trace.get(), traced_step);
      SHUNT_TRY(start(request, parts, *plan, underway));
      while (std::ssize(underway) >= plan->steps_in_flight) {
        SHUNT_TRY(finish_first(request, underway));
      }
    }
  }

  /// Tokens of a piece that no step has been started for; without those whose logits are wanted,
  /// before it is their turn.
  std::int64_t left(const Request& request, const Piece& piece, bool all) const {
    const bool before = request.all && !all;
    return (before ? piece.first : pool.length(piece.sequence)) - started[piece.sequence];
  }

  /// The length of a sequence when its prompt has ended. A caller that wants logits has no more
  /// tokens of the prompt, unless it names them.
  TextEnds ends_of(const Piece& piece) const {
    const std::int64_t length = pool.length(piece.sequence);
    if (piece.following >= 0) return {length + piece.following, piece.message_ends};
    return {piece.first < length ? length : 0, piece.message_ends};
  }

  bool is_done(const Request& request, bool all) const {
    return std::ranges::all_of(request.pieces,
                               [&](const Piece& piece) { return left(request, piece, all) == 0; });
  }

  /// The next tokens of each piece, `room` together; none of one that has to wait.
  std::vector<StepPart> parts_of(const Request& request, bool all, std::int64_t room) {
    std::vector<StepPart> parts;
    std::map<std::int64_t, std::size_t> written = writing;
    const std::int64_t rows = step_shape(options, 1, 1).context;
    std::int64_t entries = most_table_entries(rows, options.sequences);
    for (std::size_t i = 0; i < request.pieces.size() && room > 0; ++i) {
      const Piece& piece = request.pieces[i];
      std::int64_t wanted = std::min(left(request, piece, all), room);
      if (layers.states() != nullptr && wanted > 0) {
        const std::int64_t position = started[piece.sequence];
        const std::int64_t end =
            StateSlots::step_end(position, pool.length(piece.sequence), ends_of(piece));
        wanted = std::min(wanted, end - position);
      }
      if (wanted > 0) entries -= ceil_div(started[piece.sequence] + wanted, kCacheBlock);
      if (entries < 0) break;  // the others are for another step
      parts.push_back(part_of(piece, free_of_writers(i, piece.sequence, wanted, written)));
      room -= std::ssize(parts.back().tokens);
    }
    return parts;
  }

  /// How many of the next `wanted` tokens come before a block that another piece writes, or that is
  /// in the cache. Their blocks are then written by piece `number`.
  std::int64_t free_of_writers(std::size_t number, std::int64_t sequence, std::int64_t wanted,
                               std::map<std::int64_t, std::size_t>& written) const {
    const auto blocks = pool.blocks(sequence);
    const std::int64_t first = started[sequence];
    for (std::int64_t i = first / kCacheBlock; i * kCacheBlock < first + wanted; ++i) {
      const std::int64_t block = blocks[to_size(i)];
      // It is in the cache already: the next step continues after it.
      if (!layers.repeats_tokens() && i * kCacheBlock >= first && pool.filled(block) > 0)
        return i * kCacheBlock - first;
      if (!pool.is_shared(block)) continue;
      const auto [writer, is_new] = written.try_emplace(block, number);
      if (writer->second != number) return std::max<std::int64_t>(0, i * kCacheBlock - first);
    }
    return wanted;
  }

  StepPart part_of(const Piece& piece, std::int64_t count) const {
    const std::int64_t first = started[piece.sequence];
    StepPart part;
    part.tokens = pool.tokens(piece.sequence).subspan(to_size(first), to_size(count));
    part.length = first;
    part.outputs = std::clamp<std::int64_t>(first + count - piece.first, 0, count);
    part.blocks = pool.blocks(piece.sequence);
    part.second_text = piece.second_text;
    part.adapters = adapters.with_effect(piece.sequence);
    return part;
  }

  Status start(Request& request, std::span<StepPart> parts, StepPlan& at,
               std::deque<Underway>& underway) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].tokens.empty()) continue;
      const std::int64_t end = parts[i].length + std::ssize(parts[i].tokens);
      const Piece& piece = request.pieces[i];
      SHUNT_TRY(layers.begin(piece.sequence, end, ends_of(piece), parts[i]));
    }
    SHUNT_TRY(copy_windows(request, underway));
    SHUNT_TRY(fill_step(*at.plan, *at.step, parts, at.granularity));
    layers.pass();
    Underway step = {.plan = &at};
    for (const StepPart& part : parts) {
      step.tokens.push_back(std::ssize(part.tokens));
      step.starts.push_back(part.length);
      step.ends.push_back(part.length + std::ssize(part.tokens));
      step.outputs.push_back(part.outputs);
    }
    underway.push_back(std::move(step));
    const auto number = at.plan->start(request.cancel);
    if (!number) {
      lose_rewritten(request, {underway.back()});
      underway.pop_back();
      return Error(number.error());
    }
    underway.back().number = *number;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t sequence = request.pieces[i].sequence;
      const StepPart& part = parts[i];
      if (part.tokens.empty()) continue;
      started[sequence] = underway.back().ends[i];
      each_shared_block(sequence, part.length, underway.back().ends[i],
                        [&](std::int64_t block) { writing[block] = i; });
    }
    return ok();
  }

  /// Rows of windows go to the host before a step writes their blocks, or come from there.
  Status copy_windows(Request& request, std::deque<Underway>& underway) {
    WindowRows* const windows = layers.windows();
    if (windows == nullptr) return ok();
    if (windows->writes_pending()) SHUNT_TRY(finish_all(request, underway));
    return plans->make_window_copies(*windows);
  }

  /// Calls visit(block) for the shared blocks of tokens [first, end).
  template <class Visit>
  void each_shared_block(std::int64_t sequence, std::int64_t first, std::int64_t end,
                         const Visit& visit) const {
    for (std::int64_t i = first / kCacheBlock; i * kCacheBlock < end; ++i) {
      const std::int64_t block = pool.blocks(sequence)[to_size(i)];
      if (pool.is_shared(block)) visit(block);
    }
  }

  /// Waits for the step that was started first; its logits are those of all its outputs.
  Status finish_first(Request& request, std::deque<Underway>& underway) {
    const Underway step = std::move(underway.front());
    underway.pop_front();
    Plan& plan = *step.plan->plan;
    if (const Status ended = plan.wait(step.number); !ended) {
      lose_rewritten(request, {step});
      return ended;
    }
    SHUNT_ASSIGN(const std::span<const std::byte> bytes, plan.output(step.plan->step->logits));
    for (std::size_t i = 0; i < step.tokens.size(); ++i) {
      if (step.tokens[i] == 0) continue;
      pool.mark_cached(request.pieces[i].sequence, step.ends[i]);
      layers.finish(request.pieces[i].sequence);
      computed += step.tokens[i];
    }
    if (underway.empty()) writing.clear();
    const auto* next = reinterpret_cast<const float*>(bytes.data());
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] == 0) continue;
      const std::size_t piece = i;
      const std::int64_t token = request.pieces[piece].first;
      std::int64_t outputs = 0;
      for (; i < step.outputs.size() && step.outputs[i] > 0; ++i) {
        outputs += step.outputs[i];
        request.pieces[i].first = step.ends[i];
      }
      const auto count = to_size(outputs * this->outputs());
      request.visit(piece, token, {next, count});
      next += count;
    }
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
    if (model->info().is_encoder) return plan;  // all tokens must be in one step
    batch = 1;
    return plans->plan_for(1, 1);
  }
};

}  // namespace shunt

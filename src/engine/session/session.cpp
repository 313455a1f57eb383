// A session: tokens in, logits out. Checks of arguments around the state of a session.
#include "engine/session/session_state.h"

namespace shunt {

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Session>> {
    SHUNT_ASSIGN(const SessionOptions chosen, complete(options, model->info()));
    SHUNT_TRY(check_adapters(chosen.adapters, model->info().adapters.size()));
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
    const auto each = to_size(state_->outputs());
    std::span<const float> last;
    State::Request request;
    std::vector<std::size_t> places;  // of logits, by piece
    std::size_t wanted = 0;
    for (const auto& [sequence, tokens, logits, following, message_ends, second_text] : more) {
      const std::int64_t length = state_->pool.length(sequence) + std::ssize(tokens);
      request.pieces.push_back(
          {sequence, logits ? length - 1 : length, following, message_ends, second_text});
      places.push_back(wanted);
      if (logits) ++wanted;
    }
    request.visit = [&](std::size_t piece, std::int64_t, std::span<const float> logits) {
      last = logits;
      // Those of all pieces, which have no more steps then.
      if (wanted == more.size() && logits.size() == wanted * each) return;
      std::vector<float>& all = state_->logits;
      all.resize(wanted * each);
      std::ranges::copy(logits, all.begin() + static_cast<std::ptrdiff_t>(places[piece] * each));
      last = all;
    };
    request.cancel = cancel;
    SHUNT_TRY(state_->extend(more, std::move(request)));
    return last;
  });
}

Status Session::append_all(std::span<const std::int32_t> tokens,
                           const std::function<void(std::size_t, std::span<const float>)>& visit,
                           const std::atomic<bool>* cancel, std::int64_t sequence,
                           std::int64_t from) {
  return guarded([&]() -> Status {
    const SequenceTokens only = {sequence, tokens};
    SHUNT_TRY(state_->check({&only, 1}));
    if (from < 0 || from > std::ssize(tokens)) {
      return invalid("logits from token {} on are wanted, of {}", from,
                     counted(tokens.size(), "token"));
    }
    const std::int64_t before = length(sequence);
    State::Request request;
    request.pieces = {{sequence, before + from}};
    request.all = true;
    request.cancel = cancel;
    request.visit = [&](std::size_t, std::int64_t token, std::span<const float> logits) {
      visit(to_size(token - before), logits);
    };
    return state_->extend({&only, 1}, std::move(request));
  });
}

Status Session::append_all_each(
    std::span<const SequenceTokens> more,
    const std::function<void(std::size_t, std::size_t, std::span<const float>)>& visit,
    const std::atomic<bool>* cancel) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check(more));
    State::Request request;
    request.all = true;
    request.cancel = cancel;
    std::vector<std::int64_t> before;
    for (const SequenceTokens& piece : more) {
      before.push_back(length(piece.sequence));
      request.pieces.push_back(
          {piece.sequence, before.back(), piece.following, piece.message_ends, piece.second_text});
    }
    const auto each = to_size(state_->outputs());
    // A visit has the rows of several pieces, one after the other, if a step ends them all.
    request.visit = [&](std::size_t piece, std::int64_t token, std::span<const float> rows) {
      while (!rows.empty()) {
        const std::int64_t first = token - before[piece];
        const std::size_t left = to_size(std::ssize(more[piece].tokens) - first) * each;
        visit(piece, to_size(first), rows.first(std::min(left, rows.size())));
        rows = rows.subspan(std::min(left, rows.size()));
        if (++piece < before.size()) token = before[piece];
      }
    };
    return state_->extend(more, std::move(request));
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

Status Session::fork(std::int64_t from, std::int64_t to, std::int64_t length) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check_sequence(from));
    SHUNT_TRY(state_->check_sequence(to));
    const std::int64_t now = this->length(from);
    if (length < -1 || length > now) {
      return invalid("can't fork {} tokens of sequence {}: there are {}", length, from, now);
    }
    state_->fork(from, to, length == -1 ? now : length);
    return ok();
  });
}

Status Session::set_scope(std::int64_t sequence, std::string scope) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check_sequence(sequence));
    state_->set_use(sequence, state_->adapters.at(sequence), std::move(scope));
    return ok();
  });
}

Status Session::set_adapters(std::int64_t sequence, std::span<const AdapterUse> uses) {
  return guarded([&]() -> Status {
    SHUNT_TRY(state_->check_sequence(sequence));
    SHUNT_TRY(check_adapters(uses, state_->model->info().adapters.size()));
    state_->set_adapters(sequence, uses);
    return ok();
  });
}

std::span<const AdapterUse> Session::adapters(std::int64_t sequence) const {
  if (!state_->check_sequence(sequence)) return {};
  return state_->adapters.of(sequence);
}

Status Session::save(std::int64_t sequence, const std::string& path) {
  return guarded(
      [&]() -> Status {
        SHUNT_TRY(state_->check_sequence(sequence));
        SHUNT_ASSIGN(const std::uint64_t model, state_->fingerprint(sequence));
        return state_->on_rows([&] {
          return save_sequence(*state_->plans, state_->pool, state_->layers, sequence, model, path);
        });
      },
      path);
}

Status Session::restore(std::int64_t sequence, const std::string& path) {
  return guarded(
      [&]() -> Status {
        SHUNT_TRY(state_->check_sequence(sequence));
        SHUNT_ASSIGN(const SequenceFile file, SequenceFile::open(path));
        SHUNT_ASSIGN(const std::uint64_t model, state_->fingerprint(sequence));
        SHUNT_TRY(file.check_model(model, state_->vocabulary()));
        return state_->on_rows([&] {
          const Status restored =
              file.restore(*state_->plans, state_->pool, state_->layers, sequence);
          state_->layers.align(sequence);
          return restored;
        });
      },
      path);
}

std::span<const std::int32_t> Session::tokens(std::int64_t sequence) const {
  if (!state_->check_sequence(sequence)) return {};
  return state_->pool.tokens(sequence);
}

const Model& Session::model() const {
  return *state_->model;
}
std::int64_t Session::sequences() const {
  return state_->options.sequences;
}
std::int64_t Session::length(std::int64_t sequence) const {
  return state_->check_sequence(sequence) ? state_->pool.length(sequence) : 0;
}
std::int64_t Session::context() const {
  return state_->options.context;
}

Result<std::int64_t> Session::append_cached(std::int64_t sequence,
                                            std::span<const std::int32_t> tokens) {
  return guarded([&]() -> Result<std::int64_t> {
    const SequenceTokens only = {sequence, tokens};
    SHUNT_TRY(state_->check({&only, 1}));
    const std::int64_t before = state_->pool.length(sequence);
    const std::int64_t known = state_->pool.append_known(sequence, tokens);
    if (!state_->layers.repeats_tokens()) return known;
    // Tokens after the place where the sequence can go on would be computed again.
    const std::int64_t length = state_->pool.length(sequence);
    const std::int64_t start = std::min(length, state_->layers.advance(sequence, length));
    state_->truncate(sequence, std::max(before, start));
    return state_->pool.length(sequence) - before;
  });
}

std::int64_t Session::taken() const {
  return state_->pool.taken();
}

std::int64_t Session::computed() const {
  return state_->computed;
}

HostCacheUse Session::host_cache() const {
  const HostBlocks& host = state_->pool.host();
  const HostTraffic traffic = state_->pool.host_traffic();
  return {host.slot_count(), host.used(), traffic.saved, traffic.restored};
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
    if (const LoadedKernels kernels = device->loaded_kernels(); kernels.modules > 0) {
      notes.push_back(fmt::format("{}: the driver took {:.2f} s to load {} of kernels",
                                  device->name(), kernels.seconds,
                                  counted(kernels.modules, "module")));
    }
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
  return {.cache = ledger.total(Purpose::kCache) + ledger.total(Purpose::kHostCache),
          .activations = ledger.total(Purpose::kActivations) + ledger.total(Purpose::kInputs)};
}

}  // namespace shunt

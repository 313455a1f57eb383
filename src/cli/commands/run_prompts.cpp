#include "cli/commands/run_prompts.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "cli/report/prompts_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/wait_notice.h"
#include "shunt/message.h"
#include "shunt/peak_memory.h"
#include "shunt/text.h"

namespace shunt::cli {
namespace {

double elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The adapters of each prompt; none for those that name none.
using AdaptersOfPrompts = std::vector<std::optional<std::vector<AdapterUse>>>;

Result<AdaptersOfPrompts> find_adapters(const PromptsRun& run, std::span<const Prompt> prompts) {
  AdaptersOfPrompts all;
  for (const Prompt& prompt : prompts) {
    auto& uses = all.emplace_back();
    if (!prompt.adapters) continue;
    uses.emplace();
    for (const std::string& text : *prompt.adapters) {
      const auto use = run.model.lora().find(text);
      if (!use) {
        return fail(ErrorCode::kBadFile, "{}:{}: {}", run.file.name(), prompt.line,
                    use.error().message());
      }
      uses->push_back(*use);
    }
  }
  return all;
}

class PromptsRunner {
 public:
  PromptsRunner(const PromptsRun& run, std::vector<Prompt> prompts, AdaptersOfPrompts adapters,
                Output& output)
      : run_(run), prompts_(std::move(prompts)), adapters_(std::move(adapters)), output_(output) {}

  /// Opens the model, and a batcher.
  Status load();
  /// Computes all prompts until `stop` is true. Sets it if nothing more can be printed.
  Status compute(std::atomic<bool>& stop);
  std::string summary();
  /// An error if a prompt failed.
  Status status() const;

 private:
  struct Running {
    PromptResult result;
    text::StreamDecoder decoder;
    std::unique_ptr<BatchStream> stream;
    bool limited = false;  // by the context of a prompt
  };

  std::int64_t full_contexts() const { return std::min(sequences_, SessionOptions::kFullContexts); }
  Status make_steps(std::atomic<bool>& stop);
  void start(std::size_t index);
  Result<Running> submit(PromptResult& result) const;
  Status check_length(std::int64_t tokens) const;
  bool take_events();
  /// False once it has ended.
  bool take_events_of(Running& running);
  Status add_token(Running& running, std::int32_t token) const;
  void finish(PromptResult result);
  void print_in_order(bool all);

  const PromptsRun& run_;
  std::vector<Prompt> prompts_;
  AdaptersOfPrompts adapters_;
  Output& output_;
  std::int64_t sequences_ = 0;
  std::int64_t context_ = 0;  // of each prompt
  OpenModel open_;
  std::unique_ptr<Batcher> batcher_;
  std::vector<Running> running_;                   // and those that wait for a sequence
  std::map<std::size_t, PromptResult> unprinted_;  // by index; an earlier one has not ended
  std::size_t next_printed_ = 0;
  bool any_printed_ = false;
  std::optional<ErrorCode> first_failure_;
  PromptsReport report_;
};

Status PromptsRunner::load() {
  const auto begin = std::chrono::steady_clock::now();
  const TraceScope scope = run_.trace.scope("load");
  BatcherOptions options;
  sequences_ = std::min(run_.parallel > 0 ? run_.parallel : options.session.sequences,
                        static_cast<std::int64_t>(prompts_.size()));
  SessionOptions& session = run_.model.session();
  context_ = session.context;
  session.sequences = sequences_;
  session.context = std::min(context_ * full_contexts(), SessionOptions::kMaxContext);
  session = Batcher::session_options(session);
  SHUNT_ASSIGN(open_, run_.model.open());
  options.session = session;
  options.session.trace = run_.trace.trace();
  // Nothing waits for the tokens between: steps are as large as they can be, and the same ones each
  // time.
  options.token_interval = std::numeric_limits<double>::infinity();
  options.own_thread = false;
  SHUNT_ASSIGN(batcher_, Batcher::create(open_.model, options));
  if (context_ == 0) context_ = batcher_->context() / full_contexts();
  report_.load_seconds = elapsed_since(begin) - open_.calibration_seconds;
  return ok();
}

Status PromptsRunner::compute(std::atomic<bool>& stop) {
  const WaitNotice notice("the device's current operation");
  const auto begin = std::chrono::steady_clock::now();
  Status made = make_steps(stop);
  running_.clear();
  print_in_order(true);
  report_.seconds = elapsed_since(begin);
  return made;
}

Status PromptsRunner::make_steps(std::atomic<bool>& stop) {
  // Enough to have one at hand when another one ends. A million requests would slow every step.
  const auto most = static_cast<std::size_t>(2 * sequences_);
  std::size_t next = 0;
  while (!stop && (next < prompts_.size() || !running_.empty())) {
    while (next < prompts_.size() && running_.size() < most) start(next++);
    const bool worked = batcher_->step();
    const bool ended = take_events();
    if (!worked && !ended && !running_.empty()) {
      return fail(ErrorCode::kInternal, "{} prompts have not ended, but there is no step to make",
                  running_.size());
    }
    print_in_order(false);
    if (output_.failed()) stop = true;
  }
  return ok();
}

void PromptsRunner::start(std::size_t index) {
  PromptResult result;
  result.index = index;
  result.prompt = prompts_[index];
  result.seed = result.prompt.seed.value_or(run_.request.sampling.seed + index);
  auto running = submit(result);
  if (running) {
    running->result = std::move(result);
    running_.push_back(std::move(*running));
    return;
  }
  result.result.reason = BatchEnd::kFailed;
  result.result.error = running.error();
  finish(std::move(result));
}

/// Does not move `result` yet: it is that of an error, too.
Result<PromptsRunner::Running> PromptsRunner::submit(PromptResult& result) const {
  const text::Tokenizer& tokenizer = open_.model->tokenizer();
  BatchRequest request = run_.request;
  SHUNT_ASSIGN(request.tokens, tokenizer.encode(result.prompt.text));
  result.prompt_tokens = std::ssize(request.tokens);
  request.max_tokens = result.prompt.max_tokens.value_or(request.max_tokens);
  request.sampling.temperature = result.prompt.temperature.value_or(request.sampling.temperature);
  request.sampling.seed = result.seed;
  request.adapters = adapters_[result.index];
  SHUNT_TRY(check_length(result.prompt_tokens));
  // The last token is never computed with.
  const std::int64_t room = context_ - result.prompt_tokens + 1;
  const bool limited = request.max_tokens < 0 || request.max_tokens > room;
  if (limited) request.max_tokens = room;
  SHUNT_ASSIGN(auto stream, batcher_->submit(std::move(request)));
  return Running{.result = {},
                 .decoder = text::StreamDecoder(tokenizer, {.continues = true}),
                 .stream = std::move(stream),
                 .limited = limited};
}

Status PromptsRunner::check_length(std::int64_t tokens) const {
  if (tokens == 0) {
    return invalid(
        "the prompt is empty, and the tokenizer adds no beginning-of-sequence token, so the model "
        "has no token to continue from");
  }
  if (tokens > context_) {
    return invalid("the prompt has {}, but the context has room for {}; see --ctx",
                   counted(static_cast<std::uint64_t>(tokens), "token"), context_);
  }
  return ok();
}

/// Whether a prompt has ended.
bool PromptsRunner::take_events() {
  bool any = false;
  for (Running& running : running_) {
    if (take_events_of(running)) continue;
    running.stream.reset();
    finish(std::move(running.result));
    any = true;
  }
  std::erase_if(running_, [](const Running& running) { return running.stream == nullptr; });
  return any;
}

bool PromptsRunner::take_events_of(Running& running) {
  PromptResult& result = running.result;
  while (auto event = running.stream->poll()) {
    if (event->end) {
      result.result = std::move(*event->end);
      result.text += running.decoder.finish();
      if (running.limited && result.result.reason == BatchEnd::kLength)
        result.result.reason = BatchEnd::kContextFull;
      return false;
    }
    if (const Status added = add_token(running, event->token); !added) {
      result.result.reason = BatchEnd::kFailed;
      result.result.error = added.error();
      return false;
    }
  }
  return true;
}

Status PromptsRunner::add_token(Running& running, std::int32_t token) const {
  running.result.tokens.push_back(token);
  // Embeddings may be padded beyond the vocabulary.
  if (!open_.model->tokenizer().contains(token)) return ok();
  SHUNT_ASSIGN(const std::string piece, running.decoder.push(token));
  running.result.text += piece;
  return ok();
}

void PromptsRunner::finish(PromptResult result) {
  report_.add(result);
  if (result.failed() && result.result.error) {
    if (!first_failure_) first_failure_ = result.result.error->code();
    print_message(fmt::format("{}:{}: {}", run_.file.name(), result.prompt.line,
                              to_text(*result.result.error)));
  }
  if (run_.json) {
    output_.write(to_json_line(result));
  } else {
    unprinted_.emplace(result.index, std::move(result));
  }
}

/// `all`: also those before which others have not ended.
void PromptsRunner::print_in_order(bool all) {
  while (!unprinted_.empty() && (all || unprinted_.begin()->first == next_printed_)) {
    const auto first = unprinted_.begin();
    next_printed_ = first->first + 1;
    if (!first->second.failed()) {
      output_.write((any_printed_ ? "\n" : "") + to_plain(first->second, run_.file.name()));
      any_printed_ = true;
    }
    unprinted_.erase(first);
  }
}

std::string PromptsRunner::summary() {
  report_.path = run_.model.path();
  report_.model = open_.model->info();
  report_.prompts = std::ssize(prompts_);
  report_.sequences = sequences_;
  report_.seed = run_.request.sampling.seed;
  report_.memory = batcher_->memory();
  report_.host_cache = batcher_->statistics().host_cache;
  report_.peak_memory = peak_memory();
  report_.model_notes = open_.model->notes();
  report_.session_notes = batcher_->notes();
  return cli::summary(report_);
}

Status PromptsRunner::status() const {
  if (!first_failure_) return ok();
  return fail(*first_failure_, "{}: {} of {} failed", run_.file.name(), report_.failed(),
              counted(prompts_.size(), "prompt"));
}

}  // namespace

Status run_prompts(const PromptsRun& run, Output& output) {
  Interrupt interrupt;
  SHUNT_ASSIGN(std::vector<Prompt> prompts, run.file.read());
  SHUNT_ASSIGN(AdaptersOfPrompts adapters, find_adapters(run, prompts));
  SHUNT_TRY(run.trace.open());
  PromptsRunner runner(run, std::move(prompts), std::move(adapters), output);
  SHUNT_TRY(runner.load());
  interrupt.defer();
  const Status computed = runner.compute(interrupt.stop());
  // After a failure, too: the trace then shows the work before it.
  const Status traced = run.trace.write(output);
  if (!computed) return Error(computed.error()).with_context(run.model.path());
  if (!output.failed()) print_stderr(runner.summary());
  SHUNT_TRY(traced);
  if (interrupt.happened()) return fail(ErrorCode::kCancelled, "interrupted");
  if (output.failed()) return ok();
  return runner.status();
}

}  // namespace shunt::cli

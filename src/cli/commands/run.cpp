// `shunt run`: generates text from a prompt.
#include <chrono>
#include <random>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/run_prompts.h"
#include "cli/flags/chat_flags.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/parse_units.h"
#include "cli/flags/prompt_cache.h"
#include "cli/flags/prompts_file.h"
#include "cli/flags/text_source.h"
#include "cli/flags/trace_file.h"
#include "cli/report/run_report.h"
#include "cli/report/sizes.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/wait_notice.h"
#include "shunt/chat_encoder.h"
#include "shunt/ledger.h"
#include "shunt/message.h"
#include "shunt/peak_memory.h"

namespace shunt::cli {
namespace {

/// The default prompt of the model that comes with Shunt. Most stories of its training text begin
/// with it.
constexpr const char* kBeginning = "Once upon a time";

constexpr std::int64_t kMostAtOnce = 4096;  // of Session

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class RunCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "run", "generate text from a prompt",
        "  shunt run\n"
        "  shunt run \"Question: What does a horse say?\"\n"
        "  shunt run --model model.gguf --prompt \"Once upon a time\" -n 64 --temp 0\n"
        "  shunt run -m model.gguf -f story.txt --seed 7 --json > story.json\n"
        "  echo \"Once upon a time\" | shunt run -m model.gguf --threads 4\n"
        "  shunt run -m model.gguf --chat -p \"Why is the sky blue?\" --system \"Be brief.\"\n"
        "  shunt run -m model.gguf --messages chat.json --template-value enable_thinking=false\n"
        "  shunt run -m model.gguf --prompts prompts.txt -n 64 --json > results.jsonl\n"
        "  shunt run -m model.gguf --lora poems.gguf --lora law.gguf --prompts prompts.jsonl"};
    return kInfo;
  }

  void declare(Arguments& arguments) override;
  Status check() override;
  Status run(Output& output) override;

 private:
  Status run_one(Output& output);
  /// The objects that generation needs, in the order they are made.
  struct Ready {
    OpenModel open;
    std::unique_ptr<Session> session;
    std::vector<std::int32_t> prompt;
    std::int64_t cached = 0;  ///< first tokens of the prompt that were read from a file
  };
  /// Whether the prompt is a conversation.
  bool is_chat() const { return chat_ || chat_flags_.messages(); }
  Result<std::string> read_prompt() const;
  Result<text::RenderedChat> render(const std::string& prompt) const;
  Result<Ready> load() const;
  Status tokenize(const text::RenderedChat& prompt, Ready& ready) const;
  Result<GenerateResult> generate_text(Ready& ready, Interrupt& interrupt, Output& output,
                                       std::string& text) const;

  ModelFlags model_;
  TextSource prompt_{"PROMPT", "-p,--prompt"};
  PromptsFile prompts_;
  ChatFlags chat_flags_;
  bool chat_ = false;
  std::optional<std::int64_t> parallel_;
  std::optional<std::uint64_t> host_cache_;
  std::int64_t max_tokens_ = -1;
  SamplingOptions sampling_;
  std::optional<std::uint64_t> seed_;
  TraceFile trace_;
  PromptCache cache_;
  bool ignore_eos_ = false;
  bool json_ = false;
};

void RunCommand::declare(Arguments& arguments) {
  model_.declare(arguments);
  arguments.group("Text");
  prompt_.declare(arguments);
  prompts_.declare(arguments);
  prompt_.add_rival("--prompts", prompts_.path());
  prompt_.add_rival("--messages", chat_flags_.messages());
  arguments.number<std::int64_t>(
      "--parallel", "With --prompts, compute at most N prompts at once (default: all, at most 64)",
      parallel_, 1, kMostAtOnce);
  arguments.value("--host-cache", "SIZE",
                  "With --prompts, keep blocks of the KV cache of devices in this much host memory "
                  "when others need their room, such as 4GiB (default 0)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(host_cache_, parse_bytes(text));
                    if (*host_cache_ <= SessionOptions::kMaxHostCache) return ok();
                    return invalid("it may be up to {}", size_text(SessionOptions::kMaxHostCache));
                  });
  arguments.number<std::int64_t>(
      "-n,--tokens", "Generate at most N tokens; -1: until the end of sequence or of the context",
      max_tokens_, -1);
  arguments.number<std::int64_t>("-c,--ctx",
                                 "Set the context length, for prompt and generated tokens; 0: "
                                 "that of the model, at most 4096",
                                 model_.session().context, 0, SessionOptions::kMaxContext);
  cache_.declare(arguments);
  arguments.flag("--ignore-eos", ignore_eos_, "Continue after an end-of-sequence token");
  arguments.group("Conversation");
  arguments.flag("--chat", chat_,
                 "Make the prompt a message of a conversation, with the model's chat template; the "
                 "output is the answer");
  chat_flags_.declare(arguments);
  arguments.group("Sampling");
  arguments.number("--temp", "Set the temperature; 0: greedy, always the most likely token",
                   sampling_.temperature);
  arguments.number("--top-k", "Sample from the N most likely tokens; 0: all", sampling_.top_k);
  arguments.number("--top-p",
                   "Sample from the most likely tokens whose probabilities add up to N; 1: all",
                   sampling_.top_p);
  arguments.number("--min-p",
                   "Sample from tokens at least N times as likely as the most likely one; 0: all",
                   sampling_.min_p);
  arguments.number("--repeat-penalty", "Penalize recent tokens by this factor; 1: off",
                   sampling_.repeat_penalty);
  arguments.number("--frequency-penalty",
                   "Penalize a recent token for each of its occurrences; 0: off",
                   sampling_.frequency_penalty);
  arguments.number("--presence-penalty", "Penalize each recent token once; 0: off",
                   sampling_.presence_penalty);
  arguments.number("--penalty-last", "Apply penalties to the last N tokens",
                   sampling_.penalty_last);
  arguments.number("-s,--seed",
                   "Set the random seed; the same seed gives the same text (default: random)",
                   seed_);
  arguments.group("Output");
  trace_.declare(arguments);
  arguments.flag("--json", json_,
                 "Print one JSON object at the end instead of the text; with --prompts one line of "
                 "JSON for each prompt that has ended");
}

Status RunCommand::check() {
  SHUNT_TRY(model_.check());
  SHUNT_TRY(prompt_.check());
  if (parallel_ && !prompts_.path()) return invalid("--parallel needs --prompts");
  if (host_cache_ && !prompts_.path()) return invalid("--host-cache needs --prompts");
  SHUNT_TRY(chat_flags_.check(chat_));
  if (prompts_.path() && is_chat())
    return invalid("--chat and --messages are for one conversation, not for --prompts");
  if (chat_ && chat_flags_.messages()) {
    return invalid("--chat and --messages exclude each other; the file has all messages");
  }
  model_.session().host_cache_bytes = host_cache_.value_or(0);
  if (prompts_.path() && cache_.is_given())
    return invalid("--prompt-cache is for one prompt, not for --prompts");
  sampling_.seed = seed_ ? *seed_ : std::random_device{}();
  SHUNT_TRY(Sampler::create(sampling_));
  return ok();
}

Result<RunCommand::Ready> RunCommand::load() const {
  const TraceScope scope = trace_.scope("load");
  Ready ready;
  SHUNT_ASSIGN(ready.open, model_.open());
  SHUNT_TRY(model_.expect_logits(ready.open));
  SessionOptions session = model_.session();
  session.trace = trace_.trace();
  SHUNT_ASSIGN(ready.session, Session::create(ready.open.model, session));
  return ready;
}

/// The prompt as the flags and the model have it.
Result<std::string> RunCommand::read_prompt() const {
  if (chat_flags_.messages()) return std::string();
  SHUNT_ASSIGN(std::optional<std::string> given, prompt_.read());
  std::string prompt = std::move(given).value_or("");
  // Editors and `echo` add the last line end of a file. It is no part of the prompt.
  if (prompt_.is_file() && prompt.ends_with('\n')) prompt.pop_back();
  if (prompt.empty() && chat_) return invalid("the message of the conversation is empty");
  if (prompt.empty() && !model_.is_given()) return std::string(kBeginning);
  return prompt;
}

/// A prompt that is no conversation is a person's text.
Result<text::RenderedChat> RunCommand::render(const std::string& prompt) const {
  if (!is_chat()) return text::RenderedChat{{{prompt, false}}};
  const TraceScope scope = trace_.scope("chat template");
  SHUNT_ASSIGN(const gguf::File file, gguf::File::open(model_.path(), {.metadata_only = true}));
  return chat_flags_.render(file, prompt, true);
}

Status RunCommand::tokenize(const text::RenderedChat& prompt, Ready& ready) const {
  const TraceScope scope = trace_.scope("tokenize");
  const text::Tokenizer& tokenizer = ready.open.model->tokenizer();
  SHUNT_ASSIGN(ready.prompt, is_chat() ? text::ChatEncoder(tokenizer).encode(prompt)
                                       : tokenizer.encode(prompt.text()));
  if (ready.prompt.empty()) {
    return invalid(
        "{}: the prompt is empty, and the tokenizer adds no beginning-of-sequence token, so the "
        "model has no token to continue from",
        model_.path());
  }
  const std::int64_t context = ready.session->context();
  if (static_cast<std::int64_t>(ready.prompt.size()) > context) {
    return invalid("{}: the prompt has {} tokens, but the context has room for {}; see --ctx",
                   model_.path(), ready.prompt.size(), context);
  }
  return ok();
}

Result<GenerateResult> RunCommand::generate_text(Ready& ready, Interrupt& interrupt, Output& output,
                                                 std::string& text) const {
  GenerateOptions options;
  options.max_tokens = max_tokens_;
  options.sampling = sampling_;
  options.ignore_end = ignore_eos_;
  options.cached = ready.cached;
  options.cancel = &interrupt.stop();
  const WaitNotice notice("the device's current operation");
  auto result = generate(*ready.session, ready.prompt, options, [&](std::string_view piece) {
    text += piece;
    if (!json_ && !output.write(piece)) interrupt.stop() = true;
  });
  if (!result && result.error().code() == ErrorCode::kCancelled) {
    GenerateResult cancelled;
    cancelled.stop = StopReason::kCancelled;
    return cancelled;
  }
  return result;
}

Status RunCommand::run(Output& output) {
  if (prompts_.path()) {
    return run_prompts(
        {.file = prompts_,
         .model = model_,
         .trace = trace_,
         .request = {.max_tokens = max_tokens_, .sampling = sampling_, .ignore_end = ignore_eos_},
         .parallel = parallel_.value_or(0),
         .json = json_},
        output);
  }
  return run_one(output);
}

Status RunCommand::run_one(Output& output) {
  Interrupt interrupt;
  RunReport report;
  SHUNT_ASSIGN(const std::string text, read_prompt());
  report.path = model_.path();
  SHUNT_TRY(trace_.open());
  SHUNT_ASSIGN(const text::RenderedChat prompt, render(text));
  report.prompt = prompt.text();
  const auto start = std::chrono::steady_clock::now();
  SHUNT_ASSIGN(Ready ready, load());
  report.load_seconds = seconds_since(start) - ready.open.calibration_seconds;
  SHUNT_TRY(tokenize(prompt, ready));
  SHUNT_ASSIGN(ready.cached, cache_.restore(*ready.session, ready.prompt));

  interrupt.defer();
  if (!json_ && !is_chat() && !output.write(report.prompt)) return ok();
  auto result = generate_text(ready, interrupt, output, report.text);
  if (!json_) output.write("\n");
  // After a failure, too: the trace then shows the work before it.
  const Status traced = trace_.write(output);
  if (!result) return std::move(result.error()).with_context(model_.path());
  const Status saved = cache_.save(*ready.session, ready.prompt);

  report.model = ready.open.model->info();
  report.cached_tokens = ready.cached;
  report.prompt_tokens = static_cast<std::int64_t>(ready.prompt.size()) - ready.cached;
  report.result = std::move(*result);
  report.seed = sampling_.seed;
  report.memory = ready.session->memory();
  report.peak_memory = peak_memory();
  report.model_notes = ready.open.model->notes();
  report.session_notes = ready.session->notes();
  if (json_) output.write(to_json(report));
  if (!output.failed()) print_stderr(summary(report));
  SHUNT_TRY(traced);
  SHUNT_TRY(saved);
  if (interrupt.happened()) return fail(ErrorCode::kCancelled, "interrupted");
  return ok();
}

}  // namespace

std::unique_ptr<Command> make_run_command() {
  return std::make_unique<RunCommand>();
}

}  // namespace shunt::cli

// `shunt train`: a model from a text.
#include "shunt/train.h"

#include <cstdio>
#include <filesystem>
#include <numbers>
#include <utility>

#include "base/counted.h"
#include "base/fail.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/runtime_flags.h"
#include "cli/sizes.h"
#include "cli/text_files.h"
#include "device/selection.h"
#include "engine/vocabulary_from_gguf.h"
#include "model/synth.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 30;  // bytes; what a tokenizer takes

class TrainCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "train", "train a model on a text, on the CPU",
        "  shunt train-tokenizer stories.txt --vocab-size 1024 -o vocab.gguf\n"
        "  shunt train stories.txt -o stories.gguf --vocab vocab.gguf --layers 4 --width 128 \\\n"
        "      --ff 384 --steps 2000\n"
        "  shunt train more.txt -o better.gguf --model stories.gguf --lr 3e-4"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    using I = std::int64_t;
    shape_.context = 0;
    shape_.tied = true;
    arguments.required("TEXT", "a file; documents end where the end of sequence is spelled out",
                       text_);
    arguments.file("-o,--out", "where to write the model", out_);
    arguments.file("-m,--model", "the model to go on from, a GGUF file", model_);
    arguments.file("--vocab", "without --model: a GGUF file whose tokenizer to use", vocabulary_);
    arguments.number<I>("--layers", "without --model: number of layers", shape_.layers);
    arguments.number<I>("--width", "without --model: length of an embedding", shape_.width);
    arguments.number<I>("--ff", "without --model: width of the feed-forward part",
                        shape_.feed_forward);
    arguments.number<I>("--heads", "without --model: attention heads", shape_.heads);
    arguments.number<I>("--kv-heads", "without --model: heads of keys and values", shape_.kv_heads);
    arguments.number<I>("-c,--ctx", "tokens of a row", options_.context);
    arguments.number<I>("--rows", "rows that are computed at once", options_.rows);
    arguments.number<I>("--accumulate", "as often, for one step of the optimizer",
                        options_.accumulate);
    arguments.number<I>("--steps", "steps in all", options_.steps);
    arguments.number<I>("--warmup", "steps until the learning rate is at its highest",
                        options_.warmup);
    arguments.number("--lr", "the highest learning rate", options_.rate);
    arguments.number("--final-lr", "the learning rate at the end", options_.final_rate);
    arguments.value("--optimizer", "NAME", "adamw or sgd (default adamw)",
                    [this](const std::string& text) { return set_optimizer(text); });
    arguments.number("--beta1", "of AdamW: how much of the gradients' mean stays", options_.beta1);
    arguments.number("--beta2", "of AdamW: how much of their squares' mean stays", options_.beta2);
    arguments.number("--weight-decay", "of matrices", options_.weight_decay);
    arguments.number("--clip", "the longest that the gradient may be; 0: any length",
                     options_.clip);
    arguments.number("--seed", "of the weights at the start, and of the order of documents",
                     options_.seed);
    arguments.file("--validation", "a text that is not learned, but predicted", validation_);
    arguments.number("--validation-share",
                     "without --validation: how much of TEXT, at its end, is kept for that", share_,
                     0.0, 0.9);
    arguments.number<I>("--every", "steps from one line, validation and checkpoint to the next",
                        every_, 1);
    arguments.file("--checkpoint",
                   "what a run that was stopped goes on from (default: OUT.checkpoint)",
                   checkpoint_);
    runtime_.declare(arguments);
  }

  Status check() override {
    if (!out_) return invalid("where to? --out names the file to write");
    if (model_ && vocabulary_) return invalid("--vocab is for a new model, not for --model");
    if (!model_ && !vocabulary_) {
      return invalid("a model to go on from (--model), or a tokenizer for a new one (--vocab)?");
    }
    if (!checkpoint_) checkpoint_ = *out_ + ".checkpoint";
    shape_.seed = options_.seed;
    SHUNT_TRY(check_train_options(options_));
    if (vocabulary_) {
      SynthOptions checked = shape_;  // the tokenizer's size is not known yet
      checked.context = options_.context;
      SHUNT_TRY(check_synth_options(checked));
    }
    SHUNT_ASSIGN(runtime_options_, runtime_.options());
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const gguf::File source, open_source());
    SHUNT_ASSIGN(const auto vocabulary, vocabulary_from_gguf(source));
    SHUNT_ASSIGN(const auto tokenizer, text::Tokenizer::create(vocabulary));
    SHUNT_ASSIGN(TrainingText learned, read_text(tokenizer, text_));
    TrainingText kept;
    if (validation_) {
      SHUNT_ASSIGN(kept, read_text(tokenizer, *validation_));
    } else if (share_ > 0) {
      SHUNT_ASSIGN(kept, split_off(learned, share_));
    }
    interrupt.defer();
    SHUNT_ASSIGN(const gguf::File start, is_new_ ? new_model(source) : source);
    SHUNT_ASSIGN(const auto registry, Registry::create(runtime_options_));
    SHUNT_ASSIGN(const auto devices, select_with_cpu(*registry, {}));
    SHUNT_ASSIGN(const auto trainer, Trainer::create(start, learned, *devices.back(), options_));
    output.write(
        fmt::format("{}{} parameters; {} of {}, {} tokens\n", is_new_ ? "a new model of " : "",
                    format_count(trainer->parameters()), counted(learned.documents(), "document"),
                    format_bytes(learned.text_bytes()), format_count(learned.tokens.size())));
    if (trainer->steps() > 0) {
      output.write(
          fmt::format("going on after step {}, from {}\n", trainer->steps(), *checkpoint_));
    }
    SHUNT_TRY(train(*trainer, kept, interrupt, output));
    SHUNT_TRY(trainer->save_model(*out_));
    std::error_code ignored;
    std::filesystem::remove(*checkpoint_, ignored);
    output.write(fmt::format("{} is written\n", *out_));
    return ok();
  }

 private:
  Status set_optimizer(const std::string& text) {
    for (const Optimizer each : {Optimizer::kAdamw, Optimizer::kSgd}) {
      if (text != to_string(each)) continue;
      options_.optimizer = each;
      return ok();
    }
    return invalid("\"{}\" is neither adamw nor sgd", text);
  }

  /// What training goes on from, or, for a new model, the file that has its tokenizer.
  Result<gguf::File> open_source() {
    if (std::filesystem::exists(*checkpoint_)) {
      SHUNT_ASSIGN(gguf::File file, gguf::File::open(*checkpoint_));
      if (vocabulary_) SHUNT_TRY(check_shape(file));
      return file;
    }
    if (model_) return gguf::File::open(*model_);
    is_new_ = true;
    return gguf::File::open(*vocabulary_, {.metadata_only = true});
  }

  /// Whether a checkpoint is of the model that was asked for.
  Status check_shape(const gguf::File& file) const {
    const std::pair<const char*, std::int64_t> numbers[] = {
        {"llama.block_count", shape_.layers},
        {"llama.embedding_length", shape_.width},
        {"llama.feed_forward_length", shape_.feed_forward},
        {"llama.attention.head_count", shape_.heads},
        {"llama.attention.head_count_kv", shape_.kv_heads},
    };
    for (const auto& [key, wanted] : numbers) {
      SHUNT_ASSIGN(const std::int64_t there, file.get_integer(key));
      if (there == wanted) continue;
      return invalid("{} is of another model: its {} is {}, not {}", *checkpoint_, key, there,
                     wanted);
    }
    return ok();
  }

  /// Weights of chance, in a file that has lost its name when this returns.
  Result<gguf::File> new_model(const gguf::File& tokenizer) {
    const std::string path = *out_ + ".start";
    shape_.tokenizer = tokenizer;
    shape_.context = options_.context;
    SHUNT_TRY(write_synth_model(path, shape_));
    auto file = gguf::File::open(path);
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return file;
  }

  static Result<TrainingText> read_text(const text::Tokenizer& tokenizer, const std::string& path) {
    SHUNT_ASSIGN(const std::string text, read_whole_file(path, kMostText));
    auto read = read_training_text(tokenizer, text);
    if (!read) return std::move(read.error()).with_context(path);
    return read;
  }

  Status train(Trainer& trainer, const TrainingText& kept, Interrupt& interrupt, Output& output) {
    double nats = 0;
    double seconds = 0;
    double tokens = 0;
    while (trainer.steps() < options_.steps) {
      auto step = trainer.step(&interrupt.stop());
      if (!step) return stopped(trainer, std::move(step.error()), interrupt);
      nats += step->loss * static_cast<double>(step->tokens);
      tokens += static_cast<double>(step->tokens);
      seconds += step->seconds;
      const bool last = step->step == options_.steps;
      if (step->step % every_ != 0 && !last) continue;
      std::string line = fmt::format(
          "step {} of {}: loss {:.4f}, gradient {:.3f}, rate {:.2e}, {:.0f} tokens/s", step->step,
          options_.steps, nats / tokens, step->gradient, step->rate, tokens / seconds);
      if (kept.documents() > 0) {
        auto score = trainer.score(kept, &interrupt.stop());
        if (!score) return stopped(trainer, std::move(score.error()), interrupt);
        const double bits = score->nats / std::numbers::ln2;
        line += fmt::format(", validation {:.4f} ({:.4f} bits a byte)", score->loss(),
                            bits / static_cast<double>(kept.text_bytes()));
      }
      output.write(line + "\n");
      nats = seconds = tokens = 0;
      if (!last) SHUNT_TRY(trainer.save_checkpoint(*checkpoint_));
    }
    return ok();
  }

  /// Nothing that was learned is lost.
  Status stopped(const Trainer& trainer, Error error, const Interrupt& interrupt) {
    if (!interrupt.happened()) return error;
    SHUNT_TRY(trainer.save_checkpoint(*checkpoint_));
    return error;
  }

  std::string text_;
  std::optional<std::string> out_;
  std::optional<std::string> model_;
  std::optional<std::string> vocabulary_;
  std::optional<std::string> validation_;
  std::optional<std::string> checkpoint_;
  SynthOptions shape_;
  TrainOptions options_;
  bool is_new_ = false;
  double share_ = 0.05;
  std::int64_t every_ = 100;
  RuntimeFlags runtime_;
  Options runtime_options_;
};

}  // namespace

std::unique_ptr<Command> make_train_command() {
  return std::make_unique<TrainCommand>();
}

}  // namespace shunt::cli

// `shunt train`: trains a model on a text.
#include "shunt/train.h"

#include <filesystem>
#include <numbers>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/train_folder.h"
#include "cli/flags/runtime_flags.h"
#include "cli/flags/shape_flags.h"
#include "cli/flags/text_files.h"
#include "cli/report/sizes.h"
#include "cli/terminal/interrupt.h"
#include "shunt/message.h"
#include "shunt/registry.h"
#include "shunt/select_devices.h"
#include "shunt/synth.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

constexpr double kShare = 0.05;                          // of a text, for validation
constexpr std::size_t kMostText = std::size_t{1} << 30;  // bytes; the limit of a tokenizer

class TrainCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "train", "train a model on a text, on the CPU",
        "  shunt train-tokenizer --file stories.txt --vocab-size 1024 --special '<|end|>' \\\n"
        "      -o vocab.gguf\n"
        "  shunt train stories.txt -o stories.gguf --vocab vocab.gguf --layers 4 --width 128 \\\n"
        "      --ff 384 --steps 2000\n"
        "  shunt train more.txt -o better.gguf --model stories.gguf --lr 3e-4"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    using I = std::int64_t;
    shape_.tied = true;
    shape_given_.reserve(std::size(kShapeFlags));  // the flags keep addresses of its elements
    arguments.required_input(
        "TEXT",
        "Train on this text file; a document ends with the text of the end-of-sequence token",
        text_);
    arguments.output("-o,--output", "Write the model to this file", OutputFormat::kGguf, out_);
    arguments.input("-m,--model", "Continue training this GGUF model", model_);
    arguments.input("--vocab", "Without --model: use the tokenizer of this GGUF file", vocabulary_);
    for (const ShapeFlag& flag : kShapeFlags) {
      shape_given_.emplace_back();
      arguments.number<I>(
          flag.name,
          fmt::format("Without --model: set the {} (default {})", flag.help, shape_.*flag.number),
          shape_given_.back());
    }
    arguments.text("--name", "TEXT", "Without --model: set the name of the model", name_);
    arguments.number<I>("-c,--ctx", "Set the sequence length: N tokens per row", options_.context);
    arguments.number<I>("--rows", "Set the batch size: N rows per forward pass", options_.rows);
    arguments.number<I>("--accumulate", "Accumulate gradients over N batches per optimizer step",
                        options_.accumulate);
    arguments.number<I>("--steps", "Train for N optimizer steps in total", options_.steps);
    arguments.number<I>("--warmup", "Raise the learning rate linearly in the first N steps",
                        options_.warmup);
    arguments.number("--lr", "Set the peak learning rate", options_.rate);
    arguments.number("--final-lr", "Set the learning rate at the end of the cosine decay",
                     options_.final_rate);
    arguments.value("--optimizer", "NAME", "Set the optimizer: adamw or sgd (default adamw)",
                    [this](const std::string& text) { return set_optimizer(text); });
    arguments.number("--beta1", "Set the decay rate of the first moment (AdamW)", options_.beta1);
    arguments.number("--beta2", "Set the decay rate of the second moment (AdamW)", options_.beta2);
    arguments.number("--weight-decay", "Set the weight decay of matrices", options_.weight_decay);
    arguments.number("--clip", "Clip the gradient norm at N; 0: no clipping", options_.clip);
    arguments.number("--seed", "Set the random seed of new weights and of the document order",
                     options_.seed);
    arguments.input("--validation", "Compute the validation loss on this held-out text file",
                    validation_);
    arguments.number(
        "--validation-share",
        fmt::format("Without --validation: hold out this share of TEXT, at its end, for "
                    "validation (default {})",
                    kShare),
        share_, 0.0, 0.9);
    arguments.number<I>("--every", "Print a line, validate and write a checkpoint every N steps",
                        every_, 1);
    arguments.output("--checkpoint",
                     "Write checkpoints to this file, and resume from it if it exists (default: "
                     "checkpoint.gguf in .OUT.shunt-train, a folder beside OUT)",
                     OutputFormat::kGguf, checkpoint_);
    runtime_.declare(arguments);
  }

  Status check() override {
    if (!out_) return invalid("no output file is given; use --output FILE");
    if (model_ && vocabulary_)
      return invalid("--model and --vocab exclude each other: the model has a tokenizer");
    if (validation_ && share_)
      return invalid("--validation and --validation-share exclude each other");
    if (!model_ && !vocabulary_) {
      return invalid(
          "no model is given; use --model FILE to continue training it, or --vocab FILE for a new "
          "one");
    }
    checkpoint_path_ = checkpoint_.value_or(TrainFolder::path_of(*out_) + "/checkpoint.gguf");
    if (checkpoint_ &&
        resolved_path(TrainFolder::path_of(*out_)) == resolved_path(*checkpoint_).parent_path()) {
      return invalid(
          "--checkpoint {}: this folder is reserved for temporary files of training; use another "
          "one",
          *checkpoint_);
    }
    SHUNT_TRY(check_train_options(options_));
    SHUNT_TRY(check_shape());
    SHUNT_ASSIGN(runtime_options_, runtime_.options());
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    const bool is_new = !model_;
    SHUNT_ASSIGN(const gguf::File source,
                 gguf::File::open(is_new ? *vocabulary_ : *model_, {.metadata_only = is_new}));
    SHUNT_ASSIGN(const auto vocabulary, vocabulary_from_gguf(source));
    SHUNT_ASSIGN(const auto tokenizer, text::Tokenizer::create(vocabulary));
    SHUNT_ASSIGN(TrainingText learned, read_text(tokenizer, text_));
    TrainingText kept;
    if (validation_) {
      SHUNT_ASSIGN(kept, read_text(tokenizer, *validation_));
    } else if (share_.value_or(kShare) > 0) {
      SHUNT_ASSIGN(kept, split_off(learned, share_.value_or(kShare)));
    }
    interrupt.defer();
    SHUNT_ASSIGN(const TrainFolder folder, TrainFolder::open(*out_));
    std::optional<TrainFolder> of_checkpoint;
    if (checkpoint_) {
      SHUNT_ASSIGN(TrainFolder other, TrainFolder::open(*checkpoint_));
      of_checkpoint.emplace(std::move(other));
    }
    SHUNT_ASSIGN(const gguf::File start, is_new ? new_model(source) : source);
    std::optional<gguf::File> checkpoint;
    std::error_code ignored;
    if (std::filesystem::exists(checkpoint_path_, ignored)) {
      SHUNT_ASSIGN(checkpoint, gguf::File::open(checkpoint_path_));
    }
    SHUNT_ASSIGN(const auto registry, open_registry(runtime_options_));
    SHUNT_ASSIGN(const auto devices, select_with_cpu(*registry, {}));
    SHUNT_ASSIGN(const auto trainer,
                 Trainer::create(start, learned, cpu_of_selected(devices), options_,
                                 checkpoint ? &*checkpoint : nullptr));
    output.write(
        fmt::format("{}{} parameters; {} of {}, {} tokens\n", is_new ? "a new model of " : "",
                    format_count(trainer->parameters()), counted(learned.documents(), "document"),
                    format_bytes(learned.text_bytes()), format_count(learned.tokens.size())));
    if (checkpoint) {
      output.write(
          fmt::format("resumed after step {} from {}\n", trainer->steps(), checkpoint_path_));
    }
    SHUNT_TRY(train(*trainer, kept, interrupt, output));
    SHUNT_TRY(trainer->save_model(*out_));
    std::filesystem::remove(checkpoint_path_, ignored);
    output.write(fmt::format("wrote {}\n", *out_));
    return ok();
  }

 private:
  Status set_optimizer(const std::string& text) {
    for (const Optimizer each : {Optimizer::kAdamw, Optimizer::kSgd}) {
      if (text != to_string(each)) continue;
      options_.optimizer = each;
      return ok();
    }
    return invalid("\"{}\" is not adamw or sgd", text);
  }

  Status check_shape() {
    for (std::size_t i = 0; i < std::size(kShapeFlags); ++i) {
      if (!shape_given_[i]) continue;
      if (model_) {
        return invalid("{} and --model exclude each other: the model has its own shape",
                       kShapeFlags[i].name);
      }
      shape_.*kShapeFlags[i].number = *shape_given_[i];
    }
    if (model_ && name_)
      return invalid("--name and --model exclude each other: the model has a name");
    if (model_) return ok();
    shape_.seed = options_.seed;
    shape_.context = options_.context;
    shape_.name = name_.value_or(std::filesystem::path(*out_).stem().string());
    return check_synth_options(shape_);  // all but the tokenizer's size, which is not known yet
  }

  /// A model with random weights, in a file that is unlinked when this returns.
  Result<gguf::File> new_model(const gguf::File& tokenizer) {
    const std::string path = fmt::format("{}/{}", TrainFolder::path_of(*out_), TrainFolder::kStart);
    shape_.tokenizer = tokenizer;
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
    // So a failure to write or compute shows before the first step.
    SHUNT_TRY(trainer.save_checkpoint(checkpoint_path_));
    SHUNT_ASSIGN(const std::string before, validation(trainer, kept, interrupt));
    if (!before.empty()) output.write(fmt::format("step {}: {}\n", trainer.steps(), before));
    double nats = 0;
    double seconds = 0;
    double tokens = 0;
    while (trainer.steps() < options_.steps) {
      auto step = trainer.step(&interrupt.stop());
      if (!step) return stopped(trainer, std::move(step.error()), interrupt);
      nats += step->loss * static_cast<double>(step->tokens);
      tokens += static_cast<double>(step->tokens);
      seconds += step->seconds;
      if (step->step % every_ != 0 && step->step != options_.steps) continue;
      SHUNT_TRY(trainer.save_checkpoint(checkpoint_path_));
      SHUNT_ASSIGN(const std::string score, validation(trainer, kept, interrupt));
      output.write(
          fmt::format("step {} of {}: loss {:.4f}, gradient norm {:.3f}, learning rate {:.2e}, "
                      "{:.0f} tokens/s{}{}\n",
                      step->step, options_.steps, nats / tokens, step->gradient, step->rate,
                      tokens / seconds, score.empty() ? "" : ", ", score));
      nats = seconds = tokens = 0;
    }
    return ok();
  }

  /// "validation 1.2345 (0.1234 bits per byte)"; empty without a validation text.
  static Result<std::string> validation(Trainer& trainer, const TrainingText& kept,
                                        Interrupt& interrupt) {
    if (kept.documents() == 0) return std::string();
    SHUNT_ASSIGN(const TrainScore score, trainer.score(kept, &interrupt.stop()));
    const double bits = score.nats / std::numbers::ln2;
    return fmt::format("validation {:.4f} ({:.4f} bits per byte)", score.loss(),
                       bits / static_cast<double>(kept.text_bytes()));
  }

  /// Writes a checkpoint if a signal stopped the training.
  Status stopped(const Trainer& trainer, Error error, const Interrupt& interrupt) {
    if (!interrupt.happened()) return error;
    SHUNT_TRY(trainer.save_checkpoint(checkpoint_path_));
    return error;
  }

  std::string text_;
  std::optional<std::string> out_;
  std::optional<std::string> model_;
  std::optional<std::string> vocabulary_;
  std::optional<std::string> validation_;
  std::optional<std::string> checkpoint_;
  std::string checkpoint_path_;
  SynthOptions shape_;
  TrainOptions options_;
  std::vector<std::optional<std::int64_t>> shape_given_;  // in the order of kShapeFlags
  std::optional<std::string> name_;
  std::optional<double> share_;
  std::int64_t every_ = 100;
  RuntimeFlags runtime_;
  Options runtime_options_;
};

}  // namespace

std::unique_ptr<Command> make_train_command() {
  return std::make_unique<TrainCommand>();
}

}  // namespace shunt::cli

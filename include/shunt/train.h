/// \file
/// Training a language model: from random weights, or on from a GGUF file, on the CPU. Include it
/// for training in a program of your own, instead of the command `shunt train`.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File start, gguf::File::open("start.gguf"));
/// SHUNT_ASSIGN(const TrainingText text, read_training_text(tokenizer, content));
/// const TrainOptions options = {.steps = 200};
/// SHUNT_ASSIGN(const auto trainer, Trainer::create(start, text, cpu, options));
/// while (trainer->steps() < options.steps) SHUNT_TRY(trainer->step());
/// SHUNT_TRY(trainer->save_model("trained.gguf"));
/// \endcode
///
/// The same model, text and options give the same weights, bit by bit, whatever the number of
/// threads; not so on machines whose vector units differ.
///
/// Threads: a Trainer belongs to one at a time. Cancelling may come from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/error.h"
#include "shunt/gguf.h"
#include "shunt/text.h"

namespace shunt {

/// A text as tokens: documents, each of them the vocabulary's beginning of sequence (if texts are
/// to begin with one), the text, and its end of sequence. Each has two tokens at least.
struct TrainingText {
  std::vector<std::int32_t> tokens;
  std::vector<std::size_t> starts;   ///< of each document, and the end
  std::vector<std::uint64_t> bytes;  ///< of the tokens of each document that can be predicted

  /// Number of documents.
  std::size_t documents() const { return bytes.size(); }
  std::uint64_t text_bytes() const;  ///< of all documents
  /// The tokens of document `i`, from 0; below documents(), which is not checked.
  std::span<const std::int32_t> document(std::size_t i) const {
    return std::span(tokens).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

/// Cuts a text where the end of sequence is spelled out ("</s>", "<|end|>": the vocabulary's own
/// word for it). The end of a line right before or behind that belongs to no document. A document
/// without tokens is left out. Other control tokens that are spelled out are read as such.
/// Unsupported for a vocabulary without an end of sequence; Invalid for a text without words.
Result<TrainingText> read_training_text(const text::Tokenizer& tokenizer, std::string_view text);
/// The last documents of a text, as many as make up `share` of the tokens, as a text of their own;
/// `text` keeps the others. Invalid unless both have some.
Result<TrainingText> split_off(TrainingText& text, double share);

/// The algorithm that changes weights: AdamW, or stochastic gradient descent.
enum class Optimizer : std::uint8_t { kAdamw, kSgd };
/// "adamw", "sgd".
std::string_view to_string(Optimizer optimizer);

/// Options of Trainer::create(): batch, schedule of the learning rate, optimizer.
struct TrainOptions {
  std::int64_t context = 256;   ///< tokens of a row, 2 to 65536
  std::int64_t rows = 16;       ///< computed at once
  std::int64_t accumulate = 1;  ///< batches of `rows` for one step of the optimizer
  std::int64_t steps = 1000;    ///< total
  std::int64_t warmup = 100;    ///< steps in which the rate grows linearly from 0
  double rate = 1e-3;           ///< the highest
  double final_rate = 1e-4;     ///< at the end of the cosine decay
  Optimizer optimizer = Optimizer::kAdamw;
  double beta1 = 0.9;  ///< AdamW's
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;  ///< of matrices; norms and biases have none
  double clip = 1;            ///< gradient-norm clipping threshold; 0: no clipping
  std::uint64_t seed = 1;     ///< of the order of documents
  /// All of them, for people and to compare.
  template <class F>
  void each(F f) const {
    f("context", context);
    f("rows", rows);
    f("accumulate", accumulate);
    f("steps", steps);
    f("warmup", warmup);
    f("rate", rate);
    f("final_rate", final_rate);
    f("optimizer", to_string(optimizer));
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("clip", clip);
    f("seed", seed);
  }
};
/// Invalid, naming the number that is out of range.
Status check_train_options(const TrainOptions& options);
/// The learning rate of a step, the first of which is number 1.
double learning_rate(const TrainOptions& options, std::int64_t step);

/// The result of a step.
struct TrainStep {
  std::int64_t step = 0;  ///< its number, from 1 on
  double loss = 0;        ///< mean over tokens of -ln(probability), before the step
  double gradient = 0;    ///< norm of all gradients together, before clipping
  double rate = 0;
  std::int64_t tokens = 0;  ///< that were scored
  double seconds = 0;
};

/// How well a text is predicted.
struct TrainScore {
  double nats = 0;  ///< sum over tokens of -ln(probability)
  std::int64_t tokens = 0;
  /// Mean over tokens; 0 without tokens.
  double loss() const { return tokens == 0 ? 0 : nats / static_cast<double>(tokens); }
};

/// A model that is being trained.
class Trainer {
 public:
  /// `start`: a file whose architecture can be trained, with its weights in any type; training
  /// continues in F32. `checkpoint`: the file of save_checkpoint() of a training that began with
  /// the same file, text and options (Invalid for others). The next step is the one after that,
  /// with the loss that it would have had. Null: start with the first step. `text` and `cpu` must
  /// outlive the trainer. Invalid for invalid options, for rows longer than the model's context and
  /// for tokens that it does not have; OutOfMemory; Unsupported, naming an op, if the model's graph
  /// has no gradient.
  static Result<std::unique_ptr<Trainer>> create(const gguf::File& start, const TrainingText& text,
                                                 Device& cpu, const TrainOptions& options,
                                                 const gguf::File* checkpoint = nullptr);
  ~Trainer();

  /// Steps that have been done.
  std::int64_t steps() const;
  /// Number of values that are trained.
  std::uint64_t parameters() const;
  /// The next step. An error, naming the step, if loss or gradient is not a finite number: the
  /// weights are those before it then. Cancelled leaves them so, too.
  Result<TrainStep> step(const std::atomic<bool>* cancel = nullptr);
  /// The loss of a text, without a change of the weights.
  Result<TrainScore> score(const TrainingText& text, const std::atomic<bool>* cancel = nullptr);

  /// Writes a GGUF file with the current weights, in F32, and all metadata of the model's file. Io.
  Status save_model(const std::string& path) const;
  /// The same with the state that training needs to continue: see create().
  Status save_checkpoint(const std::string& path) const;

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shunt

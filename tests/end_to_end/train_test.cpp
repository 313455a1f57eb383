// Training as a whole, compared with the first-order prediction for a small step, with the engine,
// and with itself after a restart.
#include "shunt/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "shunt/engine.h"
#include "shunt/vocabulary.h"
#include "support/models.h"
#include "support/shared.h"
#include "tensor/byte_order.h"

namespace shunt::test::train_test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr std::string_view kText =
    "the cat sat on the mat</s>\nthe dog ran to the cat</s>\na bird sang</s>\nthe mat was red</s>\n"
    "one two three four five six seven</s>\nwho saw the bird? the dog did</s>\n";

TrainOptions small_options() {
  return {.context = 24, .rows = 2, .steps = 6, .warmup = 2, .rate = 0.01};
}

class Train : public testing::Test {
 protected:
  Train() : Train(0) {}
  explicit Train(int threads) {
    Options options;
    options.threads = threads;
    registry_ = std::move(*Registry::create(options));
    file_ = gguf::File::open(start_.path()).value();
    const auto tokenizer = text::Tokenizer::create(*vocabulary_from_gguf(*file_));
    text_ = *read_training_text(*tokenizer, kText);
  }

  Device& cpu() { return *registry_->devices().back(); }
  std::unique_ptr<Trainer> trainer(const TrainOptions& options,
                                   const gguf::File* checkpoint = nullptr) {
    auto made = Trainer::create(*file_, text_, cpu(), options, checkpoint);
    if (!made) throw std::runtime_error(made.error().message());
    return std::move(*made);
  }
  static std::vector<double> losses(Trainer& trainer, std::int64_t steps) {
    std::vector<double> losses;
    for (std::int64_t i = 0; i < steps; ++i) losses.push_back(trainer.step().value().loss);
    return losses;
  }
  std::string saved(const Trainer& trainer) {
    const std::string path = start_.folder().file("saved.gguf");
    EXPECT_TRUE(trainer.save_model(path));
    return read_file(path);
  }

  /// All weights as they are now, in the order of the file.
  std::vector<float> weight_values(const Trainer& trainer) {
    saved(trainer);
    const gguf::File file = *gguf::File::open(start_.folder().file("saved.gguf"));
    std::vector<float> weights;
    for (const gguf::TensorInfo& info : file.tensors()) {
      const auto bytes = file.data(info);
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        weights.push_back(load_little<float>(bytes.data() + at));
      }
    }
    return weights;
  }

  SynthModel start_{tiny_shape()};
  std::unique_ptr<Registry> registry_;
  std::optional<gguf::File> file_;
  TrainingText text_;
};

TEST_F(Train, SmallSgdStepReducesLossByRateTimesSquaredGradient) {
  // loss(w - rate * g) = loss(w) - rate * |g|^2 + O(rate^2).
  TrainOptions options = small_options();
  options.context = 32;
  options.optimizer = Optimizer::kSgd;
  options.weight_decay = 0;
  options.clip = 0;
  options.warmup = 0;
  // One document, so that a step, whatever it packs, learns from all there is.
  text_.tokens.resize(text_.starts[1]);
  text_.starts.resize(2);
  text_.bytes.resize(1);
  options.rate = options.final_rate = 1e-4;
  const auto all = trainer(options);
  const double before = all->score(text_)->loss();
  const auto step = all->step();
  ASSERT_TRUE(step) << step.error().message();
  const double expected = options.rate * step->gradient * step->gradient;
  EXPECT_NEAR((before - all->score(text_)->loss()) / expected, 1, 0.02);
}

TEST_F(Train, ClipsGradientsToTheThreshold) {
  // A step of SGD without weight decay moves the weights by rate * min(|g|, threshold) in all.
  TrainOptions options = small_options();
  options.optimizer = Optimizer::kSgd;
  options.weight_decay = 0;
  options.warmup = 0;
  options.rate = options.final_rate = 0.125;
  options.clip = 0;  // off
  const auto unclipped = trainer(options);
  const std::vector<float> before = weight_values(*unclipped);
  const double gradient = unclipped->step()->gradient;
  ASSERT_GT(gradient, 0.1);
  const std::vector<float> whole = weight_values(*unclipped);
  for (const double share : {0.01, 0.5, 0.99, 1.01, 2.0, 100.0}) {
    options.clip = share * gradient;
    const auto clipped = trainer(options);
    EXPECT_EQ(clipped->step()->gradient, gradient) << "the length before clipping";
    const std::vector<float> after = weight_values(*clipped);
    EXPECT_EQ(after == whole, share > 1) << share;
    double squares = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double moved = static_cast<double>(after[i]) - static_cast<double>(before[i]);
      squares += moved * moved;
    }
    const double expected = options.rate * gradient * std::min(share, 1.0);
    EXPECT_NEAR(std::sqrt(squares) / expected, 1, 1e-4) << share;
  }
}

TEST_F(Train, OverfitsASmallText) {
  TrainOptions options = small_options();
  options.steps = 150;
  options.rows = 8;
  options.weight_decay = 0;
  const auto all = trainer(options);
  const double before = all->score(text_)->loss();
  // Nothing is known at first: about the logarithm of the vocabulary.
  EXPECT_NEAR(before, std::log(static_cast<double>(tiny_shape().vocabulary)), 1);
  losses(*all, options.steps);
  EXPECT_LT(all->score(text_)->loss(), 0.5);
}

TEST_F(Train, EngineGivesTheTextTheSameProbability) {
  TrainOptions options = small_options();
  options.context = 64;  // no document is cut
  const auto all = trainer(options);
  losses(*all, 3);
  const std::string path = start_.folder().file("trained.gguf");
  ASSERT_TRUE(all->save_model(path));
  const auto model = Model::load(path, *registry_);
  ASSERT_TRUE(model) << model.error().message();
  double nats = 0;
  for (std::size_t i = 0; i < text_.documents(); ++i) {
    const auto session = Session::create(*model, {.context = 64, .cache_type = DType::kF32});
    ASSERT_TRUE(session);
    const auto document = text_.document(i);
    for (std::size_t t = 0; t + 1 < document.size(); ++t) {
      const auto logits = (*session)->append(document.subspan(t, 1));
      ASSERT_TRUE(logits);
      double sum = 0;
      for (const float logit : *logits) sum += std::exp(static_cast<double>(logit));
      nats += std::log(sum) - (*logits)[static_cast<std::size_t>(document[t + 1])];
    }
  }
  EXPECT_NEAR(all->score(text_)->nats / nats, 1, 1e-5);
}

TEST_F(Train, ResumesFromACheckpointWithTheSameLosses) {
  for (const Optimizer optimizer : {Optimizer::kAdamw, Optimizer::kSgd}) {
    TrainOptions options = small_options();
    options.optimizer = optimizer;
    options.accumulate = 2;
    const auto whole = trainer(options);
    losses(*whole, 3);
    const auto expected = losses(*whole, 3);

    const std::string path = start_.folder().file("stopped.gguf");
    const auto stopped = trainer(options);
    losses(*stopped, 3);
    ASSERT_TRUE(stopped->save_checkpoint(path));
    const gguf::File file = *gguf::File::open(path);
    const auto again = trainer(options, &file);
    EXPECT_EQ(again->steps(), 3);
    EXPECT_THAT(losses(*again, 3), ElementsAreArray(expected)) << to_string(optimizer);
    EXPECT_TRUE(saved(*again) == saved(*whole));
  }
}

TEST_F(Train, CheckpointRequiresTheSameModelOptionsAndText) {
  const std::string path = start_.folder().file("stopped.gguf");
  const auto stopped = trainer(small_options());
  losses(*stopped, 1);
  ASSERT_TRUE(stopped->save_checkpoint(path));
  const gguf::File file = *gguf::File::open(path);
  TrainOptions options = small_options();
  options.rate = 0.02;
  auto again = Trainer::create(*file_, text_, cpu(), options, &file);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("rate=0.02"));
  TrainingText other = text_;
  std::swap(other.tokens[3], other.tokens[4]);
  again = Trainer::create(*file_, other, cpu(), small_options(), &file);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("needs the text"));
  SynthOptions shape = tiny_shape();
  shape.seed = 7;
  const SynthModel model(shape);
  again = Trainer::create(*gguf::File::open(model.path()), text_, cpu(), small_options(), &file);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("needs the model"));
  again = Trainer::create(*file_, text_, cpu(), small_options(), &*file_);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("not a training checkpoint"));
}

TEST_F(Train, CancelledStepIsRepeated) {
  const auto whole = trainer(small_options());
  const auto expected = losses(*whole, 3);
  const auto stopped = trainer(small_options());
  losses(*stopped, 1);
  const std::atomic<bool> cancel = true;
  const auto step = stopped->step(&cancel);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(stopped->steps(), 1);
  EXPECT_EQ(losses(*stopped, 2), std::vector(expected.begin() + 1, expected.end()));
}

TEST_F(Train, AccumulatingTwoHalfBatchesEqualsOneBatch) {
  TrainOptions options = small_options();
  options.rows = 4;
  const auto whole = trainer(options);
  options.rows = 2;
  options.accumulate = 2;
  const auto halves = trainer(options);
  for (int i = 0; i < 3; ++i) {
    const TrainStep a = *whole->step();
    const TrainStep b = *halves->step();
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_NEAR(a.loss / b.loss, 1, 1e-5);
    EXPECT_NEAR(a.gradient / b.gradient, 1, 1e-4);
  }
}

TEST_F(Train, DivergenceIsAnErrorAndKeepsTheLastWeights) {
  TrainOptions options = small_options();
  options.rate = options.final_rate = 1e25;
  options.warmup = 0;
  const auto all = trainer(options);
  Result<TrainStep> step = all->step();
  std::string before;
  for (int i = 0; i < 5 && step; ++i) {
    before = saved(*all);
    step = all->step();
  }
  ASSERT_FALSE(step);
  EXPECT_THAT(step.error().message(), HasSubstr("step"));
  EXPECT_TRUE(saved(*all) == before);
}

TEST_F(Train, RejectsTokensOutsideTheVocabulary) {
  TrainingText wrong = text_;
  wrong.tokens[2] = static_cast<std::int32_t>(tiny_shape().vocabulary);
  EXPECT_FALSE(Trainer::create(*file_, wrong, cpu(), small_options()));
  wrong.tokens[2] = -1;
  EXPECT_FALSE(Trainer::create(*file_, wrong, cpu(), small_options()));
  EXPECT_FALSE(trainer(small_options())->score(wrong));
}

TEST_F(Train, RejectsInvalidDocuments) {
  const auto refused = [&](auto change) {
    TrainingText text = text_;
    change(text);
    return !Trainer::create(*file_, text, cpu(), small_options());
  };
  EXPECT_TRUE(refused([](TrainingText& text) { text = {}; }));
  EXPECT_TRUE(refused([](TrainingText& text) { text.starts.clear(); }));
  EXPECT_TRUE(refused([](TrainingText& text) { text.starts.back() += 1; }));
  EXPECT_TRUE(refused([](TrainingText& text) { text.starts[1] = text.starts[2] - 1; }));
  EXPECT_TRUE(refused([](TrainingText& text) { text.starts[1] = text.tokens.size() + 5; }));
}

TEST_F(Train, RejectsRowsLongerThanTheModelsContext) {
  TrainOptions options = small_options();
  options.context = tiny_shape().context;
  EXPECT_TRUE(Trainer::create(*file_, text_, cpu(), options));
  ++options.context;
  const auto longer = Trainer::create(*file_, text_, cpu(), options);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message(), HasSubstr("context"));
}

TEST_F(Train, RejectsInvalidOptions) {
  TrainOptions options = small_options();
  options.rows = 0;
  EXPECT_FALSE(Trainer::create(*file_, text_, cpu(), options));
}

class TrainWithThreads : public Train {
 protected:
  explicit TrainWithThreads(int threads) : Train(threads) {}
  void TestBody() override {}

 public:
  static std::string weights(int threads) {
    TrainWithThreads with(threads);
    const auto all = with.trainer(small_options());
    losses(*all, 3);
    return with.saved(*all);
  }
};

TEST(TrainThreads, GiveTheSameWeightsForAnyNumber) {
  const std::string one = TrainWithThreads::weights(1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(TrainWithThreads::weights(threads) == one) << threads;
  }
}

}  // namespace
}  // namespace shunt::test::train_test

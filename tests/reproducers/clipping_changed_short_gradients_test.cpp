// Gradients with a norm below the clipping threshold must stay bit-identical. The comparison in
// Trainer::step() had no test: without it, such gradients were scaled up to the threshold, and
// every test passed. Tested since 59c6de0.
#include <gtest/gtest.h>

#include "shunt/registry.h"
#include "shunt/train.h"
#include "shunt/vocabulary.h"
#include "support/models.h"
#include "support/shared.h"

namespace shunt::test::clipping_changed_short_gradients_test {
namespace {

TEST(GradientClipping, LeavesShortGradientsUnchanged) {
  const SynthModel model(tiny_shape());
  const auto registry = *Registry::create({});
  const auto file = gguf::File::open(model.path());
  ASSERT_TRUE(file) << file.error().message();
  const auto tokenizer = text::Tokenizer::create(*vocabulary_from_gguf(*file));
  const TrainingText text = *read_training_text(*tokenizer, "the cat sat on the mat</s>\n");
  // The model after one step, and the gradient norm of that step.
  double gradient = 0;
  const auto trained = [&](double clip) {
    TrainOptions options = {.context = 24, .rows = 1, .steps = 1, .warmup = 0, .rate = 0.01};
    options.optimizer = Optimizer::kSgd;  // the update is proportional to the gradient
    options.clip = clip;
    const auto trainer = Trainer::create(*file, text, *registry->devices().back(), options);
    EXPECT_TRUE(trainer) << trainer.error().message();
    gradient = (*trainer)->step().value().gradient;
    const std::string path = model.folder().file("trained.gguf");
    EXPECT_TRUE((*trainer)->save_model(path));
    return read_file(path);
  };
  const std::string unclipped = trained(0);
  const double norm = gradient;
  ASSERT_GT(norm, 0);
  EXPECT_TRUE(trained(2 * norm) == unclipped) << "the norm is half of the threshold";
  EXPECT_FALSE(trained(norm / 2) == unclipped) << "the norm is twice the threshold";
}

}  // namespace
}  // namespace shunt::test::clipping_changed_short_gradients_test

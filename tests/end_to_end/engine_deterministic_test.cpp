// With cpu.deterministic the logits of a text have the same bits, however it is cut into steps, and
// whatever other sequences do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/to_size.h"
#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/sanitized.h"
#include "support/session_tokens.h"
#include "support/stories.h"
#include "support/test_architectures.h"
#include "support/test_model.h"
#include "test_paths.h"

namespace shunt::test::engine_deterministic_test {
namespace {

using ::testing::HasSubstr;
using Logits = std::vector<float>;

std::unique_ptr<Registry> open_registry(const char* deterministic) {
  Options options;
  options.threads = 2;
  options.backend_options["cpu"]["deterministic"] = deterministic;
  return std::move(*Registry::create(options));
}

/// The logits after `tokens`, which are appended in pieces of at most `most`.
Logits logits_of(Session& session, std::int64_t sequence, const Tokens& tokens, std::size_t most) {
  EXPECT_TRUE(session.truncate(0, sequence));
  Logits last;
  for (std::size_t done = 0; done < tokens.size(); done += most) {
    const SequenceTokens piece = {
        sequence, std::span(tokens).subspan(done, std::min(most, tokens.size() - done))};
    const auto logits = session.append_each({&piece, 1});
    EXPECT_TRUE(logits) << logits.error().message();
    last.assign(logits->begin(), logits->end());
  }
  return last;
}

class EngineDeterministic : public ::testing::TestWithParam<DType> {
 protected:
  std::shared_ptr<const Model> load(const char* deterministic) {
    registries_.push_back(open_registry(deterministic));
    auto model = Model::load(file_.path(), *registries_.back());
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }
  static SynthOptions shape() {
    SynthOptions options = session_model();
    options.width = 256;
    options.feed_forward = 256;
    options.dtype = GetParam();
    return options;
  }

  SynthModel file_{shape()};
  std::vector<std::unique_ptr<Registry>> registries_;
};

TEST_P(EngineDeterministic, LogitsDoNotDependOnOtherTokens) {
  const auto model = load("on");
  const Tokens text = some_tokens(200, 1), other = some_tokens(300, 2);
  const auto alone = *Session::create(model, {.context = 512});
  const Logits expected = logits_of(*alone, 0, text, 1000);
  for (const std::size_t most : {1U, 7U, 64U, 100U}) {
    EXPECT_EQ(logits_of(*alone, 0, text, most), expected) << "pieces of " << most;
  }
  const auto session = *Session::create(model, {.context = 3000, .sequences = 9, .batch = 333});
  std::vector<SequenceTokens> pieces;
  for (std::int64_t i = 0; i < 9; ++i) pieces.push_back({i, i == 4 ? text : other});
  const auto logits = session->append_each(pieces);
  ASSERT_TRUE(logits) << logits.error().message();
  const auto each = to_size(kSessionVocabulary);
  const auto own = logits->subspan(4 * each, each);
  EXPECT_TRUE(std::ranges::equal(own, expected));
}

/// Requests that run together, as they run alone.
TEST_P(EngineDeterministic, RequestsGiveTheTextThatTheyGiveAlone) {
  const auto model = load("on");
  std::vector<std::vector<std::vector<Logits>>> found;
  for (const std::size_t together : {1U, 12U}) {
    BatcherOptions options;
    options.session.context = 12 * 300;
    options.session.sequences = 12;
    options.own_thread = false;
    double now = 0;
    options.clock = [&now] { return now += 0.01; };
    std::vector<std::vector<Logits>> all(12);
    for (std::size_t first = 0; first < all.size(); first += together) {
      const auto batcher = *Batcher::create(model, options);
      std::vector<std::unique_ptr<BatchStream>> streams;
      for (std::size_t i = first; i < first + together; ++i) {
        BatchRequest request;
        request.tokens = some_tokens(1 + i * 23 % 200, static_cast<std::uint32_t>(i / 2));
        request.max_tokens = 12;
        request.ignore_end = true;
        request.sampling.temperature = 0;
        request.filter = [&all, i](std::span<const std::int32_t>, std::span<float> logits) {
          all[i].emplace_back(logits.begin(), logits.end());
        };
        streams.push_back(*batcher->submit(std::move(request)));
      }
      while (batcher->step()) {
      }
    }
    found.push_back(std::move(all));
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    ASSERT_EQ(found[0][i].size(), 12U);
    EXPECT_EQ(found[0][i], found[1][i]) << "request " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , EngineDeterministic,
    ::testing::ValuesIn(every(3, std::array{DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0,
                                            DType::kQ4_0, DType::kQ4_K, DType::kQ6_K})),
    [](const auto& of) { return std::string(trait(of.param).name); });

/// Without the option other steps give other bits: the tests above would notice.
TEST(EngineDeterministicOption, IsNeeded) {
  SynthOptions shape = session_model();
  shape.width = 256;
  shape.dtype = DType::kF16;
  const SynthModel file(shape);
  const auto registry = open_registry("off");
  const auto model = *Model::load(file.path(), *registry);
  const auto session = *Session::create(model, {.context = 512});
  const Tokens text = some_tokens(200, 1);
  EXPECT_NE(logits_of(*session, 0, text, 1000), logits_of(*session, 0, text, 1));
}

/// Layers with windows, and with states of a fixed size.
TEST(EngineDeterministicOption, HoldsForOtherArchitectures) {
  for (const std::string_view architecture : {kWindows, kHybrid, kMixed}) {
    TempFolder folder;
    const std::string path = folder.file("model.gguf");
    write_test_model(path, {.architecture = architecture, .layers = 6});
    const auto registry = open_registry("on");
    LoadOptions load;
    load.architectures = test_architectures();
    const auto model = *Model::load(path, *registry, load);
    const auto session = *Session::create(model, {.context = 2000, .sequences = 2});
    const Tokens text = some_tokens(200, 1);
    const Logits expected = logits_of(*session, 0, text, 1000);
    for (const std::size_t most : {1U, 7U, 64U})
      EXPECT_EQ(logits_of(*session, 1, text, most), expected) << architecture << ", " << most;
  }
}

/// A backend that promises nothing is not used, and `shunt devices` has the reason.
TEST(EngineDeterministicOption, LeavesOutBackendsWithoutIt) {
  const std::string twin = SHUNT_TEST_ZDNN_TWIN;
  if (twin.empty()) GTEST_SKIP() << "there is no twin of zDNN in this build";
  const std::vector<std::string> words = {"devices", "--library", "zdnn=" + twin};
  EXPECT_THAT(run_command(words).out, HasSubstr("zdnn0"));
  auto deterministic = words;
  deterministic.emplace_back("--deterministic");
  const RunResult result = run_command(deterministic);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cpu0"));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("zdnn0")));
  EXPECT_THAT(result.out, HasSubstr("it has no option \"deterministic\""));
}

TEST(EngineDeterministicOption, RunsTheDefaultModel) {
  const RunResult result =
      run_command({"run", "--deterministic", "--temp", "0", "-n", stories().count(), "--prompt",
                   stories().prompt, "--model", stories().path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, stories().text + "\n");
}

}  // namespace
}  // namespace shunt::test::engine_deterministic_test

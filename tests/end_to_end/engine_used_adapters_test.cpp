// Only adapters that the sequences of a step use are computed, and only for their tokens.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "support/adapters.h"
#include "support/must.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_used_adapters_test {
namespace {

constexpr std::int64_t kRank = 3;

class UsedAdapters : public ::testing::Test {
 protected:
  UsedAdapters() {
    Options options;
    options.threads = 2;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = must(Registry::create(options));
  }

  std::shared_ptr<const Model> load(std::uint32_t adapters, const SessionOptions& session,
                                    std::vector<Device*> devices = {}) {
    LoadOptions options;
    for (std::uint32_t i = 0; i < adapters; ++i) {
      options.adapters.push_back(file_.folder().file(fmt::format("adapter{}.gguf", i)));
      const auto is_wanted = [](const std::string& name) { return name != "token_embd.weight"; };
      write_adapter(
          options.adapters.back(),
          random_adapter("llama", adaptable_weights(file_.path(), is_wanted), kRank, i + 1));
    }
    options.session = session;
    options.placement.rules_only = true;
    devices.push_back(registry_->devices().back());
    return must(Model::load(file_.path(), devices, options));
  }

  static SessionOptions options(std::int64_t sequences) {
    SessionOptions options;
    options.context = 128 * sequences;
    options.sequences = sequences;
    options.cache_type = DType::kF32;
    return options;
  }

  static std::vector<float> append(Session& session, std::vector<SequenceTokens> more) {
    const auto logits = must(session.append_each(more));
    return {logits.begin(), logits.end()};
  }

  static std::vector<float> alone(const std::shared_ptr<const Model>& model,
                                  const std::vector<AdapterUse>& uses, const Tokens& tokens) {
    SessionOptions only = options(1);
    only.adapters = uses;
    const auto session = must(Session::create(model, only));
    return append(*session, {{.sequence = 0, .tokens = tokens}});
  }

  /// Numbers of the results of both products of an adapter for a prompt whose last logits are made.
  std::size_t products_of(std::int64_t tokens) const {
    const auto weights = adaptable_weights(file_.path());
    std::string last;  // the beginning of the names of the last layer's feed-forward part
    for (const AdaptableWeight& weight : weights) {
      if (weight.name.starts_with("blk."))
        last = std::max(last, weight.name.substr(0, weight.name.find('.', 4)) + ".ffn_");
    }
    std::int64_t numbers = 0;
    for (const auto& [name, sizes] : weights) {
      if (name == "token_embd.weight") continue;
      const bool of_last = name.starts_with(last) || name == "output.weight";
      numbers += (of_last ? 1 : tokens) * (kRank + sizes[1]);
    }
    return to_size(numbers);
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
};

/// The products of adapters are the only ones of this model that pick matrices.
TEST_F(UsedAdapters, AreComputedForTheTokensThatUseThem) {
  std::size_t numbers = 0;
  TestDevice device(
      {.wrong = {{"matmul_id", [&](RefTensor& result) { numbers += result.data.size(); }}}});
  const auto model = load(8, options(3), {&device});
  const auto session = must(Session::create(model, options(3)));
  const Tokens prompt = some_tokens(20, 1);
  const auto computed = [&](const std::vector<std::vector<AdapterUse>>& uses) {
    std::vector<SequenceTokens> more;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto sequence = static_cast<std::int64_t>(i);
      must(session->truncate(0, sequence));
      must(session->set_adapters(sequence, uses[i]));
      more.push_back({.sequence = sequence, .tokens = prompt});
    }
    numbers = 0;
    append(*session, more);
    return numbers;
  };
  const std::size_t once = products_of(20);
  EXPECT_EQ(computed({{}, {}, {}}), 0U);
  EXPECT_EQ(computed({{{2, 0.0F}}, {}, {}}), 0U);
  EXPECT_EQ(computed({{}, {{2, 1.0F}}, {}}), once);
  EXPECT_EQ(computed({{{7, 1.0F}}, {{2, 1.0F}}, {}}), 2 * once);
  EXPECT_EQ(computed({{{7, 1.0F}}, {{2, 1.0F}}, {{7, 0.5F}}}), 3 * once);
}

/// The plans are made again with room for them; other sequences keep their rows of the cache.
TEST_F(UsedAdapters, OfASequenceMayBeMoreThanBefore) {
  const auto model = load(4, options(2));
  const auto session = must(Session::create(model, options(2)));
  const Tokens prompt = some_tokens(20, 2);
  const std::vector<AdapterUse> one = {{1, 1.0F}};
  const std::vector<AdapterUse> three = {{0, 1.0F}, {1, 0.5F}, {3, -1.0F}};
  must(session->set_adapters(0, one));
  append(*session, {{.sequence = 0, .tokens = prompt}});
  const std::int64_t before = session->computed();
  must(session->set_adapters(1, three));
  EXPECT_EQ(append(*session, {{.sequence = 1, .tokens = prompt}}), alone(model, three, prompt));
  EXPECT_EQ(session->computed() - before, std::ssize(prompt));
  Tokens longer = prompt;
  longer.push_back(9);
  const Tokens next = {9};
  EXPECT_LE(
      difference(append(*session, {{.sequence = 0, .tokens = next}}), alone(model, one, longer)),
      kLogitsTolerance);
  EXPECT_EQ(session->computed() - before, std::ssize(prompt) + 1);
  // Both in one step, the first with fewer than the plan has room for.
  must(session->set_adapters(0, {}));
  must(session->set_adapters(0, one));
  must(session->set_adapters(1, {}));
  must(session->set_adapters(1, three));
  const auto both =
      append(*session, {{.sequence = 0, .tokens = prompt}, {.sequence = 1, .tokens = prompt}});
  std::vector<float> expected = alone(model, one, prompt);
  const auto second = alone(model, three, prompt);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(both, expected);
}

}  // namespace
}  // namespace shunt::test::engine_used_adapters_test

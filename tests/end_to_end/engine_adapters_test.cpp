// Adapters by sequence: several in one batch, what the cache shares, saved sequences, requests of a
// batcher, memory; and files that don't fit the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "engine/model_state.h"
#include "shunt/importance.h"
#include "shunt/quantize.h"
#include "shunt/verify_model.h"
#include "support/adapters.h"
#include "support/batch_requests.h"
#include "support/must.h"
#include "support/run_command.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::engine_adapters_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kAdapters = 8;

class EngineAdapters : public ::testing::Test {
 protected:
  EngineAdapters() {
    Options options;
    options.threads = 2;
    options.backend_options["cpu"]["deterministic"] = "on";
    registry_ = std::move(*Registry::create(options));
  }

  /// Files of adapters of different ranks, some of which change a part of the weights only.
  std::vector<std::string> write_adapters(std::size_t count) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < count; ++i) {
      const auto is_wanted = [&](const std::string& name) {
        return i % 3 != 1 || name.find("attn") != std::string::npos;
      };
      const auto seed = static_cast<std::uint32_t>(i + 1);
      paths.push_back(file_.folder().file(fmt::format("adapter{}.gguf", i)));
      write_adapter(paths.back(),
                    random_adapter("llama", adaptable_weights(file_.path(), is_wanted),
                                   static_cast<std::int64_t>(1 + i % 4), seed));
    }
    return paths;
  }

  std::shared_ptr<const Model> load(std::size_t adapters, const SessionOptions& session = {},
                                    std::vector<Device*> devices = {}) {
    LoadOptions options;
    options.adapters = write_adapters(adapters);
    options.session = session;
    options.placement.rules_only = true;
    devices.push_back(registry_->devices().back());
    auto model = Model::load(file_.path(), devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }

  static SessionOptions options(std::int64_t sequences) {
    SessionOptions options;
    options.context = 300 * sequences;
    options.sequences = sequences;
    options.cache_type = DType::kF32;
    return options;
  }
  static std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model,
                                       const SessionOptions& options) {
    auto session = Session::create(model, options);
    EXPECT_TRUE(session) << session.error().message();
    return session ? std::move(*session) : nullptr;
  }
  static std::vector<float> append(Session& session, std::int64_t sequence, const Tokens& tokens) {
    const SequenceTokens only = {.sequence = sequence, .tokens = tokens};
    const auto logits = session.append_each({&only, 1});
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
  }
  static void use(Session& session, std::int64_t sequence, const std::vector<AdapterUse>& uses) {
    const Status set = session.set_adapters(sequence, uses);
    ASSERT_TRUE(set) << set.error().message();
  }
  /// The logits of a prompt in one batch, sequence after sequence with these uses.
  static std::vector<float> append_to_all(Session& session,
                                          const std::vector<std::vector<AdapterUse>>& uses,
                                          const Tokens& prompt) {
    std::vector<SequenceTokens> all;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto sequence = static_cast<std::int64_t>(i);
      use(session, sequence, uses[i]);
      all.push_back({.sequence = sequence, .tokens = prompt});
    }
    const auto logits = session.append_each(all);
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
  }
  static std::vector<float> alone(const std::shared_ptr<const Model>& model,
                                  const std::vector<AdapterUse>& uses, const Tokens& tokens) {
    SessionOptions only = options(1);
    only.adapters = uses;
    const auto session = open(model, only);
    return append(*session, 0, tokens);
  }

  SynthModel file_{session_model()};
  std::unique_ptr<Registry> registry_;
};

/// The uses of sequences in a batch: each adapter, none, and two together.
std::vector<std::vector<AdapterUse>> mixture() {
  std::vector<std::vector<AdapterUse>> uses;
  for (std::size_t i = 0; i < kAdapters; ++i)
    uses.push_back({{i, 0.5F + 0.25F * static_cast<float>(i)}});
  uses.emplace_back();
  uses.push_back({{0, 1.0F}, {5, -0.5F}});
  return uses;
}

TEST_F(EngineAdapters, InOneBatchGiveEachSequenceItsOwnResults) {
  const auto uses = mixture();
  const auto count = static_cast<std::int64_t>(uses.size());
  const auto size = to_size(kSessionVocabulary);
  TestDevice multiplies({.ops = {"matmul"}});
  for (const std::vector<Device*>& devices : {std::vector<Device*>{}, {&multiplies}}) {
    const auto model = load(kAdapters, options(count), devices);
    ASSERT_NE(model, nullptr);
    const auto session = open(model, options(count));
    const Tokens prompt = some_tokens(20, 1);
    const std::vector<float> together = append_to_all(*session, uses, prompt);
    ASSERT_EQ(together.size(), uses.size() * size);
    std::vector<std::vector<float>> own;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      own.push_back(alone(model, uses[i], prompt));
      ASSERT_EQ(own.back().size(), size);
      EXPECT_LE(difference(std::span(together).subspan(i * size, size), own.back()),
                kLogitsTolerance);
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GT(difference(own[j], own[i]), 1000 * kLogitsTolerance) << i << " and " << j;
    }
  }
}

/// On the CPU alone, which is deterministic here.
TEST_F(EngineAdapters, InOneBatchGiveTheSameBitsAsAlone) {
  const auto uses = mixture();
  const auto count = static_cast<std::int64_t>(uses.size());
  const auto model = load(kAdapters, options(count));
  const auto session = open(model, options(count));
  const Tokens prompt = some_tokens(9, 2);
  const std::vector<float> together = append_to_all(*session, uses, prompt);
  const auto size = to_size(kSessionVocabulary);
  ASSERT_EQ(together.size(), uses.size() * size);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto part = std::span(together).subspan(i * size, size);
    EXPECT_EQ(std::vector<float>(part.begin(), part.end()), alone(model, uses[i], prompt)) << i;
  }
}

TEST_F(EngineAdapters, AreSwitchedWithoutAnotherGraphOrPlacement) {
  const auto model = load(3, options(2));
  const auto session = open(model, options(2));
  const Tokens prompt = some_tokens(12, 3);
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < 3; ++i) expected.push_back(alone(model, {{i, 1.0F}}, prompt));
  append(*session, 0, prompt);
  append(*session, 1, prompt);
  const auto graphs = model->state()->steps->graphs_made();
  const auto placements = model->state()->steps->placements_made();
  const Ledger memory = session->ledger();
  const auto first = append(*session, 0, {7});
  for (std::size_t i = 0; i < 3; ++i) {
    use(*session, 1, {{i, 1.0F}});
    EXPECT_EQ(append(*session, 1, prompt), expected[i]);
  }
  use(*session, 1, {});
  append(*session, 1, prompt);
  EXPECT_EQ(append(*session, 1, {7}), first);
  EXPECT_EQ(session->ledger(), memory);
  EXPECT_EQ(model->state()->steps->graphs_made(), graphs);
  EXPECT_EQ(model->state()->steps->placements_made(), placements);
}

TEST_F(EngineAdapters, OtherOnesForgetTheTokensAndTheSameOnesDoNot) {
  const auto model = load(2, options(1));
  const auto session = open(model, options(1));
  append(*session, 0, some_tokens(5, 4));
  use(*session, 0, {{1, 0.0F}});  // no change
  EXPECT_EQ(session->length(), 5);
  use(*session, 0, {{1, 1.0F}});
  EXPECT_EQ(session->length(), 0);
  append(*session, 0, some_tokens(5, 4));
  use(*session, 0, {{1, 0.5F}, {1, 0.5F}});
  EXPECT_EQ(session->length(), 5);
  EXPECT_EQ(session->adapters().size(), 2U);
  use(*session, 0, {{0, 1.0F}});
  EXPECT_EQ(session->length(), 0);
}

TEST_F(EngineAdapters, AreAPartOfTheKeyOfSharedPrefixes) {
  SessionOptions sharing = options(4);
  sharing.reuse_prefixes = true;
  const auto model = load(2, sharing);
  const auto session = open(model, sharing);
  const Tokens prompt = some_tokens(200, 5);
  const auto computed = [&](std::int64_t sequence) {
    const std::int64_t before = session->computed();
    append(*session, sequence, prompt);
    return session->computed() - before;
  };
  EXPECT_EQ(computed(0), 200);
  EXPECT_EQ(computed(1), 200 - 192) << "both use none";
  ASSERT_TRUE(session->set_scope(2, ""));
  EXPECT_EQ(computed(2), 200 - 192) << "the first scope is the empty one";
  use(*session, 2, {{0, 1.0F}});
  use(*session, 3, {{0, 0.5F}});
  EXPECT_EQ(computed(2), 200);
  EXPECT_EQ(computed(3), 200) << "another scale";
  use(*session, 3, {{0, 1.0F}});
  EXPECT_EQ(computed(3), 200 - 192);
  use(*session, 3, {});
  ASSERT_TRUE(session->set_scope(3, "0*3f800000,|"));
  EXPECT_EQ(computed(3), 200) << "a scope that looks like an adapter";
}

TEST_F(EngineAdapters, OfAForkAreThoseOfItsSource) {
  const auto model = load(2, options(2));
  const auto session = open(model, options(2));
  const Tokens prompt = some_tokens(30, 6);
  use(*session, 0, {{1, 1.0F}});
  append(*session, 0, prompt);
  ASSERT_TRUE(session->fork(0, 1));
  ASSERT_EQ(session->adapters(1).size(), 1U);
  Tokens whole = prompt;
  whole.push_back(9);
  EXPECT_LE(difference(append(*session, 1, {9}), alone(model, {{1, 1.0F}}, whole)),
            kLogitsTolerance);
}

TEST_F(EngineAdapters, SavedSequencesContinueWithTheSameOnesOnly) {
  const auto model = load(2, options(1));
  const std::string path = file_.folder().file("sequence");
  const Tokens prompt = some_tokens(70, 7);
  const auto session = open(model, options(1));
  use(*session, 0, {{0, 1.0F}});
  append(*session, 0, prompt);
  ASSERT_TRUE(session->save(0, path));
  const auto expected = append(*session, 0, {3});
  const std::vector<std::vector<AdapterUse>> others = {{}, {{1, 1.0F}}, {{0, 0.5F}}};
  for (const auto& uses : others) {
    const auto other = open(model, options(1));
    use(*other, 0, uses);
    const Status restored = other->restore(0, path);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(restored.error().message(),
                HasSubstr("it was saved with another model, other adapters or other scales"));
  }
  const auto same = open(model, options(1));
  use(*same, 0, {{0, 1.0F}});
  const Status restored = same->restore(0, path);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(append(*same, 0, {3}), expected);

  // Without an effect of adapters it is a sequence of the model.
  use(*session, 0, {});
  append(*session, 0, prompt);
  ASSERT_TRUE(session->save(0, path));
  const auto plain = open(load(0, options(1)), options(1));
  EXPECT_TRUE(plain->restore(0, path));
}

TEST_F(EngineAdapters, OfRequestsAreTheirOwn) {
  BatcherOptions batch;
  batch.session = options(4);
  batch.session.adapters = {{0, 1.0F}};
  batch.own_thread = false;
  const auto model = load(3, batch.session);
  const auto batcher = Batcher::create(model, batch);
  ASSERT_TRUE(batcher) << batcher.error().message();
  const Tokens prompt = some_tokens(100, 8);
  const std::vector<std::optional<std::vector<AdapterUse>>> wanted = {
      std::nullopt, std::vector<AdapterUse>{}, std::vector<AdapterUse>{{2, 1.5F}}, std::nullopt};
  // Twice, so that sequences get other adapters than before.
  for (int round = 0; round < 2; ++round) {
    std::vector<BatchReader> readers;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      BatchRequest request = greedy_request(prompt, 3);
      request.adapters = wanted[(i + to_size(round)) % wanted.size()];
      readers.push_back(submit_to(**batcher, std::move(request)));
    }
    while ((*batcher)->step()) {
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      readers[i].read();
      const auto& uses = wanted[(i + to_size(round)) % wanted.size()];
      Tokens text = prompt;
      for (int count = 0; count < 3; ++count) {
        const auto logits = alone(model, uses.value_or(batch.session.adapters), text);
        text.push_back(
            static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
      }
      EXPECT_EQ(readers[i].tokens, Tokens(text.end() - 3, text.end())) << i;
    }
  }
  BatchRequest wrong = greedy_request(prompt, 1);
  wrong.adapters = {{3, 1.0F}};
  const auto refused = (*batcher)->submit(std::move(wrong));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("there is no adapter 3"));
}

TEST_F(EngineAdapters, AreOnTheLedgerAsPredicted) {
  const auto model = load(2, options(1));
  const auto session = open(model, options(1));
  const auto plain = load(0, options(1));
  Ledger all = model->ledger();
  EXPECT_EQ(plain->ledger().total(Purpose::kAdapters), 0U);
  EXPECT_EQ(model->info().weights, plain->info().weights);
  EXPECT_EQ(model->info().weight_bytes, plain->info().weight_bytes);
  // Ranks 1 and 2: at least as many numbers as there are rows of all matrices, in F32.
  std::uint64_t rows = 0;
  for (const AdaptableWeight& weight : adaptable_weights(file_.path()))
    rows += static_cast<std::uint64_t>(weight.sizes[0] + weight.sizes[1]);
  EXPECT_GE(all.total(Purpose::kAdapters), 3 * rows * sizeof(float));
  EXPECT_LE(all.total(Purpose::kAdapters), 2 * 3 * rows * sizeof(float));
  all.add(session->ledger());
  const Ledger predicted = model->predicted();
  for (const Purpose purpose :
       {Purpose::kWeights, Purpose::kAdapters, Purpose::kMappedWeights, Purpose::kCache,
        Purpose::kActivations, Purpose::kInputs, Purpose::kStaging}) {
    EXPECT_EQ(all.total(purpose), predicted.total(purpose)) << to_string(purpose);
  }
  ASSERT_EQ(model->info().adapters.size(), 2U);
  EXPECT_EQ(model->info().adapters[1].rank, 2);
  EXPECT_EQ(model->info().adapters[0].weights, adaptable_weights(file_.path()).size());
}

TEST_F(EngineAdapters, OfHalvesAreKeptAsHalves) {
  TestAdapter adapter = random_adapter("llama", adaptable_weights(file_.path()), 2, 1);
  adapter.alpha = 2;  // a factor of 1
  const auto ledger_of = [&] {
    const std::string path = file_.folder().file("halves.gguf");
    write_adapter(path, adapter);
    LoadOptions options;
    options.adapters = {path};
    const std::array devices = {registry_->devices().back()};
    return must(Model::load(file_.path(), devices, options))->ledger().total(Purpose::kAdapters);
  };
  const std::uint64_t before = ledger_of();
  for (TestMatrices& matrices : adapter.weights) {
    for (float& x : matrices.a) x = std::round(x * 64) / 64;
    for (float& x : matrices.b) x = std::round(x * 64) / 64;
  }
  EXPECT_LE(ledger_of(), before * 6 / 10);
}

TEST_F(EngineAdapters, BadUsesAreRefused) {
  const auto model = load(1, options(1));
  const auto session = open(model, options(1));
  const auto refuse = [&](const AdapterUse& use, const char* words) {
    const Status set = session->set_adapters(0, {&use, 1});
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(set.error().message(), HasSubstr(words));
    SessionOptions with = options(1);
    with.adapters = {use};
    EXPECT_FALSE(Session::create(model, with));
  };
  refuse({1, 1.0F}, "there is no adapter 1: the model was loaded with 1 adapter");
  refuse({0, std::numeric_limits<float>::infinity()}, "it must be a finite number");
  refuse({0, std::nanf("")}, "it must be a finite number");
  EXPECT_FALSE(session->set_adapters(1, {}));
  EXPECT_TRUE(session->adapters(1).empty());
}

/// Weights [width, width] in a type, and the same model in F32 with the changes merged into what
/// the type has of it.
class QuantizedAdapters : public ::testing::TestWithParam<std::string> {};

TEST_P(QuantizedAdapters, AddTheirChangesToTheQuantizedWeights) {
  SynthOptions shape = session_model();
  shape.width = 256;
  shape.feed_forward = 256;
  const SynthModel file(shape);
  const std::string small = file.folder().file("small.gguf");
  {
    const gguf::File whole = must(gguf::File::open(file.path()));
    QuantizeOptions options;
    options.type = GetParam();
    options.pure = true;
    const auto plan = must(plan_quantization(whole, options));
    must(write_quantized(small, whole, plan, options));
  }
  const gguf::File quantized = must(gguf::File::open(small));
  ASSERT_EQ(to_string(quantized.find_tensor("blk.0.attn_q.weight")->tensor.dtype), GetParam());
  const TestAdapter adapter = random_adapter("llama", adaptable_weights(file.path()), 4, 1);
  const std::string path = file.folder().file("adapter.gguf");
  write_adapter(path, adapter);
  const auto write_plain = [&](const std::string& to, double scale) {
    write_edited(file.path(), to, [&](EditedFile& edited) {
      for (const TestMatrices& matrices : adapter.weights) {
        const auto values = merged(values_of(quantized, *quantized.find_tensor(matrices.weight)),
                                   adapter, matrices, scale);
        for (std::size_t i = 0; i < values.size(); ++i)
          edited.set_element(matrices.weight, i, values[i]);
      }
    });
    return to;
  };
  const auto registry = must(Registry::create({}));
  const auto logits = [&](const std::string& model_path, bool adapted) {
    LoadOptions load;
    if (adapted) load.adapters = {path};
    SessionOptions options;
    options.cache_type = DType::kF32;
    if (adapted) options.adapters = {{0, 1.0F}};
    const std::array devices = {registry->devices().back()};
    const auto session =
        must(Session::create(must(Model::load(model_path, devices, load)), options));
    const auto last = must(session->append(some_tokens(24, 9)));
    return std::vector<float>(last.begin(), last.end());
  };
  const auto expected = logits(write_plain(file.folder().file("merged.gguf"), 1), false);
  const auto base = logits(write_plain(file.folder().file("plain.gguf"), 0), false);
  const auto error = [&](const std::vector<float>& computed) {
    double squares = 0;
    double errors = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      squares += double{expected[i]} * expected[i];
      errors += std::pow(double{computed[i]} - expected[i], 2);
    }
    return errors / squares;
  };
  // Products of quantized weights round activations to 8 bits (docs of matmul()).
  EXPECT_LT(error(logits(small, true)), 2e-3);
  EXPECT_GT(error(base), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedAdapters, ::testing::Values("Q8_0", "Q4_K"));

/// A file that is not an adapter of this model.
struct Misfit {
  const char* name;
  void (*change)(TestAdapter&);
  void (*write)(gguf::Writer&);
  const char* words;
};

void PrintTo(const Misfit& misfit, std::ostream* out) {
  *out << misfit.name;
}

TestMatrices& first(TestAdapter& adapter) {
  return adapter.weights.front();
}

const std::array kMisfits = {
    Misfit{"UnknownTensor", [](TestAdapter& a) { first(a).weight = "blk.9.attn_q.weight"; },
           nullptr,
           "tensor blk.9.attn_q.weight.lora_a is for a tensor 'blk.9.attn_q.weight', which the "
           "model lacks"},
    Misfit{"OtherInputs",
           [](TestAdapter& a) { first(a).a.resize(to_size(2 * (first(a).inputs = 16))); }, nullptr,
           "tensor blk.0.attn_q.weight.lora_a is F32 [16, 2]; for blk.0.attn_q.weight of "
           "this model it should be [32, 2]"},
    Misfit{"OtherOutputs",
           [](TestAdapter& a) { first(a).b.resize(to_size(2 * (first(a).outputs = 8))); }, nullptr,
           "tensor blk.0.attn_q.weight.lora_b is F32 [2, 8]; for blk.0.attn_q.weight of "
           "this model it should be [2, 32]"},
    Misfit{"OtherArchitecture", [](TestAdapter& a) { a.architecture = "qwen3"; }, nullptr,
           "the adapter is for models of architecture 'qwen3', but the model's is llama"},
    Misfit{"NotANumber", [](TestAdapter& a) { first(a).b[3] = std::nanf(""); }, nullptr,
           "tensor blk.0.attn_q.weight.lora_b has the number nan"},
    Misfit{"Huge", [](TestAdapter& a) { first(a).a[0] = 1e30F; }, nullptr,
           "tensor blk.0.attn_q.weight.lora_a has the number 1e+30; it must be at most 1e+15"},
    Misfit{"NoAlpha", [](TestAdapter& a) { a.alpha = 0; }, nullptr,
           "adapter.lora.alpha is 0; it must be a finite number other than 0"},
    Misfit{"InfiniteAlpha", [](TestAdapter& a) { a.alpha = INFINITY; }, nullptr,
           "adapter.lora.alpha is inf; it must be a finite number"},
    Misfit{"Norm",
           [](TestAdapter& a) {
             a = random_adapter(
                 "llama", std::array{AdaptableWeight{"blk.1.ffn_norm.weight", {32, 1}}}, 2, 1);
           },
           nullptr,
           "tensor blk.1.ffn_norm.weight.lora_a is for blk.1.ffn_norm.weight, but only matrices of "
           "products and token embeddings can have adapters"},
    Misfit{"Empty", [](TestAdapter& a) { a.weights.clear(); }, nullptr,
           "the adapter has no tensors"},
    Misfit{"OtherType", nullptr,
           [](gguf::Writer& w) { w.add_string("adapter.alora.invocation", "x"); },
           "Shunt does not use adapter.alora.invocation of an adapter"},
};

class MisfitAdapters : public ::testing::TestWithParam<Misfit> {};

TEST_P(MisfitAdapters, AreRefusedByNameOfFileAndTensor) {
  const SynthModel file(session_model());
  const auto is_query = [](const std::string& name) { return name == "blk.0.attn_q.weight"; };
  TestAdapter adapter = random_adapter("llama", adaptable_weights(file.path(), is_query), 2, 1);
  ASSERT_EQ(adapter.weights.size(), 1U);
  if (GetParam().change != nullptr) GetParam().change(adapter);
  const std::string path = file.folder().file("misfit.gguf");
  write_adapter(path, adapter, GetParam().write);
  const auto registry = must(Registry::create({}));
  const std::array devices = {registry->devices().back()};
  LoadOptions load;
  load.adapters = {path};
  const auto model = Model::load(file.path(), devices, load);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message(), AllOf(HasSubstr(path), HasSubstr(GetParam().words)));
}

INSTANTIATE_TEST_SUITE_P(Files, MisfitAdapters, ::testing::ValuesIn(kMisfits),
                         [](const auto& test) { return std::string(test.param.name); });

/// Files that no writer of ours makes.
TEST_F(EngineAdapters, FilesThatAreNoAdapterAreRefused) {
  struct Row {
    std::string type;
    std::string adapter_type;
    std::vector<std::string> tensors;
    const char* words;
  };
  const std::vector<Row> rows = {
      {"", "lora", {"a.lora_a", "a.lora_b"}, "general.type should be \"adapter\", but is missing"},
      {"model", "lora", {"a.lora_a"}, "general.type should be \"adapter\", but is 'model'"},
      {"adapter", "control", {"a.lora_a"}, "adapter.type is 'control'"},
      {"adapter",
       "lora",
       {"x.lora_a", "x.lora_b", "y.lora_b"},
       "tensor y.lora_a is missing, but y.lora_b is there"},
      {"adapter", "lora", {"x.lora_a"}, "tensor x.lora_b is missing, but x.lora_a is there"},
      {"adapter",
       "lora",
       {"x.lora_a", "x.lora_b", "z.weight"},
       "tensor z.weight is no part of an adapter"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.words);
    gguf::Writer writer;
    if (!row.type.empty()) writer.add_string("general.type", row.type);
    writer.add_string("general.architecture", "llama");
    writer.add_string("adapter.type", row.adapter_type);
    writer.add_f32("adapter.lora.alpha", 1);
    for (const std::string& name : row.tensors)
      must(writer.add_tensor(name, must(make_tensor(DType::kF32, {32, 2}))));
    const std::vector<std::byte> zeros(32 * 2 * sizeof(float));
    const std::string path = file_.folder().file("other.gguf");
    must(writer.write(path,
                      [&](std::size_t) -> Result<std::span<const std::byte>> { return zeros; }));
    LoadOptions load;
    load.adapters = {path};
    const std::array devices = {registry_->devices().back()};
    const auto model = Model::load(file_.path(), devices, load);
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message(), AllOf(HasSubstr(path), HasSubstr(row.words)));
  }
}

/// The rank is the number of rows of A: a tensor without any can't be in a GGUF file.
TEST_F(EngineAdapters, OfRankZeroAreRefused) {
  GgufParts parts;
  parts.entries = {gguf_entry("general.type", kGgufString, Bytes().string("adapter")),
                   gguf_entry("general.architecture", kGgufString, Bytes().string("llama")),
                   gguf_entry("adapter.type", kGgufString, Bytes().string("lora")),
                   gguf_entry("adapter.lora.alpha", kGgufF32, Bytes().f32(1))};
  parts.tensors = {gguf_tensor("blk.0.attn_q.weight.lora_a", {32, 0}, 0, 0),
                   gguf_tensor("blk.0.attn_q.weight.lora_b", {0, 32}, 0, 0)};
  const std::string path = file_.folder().write("zero.gguf", gguf_file(parts).span());
  LoadOptions load;
  load.adapters = {path};
  const std::array devices = {registry_->devices().back()};
  const auto model = Model::load(file_.path(), devices, load);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message(),
              AllOf(HasSubstr(path), HasSubstr("blk.0.attn_q.weight.lora_")));
}

TEST_F(EngineAdapters, ChangeTheImportanceOfTheModelsOwnWeights) {
  const auto model = load(2);
  ASSERT_NE(model, nullptr);
  const Tokens text = some_tokens(64, 5);
  const auto gathered = [&](std::vector<AdapterUse> uses) {
    ImportanceOptions importance;
    importance.session.context = 32;
    importance.session.adapters = std::move(uses);
    return must(gather_importance(*model, text, importance));
  };
  const ImportanceMatrix plain = gathered({});
  const ImportanceMatrix adapted = gathered({{0, 1.0F}});
  ASSERT_FALSE(plain.tensors.empty());
  ASSERT_EQ(adapted.tensors.size(), plain.tensors.size());
  bool differs = false;
  for (const auto& [name, sums] : adapted.tensors) {
    ASSERT_EQ(plain.tensors.count(name), 1U) << name;
    differs = differs || sums.squares != plain.tensors.at(name).squares;
  }
  EXPECT_TRUE(differs);
  ImportanceOptions unknown;
  unknown.session.adapters = {{2, 1.0F}};
  const auto refused = gather_importance(*model, text, unknown);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("there is no adapter 2"));
}

/// Of the session that the model was loaded for.
TEST_F(EngineAdapters, OfUnknownNumbersAreNotVerified) {
  SessionOptions session = options(1);
  session.adapters = {{1, 1.0F}};
  const auto model = load(2, session);
  ASSERT_NE(model, nullptr);
  const Tokens text = some_tokens(8, 5);
  Device& device = *registry_->devices().back();
  EXPECT_TRUE(verify(*model, device, text));
  session.adapters = {{2, 1.0F}};
  const auto other = load(2, session);
  ASSERT_NE(other, nullptr);
  const auto refused = verify(*other, device, text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("there is no adapter 2"));
}

TEST_F(EngineAdapters, OfTheCommandAreUsed) {
  const auto paths = write_adapters(2);
  const auto text = [&](const std::vector<std::string>& more, int exit_code = 0) {
    std::vector<std::string> words = {"run", "-m", file_.path(), "-p",     "Hello", "-n",
                                      "12",  "-c", "64",         "--temp", "0",     "--ignore-eos"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run_command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return exit_code == 0 ? result.out : result.err;
  };
  const std::string plain = text({});
  EXPECT_EQ(text({"--lora", paths[0] + "=0"}), plain);
  const std::string once = text({"--lora", paths[0] + "=2"});
  EXPECT_NE(once, plain);
  EXPECT_EQ(text({"--lora", paths[0], "--lora", paths[0]}), once);
  EXPECT_NE(text({"--lora", paths[1] + "=2"}), once);
  EXPECT_THAT(text({"--lora", file_.path()}, 1), HasSubstr("it is no adapter"));
  EXPECT_THAT(text({"--lora", "=2"}, 2), HasSubstr("no file is named"));
  EXPECT_THAT(text({"--lora", paths[0] + "=half"}, 2),
              HasSubstr("\"half\" is no scale for " + paths[0]));
  EXPECT_THAT(text({"--lora", "/none=half"}, 1), HasSubstr("cannot open /none=half"));
  const RunResult explained =
      run_command({"explain", "-m", file_.path(), "--lora", paths[0], "--json"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, AllOf(HasSubstr("change of blk.0.attn_q.weight"),
                                   HasSubstr("1 adapter with 1 rank in all, ")));
}

}  // namespace
}  // namespace shunt::test::engine_adapters_test

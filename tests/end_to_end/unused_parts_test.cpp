// Parts of a file that the model would not use: an error, since the results would be those of
// another model.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "shunt/engine.h"
#include "support/models.h"
#include "support/run_command.h"

namespace shunt::test::unused_parts_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kQueryNorm = "blk.0.attn_q_norm.weight";

gguf::Value integer(std::uint64_t value) {
  return {gguf::ValueType::kU32, value};
}
gguf::Value number(double value) {
  return {gguf::ValueType::kF32, value};
}
gguf::Value flag(bool value) {
  return {gguf::ValueType::kBool, value};
}
gguf::Value text(const char* value) {
  return {gguf::ValueType::kString, std::string(value)};
}

class UnusedParts : public testing::Test {
 protected:
  using Edit = std::function<void(EditedFile&)>;

  std::string edited(const Edit& edit) const {
    write_edited(model_.path(), path_, edit);
    return path_;
  }
  Result<std::shared_ptr<const Model>> load(const Edit& edit,
                                            std::vector<std::string> ignore = {}) const {
    LoadOptions options;
    options.devices = {"cpu0"};
    options.ignore = std::move(ignore);
    return Model::load(edited(edit), *registry_, options);
  }
  /// Logits of a short text; nothing if the model or its session is refused.
  std::optional<std::vector<float>> logits(const Edit& edit) const {
    const auto model = load(edit);
    if (!model) return std::nullopt;
    const auto session = Session::create(*model);
    if (!session) return std::nullopt;
    const auto last = (*session)->append(std::vector<std::int32_t>{1, 20, 30, 40, 50});
    EXPECT_TRUE(last) << last.error().message();
    return std::vector<float>(last->begin(), last->end());
  }
  static void expect_named(const Result<std::shared_ptr<const Model>>& model,
                           const std::string& part) {
    ASSERT_FALSE(model) << part;
    EXPECT_EQ(model.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(model.error().message(), AllOf(HasSubstr("Shunt does not use"), HasSubstr(part)));
  }
  static void add_query_norm(EditedFile& file) {
    const auto from =
        std::ranges::find(file.tensors, "output_norm.weight", &EditedFile::EditedTensor::name);
    EditedFile::EditedTensor added = *from;
    added.name = kQueryNorm;
    file.tensors.push_back(std::move(added));
  }

  const SynthModel model_;
  const std::string path_ = model_.folder().file("edited.gguf");
  const std::unique_ptr<Registry> registry_ = std::move(*Registry::create(Options()));
};

TEST_F(UnusedParts, ATensorIsNamed) {
  expect_named(load(add_query_norm), kQueryNorm);
}

TEST_F(UnusedParts, SoIsAKeyWithItsValue) {
  const std::map<std::string, gguf::Value> keys = {
      {"attention.sliding_window", integer(4096)}, {"logit_scale", number(0.0625)},
      {"attention.causal", flag(false)},           {"attn_logit_softcapping", number(50)},
      {"expert_shared_count", integer(8)},         {"new.key", text("value")},
      {"expert_group_count", integer(8)},          {"expert_group_used_count", integer(4)}};
  for (const auto& [key, value] : keys) {
    const std::string name = "llama." + key;
    const gguf::Value& other = value;
    expect_named(load([&](EditedFile& file) { file.set(name, other); }), name + " = ");
  }
}

TEST_F(UnusedParts, KeysThatChangeNothingAreAllowed) {
  const auto plain = logits([](EditedFile&) {});
  ASSERT_TRUE(plain);
  const std::map<std::string, gguf::Value> keys = {
      {"attention.sliding_window", integer(0)}, {"logit_scale", number(1)},
      {"attention.causal", flag(true)},         {"expert_count", integer(0)},
      {"expert_group_count", integer(1)},       {"expert_group_used_count", integer(1)},
      {"rope.scaling.finetuned", flag(true)}};
  EXPECT_EQ(logits([&](EditedFile& file) {
              for (const auto& [key, value] : keys) file.set("llama." + key, value);
              file.set("general.new", text("of no architecture"));
            }),
            plain);
}

/// Without the check this file runs with one layer.
TEST_F(UnusedParts, FewerLayersThanTheFileHasAreAnError) {
  expect_named(load([](EditedFile& file) { file.set("llama.block_count", integer(1)); }),
               "tensor blk.1.");
}

TEST_F(UnusedParts, EachTensorThatIsRenamedOrMissingIsAnErrorOrChangesTheLogits) {
  const gguf::File file = *gguf::File::open(model_.path());
  const auto plain = logits([](EditedFile&) {});
  ASSERT_TRUE(plain);
  for (const gguf::TensorInfo& info : file.tensors()) {
    SCOPED_TRACE(info.name);
    EXPECT_FALSE(load([&](EditedFile& edit) {
      std::ranges::find(edit.tensors, info.name, &EditedFile::EditedTensor::name)->name += "s";
    }));
    EXPECT_NE(logits([&](EditedFile& edit) { edit.remove_tensor(info.name); }), plain);
  }
}

TEST_F(UnusedParts, EachKeyWithAnotherValueIsAnErrorOrChangesTheLogits) {
  const std::set<std::string> harmless = {"llama.vocab_size", "llama.context_length"};
  const gguf::File file = *gguf::File::open(model_.path());
  const auto plain = logits([](EditedFile&) {});
  ASSERT_TRUE(plain);
  int changed = 0;
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!entry.key.starts_with("llama.") || harmless.contains(entry.key)) continue;
    SCOPED_TRACE(entry.key);
    gguf::Value value = entry.value;
    if (auto* const whole = std::get_if<std::uint64_t>(&value.data)) *whole *= 2;
    if (auto* const real = std::get_if<double>(&value.data)) *real *= 100;
    EXPECT_NE(logits([&](EditedFile& edit) { edit.set(entry.key, value); }), plain);
    ++changed;
  }
  EXPECT_GT(changed, 6);
}

TEST_F(UnusedParts, IgnoredByTheirExactNamesTheModelRuns) {
  const auto both = [](EditedFile& file) {
    add_query_norm(file);
    file.set("llama.logit_scale", number(0.5));
  };
  expect_named(load(both), std::string(kQueryNorm) + " and 1 other part");
  expect_named(load(both, {kQueryNorm}), "llama.logit_scale = 0.5");
  EXPECT_TRUE(load(both, {kQueryNorm, "llama.logit_scale"}));
  for (const char* name : {"blk.0.attn_q", "blk.0.attn_q.weight", "llama.block_count", "", "*"}) {
    const auto model = load(both, {name});
    ASSERT_FALSE(model) << name;
    EXPECT_EQ(model.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(model.error().message(), HasSubstr("can't be ignored"));
  }
}

TEST_F(UnusedParts, TheCommandSaysThatSomethingIsIgnored) {
  const std::string path = edited(add_query_norm);
  const std::vector<std::vector<std::string>> commands = {
      {"run", "--model", path, "-p", "a", "-n", "1"},
      {"explain", "--model", path},
      {"verify", "--model", path, "--device", "cpu0", "-n", "0"}};
  for (std::vector<std::string> command : commands) {
    SCOPED_TRACE(command[0]);
    const RunResult refused = run_command(command);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr(std::string("--ignore ") + kQueryNorm));
    command.insert(command.end(), {"--ignore", kQueryNorm});
    const RunResult ignored = run_command(command);
    EXPECT_EQ(ignored.exit_code, 0) << ignored.err;
    EXPECT_THAT(ignored.err, HasSubstr(std::string("ignored, so this is another model than that of "
                                                   "the file: ") +
                                       kQueryNorm));
  }
}

/// As llama.cpp reads it.
TEST_F(UnusedParts, AScalingFactorWithoutAKindIsLinear) {
  const auto scaled = [](const char* kind) {
    return [kind](EditedFile& file) {
      file.set("llama.rope.scaling.factor", number(4));
      if (kind != nullptr) file.set("llama.rope.scaling.type", text(kind));
    };
  };
  const auto linear = logits(scaled("linear"));
  ASSERT_TRUE(linear);
  EXPECT_EQ(logits(scaled(nullptr)), linear);
  const auto plain = logits(scaled("none"));
  ASSERT_TRUE(plain);
  EXPECT_NE(linear, plain);
}

}  // namespace
}  // namespace shunt::test::unused_parts_test

// What published files have beside the parts of the tiny models: keys that some converters write,
// and forms of older and newer files. Results stay those that transformers computes, or are those
// of a file that says the same in another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "model/definition.h"
#include "shunt/embed.h"
#include "shunt/engine.h"
#include "support/must.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_published_keys_test {
namespace {

using Edit = std::function<void(EditedFile&)>;

gguf::Value count(std::uint64_t value) {
  return {gguf::ValueType::kU32, value};
}
gguf::Value number(double value) {
  return {gguf::ValueType::kF32, value};
}
gguf::Value flag(bool value) {
  return {gguf::ValueType::kBool, value};
}
gguf::Value counts(std::vector<std::int64_t> values) {
  auto array = std::make_shared<gguf::Array>();
  array->type = gguf::ValueType::kI32;
  array->integers = std::move(values);
  return {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(array)};
}

void add_tensor(EditedFile& file, const char* name) {
  EditedFile::EditedTensor added = file.tensors.front();
  added.name = name;
  file.tensors.push_back(added);
}

class PublishedKeys : public ::testing::Test {
 protected:
  PublishedKeys() {
    Options options;
    options.threads = 1;
    registry_ = std::move(*Registry::create(options));
  }

  std::shared_ptr<const Model> load(const std::string& name, const Edit& edit, bool embeddings) {
    const std::string path = folder_.file("model.gguf");
    write_recorded(name, path, edit);
    LoadOptions options;
    options.session.context = 64;
    options.session.cache_type = DType::kF32;
    options.embeddings = embeddings;
    const std::array devices = {registry_->devices().back()};
    auto model = Model::load(path, devices, options);
    EXPECT_TRUE(model) << name << ": " << model.error().message();
    return model ? *model : nullptr;
  }

  /// Logits of all tokens, or an encoder's results; none if the file is refused.
  std::vector<float> results(const std::string& name, const Edit& edit) {
    const RecordedModel recorded = read_recorded(name);
    const bool is_encoder = !recorded.hidden.empty();
    const auto model = load(name, edit, is_encoder);
    if (model == nullptr) return {};
    std::vector<float> all;
    if (is_encoder) {
      EmbedOptions options;
      options.pooling = EmbeddingPooling::kNone;
      options.normalize = false;
      options.batch = 128;
      const auto embedder = Embedder::create(model, options);
      EXPECT_TRUE(embedder) << embedder.error().message();
      if (!embedder) return {};
      const auto made = (*embedder)->embed_tokens(std::array{recorded.tokens});
      EXPECT_TRUE(made) << made.error().message();
      if (!made) return {};
      for (const auto& row : made->front()) all.insert(all.end(), row.begin(), row.end());
      return all;
    }
    SessionOptions options;
    options.context = 64;
    options.cache_type = DType::kF32;
    const auto session = Session::create(model, options);
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return {};
    const Status done =
        (*session)->append_all(recorded.tokens, [&](std::size_t, std::span<const float> more) {
          all.insert(all.end(), more.begin(), more.end());
        });
    EXPECT_TRUE(done) << done.error().message();
    return all;
  }

  void expect_recorded(const std::string& name, const Edit& edit) {
    const RecordedModel recorded = read_recorded(name);
    const auto& expected = recorded.hidden.empty() ? recorded.logits : recorded.hidden;
    const auto computed = results(name, edit);
    ASSERT_EQ(computed.size(), expected.size()) << name;
    EXPECT_LE(difference(computed, expected), std::max(1e-4F, 10 * recorded.float32_difference))
        << name;
  }

  void expect_same(const std::string& name, const Edit& edit, const Edit& other) {
    const auto first = results(name, edit);
    const auto second = results(name, other);
    ASSERT_EQ(first.size(), second.size()) << name;
    ASSERT_FALSE(first.empty()) << name;
    EXPECT_LE(difference(first, second), kLogitsTolerance) << name;
  }

  static std::vector<std::int64_t> windows(const std::string& name, const Edit& edit) {
    const auto bytes = recorded_zeros(name, edit);
    const auto file = must(gguf::File::parse(bytes, "edited"));
    return must(read_model(file))->shape().windows;
  }

  static std::string refusal(const std::string& name, const Edit& edit) {
    const auto bytes = recorded_zeros(name, edit);
    const auto file = gguf::File::parse(bytes, "edited");
    if (!file) return file.error().message();
    const auto model = read_model(*file);
    return model ? "" : model.error().message();
  }

  TempFolder folder_;
  std::unique_ptr<Registry> registry_;
};

TEST_F(PublishedKeys, ModernBertSeesAllInTheFirstOfEachThreeLayers) {
  expect_recorded("modern-bert", [](EditedFile& file) {
    file.set("modern-bert.attention.sliding_window_pattern", count(3));
    file.set("modern-bert.attention.layer_norm_epsilon", number(1e-5));
  });
}

TEST_F(PublishedKeys, ModernBertMayHaveSilu) {
  const auto gelu = results("modern-bert", {});
  const auto silu = results("modern-bert", [](EditedFile& file) {
    file.set("modern-bert.hidden_activation", {gguf::ValueType::kString, std::string("silu")});
  });
  ASSERT_EQ(gelu.size(), silu.size());
  EXPECT_GT(difference(gelu, silu), 1e-3F);
  expect_recorded("modern-bert", [](EditedFile& file) {
    file.set("modern-bert.hidden_activation", {gguf::ValueType::kString, std::string("gelu")});
  });
  EXPECT_THAT(refusal("modern-bert",
                      [](EditedFile& file) {
                        file.set("modern-bert.hidden_activation",
                                 {gguf::ValueType::kString, std::string("relu")});
                      }),
              ::testing::HasSubstr("hidden_activation is \"relu\""));
}

TEST_F(PublishedKeys, GraniteWithoutRopeDoesNotTurn) {
  for (const std::string name : {"granite-untied", "granitemoe-untied"}) {
    SCOPED_TRACE(name);
    const std::string key = name.substr(0, name.find('-')) + ".rope.scaling.finetuned";
    expect_recorded(name, [&](EditedFile& file) { file.set(key, flag(true)); });
    const auto turned = results(name, {});
    const auto other = results(name, [&](EditedFile& file) { file.set(key, flag(false)); });
    ASSERT_EQ(turned.size(), other.size());
    EXPECT_GT(difference(turned, other), 1e-3F);
    // The base of rope has no effect then.
    expect_same(
        name, [&](EditedFile& file) { file.set(key, flag(false)); },
        [&](EditedFile& file) {
          file.set(key, flag(false));
          file.set(name.substr(0, name.find('-')) + ".rope.freq_base", number(777));
        });
  }
}

TEST_F(PublishedKeys, GraniteWithoutStateSpacesHasTheirNumbers) {
  expect_recorded("granite-untied", [](EditedFile& file) {
    file.set("granite.attention.head_count_kv", counts({2, 2}));
    file.set("granite.expert_shared_feed_forward_length", count(96));
    file.set("granite.rope.scaling.finetuned", flag(true));
    for (const char* key :
         {"conv_kernel", "state_size", "group_count", "inner_size", "time_step_rank"})
      file.set(std::string("granite.ssm.") + key, count(4));
  });
}

TEST_F(PublishedKeys, TheFactorOfYarnIsTheWholeOne) {
  const double growth = 1 + 0.1 * std::log(4.0);
  expect_recorded("olmo2-window-yarn", [&](EditedFile& file) {
    file.set("olmo2.rope.scaling.yarn_attn_factor", number(growth));
  });
  expect_recorded("olmo2-window-yarn", [&](EditedFile& file) {
    file.set("olmo2.rope.scaling.attn_factor", number(growth));
  });
  expect_recorded("llama-yarn", [&](EditedFile& file) {
    file.set("llama.rope.scaling.yarn_attn_factor", number(growth));
  });
  // The older key multiplies the growth in other models; 1 and 0 change nothing.
  for (const double factor : {0.0, 1.0}) {
    expect_recorded("llama-yarn", [&](EditedFile& file) {
      file.set("llama.rope.scaling.attn_factor", number(factor));
    });
    expect_recorded("mistral3", [&](EditedFile& file) {
      file.set("mistral3.rope.scaling.attn_factor", number(factor));
    });
  }
  for (const double factor :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal("llama-yarn",
                        [&](EditedFile& file) {
                          file.set("llama.rope.scaling.yarn_attn_factor", number(factor));
                        }),
                ::testing::HasSubstr("llama.rope.scaling.yarn_attn_factor is"));
  }
  expect_same(
      "llama-yarn",
      [](EditedFile& file) { file.set("llama.rope.scaling.yarn_attn_factor", number(1)); },
      [](EditedFile& file) { file.set("llama.rope.scaling.yarn_log_multiplier", number(1)); });
}

TEST_F(PublishedKeys, SectionsOfRopeDoNotMatterToText) {
  expect_recorded("glm4moe-norms", [](EditedFile& file) {
    file.set("glm4moe.rope.dimension_sections", counts({2, 1, 1, 0}));
  });
}

/// The rows of each head that rope turns, in the order of halves instead of pairs.
void reorder_heads(EditedFile& file, const std::vector<RecordedTensor>& tensors,
                   const std::string& name, std::size_t head_size, std::size_t turned) {
  const auto found = std::ranges::find(tensors, name, &RecordedTensor::name);
  ASSERT_NE(found, tensors.end()) << name;
  const bool is_bias = found->sizes.size() == 1;
  const std::size_t width = is_bias ? 1 : to_size(found->sizes[0]);
  const std::size_t rows = found->values.size() / width;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t of_head = row % head_size;
    if (of_head >= turned) continue;
    const std::size_t half = turned / 2;
    const std::size_t from =
        row - of_head + (of_head < half ? 2 * of_head : 2 * (of_head - half) + 1);
    for (std::size_t i = 0; i < width; ++i)
      file.set_element(name, row * width + i, found->values[from * width + i]);
  }
}

TEST_F(PublishedKeys, Glm4WithSectionsHasHalvesInsteadOfPairs) {
  const auto tensors = recorded_tensors("glm4-untied");
  expect_recorded("glm4-untied", [&](EditedFile& file) {
    file.set("glm4.rope.dimension_sections", counts({2, 1, 1, 0}));
    for (const char* name :
         {"blk.0.attn_q.weight", "blk.0.attn_q.bias", "blk.0.attn_k.weight", "blk.0.attn_k.bias",
          "blk.1.attn_q.weight", "blk.1.attn_q.bias", "blk.1.attn_k.weight", "blk.1.attn_k.bias"})
      reorder_heads(file, tensors, name, 16, 8);
  });
}

TEST_F(PublishedKeys, ExpertsOfQwen2ShareTheSizeOfTheFeedForwardPart) {
  expect_recorded("qwen2moe-untied", [](EditedFile& file) {
    file.set("qwen2moe.feed_forward_length", count(64));
    file.remove_key("qwen2moe.expert_feed_forward_length");
    file.remove_key("qwen2moe.expert_shared_feed_forward_length");
  });
}

TEST_F(PublishedKeys, LatentAttentionNeedsNoExperts) {
  const auto first_layer = [](EditedFile& file) {
    file.set("deepseek2.block_count", count(1));
    std::erase_if(file.tensors, [](const EditedFile::EditedTensor& tensor) {
      return tensor.name.starts_with("blk.") && !tensor.name.starts_with("blk.0.");
    });
  };
  expect_same("deepseek2-lite", first_layer, [&](EditedFile& file) {
    first_layer(file);
    for (const char* key : {"expert_count", "expert_used_count"})
      file.remove_key(std::string("deepseek2.") + key);
    file.set("deepseek2.expert_shared_count", count(0));
  });
}

TEST_F(PublishedKeys, LayersThatPredictAreBehindThePatternOfWindows) {
  expect_recorded("exaone4-window", [](EditedFile& file) {
    file.set("exaone4.block_count", count(5));
    file.set("exaone4.nextn_predict_layers", count(1));
    add_tensor(file, "blk.4.nextn.eh_proj.weight");
    add_tensor(file, "blk.4.attn_q.weight");
  });
}

/// A finetune without the layer that its configuration names.
TEST_F(PublishedKeys, RoutersDoNotDependOnALayerThatPredicts) {
  expect_recorded("deepseek2-glm-lite", [](EditedFile& file) {
    file.set("deepseek2.block_count", count(4));
    file.set("deepseek2.nextn_predict_layers", count(1));
  });
}

TEST_F(PublishedKeys, ALayerThatDoesNotPredictIsNotLeftOut) {
  EXPECT_THAT(refusal("qwen35-untied",
                      [](EditedFile& file) { file.set("qwen35.nextn_predict_layers", count(1)); }),
              ::testing::HasSubstr("layer 3 has no tensors nextn"));
}

TEST_F(PublishedKeys, NumbersOfNoneDoNotMatter) {
  expect_recorded("qwen3moe-untied", [](EditedFile& file) {
    file.set("qwen3moe.expert_shared_feed_forward_length", count(0));
    file.set("qwen3moe.expert_shared_count", count(0));
    file.set("qwen3moe.nextn_predict_layers", count(0));
  });
  EXPECT_THAT(refusal("qwen3moe-untied",
                      [](EditedFile& file) {
                        file.set("qwen3moe.expert_shared_feed_forward_length", count(32));
                      }),
              ::testing::HasSubstr("expert_shared_feed_forward_length = 32"));
}

/// The first files of Phi-3-mini-4k and -medium-4k lack the window; other models have none then.
TEST_F(PublishedKeys, Phi3OfAnotherShapeHasNoWindowThatItsFileLacks) {
  EXPECT_THAT(windows("phi3-untied",
                      [](EditedFile& file) {
                        file.set("phi3.context_length", count(4096));
                        file.remove_key("phi3.attention.sliding_window");
                      }),
              ::testing::IsEmpty());
}

/// For each head of keys, ssm_in has the rows of its query, its key, its values and their gates.
TEST_F(PublishedKeys, FirstFilesOfQwen3NextHaveTheInputsOfADeltaNetInOneTensor) {
  constexpr std::size_t kWidth = 64;
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kKey = 16;
  constexpr std::size_t kValues = 3 * 16;  // of a head of keys
  const std::vector<RecordedTensor> tensors = recorded_tensors("qwen3next-untied");
  const auto values_of = [&](const std::string& name) -> const std::vector<float>& {
    return std::ranges::find(tensors, name, &RecordedTensor::name)->values;
  };
  expect_recorded("qwen3next-untied", [&](EditedFile& file) {
    for (const std::string layer : {"blk.0.", "blk.1.", "blk.2."}) {
      const std::vector<float>& inputs = values_of(layer + "attn_qkv.weight");
      const std::vector<float>& gates = values_of(layer + "attn_gate.weight");
      std::vector<float> fused;
      const auto take = [&](const std::vector<float>& from, std::size_t first, std::size_t rows) {
        const auto at = from.begin() + static_cast<std::ptrdiff_t>(first * kWidth);
        fused.insert(fused.end(), at, at + static_cast<std::ptrdiff_t>(rows * kWidth));
      };
      for (std::size_t head = 0; head < kHeads; ++head) {
        take(inputs, head * kKey, kKey);
        take(inputs, (kHeads + head) * kKey, kKey);
        take(inputs, 2 * kHeads * kKey + head * kValues, kValues);
        take(gates, head * kValues, kValues);
      }
      ASSERT_EQ(fused.size(), inputs.size() + gates.size());
      const std::string name = layer + "attn_qkv.weight";
      EditedFile::EditedTensor made =
          *std::ranges::find(file.tensors, name, &EditedFile::EditedTensor::name);
      made.name = layer + "ssm_in.weight";
      made.tensor = must(
          make_tensor(DType::kF32, {kWidth, static_cast<std::int64_t>(fused.size() / kWidth)}));
      for (std::size_t i = 0; i < fused.size(); ++i) made.elements.emplace_back(i, fused[i]);
      file.remove_tensor(name);
      file.remove_tensor(layer + "attn_gate.weight");
      file.tensors.push_back(std::move(made));
    }
  });
}

TEST_F(PublishedKeys, PicturesAndSoundAreLeftAside) {
  expect_recorded("gemma3", [](EditedFile& file) {
    file.set("gemma3.vision.block_count", count(27));
    file.set("gemma3.audio.block_count", count(12));
    file.set("gemma3.mm.tokens_per_image", count(256));
    for (const char* name :
         {"v.blk.0.attn_q.weight", "a.blk.0.ffn_up.weight", "mm.mm_input_projection.weight"})
      add_tensor(file, name);
  });
}

}  // namespace
}  // namespace shunt::test::architecture_published_keys_test

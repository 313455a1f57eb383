// Nothing in a file is passed over: without a tensor, with one more, or with another value of a
// key, a file is refused, or its model computes other logits, or an encoder other embeddings.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/to_size.h"
#include "model/definition.h"
#include "shunt/engine.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_parts_test {
namespace {

/// A key whose value does not matter for 40 tokens of some models.
struct Indifferent {
  std::string_view models;  ///< what their names begin with; empty: all
  std::string_view key;
  std::string_view reason;
};
constexpr std::string_view kAllRouted = "all layers have experts";
constexpr std::string_view kOriginalContext = "rope.scaling.original_context_length";
constexpr std::array kIndifferent = {
    Indifferent{"", "context_length", "a limit of sessions"},
    Indifferent{"", "vocab_size", "the embedding has a row for each token"},
    Indifferent{"qwen35", "rope.dimension_sections", "text has one position for all sections"},
    Indifferent{"mamba2", "attention.head_count", "no layer is attention"},
    Indifferent{"mamba2", "feed_forward_length", "no layer has a feed-forward part"},
    Indifferent{"gpt-oss", "feed_forward_length", kAllRouted},
    Indifferent{"llama4-scout", "feed_forward_length", kAllRouted},
    Indifferent{"llama4-small", "feed_forward_length", kAllRouted},
    Indifferent{"minimax-m2", "feed_forward_length", kAllRouted},
    Indifferent{"qwen2moe", "feed_forward_length", kAllRouted},
    Indifferent{"qwen3moe", "feed_forward_length", kAllRouted},
    Indifferent{"qwen3next", "feed_forward_length", kAllRouted},
    Indifferent{"qwen35moe", "feed_forward_length", kAllRouted},
    Indifferent{"phi3-untied", kOriginalContext, "rope is not scaled"},
    Indifferent{"phi3-window", kOriginalContext, "rope is not scaled"},
    // With 0.5, 4 and 17 turns in 16 tokens, the bound is the first pair (arXiv 2309.00071, 3.2).
    Indifferent{"mistral3", "rope.scaling.yarn_beta_fast", "the few pairs have the same bound"},
    Indifferent{"granitehybrid-experts", "rope.freq_base", "no layer has rope"},
};

bool is_indifferent(std::string_view model, std::string_view key) {
  return std::ranges::any_of(kIndifferent, [&](const Indifferent& row) {
    return row.key == key && model.starts_with(row.models);
  });
}

class ArchitectureParts : public ::testing::TestWithParam<std::string> {
 protected:
  ArchitectureParts() : recorded_(read_recorded(GetParam())) {
    Options options;
    options.threads = 1;
    registry_ = std::move(*Registry::create(options));
  }

  /// Whether the file is refused when it is read.
  bool is_refused(const std::function<void(EditedFile&)>& edit) {
    const auto bytes = recorded_zeros(GetParam(), edit);
    const auto file = gguf::File::parse(bytes, "edited");
    return !file || !read_model(*file);
  }

  /// The logits of the last token, or an encoder's results for all tokens. None if the model can't
  /// be computed.
  std::vector<float> results() {
    SessionOptions session;
    session.context = 64;
    session.cache_type = DType::kF32;
    LoadOptions load;
    load.session = session;
    const std::array devices = {registry_->devices().back()};
    const auto model = Model::load(path_, devices, load);
    if (!model) return {};
    const auto made = Session::create(*model, session);
    if (!made) return {};
    if (!recorded_.hidden.empty()) {
      std::vector<float> all;
      const Status done =
          (*made)->append_all(recorded_.tokens, [&](std::size_t, std::span<const float> more) {
            all.insert(all.end(), more.begin(), more.end());
          });
      return done ? all : std::vector<float>();
    }
    const auto last = (*made)->append(recorded_.tokens);
    return last ? std::vector<float>(last->begin(), last->end()) : std::vector<float>();
  }

  /// Those of the record.
  std::span<const float> expected() const {
    if (!recorded_.hidden.empty()) return recorded_.hidden;
    return std::span(recorded_.logits).last(to_size(recorded_.vocabulary));
  }

  /// Whether a file with a change is refused, or gives other results.
  bool is_noticed(const std::function<void(EditedFile&)>& edit) {
    if (is_refused(edit)) return true;
    write_recorded(GetParam(), path_, edit);
    const auto computed = results();
    if (computed.size() != expected().size()) return true;
    return !(difference(computed, expected()) <=
             10 * std::max(1e-4F, recorded_.float32_difference));
  }

  EditedFile content() {
    EditedFile content;
    recorded_zeros(GetParam(), [&](EditedFile& file) { content = file; });
    return content;
  }

  TempFolder folder_;
  std::string path_ = folder_.file("model.gguf");
  RecordedModel recorded_;
  std::unique_ptr<Registry> registry_;
};

/// Else every change would be noticed.
TEST_P(ArchitectureParts, AnUnchangedFileIsNotNoticed) {
  EXPECT_FALSE(is_noticed([](EditedFile&) {}));
}

TEST_P(ArchitectureParts, AMissingTensorIsNoticed) {
  for (const auto& tensor : content().tensors) {
    SCOPED_TRACE(tensor.name);
    EXPECT_TRUE(is_noticed([&](EditedFile& file) { file.remove_tensor(tensor.name); }));
  }
}

TEST_P(ArchitectureParts, ARenamedTensorIsRefused) {
  for (const auto& tensor : content().tensors) {
    SCOPED_TRACE(tensor.name);
    EXPECT_TRUE(is_refused([&](EditedFile& file) {
      for (auto& other : file.tensors)
        if (other.name == tensor.name) other.name += "x";
    }));
  }
}

TEST_P(ArchitectureParts, AFurtherTensorIsRefused) {
  for (const char* name : {"another.weight", "blk.0.another.weight", "blk.0.attn_q.scale"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(is_refused([&](EditedFile& file) {
      file.tensors.push_back({name, file.tensors.front().tensor, file.tensors.front().from});
    }));
  }
}

TEST_P(ArchitectureParts, AnUnknownKeyIsRefused) {
  EXPECT_TRUE(is_refused([&](EditedFile& file) {
    file.set(recorded_.architecture + ".another", {gguf::ValueType::kU32, std::uint64_t{1}});
  }));
}

/// A larger value and a smaller one: in a small model, one of them may do what the key's does.
enum class Change : std::uint8_t { kLarger, kSmaller };

template <class Number>
Number changed(Number number, Change change) {
  return change == Change::kLarger ? 4 * number + 1 : number / 8;
}

gguf::Value changed(gguf::Value value, Change change) {
  if (auto* flag = std::get_if<bool>(&value.data)) *flag = !*flag;
  if (auto* text = std::get_if<std::string>(&value.data)) *text += "x";
  if (auto* number = std::get_if<std::uint64_t>(&value.data)) *number = changed(*number, change);
  if (auto* number = std::get_if<std::int64_t>(&value.data)) *number = changed(*number, change);
  if (auto* number = std::get_if<double>(&value.data)) *number = changed(*number, change);
  if (auto* array = std::get_if<std::shared_ptr<const gguf::Array>>(&value.data)) {
    auto other = std::make_shared<gguf::Array>(**array);
    for (std::int64_t& element : other->integers)
      element = other->type == gguf::ValueType::kBool ? 1 - element : changed(element, change);
    for (double& element : other->floats) element = changed(element, change);
    value.data = std::shared_ptr<const gguf::Array>(other);
  }
  return value;
}

TEST_P(ArchitectureParts, AnotherValueOfAKeyIsNoticed) {
  const std::string prefix = recorded_.architecture + ".";
  for (const gguf::KeyValue& entry : content().metadata) {
    if (!entry.key.starts_with(prefix)) continue;
    if (is_indifferent(GetParam(), std::string_view(entry.key).substr(prefix.size()))) continue;
    const auto noticed = [&](Change change) {
      return is_noticed(
          [&](EditedFile& file) { file.set(entry.key, changed(entry.value, change)); });
    };
    EXPECT_TRUE(noticed(Change::kLarger) || noticed(Change::kSmaller)) << entry.key;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ArchitectureParts, ::testing::ValuesIn(recorded_models()),
                         recorded_name);
INSTANTIATE_TEST_SUITE_P(Encoders, ArchitectureParts, ::testing::ValuesIn(recorded_encoders()),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_parts_test

// GGUF files in the forms of 2023 and 2024 become the same models in today's form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/to_size.h"
#include "shunt/convert.h"
#include "shunt/engine.h"
#include "shunt/message.h"
#include "support/must.h"
#include "support/recorded_model.h"
#include "tensor/byte_order.h"

namespace shunt::test::old_gguf_test {
namespace {

using Values = std::vector<float>;

/// A file in an old form: keys and F32 tensors.
struct OldFile {
  std::vector<gguf::KeyValue> keys;
  std::vector<RecordedTensor> tensors;

  void set(const std::string& key, std::uint64_t number) {
    remove(key);
    keys.push_back({key, {gguf::ValueType::kU32, number}});
  }
  void remove(const std::string& key) {
    std::erase_if(keys, [&](const gguf::KeyValue& each) { return each.key == key; });
  }
  RecordedTensor* find(const std::string& name) {
    const auto found = std::ranges::find(tensors, name, &RecordedTensor::name);
    return found == tensors.end() ? nullptr : &*found;
  }
  void write(const std::string& path) const {
    gguf::Writer writer;
    for (const gguf::KeyValue& each : keys) writer.add(each.key, each.value);
    for (const RecordedTensor& tensor : tensors) {
      Shape shape;
      for (std::size_t i = 0; i < tensor.sizes.size(); ++i) shape[i] = tensor.sizes[i];
      must(writer.add_tensor(tensor.name, must(make_tensor(DType::kF32, shape))));
    }
    Values values;
    must(writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
      values = tensors[index].values;
      const auto bytes = std::as_writable_bytes(std::span(values));
      convert_byte_order(DType::kF32, std::endian::little, bytes);
      return bytes;
    }));
  }
};

/// A stack of matrices becomes a tensor for each: "blk.0.ffn_up.3.weight".
void split_experts(OldFile& file) {
  std::vector<RecordedTensor> all;
  for (const RecordedTensor& tensor : file.tensors) {
    const auto place = tensor.name.find("_exps.weight");
    if (place == std::string::npos) {
      all.push_back(tensor);
      continue;
    }
    const std::size_t size = to_size(tensor.sizes[0] * tensor.sizes[1]);
    for (std::size_t i = 0; i < to_size(tensor.sizes[2]); ++i) {
      const auto start = tensor.values.begin() + static_cast<std::ptrdiff_t>(i * size);
      all.push_back({fmt::format("{}.{}.weight", tensor.name.substr(0, place), i),
                     {tensor.sizes[0], tensor.sizes[1]},
                     Values(start, start + static_cast<std::ptrdiff_t>(size))});
    }
  }
  file.tensors = std::move(all);
}

/// attn_k_b [plain, rank, heads] and attn_v_b [rank, value, heads] make attn_kv_b
/// [rank, heads * (plain + value)], whose rows are those of a head's keys, then of its values.
void add_latent(OldFile& file) {
  std::int64_t heads = 0;
  std::int64_t plain = 0;
  std::int64_t value = 0;
  for (int layer = 0;; ++layer) {
    const auto name = [&](const char* end) { return fmt::format("blk.{}.attn_{}", layer, end); };
    const RecordedTensor* const keys = file.find(name("k_b.weight"));
    if (keys == nullptr) break;
    const RecordedTensor& values = *file.find(name("v_b.weight"));
    plain = keys->sizes[0];
    const std::int64_t rank = keys->sizes[1];
    heads = keys->sizes.size() > 2 ? keys->sizes[2] : 1;
    value = values.sizes[1];
    RecordedTensor both = {name("kv_b.weight"), {rank, heads * (plain + value)}, {}};
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t k = 0; k < plain; ++k) {
        for (std::int64_t r = 0; r < rank; ++r)
          both.values.push_back(keys->values[to_size((head * rank + r) * plain + k)]);
      }
      for (std::int64_t i = 0; i < value * rank; ++i)
        both.values.push_back(values.values[to_size(head * value * rank + i)]);
    }
    file.tensors.push_back(std::move(both));
  }
  const std::string prefix = "deepseek2.attention.";
  file.remove(prefix + "key_length_mla");
  file.remove(prefix + "value_length_mla");
  std::int64_t turned = 0;
  for (const gguf::KeyValue& each : file.keys) {
    if (each.key == "deepseek2.rope.dimension_count")
      turned = static_cast<std::int64_t>(std::get<std::uint64_t>(each.value.data));
  }
  file.set(prefix + "key_length", static_cast<std::uint64_t>(plain + turned));
  file.set(prefix + "value_length", static_cast<std::uint64_t>(value));
  file.set(prefix + "head_count_kv", static_cast<std::uint64_t>(heads));
}

/// attn_kv_b replaces attn_k_b and attn_v_b.
void join_latent(OldFile& file) {
  add_latent(file);
  std::erase_if(file.tensors, [](const RecordedTensor& each) {
    return each.name.ends_with("attn_k_b.weight") || each.name.ends_with("attn_v_b.weight");
  });
}

/// As join_latent(), but attn_k_b and attn_v_b stay, with other numbers, and all keys.
void add_joined_latent(OldFile& file) {
  const std::vector<gguf::KeyValue> keys = file.keys;
  add_latent(file);
  file.keys = keys;
  for (RecordedTensor& tensor : file.tensors) {
    if (tensor.name.ends_with("attn_k_b.weight") || tensor.name.ends_with("attn_v_b.weight"))
      std::ranges::fill(tensor.values, 3.0F);
  }
}

struct Case {
  std::string model;
  std::function<void(OldFile&)> age;
  std::string named;  ///< in the error of loading the old file
};

class OldGguf : public ::testing::TestWithParam<Case> {
 protected:
  OldGguf() {
    write_recorded(GetParam().model, today_);
    const gguf::File file = must(gguf::File::open(today_));
    old_.keys.assign(file.metadata().begin(), file.metadata().end());
    old_.tensors = recorded_tensors(GetParam().model);
    GetParam().age(old_);
    old_.write(old_path_);
  }

  TempFolder folder_;
  std::string today_ = folder_.file("today.gguf");
  std::string old_path_ = folder_.file("old.gguf");
  std::string made_ = folder_.file("made.gguf");
  OldFile old_;
};

/// Arrays by their elements.
bool is_same(const gguf::Value& left, const gguf::Value& right) {
  using Pointer = std::shared_ptr<const gguf::Array>;
  const auto* const array = std::get_if<Pointer>(&left.data);
  const auto* const other = std::get_if<Pointer>(&right.data);
  if (array == nullptr || other == nullptr) return left.data == right.data;
  return (*array)->type == (*other)->type && (*array)->integers == (*other)->integers &&
         (*array)->floats == (*other)->floats && (*array)->strings == (*other)->strings;
}

TEST_P(OldGguf, BecomesTheFileOfToday) {
  const auto conversion = FolderConversion::open(old_path_);
  ASSERT_TRUE(conversion) << conversion.error().message();
  const auto plan = conversion->plan({});
  ASSERT_TRUE(plan) << plan.error().message();
  const auto written = conversion->write(made_, *plan, {});
  ASSERT_TRUE(written) << written.error().message();
  const gguf::File made = must(gguf::File::open(made_));
  const gguf::File today = must(gguf::File::open(today_));
  EXPECT_EQ(made.tensors().size(), today.tensors().size());
  for (const gguf::TensorInfo& expected : today.tensors()) {
    SCOPED_TRACE(expected.name);
    const gguf::TensorInfo* const found = made.find_tensor(expected.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(to_string(found->tensor), to_string(expected.tensor));
    const auto bytes = made.data(*found);
    const auto wanted = today.data(expected);
    ASSERT_EQ(bytes.size(), wanted.size());
    EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), bytes.size()), 0);
  }
  const auto of_writing = [](const gguf::KeyValue& each) {
    return each.key == "general.file_type" || each.key == "general.quantization_version";
  };
  EXPECT_EQ(std::ranges::count_if(made.metadata(), std::not_fn(of_writing)),
            std::ranges::count_if(today.metadata(), std::not_fn(of_writing)));
  for (const gguf::KeyValue& expected : today.metadata()) {
    SCOPED_TRACE(expected.key);
    const gguf::Value* const found = made.find(expected.key);
    ASSERT_NE(found, nullptr);
    EXPECT_TRUE(is_same(*found, expected.value));
  }
}

TEST_P(OldGguf, ThatIsLoadedIsAnErrorWithTheCommand) {
  Options options;
  options.threads = 1;
  const auto registry = must(Registry::create(options));
  const auto model = Model::load(old_path_, *registry, {});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find(GetParam().named), std::string::npos)
      << model.error().message();
  EXPECT_NE(model.error().message().find("shunt convert " + old_path_), std::string::npos)
      << model.error().message();
}

TEST_P(OldGguf, OfTodayIsNotConverted) {
  const auto conversion = FolderConversion::open(today_);
  ASSERT_FALSE(conversion);
  EXPECT_EQ(conversion.error().code(), ErrorCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    Models, OldGguf,
    ::testing::Values(Case{"llama-experts", split_experts, "ffn_down.0.weight"},
                      Case{"deepseek2-lite", join_latent, "attn_kv_b.weight"},
                      Case{"deepseek2-v3-groups", join_latent, "attn_kv_b.weight"},
                      Case{"deepseek2-lite", add_joined_latent, "attn_kv_b.weight"}),
    [](const auto& test) {
      std::string name = test.param.model;
      std::ranges::replace(name, '-', '_');
      return fmt::format("{}_{}", name, test.index);
    });

}  // namespace
}  // namespace shunt::test::old_gguf_test

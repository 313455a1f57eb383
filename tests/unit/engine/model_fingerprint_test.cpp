// Which differences between files make another model.
#include "engine/session/model_fingerprint.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/big_endian.h"
#include "support/models.h"
#include "support/shared.h"

namespace shunt::test::engine_model_fingerprint_test {
namespace {

std::uint64_t fingerprint(const std::string& path) {
  const auto file = gguf::File::open(path);
  EXPECT_TRUE(file) << file.error().message();
  const auto made = model_fingerprint(*file);
  EXPECT_TRUE(made) << made.error().message();
  return *made;
}

class ModelFingerprint : public testing::Test {
 protected:
  ModelFingerprint() : own_(fingerprint(model_.path())) {}

  /// That of the file with a change.
  std::uint64_t with(const std::function<void(EditedFile&)>& edit) const {
    const std::string path = folder_.file("edited.gguf");
    write_edited(model_.path(), path, edit);
    return fingerprint(path);
  }

  static SynthOptions options() {
    SynthOptions options;
    options.dtype = DType::kF16;
    return options;
  }

  TempFolder folder_;
  SynthModel model_{options()};
  std::uint64_t own_;
};

TEST_F(ModelFingerprint, IsThatOfEveryCopy) {
  EXPECT_EQ(with([](EditedFile&) {}), own_);
  EXPECT_EQ(with([](EditedFile& file) {
              file.set("general.name", {gguf::ValueType::kString, std::string("another")});
            }),
            own_);
}

TEST_F(ModelFingerprint, DoesNotDependOnByteOrder) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    SynthOptions options;
    options.dtype = dtype;
    const SynthModel model(options);
    const std::string bytes = read_file(model.path());
    const std::string big =
        folder_.write("big.gguf", to_big_endian(std::as_bytes(std::span(bytes))));
    EXPECT_EQ(fingerprint(big), fingerprint(model.path())) << to_string(dtype);
  }
}

TEST_F(ModelFingerprint, ChangesWithANumberOfTheArchitecture) {
  EXPECT_NE(with([](EditedFile& file) {
              file.set("llama.rope.freq_base", {gguf::ValueType::kF32, 12345.0});
            }),
            own_);
}

TEST_F(ModelFingerprint, ChangesWithAToken) {
  const auto file = gguf::File::open(model_.path());
  const auto tokens = file->get_array("tokenizer.ggml.tokens", gguf::ValueType::kString);
  ASSERT_TRUE(tokens);
  gguf::Array changed = **tokens;
  changed.strings[300] = "changed";
  EXPECT_NE(with([&](EditedFile& edited) {
              edited.set("tokenizer.ggml.tokens",
                         {gguf::ValueType::kArray, std::make_shared<const gguf::Array>(changed)});
            }),
            own_);
}

TEST_F(ModelFingerprint, ChangesWithTheNameOrTheShapeOfATensor) {
  EXPECT_NE(with([](EditedFile& file) { file.tensors[3].name += "x"; }), own_);
  // 64 x 64 elements; the bytes stay.
  EXPECT_NE(with([](EditedFile& file) { file.reshape("blk.0.attn_q.weight", {32, 128}); }), own_);
}

TEST_F(ModelFingerprint, ChangesWithTheFirstMiddleAndLastWeights) {
  const std::string norm = "blk.0.attn_norm.weight";  // F32 [64]: all of it counts
  for (const std::size_t index : {0, 31, 63}) {
    EXPECT_NE(with([&](EditedFile& file) { file.set_element(norm, index, 0.25F); }), own_) << index;
  }
  const SynthModel f32;  // F32 [64, 512]
  const std::uint64_t own = fingerprint(f32.path());
  const std::string path = folder_.file("f32.gguf");
  for (const std::size_t index : {0, 63, 64 * 256, 64 * 512 - 64, 64 * 512 - 1}) {
    write_edited(f32.path(), path,
                 [&](EditedFile& file) { file.set_element("token_embd.weight", index, 0.25F); });
    EXPECT_NE(fingerprint(path), own) << index;
  }
}

TEST_F(ModelFingerprint, DiffersForAnotherSeed) {
  SynthOptions other = options();
  other.seed = 2;
  EXPECT_NE(fingerprint(SynthModel(other).path()), own_);
}

TEST_F(ModelFingerprint, NeedsAnArchitecture) {
  const std::string path = folder_.file("none.gguf");
  write_edited(model_.path(), path,
               [](EditedFile& file) { file.remove_key("general.architecture"); });
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file);
  const auto made = model_fingerprint(*file);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace shunt::test::engine_model_fingerprint_test

// Weights that are transcoded while a model is loaded: their bytes, the cost of that, and the
// messages about it. Devices, the CPU among them, exist only in this test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "engine/model_state.h"
#include "schedule/explain/transcode.h"
#include "support/models.h"
#include "support/test_device.h"
#include "tensor/formats/half.h"

namespace shunt::test::engine_transcode_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
SynthOptions two_layers(DType dtype) {
  SynthOptions options;
  options.vocabulary = 300;
  options.dtype = dtype;
  return options;
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
}

LoadOptions load_options(Transcode transcode = Transcode::kPrecise) {
  LoadOptions options;
  options.session.context = 64;
  options.session.batch = 16;
  options.memory_margin = 0;
  options.placement.transcode = transcode;
  return options;
}

std::shared_ptr<const Model> load(const std::string& path, std::vector<Device*> devices,
                                  const LoadOptions& options) {
  auto model = Model::load(path, devices, options);
  EXPECT_TRUE(model) << model.error().message();
  return model ? *model : nullptr;
}

/// The bytes of a weight where the model has it.
std::vector<std::byte> bytes_in_memory(const Model& model, const gguf::TensorInfo& info,
                                       std::size_t size) {
  const Address at = model.state()->weights.at(&info).address;
  std::vector<std::byte> bytes(size);
  EXPECT_TRUE(at.buffer->read(at.offset, bytes));
  return bytes;
}

TEST(ModelTranscode, WeightsAreF16OnTheDeviceAndUnchangedElsewhere) {
  const SynthModel file(two_layers(DType::kQ8_0));
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ8_0, DType::kF16}}});
  const auto model = load(file.path(), {&test, &host}, load_options());
  ASSERT_TRUE(model);
  const auto held = model->state();
  const ModelState& state = *held;
  // Seven matrices a layer, and the output; not the embedding, whose rows the CPU picks.
  EXPECT_EQ(model->transcoded().size(), 2U * 7 + 1);
  std::size_t checked = 0;
  for (const gguf::TensorInfo& info : state.file.tensors()) {
    const bool other = state.weights.at(&info).transcoded.has_value();
    EXPECT_EQ(other, state.weights.at(&info).home == 0) << info.name;
    if (!other) {
      const auto bytes = bytes_of(state.file, info);
      EXPECT_EQ(bytes_in_memory(*model, info, bytes.size()), bytes);
      continue;
    }
    const std::vector<float> values = values_of(state.file, info);
    const auto bytes = bytes_in_memory(*model, info, values.size() * 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + 2 * i, 2);
      ASSERT_EQ(half, formats::f32_to_f16(values[i])) << info.name << " " << i;
    }
    ++checked;
  }
  EXPECT_EQ(checked, 15U);
}

/// Rounds 32 values to Q8_0, by its definition.
void round_block(const float* from, float* to) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(from[i]));
  const float scale = formats::f16_to_f32(formats::f32_to_f16(largest / 127));
  for (int i = 0; i < 32; ++i)
    to[i] = largest == 0 ? 0 : scale * std::round(from[i] * (1 / (largest / 127)));
}

TEST(ModelTranscode, ReportsTheNormalizedMeanSquareError) {
  const SynthModel file(two_layers(DType::kF32));
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kF32, DType::kQ8_0}}});
  {
    const auto model = load(file.path(), {&test, &host}, load_options());
    ASSERT_TRUE(model);
    EXPECT_THAT(model->transcoded(), IsEmpty());  // that would be less precise
    EXPECT_EQ(test.allocated(), 0U);
  }
  std::vector<std::string> said;
  LoadOptions options = load_options(Transcode::kLossy);
  options.placement.fallback.log = [&](std::string_view line) { said.emplace_back(line); };
  const auto model = load(file.path(), {&test, &host}, options);
  ASSERT_TRUE(model);
  double all_off = 0;
  double all_squares = 0;
  std::uint64_t before = 0;
  for (const TranscodedWeight& weight : model->transcoded()) {
    const gguf::TensorInfo* info = model->state()->file.find_tensor(weight.name);
    const std::vector<float> values = values_of(model->state()->file, *info);
    double off = 0;
    double squares = 0;
    for (std::size_t first = 0; first < values.size(); first += 32) {
      float rounded[32];
      round_block(&values[first], rounded);
      for (std::size_t i = 0; i < 32; ++i) {
        const double value = values[first + i];
        squares += value * value;
        off += (value - rounded[i]) * (value - rounded[i]);
      }
    }
    ASSERT_TRUE(weight.error);
    EXPECT_NEAR(weight.error->normalised(), off / squares, 1e-6 * off / squares) << weight.name;
    EXPECT_EQ(weight.bytes_before, values.size() * 4);
    EXPECT_EQ(weight.bytes, values.size() / 32 * 34);
    EXPECT_EQ(weight.device, "test0");
    all_off += off;
    all_squares += squares;
    before += weight.bytes_before;
  }
  const std::string line = fmt::format(
      "test0: 15 weights came as Q8_0 instead of F32: error {:.1e} (normalised mean square), {} "
      "less",
      all_off / all_squares, size_text(before - before / 128 * 34));
  EXPECT_THAT(said, Contains(line));
  EXPECT_THAT(model->notes(), Contains(line));
  EXPECT_GT(all_off, 0);
}

TEST(ModelTranscode, ProgressCountsTheBytesOfTheFile) {
  const SynthModel file(two_layers(DType::kQ4_0));
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ4_0, DType::kF32}}});
  std::uint64_t last = 0;
  std::uint64_t in_all = 0;
  LoadOptions options = load_options();
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
    in_all = total;
  };
  const auto model = load(file.path(), {&test, &host}, options);
  ASSERT_TRUE(model);
  EXPECT_EQ(in_all, model->info().weight_bytes);
  EXPECT_EQ(last, in_all);
  EXPECT_EQ(model->transcoded().size(), 16U);
}

TEST(ModelTranscode, MemoryFollowsTheTranscodedType) {
  const SynthModel file(two_layers(DType::kQ8_0));
  TestDevice host = cpu();
  std::uint64_t weights[2] = {};
  for (const bool wants : {false, true}) {
    TestDeviceConfig config;
    if (wants) config.wants_types[DType::kQ8_0] = DType::kF32;
    TestDevice test(config);
    const auto model = load(file.path(), {&test, &host}, load_options());
    ASSERT_TRUE(model);
    weights[wants] = model->ledger().bytes("test0", Purpose::kWeights);
  }
  EXPECT_GT(weights[1], 3 * weights[0]);
  // With any amount of memory, no more is taken than there is. Weights there have the wanted type.
  std::size_t last = 0;
  for (std::size_t memory = 50000; memory <= weights[1] + 200000; memory += 50000) {
    TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF32}}, .memory = memory});
    const auto model = load(file.path(), {&test, &host}, load_options());
    ASSERT_TRUE(model) << memory;
    const auto session = Session::create(model, load_options().session);
    ASSERT_TRUE(session) << memory << ": " << session.error().message();
    Ledger both = model->ledger();
    both.add((*session)->ledger());
    EXPECT_EQ(test.allocated(), both.allocated("test0"));
    EXPECT_EQ(both.allocated("test0"), model->predicted().allocated("test0")) << memory;
    EXPECT_GE(model->transcoded().size(), last);
    last = model->transcoded().size();
  }
  EXPECT_EQ(last, 16U);
}

TEST(ModelTranscode, PinnedLayerTooLargeAfterTranscodingIsOutOfMemory) {
  const SynthModel file(two_layers(DType::kQ8_0));
  TestDevice host = cpu();
  LoadOptions options = load_options();
  options.placement.pins = {{"blk\\.1\\..*", "test0"}};
  // A layer has 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 192 = 49152 values of its matrices.
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF32}}, .memory = 49152 * 3});
  Device* const devices[] = {&test, &host};
  const auto model = Model::load(file.path(), devices, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(model.error().message(), HasSubstr("test0 needs "));
  EXPECT_EQ(test.allocated(), 0U);
}

/// Makes the scales of a tensor's blocks as large as they can be.
void enlarge(const std::string& path, const std::string& name) {
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file);
  const gguf::TensorInfo* info = file->find_tensor(name);
  ASSERT_NE(info, nullptr);
  const auto start = file->data(*info).data() - file->part_bytes(info->part).data();
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(start);
  const unsigned char largest[] = {0xff, 0x7b};  // 65504
  stream.write(reinterpret_cast<const char*>(largest), 2);
  EXPECT_TRUE(stream.good());
}

TEST(ModelTranscode, WeightWithValuesOutOfRangeStaysAndIsReported) {
  const SynthModel file(two_layers(DType::kQ4_0));
  enlarge(file.path(), "blk.1.ffn_up.weight");  // up to 8 * 65504
  TestDevice host = cpu();
  TestDevice test({.ops = {"matmul"}, .wants_types = {{DType::kQ4_0, DType::kF16}}});
  std::uint64_t last = 0;
  std::uint64_t in_all = 0;
  LoadOptions options = load_options();
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    last = done;
    in_all = total;
  };
  const auto model = load(file.path(), {&test, &host}, options);
  ASSERT_TRUE(model);
  EXPECT_THAT(model->transcoded(), IsEmpty());
  EXPECT_EQ(test.allocated(), 0U);
  EXPECT_EQ(last, in_all);
  EXPECT_THAT(model->notes(),
              Contains(::testing::ContainsRegex(
                  "blk.1.ffn_up.weight has [0-9]+ values that F16 can't hold, so nothing was "
                  "transcoded")));
  const auto session = Session::create(model, options.session);
  ASSERT_TRUE(session);
  EXPECT_TRUE((*session)->append(std::vector<std::int32_t>{1, 2, 3}));

  options.placement.pins = {{"blk.1.ffn_up", "test0"}};
  Device* const devices[] = {&test, &host};
  const auto pinned = Model::load(file.path(), devices, options);
  ASSERT_FALSE(pinned);
  EXPECT_THAT(pinned.error().message(), HasSubstr("values that F16 can't hold"));
  EXPECT_THAT(pinned.error().message(), HasSubstr("the pin blk.1.ffn_up=test0 can't be applied"));
  EXPECT_EQ(test.allocated(), 0U);
}

TEST(ModelTranscode, DenyFailsIfTranscodingIsForbidden) {
  const SynthModel file(two_layers(DType::kQ8_0));
  TestDevice host = cpu();
  TestDevice test({.wants_types = {{DType::kQ8_0, DType::kF16}}});
  Device* const devices[] = {&test, &host};
  LoadOptions options = load_options();
  options.placement.fallback.mode = FallbackMode::kDeny;
  EXPECT_TRUE(Model::load(file.path(), devices, options));
  options.placement.transcode = Transcode::kNone;
  const auto denied = Model::load(file.path(), devices, options);
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().message(), HasSubstr("transcoding is off"));
}

// ---- one weight

TEST(TranscodeWeight, PiecesEqualAWholeConversion) {
  // More than a piece of 65536 elements, and no multiple of it.
  const std::int64_t n = 2 * 65536 + 96;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i)) * static_cast<float>(i % 100);
  std::vector<std::byte> from(values.size() * 4);
  trait(DType::kF32).encode(values.data(), from.data(), n);
  convert_byte_order(DType::kF32, std::endian::little, from);  // as in a file
  for (const DType to : {DType::kQ8_0, DType::kF16, DType::kBF16, DType::kF32}) {
    const std::size_t bytes =
        static_cast<std::size_t>(n / trait(to).block_elements) * trait(to).block_bytes;
    const auto buffer = *host_memory().allocate(bytes + 128);
    std::uint64_t done = 0;
    const auto error = transcode(from, DType::kF32, std::endian::little, {buffer.get(), 64}, to,
                                 [&](std::uint64_t b) { done += b; });
    ASSERT_TRUE(error) << error.error().message();
    EXPECT_EQ(done, from.size());
    std::vector<std::byte> expected(bytes);
    trait(to).encode(values.data(), expected.data(), n);
    std::vector<std::byte> written(bytes);
    ASSERT_TRUE(buffer->read(64, written));
    EXPECT_EQ(written, expected);
    EXPECT_EQ(error->squared_error == 0, to == DType::kF32);
    EXPECT_EQ(error->lost, 0U);
  }
}

TEST(TranscodeWeight, CountsValuesThatBecomeNonFiniteAsLost) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, infinity, 1e30F, -1e30F, std::nanf(""), 2};
  std::vector<std::byte> from(values.size() * 4);
  trait(DType::kF32).encode(values.data(), from.data(), 6);
  convert_byte_order(DType::kF32, std::endian::little, from);
  const auto buffer = *host_memory().allocate(64);
  const auto error = transcode(from, DType::kF32, std::endian::little, {buffer.get(), 0},
                               DType::kF16, [](std::uint64_t) {});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->lost, 2U);
  EXPECT_EQ(error->squares, 5);
  EXPECT_EQ(error->squared_error, 0);
}

TEST(TranscodeWeight, CountsValuesAboveTheBlockMaximumAsLost) {
  // 127 * 65504 is the largest of Q8_0.
  std::vector<float> values(32, 1.0F);
  values[3] = 8319008.0F;
  for (const float value : {8319008.0F, -8319009.0F, 1e30F}) {
    values[7] = value;
    std::vector<std::byte> from(values.size() * 4);
    trait(DType::kF32).encode(values.data(), from.data(), 32);
    convert_byte_order(DType::kF32, std::endian::little, from);
    const auto buffer = *host_memory().allocate(64);
    const auto error = transcode(from, DType::kF32, std::endian::little, {buffer.get(), 0},
                                 DType::kQ8_0, [](std::uint64_t) {});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->lost, value == 8319008.0F ? 0U : 1U) << value;
  }
}

TEST(TranscodeWeight, BufferTooSmallIsAnError) {
  const std::vector<std::byte> from(64 * 4);
  const auto buffer = *host_memory().allocate(64);
  EXPECT_FALSE(transcode(from, DType::kF32, std::endian::little, {buffer.get(), 0}, DType::kF16,
                         [](std::uint64_t) {}));
}

}  // namespace
}  // namespace shunt::test::engine_transcode_test

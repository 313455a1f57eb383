// A model split by rows among devices that exist only in this test: the bytes that each gets, where
// parts are, and that the text is that of one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <algorithm>
#include <bit>
#include <map>

#include "engine/model_state.h"
#include "engine/session/zeroed_caches.h"
#include "model/split.h"
#include "shunt/importance.h"
#include "shunt/verify_model.h"
#include "support/big_endian.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/shared.h"
#include "support/test_device.h"

namespace shunt::test::engine_split_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

TEST(Divide, IsProportionalWithAtLeastOneEach) {
  const auto parts = [](std::int64_t units, std::vector<std::int64_t> shares) {
    return divide(units, shares);
  };
  EXPECT_THAT(parts(4, {3, 1}), ElementsAre(3, 1));
  EXPECT_THAT(parts(4, {100, 1}), ElementsAre(3, 1));
  EXPECT_THAT(parts(4, {1, 100}), ElementsAre(1, 3));
  EXPECT_THAT(parts(10, {1, 1, 1}), ElementsAre(3, 4, 3));
  EXPECT_THAT(parts(3, {1000000, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(parts(5, {1, 1, 1000000, 1}), ElementsAre(1, 1, 2, 1));
  EXPECT_THAT(parts(std::int64_t{1} << 30, {1000000, 1000000}),
              ElementsAre(std::int64_t{1} << 29, std::int64_t{1} << 29));
}

/// Eight heads of eight in four groups.
SynthOptions noise(DType dtype = DType::kF32, bool tied = false) {
  SynthOptions options;
  options.heads = 8;
  options.kv_heads = 4;
  options.vocabulary = 300;
  options.dtype = dtype;
  options.tied = tied;
  return options;
}

LoadOptions rows(std::vector<std::int64_t> shares) {
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  options.placement.rules_only = true;
  options.split = {SplitMode::kRows, std::move(shares)};
  return options;
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
}

EngineRun run(const std::string& path, const std::vector<Device*>& devices,
              const LoadOptions& options) {
  auto made = run_engine(path, devices, options);
  if (!made) throw std::runtime_error(to_text(made.error()));
  return std::move(*made);
}

void expect_same(const EngineRun& a, const EngineRun& b) {
  ASSERT_FALSE(b.logits.empty());
  ASSERT_EQ(a.logits.size(), b.logits.size());
  for (std::size_t i = 0; i < a.logits.size(); ++i) EXPECT_NEAR(a.logits[i], b.logits[i], 1e-4);
  EXPECT_EQ(a.tokens, b.tokens);
}

EngineRun on_cpu(const std::string& path) {
  TestDevice host = cpu();
  LoadOptions options = rows({});
  options.split = {};
  EngineRun alone = run(path, {&host}, options);
  alone.session.reset();
  alone.model.reset();
  return alone;
}

StepGraph step_of(const ModelState& state, DType cache_type = DType::kF32) {
  return *state.definition->build({8, 1, 32, cache_type});
}

/// The weights of a step by name.
std::map<std::string, WeightLeaf> weights_of(const ModelState& state, const StepGraph& step) {
  std::map<std::string, WeightLeaf> weights;
  for (const WeightLeaf& weight : step.weights) {
    weights[step.graph.node(weight.leaf).name] = weight;
  }
  EXPECT_EQ(weights.size(), state.weights.homes().size());
  return weights;
}

TEST(Split, PartsAreOnTheirDevicesAndTheTextIsUnchanged) {
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    const SynthModel file(noise(dtype));
    TestDevice a({.name = "a"});
    TestDevice b({.name = "b"});
    TestDevice host = cpu();
    const EngineRun split = run(file.path(), {&a, &b, &host}, rows({3, 1}));
    expect_same(split, on_cpu(file.path()));
    const auto state = split.model->state();
    const StepGraph step = step_of(*state);
    std::size_t parts = 0;
    for (const WeightLeaf& weight : step.weights) {
      const std::string name = step.graph.node(weight.leaf).name;
      if (name.ends_with("/0") || name.ends_with("/1")) {
        EXPECT_EQ(state->weights.at(weight.info).home, name.ends_with("/1")) << name;
        ++parts;
      } else {
        EXPECT_EQ(weight.part_of, nullptr) << name;
      }
    }
    EXPECT_EQ(parts, 2U * (2 * 7 + 1));  // of two layers' matrices and the output
    ASSERT_EQ(step.caches.size(), 8U);
    for (std::size_t i = 0; i < step.caches.size(); ++i) {
      EXPECT_EQ(state->residency.caches[i], static_cast<int>(i % 2));
      // Of Q8_0, only two groups of heads are whole blocks of the matrix behind them.
      const std::int64_t size = dtype == DType::kQ8_0 ? 16 : i % 2 == 0 ? 24 : 8;
      EXPECT_EQ(step.graph.node(step.caches[i]).result.size(0), size);
    }
    Ledger all = split.model->ledger();
    all.add(split.session->ledger());
    EXPECT_THAT(all.in_buffers().rows,
                UnorderedElementsAreArray(split.model->predicted().in_buffers().rows));
    EXPECT_EQ(split.model->info().weights,
              Model::load(file.path(), std::vector<Device*>{&host}, {}).value()->info().weights);
    EXPECT_GT(a.computed(), 0U);
    EXPECT_GT(b.computed(), 0U);
  }
}

std::vector<std::byte> content(const ModelState& state, const WeightLeaf& weight) {
  const Address at = state.weights.at(weight.info).address;
  std::vector<std::byte> bytes(weight.info->bytes);
  EXPECT_TRUE(at.buffer->read(at.offset, bytes));
  return bytes;
}

/// Bytes [from, from + size) of each row of a matrix.
std::vector<std::byte> of_each_row(std::span<const std::byte> matrix, std::size_t row_bytes,
                                   std::size_t from, std::size_t size) {
  std::vector<std::byte> bytes;
  for (std::size_t at = from; at < matrix.size(); at += row_bytes) {
    bytes.insert(bytes.end(), matrix.begin() + at, matrix.begin() + at + size);
  }
  return bytes;
}

TEST(Split, PartsHoldTheirBytesOfTheFile) {
  SynthOptions shape = noise(DType::kQ8_0);
  shape.feed_forward = 192;
  const SynthModel file(shape);
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &b, &host}, rows({3, 1}));
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  const auto weights = weights_of(*state, step);
  const auto in_file = [&](const char* name) {
    const auto bytes = state->file.data(*state->file.find_tensor(name));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  // Q8_0 has 34 bytes for 32 numbers: 68 a row of 64.
  const std::vector<std::byte> keys = in_file("blk.1.attn_k.weight");
  ASSERT_EQ(keys.size(), 32U * 68);
  EXPECT_EQ(content(*state, weights.at("blk.1.attn_k.weight/0")),
            std::vector(keys.begin(), keys.begin() + 16 * 68));
  EXPECT_EQ(content(*state, weights.at("blk.1.attn_k.weight/1")),
            std::vector(keys.begin() + 16 * 68, keys.end()));
  // 192 columns are 6 blocks; 6 * 3 / 4 is rounded to 5.
  const std::vector<std::byte> down = in_file("blk.1.ffn_down.weight");
  ASSERT_EQ(down.size(), 64U * 6 * 34);
  EXPECT_EQ(content(*state, weights.at("blk.1.ffn_down.weight/0")),
            of_each_row(down, 6 * 34, 0, 5 * 34));
  EXPECT_EQ(content(*state, weights.at("blk.1.ffn_down.weight/1")),
            of_each_row(down, 6 * 34, 5 * 34, 34));
  // Its rows are those columns.
  EXPECT_EQ(weights.at("blk.1.ffn_up.weight/0").info->tensor.size(1), 160);
  EXPECT_EQ(weights.at("blk.1.ffn_gate.weight/1").info->tensor.size(1), 32);
  // The 16 columns of a group of heads are no whole blocks; those of two groups are.
  EXPECT_EQ(weights.at("blk.1.attn_output.weight/0").info->tensor.size(0), 32);
  EXPECT_EQ(weights.at("blk.1.attn_q.weight/0").info->tensor.size(1), 32);
}

/// Columns that have too few whole blocks for the shares: rows are split instead.
TEST(Split, SplitsByRowsIfColumnsHaveTooFewBlocks) {
  const SynthModel file(noise(DType::kQ8_0));
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice c({.name = "c"});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &b, &c, &host}, rows({1, 1, 2}));
  expect_same(split, on_cpu(file.path()));
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  const auto weights = weights_of(*state, step);
  const Tensor& mix = weights.at("blk.0.attn_output.weight/2").info->tensor;
  EXPECT_EQ(mix.size(0), 64);
  EXPECT_EQ(mix.size(1), 32);
  EXPECT_EQ(weights.at("blk.0.attn_k.weight/2").info->tensor.size(1), 16);
  EXPECT_EQ(step.caches.size(), 12U);
}

TEST(Split, TiedOutputIsSplitAndTheEmbeddingStaysWhole) {
  const SynthModel file(noise(DType::kF32, true));
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &b, &host}, rows({1, 1}));
  expect_same(split, on_cpu(file.path()));
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  const auto weights = weights_of(*state, step);
  EXPECT_EQ(weights.at("token_embd.weight").info->tensor.size(1), 300);
  EXPECT_EQ(weights.at("output.weight/0").info->tensor.size(1), 150);
  EXPECT_EQ(weights.at("output.weight/1").info->tensor.size(1), 150);
  EXPECT_EQ(split.model->info().weight_bytes, [&] {
    std::uint64_t bytes = 0;
    for (const gguf::TensorInfo& info : state->file.tensors()) bytes += info.bytes;
    return bytes;
  }());
}

TEST(Split, DefaultsToOneShareForEachAccelerator) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const auto parts = [&](const std::vector<Device*>& devices) {
    return run(file.path(), devices, rows({})).model->state()->part_devices.size();
  };
  EXPECT_EQ(parts({&a, &b, &host}), 2U);
  EXPECT_EQ(parts({&a, &host}), 0U);  // whole
  EXPECT_EQ(parts({&host}), 0U);
}

TEST(Split, UnsupportedNodesGoToOtherDevices) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b", .ops = {"matmul"}});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &b, &host}, rows({1, 1}));
  expect_same(split, on_cpu(file.path()));
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  EXPECT_EQ(state->weights.at(weights_of(*state, step).at("blk.0.ffn_up.weight/1").info).home, 1);
  for (const DeviceIndex home : state->residency.caches) EXPECT_EQ(home, 0);
}

TEST(Split, PartsWithoutRoomGoToOtherDevices) {
  const SynthModel file(noise());
  const EngineRun alone = on_cpu(file.path());
  // Half of each matrix of F32: queries and mix, keys and values, three of the feed-forward part.
  const std::uint64_t layer = 64 * (32 + 32 + 16 + 16 + 3 * 96);
  const std::uint64_t all = 4 * (2 * layer + 64 * 150);
  std::uint64_t before = 0;
  for (const std::size_t memory : {0, 20000, 60000, 100000, 200000, 1 << 20}) {
    SCOPED_TRACE(memory);
    TestDevice a({.name = "a"});
    TestDevice b({.name = "b", .memory = memory});
    TestDevice host = cpu();
    {
      const EngineRun split = run(file.path(), {&a, &b, &host}, rows({1, 1}));
      expect_same(split, alone);
      const auto state = split.model->state();
      std::uint64_t on_b = 0;
      for (const auto& [info, home] : state->weights.homes()) on_b += home == 1 ? info->bytes : 0;
      EXPECT_LE(on_b, memory);
      EXPECT_GE(on_b, before);
      before = on_b;
      // The parts of a layer go together, with 4096 bytes of caches: too much for 100000 bytes.
      EXPECT_EQ(on_b > 0, memory > 4 * layer + 4096) << on_b;
      EXPECT_EQ(on_b == all, all < memory) << on_b;
    }
    EXPECT_EQ(b.allocated(), 0U);
  }
}

TEST(Split, PartIsTranscodedForADeviceWithoutTheType) {
  const SynthModel file(noise(DType::kQ8_0));
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b", .wants_types = {{DType::kQ8_0, DType::kF32}}});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &b, &host}, rows({1, 1}));
  const auto transcoded = split.model->transcoded();
  ASSERT_EQ(transcoded.size(), 2U * 7 + 1);
  for (const TranscodedWeight& weight : transcoded) {
    EXPECT_EQ(weight.device, "b");
    EXPECT_TRUE(weight.name.ends_with("/1")) << weight.name;
  }
  expect_same(split, on_cpu(file.path()));  // F32 has all numbers of Q8_0
}

TEST(Split, ContinuesAfterTheLossOfADevice) {
  const SynthModel file(noise());
  const EngineRun alone = on_cpu(file.path());
  for (const std::size_t victim : {0, 1}) {
    SCOPED_TRACE(victim);
    TestDevice a({.name = "a"});
    TestDevice b({.name = "b"});
    TestDevice host = cpu();
    TestDevice& lost = victim == 0 ? a : b;
    TestDevice& kept = victim == 0 ? b : a;
    LoadOptions options = rows({1, 1});
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    lost.fail_at({.launch = 60, .for_good = true});
    const EngineRun split = run(file.path(), {&a, &b, &host}, options);
    expect_same(split, alone);
    EXPECT_TRUE(lost.has_failed());
    const auto state = split.model->state();
    EXPECT_THAT(std::vector<const Device*>(state->devices.begin(), state->devices.end()),
                ElementsAre(&kept, &host));
    EXPECT_THAT(split.model->notes(),
                Contains(HasSubstr(std::string(lost.name()) + " failed and is left out")));
    const StepGraph step = step_of(*state);
    for (const auto& [name, weight] : weights_of(*state, step)) {
      if (weight.part_of == nullptr) continue;
      EXPECT_EQ(state->weights.at(weight.info).home, 0) << name;
    }
  }
}

/// A session may have another type of cache than the loader was given, and then another number of
/// caches: parts of 24 and 8 elements are not whole blocks of Q8_0.
TEST(Split, SessionCacheTypeMayBeSplitOtherwiseThanAtLoad) {
  const SynthModel file(noise());
  struct Row {
    DType type;
    std::size_t caches;
  };
  const Row rows_of[] = {{DType::kF32, 8}, {DType::kQ8_0, 4}};
  const std::vector<std::int32_t> prompt = {1, 20, 30, 40, 50};
  std::map<DType, std::uint64_t> caches_of_b;  // by type in use: it is all that counts
  for (const Row& loaded : rows_of) {
    for (const Row& used : rows_of) {
      SCOPED_TRACE(fmt::format("{}, then {}", to_string(loaded.type), to_string(used.type)));
      const auto logits = [&](const std::vector<Device*>& devices, LoadOptions options) {
        options.session.cache_type = loaded.type;
        const auto model = Model::load(file.path(), devices, options);
        if (!model) throw std::runtime_error(to_text(model.error()));
        EXPECT_EQ((*model)->state()->residency.caches.size(),
                  devices.size() == 1 ? 4 : loaded.caches);
        SessionOptions wanted = small_session();
        wanted.cache_type = used.type;
        const auto session = Session::create(*model, wanted);
        if (!session) throw std::runtime_error(to_text(session.error()));
        const auto made = (*session)->append(prompt);
        if (!made) throw std::runtime_error(to_text(made.error()));
        if (devices.size() > 1) {
          const std::uint64_t on_b = (*session)->ledger().bytes("b", Purpose::kCache);
          EXPECT_EQ(on_b, caches_of_b.try_emplace(used.type, on_b).first->second);
        }
        return std::vector<float>(made->begin(), made->end());
      };
      TestDevice a({.name = "a"});
      TestDevice b({.name = "b"});
      TestDevice host = cpu();
      const std::vector<float> split = logits({&a, &b, &host}, rows({3, 1}));
      LoadOptions whole = rows({});
      whole.split = {};
      const std::vector<float> alone = logits({&host}, whole);
      ASSERT_EQ(split.size(), alone.size());
      const double tolerance = used.type == DType::kF32 ? 1e-4 : 1e-2;
      for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(split[i], alone[i], tolerance);
    }
  }
  EXPECT_EQ(caches_of_b.at(DType::kF32), 4U * 8 * 32 * 4);  // of 8 elements in 32 rows
}

TEST(Split, VerifyUsesTheCacheTypeOfTheLoader) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  LoadOptions options = rows({3, 1});
  options.session.cache_type = DType::kQ8_0;
  const auto model = Model::load(file.path(), std::vector<Device*>{&a, &b, &host}, options);
  ASSERT_TRUE(model) << to_text(model.error());
  const std::vector<std::int32_t> prompt = {1, 20, 30};
  const auto steps = verify(**model, b, prompt);
  ASSERT_TRUE(steps) << to_text(steps.error());
  EXPECT_EQ(steps->size(), 2U);
  const auto state = (*model)->state();
  const StepGraph other = step_of(*state, DType::kF32);
  const auto caches = zeroed_caches(*state, other.graph, other.caches);
  ASSERT_FALSE(caches);
  EXPECT_EQ(caches.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(caches.error().message(), HasSubstr("has 8 caches, but the model was loaded for 4"));
}

TEST(Split, PinsOfWholeWeightsAndCachesApplyToTheirParts) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  LoadOptions options = rows({1, 1});
  options.placement.pins = {{"blk\\.0\\.attn_q\\.weight", "b"},
                            {"blk\\.1\\.attn_q\\.weight/1", "a"},
                            {"blk\\.1\\.attn_q\\.weight", "b"},
                            {"keys of layer 0", "b"}};
  const EngineRun split = run(file.path(), {&a, &b, &host}, options);
  expect_same(split, on_cpu(file.path()));
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  const auto weights = weights_of(*state, step);
  const auto home = [&](const char* name) { return state->weights.at(weights.at(name).info).home; };
  EXPECT_EQ(home("blk.0.attn_q.weight/0"), 1);
  EXPECT_EQ(home("blk.0.attn_q.weight/1"), 1);
  EXPECT_EQ(home("blk.1.attn_q.weight/0"), 1);
  EXPECT_EQ(home("blk.1.attn_q.weight/1"), 0);  // the first pin that matches counts
  EXPECT_EQ(home("blk.0.attn_k.weight/0"), 0);  // none matches
  ASSERT_EQ(step.caches.size(), 8U);
  std::size_t keys = 0;
  for (std::size_t i = 0; i < step.caches.size(); ++i) {
    const std::string& name = step.graph.node(step.caches[i]).name;
    const bool pinned = name.starts_with("keys of layer 0/");
    keys += pinned ? 1 : 0;
    EXPECT_EQ(state->residency.caches[i], pinned || name.ends_with("/1")) << name;
  }
  EXPECT_EQ(keys, 2U);
  const auto placed = state->place_step(std::make_shared<const StepGraph>(step),
                                        state->memory_of(step), state->devices);
  ASSERT_TRUE(placed) << to_text(placed.error());
  EXPECT_THAT(placed->notes, IsEmpty());
}

/// The biases of queries, keys and values are split with the rows that they are added to.
TEST(Split, BiasesAreSplitWithTheirRows) {
  const SynthModel plain(noise());
  const std::string path = plain.folder().file("biased.gguf");
  write_edited(plain.path(), path, [](EditedFile& edited) {
    const auto norm = std::ranges::find(edited.tensors, "blk.0.attn_norm.weight",
                                        &EditedFile::EditedTensor::name);
    ASSERT_NE(norm, edited.tensors.end());
    const gguf::TensorInfo* const from = norm->from;
    const std::pair<const char*, std::int64_t> biases[] = {
        {"attn_q", 64}, {"attn_k", 32}, {"attn_v", 32}};
    for (int layer = 0; layer < 2; ++layer) {
      for (const auto& [name, size] : biases) {
        EditedFile::EditedTensor bias{fmt::format("blk.{}.{}.bias", layer, name),
                                      *make_tensor(DType::kF32, {size}), from};
        for (std::int64_t i = 0; i < size; ++i) {
          bias.elements.emplace_back(static_cast<std::size_t>(i),
                                     0.03f * static_cast<float>((i * 7 + layer) % 32));
        }
        edited.tensors.push_back(std::move(bias));
      }
    }
  });
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const EngineRun split = run(path, {&a, &b, &host}, rows({3, 1}));
  expect_same(split, on_cpu(path));
  EXPECT_NE(split.logits, on_cpu(plain.path()).logits);
  const auto state = split.model->state();
  const StepGraph step = step_of(*state);
  const auto weights = weights_of(*state, step);
  const auto bytes = state->file.data(*state->file.find_tensor("blk.1.attn_k.bias"));
  const std::vector<std::byte> bias(bytes.begin(), bytes.end());
  if (std::endian::native == std::endian::little) {
    EXPECT_EQ(content(*state, weights.at("blk.1.attn_k.bias/0")),
              std::vector(bias.begin(), bias.begin() + 24 * 4));
    EXPECT_EQ(content(*state, weights.at("blk.1.attn_k.bias/1")),
              std::vector(bias.begin() + 24 * 4, bias.end()));
  }
  EXPECT_EQ(state->weights.at(weights.at("blk.1.attn_k.bias/1").info).home, 1);
  EXPECT_EQ(weights.at("blk.0.attn_q.bias/0").info->tensor.size(0), 48);
  EXPECT_EQ(step.caches.size(), 8U);  // whose rows stay apart
}

TEST(Split, ByteOrderOfTheFileDoesNotMatter) {
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    const SynthModel file(noise(dtype));
    const std::string bytes = read_file(file.path());
    const std::string big =
        file.folder().write("big.gguf", to_big_endian(std::as_bytes(std::span(bytes))));
    TestDevice a({.name = "a"});
    TestDevice b({.name = "b"});
    TestDevice host = cpu();
    std::vector<EngineRun> runs;
    for (const std::string& path : {file.path(), big}) {
      runs.push_back(run(path, {&a, &b, &host}, rows({3, 1})));
    }
    expect_same(runs[0], runs[1]);
    const auto little_state = runs[0].model->state();
    const auto big_state = runs[1].model->state();
    const StepGraph little_step = step_of(*little_state);
    const StepGraph big_step = step_of(*big_state);
    const auto in_little = weights_of(*little_state, little_step);
    const auto in_big = weights_of(*big_state, big_step);
    for (const char* name : {"blk.0.ffn_down.weight/0", "blk.1.ffn_down.weight/1",
                             "blk.1.attn_output.weight/1", "blk.0.attn_k.weight/1"}) {
      EXPECT_EQ(content(*little_state, in_little.at(name)), content(*big_state, in_big.at(name)))
          << name;
    }
    EXPECT_FALSE(is_contiguous(in_big.at("blk.0.ffn_down.weight/0").info->tensor));
    EXPECT_NE(in_big.at("blk.0.ffn_down.weight/0").info->order,
              in_little.at("blk.0.ffn_down.weight/0").info->order);
  }
}

TEST(Split, RejectsInvalidShares) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const std::vector<Device*> devices = {&a, &b, &host};
  const auto refusal = [&](const LoadOptions& options) {
    const auto model = Model::load(file.path(), devices, options);
    EXPECT_FALSE(model);
    if (model) return std::string();
    EXPECT_EQ(model.error().code(), ErrorCode::kInvalidArgument);
    return model.error().message();
  };
  EXPECT_THAT(refusal(rows({1, 0})), HasSubstr("a share is 0; it must be from 1 to 1000000"));
  EXPECT_THAT(refusal(rows({-3})), HasSubstr("a share is -3"));
  EXPECT_THAT(refusal(rows({1000001, 1})), HasSubstr("a share is 1000001"));
  EXPECT_THAT(refusal(rows(std::vector<std::int64_t>(101, 1))),
              HasSubstr("there are 101 shares, but 3 devices: a, b, cpu0"));
  EXPECT_THAT(refusal(rows({3})), HasSubstr("one share splits nothing; give one for each device"));
  LoadOptions cpu_first = rows({3, 1});
  cpu_first.devices = {"cpu0", "a"};
  EXPECT_THAT(refusal(cpu_first), HasSubstr("cpu0 is always the last device: name it last"));
  LoadOptions by_layers = rows({3, 1});
  by_layers.split.mode = SplitMode::kLayers;
  EXPECT_THAT(refusal(by_layers), HasSubstr("shares are for a model that is split by rows"));
  EXPECT_EQ(a.allocations() + b.allocations(), 0U);
}

TEST(Split, CpuMayBeNamedFirstOnlyWithoutShares) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const auto loads = [&](std::vector<std::string> names, std::vector<std::int64_t> shares) {
    LoadOptions options = rows(std::move(shares));
    options.devices = std::move(names);
    return Model::load(file.path(), std::vector<Device*>{&a, &b, &host}, options).has_value();
  };
  EXPECT_TRUE(loads({"cpu0", "a", "b"}, {}));
  EXPECT_TRUE(loads({"a", "b", "cpu0"}, {3, 1}));
  EXPECT_TRUE(loads({"a", "b"}, {3, 1}));
  EXPECT_FALSE(loads({"a", "cpu0", "b"}, {3, 1}));
}

/// An architecture of one group of one vector.
class OneVector final : public ModelDefinition {
 public:
  OneVector() { info_.tensor = *make_tensor(DType::kQ8_0, {64}); }
  const ModelShape& shape() const override { return shape_; }
  Result<StepGraph> build(const StepShape&) const override { return StepGraph(); }
  Result<LossGraph> build_loss(GraphBuilder&, const LossShape&) const override {
    return LossGraph();
  }
  const std::set<std::string>& keys() const override { return keys_; }
  std::vector<ModelWeight> weights() const override { return {}; }
  std::shared_ptr<const ModelDefinition> with_output_apart() const override { return nullptr; }
  std::vector<SplitGroup> split_groups() const override {
    return {{"v", "rows", 64, {{&info_, 0}}}};
  }

 private:
  std::set<std::string> keys_;
  ModelShape shape_;
  gguf::TensorInfo info_;
};

/// 64 elements of Q8_0 are two blocks.
TEST(Split, RejectsMoreSharesThanBlocksOfAVector) {
  const auto model = std::make_shared<const OneVector>();
  const std::int64_t two[] = {1, 1};
  EXPECT_TRUE(split_model(model, two));
  const std::int64_t three[] = {1, 1, 1};
  const auto split = split_model(model, three);
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(split.error().message(), HasSubstr("v has 2 pieces of whole blocks, which can't be "
                                                 "split among 3 devices"));
}

TEST(Split, RejectsMoreSharesThanKvHeads) {
  SynthOptions shape = noise();
  shape.kv_heads = 2;
  const SynthModel file(shape);
  TestDevice a({.name = "a"});
  TestDevice b({.name = "b"});
  TestDevice host = cpu();
  const auto model = Model::load(file.path(), std::vector<Device*>{&a, &b, &host}, rows({1, 1, 1}));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(model.error().message(),
              AllOf(HasSubstr("layer 0, attention has 2 heads of keys and values"),
                    HasSubstr("among 3 devices")));
}

TEST(Split, ImportanceMatrixRejectsASplitModel) {
  const SynthModel file(noise());
  TestDevice a({.name = "a"});
  TestDevice host = cpu();
  const EngineRun split = run(file.path(), {&a, &host}, rows({1, 1}));
  const std::vector<std::int32_t> tokens(64, 1);
  const auto matrix = gather_importance(*split.model, tokens, {});
  ASSERT_FALSE(matrix);
  EXPECT_THAT(matrix.error().message(), HasSubstr("split by rows"));
}

}  // namespace
}  // namespace shunt::test::engine_split_test

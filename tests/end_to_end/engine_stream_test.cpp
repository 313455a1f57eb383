// A model of which a part does not fit on a device: weights of that part are sent there for
// prompts, and used by the CPU for single tokens. The CPU is the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/load/pin_weights.h"
#include "engine/load/recover.h"
#include "engine/load/session_steps.h"
#include "engine/model_state.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_stream_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kLayers = 4;
constexpr std::size_t kProducts = 7;  // of a layer: q, k, v, output, gate, up, down
// The last three of the last layer are needed for the last token only: one row.
constexpr std::size_t kOfManyRows = kLayers * kProducts - 3;

class EngineStream : public ::testing::Test {
 protected:
  EngineStream() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
    for (std::int32_t i = 0; i < 40; ++i) prompt_.push_back(i == 0 ? 1 : 20 + 3 * i);
  }

  static SynthOptions shape() {
    SynthOptions options;
    options.layers = kLayers;
    options.width = 64;
    options.feed_forward = 192;
    options.vocabulary = 300;
    return options;
  }
  static LoadOptions options(std::int64_t stream_rows) {
    LoadOptions options;
    options.session.context = 64;
    options.session.batch = 40;
    options.session.cache_type = DType::kF32;
    options.memory_margin = 0;
    options.placement.stream_rows = stream_rows;
    options.placement.rules_only = true;  // costs would leave so small a model to the CPU
    return options;
  }
  static TestDeviceConfig half_a_model() {
    return {.ops = {"matmul"}, .wants = {"matmul"}, .memory = 500000};
  }

  /// The same with `bytes` of host memory that it can pin.
  static TestDeviceConfig pinning(std::size_t bytes = std::size_t{1} << 30) {
    TestDeviceConfig config = half_a_model();
    config.pins_host = bytes;
    return config;
  }

  Result<std::shared_ptr<const Model>> try_load(TestDevice& device, std::int64_t stream_rows = 32) {
    return Model::load(file_.path(), std::vector<Device*>{&device, cpu_}, options(stream_rows));
  }
  /// Null if it failed, which is a failure of the test.
  std::shared_ptr<const Model> load(TestDevice& device, std::int64_t stream_rows = 32) {
    auto model = try_load(device, stream_rows);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }

  /// The nodes that a device computed in a step, and the bytes that it got from the host.
  struct Work {
    std::size_t nodes = 0;
    std::size_t bytes = 0;
  };
  struct Outcome {
    std::int64_t layers = 0;  ///< whose weights are on the device
    std::uint64_t rest = 0;   ///< bytes of the other layers' matrices, without the last one's
    Work prompt, few, single;
    std::vector<float> logits;  ///< after each of the three
    std::vector<std::string> notes;
  };

  Outcome run(TestDevice* device, std::int64_t stream_rows = 32) {
    Outcome outcome;
    std::vector<Device*> devices = {cpu_};
    if (device != nullptr) devices.insert(devices.begin(), device);
    const auto model = Model::load(file_.path(), devices, options(stream_rows));
    EXPECT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, options(stream_rows).session);
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return outcome;
    const auto step = [&](std::span<const std::int32_t> tokens) {
      const Work before = device == nullptr ? Work() : Work{device->computed(), device->received()};
      const auto logits = (*session)->append(tokens);
      EXPECT_TRUE(logits) << logits.error().message();
      if (!logits) return Work();
      outcome.logits.insert(outcome.logits.end(), logits->begin(), logits->end());
      if (device == nullptr) return Work();
      return Work{device->computed() - before.nodes, device->received() - before.bytes};
    };
    outcome.prompt = step(prompt_);
    outcome.few = step(std::span(prompt_).subspan(1, 3));
    outcome.single = step(std::span(prompt_).subspan(4, 1));
    outcome.notes = (*model)->notes();
    if (device == nullptr) return outcome;
    std::set<std::int64_t> here;
    const auto graph = (*model)->state()->definition->build({1, 1, 1, DType::kF32});
    for (const WeightLeaf& weight : graph->weights) {
      if (weight.layer < 0 || weight.info->tensor.shape[1].max == 1) continue;
      if ((*model)->state()->weights.at(weight.info).home == 0) {
        here.insert(weight.layer);
      } else if (weight.layer + 1 < kLayers) {
        outcome.rest += weight.info->bytes;
      }
    }
    outcome.layers = static_cast<std::int64_t>(here.size());
    return outcome;
  }

  static void expect_logits(const Outcome& got, const Outcome& expected) {
    ASSERT_FALSE(expected.logits.empty());
    EXPECT_THAT(got.logits, ::testing::Pointwise(::testing::FloatNear(1e-3F), expected.logits));
  }

  SynthModel file_{shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::vector<std::int32_t> prompt_;
};

TEST_F(EngineStream, PromptsStreamWeightsWithoutRoomAndSingleTokensDoNot) {
  const Outcome alone = run(nullptr);
  TestDevice device(half_a_model());
  const Outcome got = run(&device);
  ASSERT_GT(got.layers, 0);
  ASSERT_LT(got.layers, kLayers);
  EXPECT_EQ(got.prompt.nodes, kOfManyRows);
  EXPECT_GT(got.prompt.bytes, got.rest);
  for (const Work& work : {got.few, got.single}) {
    EXPECT_EQ(work.nodes, static_cast<std::size_t>(got.layers) * kProducts);
    EXPECT_LT(work.bytes, got.rest / 10);
  }
  EXPECT_THAT(got.notes, Contains(HasSubstr("for streamed weights")));
  expect_logits(got, alone);
}

TEST_F(EngineStream, StreamRowsZeroDisablesStreaming) {
  TestDevice device(half_a_model());
  const Outcome got = run(&device, 0);
  EXPECT_EQ(got.prompt.nodes, got.single.nodes);
  EXPECT_LT(got.prompt.bytes, got.rest);
  EXPECT_THAT(got.notes, ::testing::Not(Contains(HasSubstr("streamed weights"))));
}

/// Weights that steps send are pinned in the mapped file for the lifetime of the model.
TEST_F(EngineStream, StreamedWeightsOfTheMappedFileArePinned) {
  TestDevice device(pinning());
  {
    const auto model = load(device);
    ASSERT_NE(model, nullptr);
    const ModelState& state = *model->state();
    // Matrices of layers that are on the CPU, and no embeddings: these are too few rows. So are
    // those of the last feed-forward part, which sees one token.
    std::uint64_t streamed = 0;
    const std::string of_one_row = "blk." + std::to_string(kLayers - 1) + ".ffn_";
    const auto graph = state.definition->build({40, 1, 64, DType::kF32});
    ASSERT_TRUE(graph);
    for (const WeightLeaf& weight : graph->weights) {
      const bool matrix = weight.info->tensor.shape[1].max > 1;
      if (weight.info->name.starts_with(of_one_row)) continue;
      if (weight.layer >= 0 && matrix && state.weights.at(weight.info).home == 1) {
        streamed += weight.info->bytes;
      }
    }
    ASSERT_GT(streamed, 0U);
    EXPECT_LE(device.host_pinned(), streamed + 4096 * graph->weights.size());
    EXPECT_GE(device.host_pinned(), streamed);
    EXPECT_THAT(model->notes(), Contains(HasSubstr("test0: ")));
    EXPECT_THAT(model->notes(), Contains(HasSubstr("of weights in host memory are pinned")));
  }
  EXPECT_EQ(device.host_pinned(), 0U);
}

TEST_F(EngineStream, WeightsThatCannotBePinnedAreStillStreamed) {
  const Outcome alone = run(nullptr);
  TestDevice device(pinning(20000));  // less than the weights
  const Outcome got = run(&device);
  EXPECT_EQ(got.prompt.nodes, kOfManyRows);
  EXPECT_THAT(got.notes, Contains(::testing::AllOf(HasSubstr("are not pinned"),
                                                   HasSubstr("test0 can't pin"))));
  EXPECT_EQ(device.host_pinned(), 0U) << "all or none";
  expect_logits(got, alone);
}

/// At most half of the memory that is left is pinned.
TEST_F(EngineStream, PinsAtMostHalfOfTheAvailableMemory) {
  TestDevice device(pinning());
  const auto model = load(device);
  ASSERT_NE(model, nullptr);
  const std::size_t pinned = device.host_pinned();
  ASSERT_GT(pinned, 0U);
  const auto steps = session_steps(model->state()->session);
  const auto pin_with = [&](std::optional<std::uint64_t> available) {
    ModelState state(*model->state());
    state.weights.pinned.clear();
    state.notes.clear();
    pin_streamed_weights(state, steps, available);
    EXPECT_EQ(state.notes.size(), 1U);
    return std::pair(device.host_pinned() - pinned, state.notes.empty() ? "" : state.notes[0]);
  };
  EXPECT_EQ(pin_with(std::nullopt).first, pinned);
  EXPECT_EQ(pin_with(2 * pinned).first, pinned);
  for (const std::uint64_t available : {2 * pinned - 1, std::size_t{1}, std::size_t{0}}) {
    const auto [bytes, note] = pin_with(available);
    EXPECT_EQ(bytes, 0U) << available;
    EXPECT_THAT(note, ::testing::AllOf(HasSubstr("are not pinned"),
                                       HasSubstr("half of the available memory")));
  }
  // Those that are pinned already need no more.
  ModelState state(*model->state());
  pin_streamed_weights(state, steps, 0);
  EXPECT_EQ(state.weights.pinned.size(), model->state()->weights.pinned.size());
  EXPECT_EQ(state.notes, model->state()->notes);
  EXPECT_EQ(device.host_pinned(), pinned);
}

/// The limit is no note for a device that can not pin.
TEST_F(EngineStream, DeviceWithoutPinningHasNoNoteAboutTheMemoryLimit) {
  TestDevice device(half_a_model());
  const auto model = load(device);
  ASSERT_NE(model, nullptr);
  ModelState state(*model->state());
  pin_streamed_weights(state, session_steps(state.session), 0);
  EXPECT_EQ(state.notes, model->state()->notes);
  EXPECT_TRUE(state.weights.pinned.empty());
}

/// A device that can pin just the bytes that it is sent keeps them while another one is left out.
TEST_F(EngineStream, WeightsStayPinnedWhenAnotherDeviceIsDropped) {
  std::size_t bytes = std::size_t{1} << 30;
  for (const bool tight : {false, true}) {
    TestDevice device(pinning(bytes));
    TestDevice other({.name = "test1", .ops = {"none of a step"}, .memory = 4096});
    LoadOptions all = options(32);
    all.on_device_error.mode = DeviceErrorMode::kFallback;
    {
      auto model = Model::load(file_.path(), std::vector<Device*>{&device, &other, cpu_}, all);
      ASSERT_TRUE(model) << model.error().message();
      bytes = device.host_pinned();
      ASSERT_GT(bytes, 0U);
      CurrentState current((*model)->state());
      model->reset();
      const Status left_out = current.leave_out(
          *current.get(), Error(ErrorCode::kDevice, "it is gone").with_device("test1"));
      ASSERT_TRUE(left_out) << left_out.error().message();
      ASSERT_EQ(current.get()->devices.size(), 2U);
      EXPECT_EQ(device.host_pinned(), bytes) << "tight: " << tight;
      EXPECT_FALSE(current.get()->weights.pinned.empty());
      EXPECT_THAT(current.get()->notes, ::testing::Not(Contains(HasSubstr("not pinned"))));
    }
    EXPECT_EQ(device.host_pinned(), 0U);
  }
}

/// A prompt has 40 tokens of 300: their rows of the embedding are sent, and no others. As these are
/// other rows in each prompt, the embedding is not pinned.
TEST_F(EngineStream, WeightWithOnlySomeRowsStreamedIsNotPinned) {
  const std::size_t row = 64 * sizeof(float);
  TestDevice device(
      {.ops = {"get_rows"}, .wants = {"get_rows"}, .pins_host = std::size_t{1} << 30});
  LoadOptions all = options(32);
  all.placement.pins = {{"token_embd\\.weight", "cpu0"}};
  const auto model = Model::load(file_.path(), std::vector<Device*>{&device, cpu_}, all);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(device.host_pinned(), 0U);
  EXPECT_THAT((*model)->notes(), ::testing::Not(Contains(HasSubstr("pinned"))));
  const auto session = Session::create(*model, all.session);
  ASSERT_TRUE(session) << session.error().message();
  ASSERT_TRUE((*session)->append(prompt_));
  EXPECT_GE(device.received(), 40 * row);
  EXPECT_LT(device.received(), 80 * row);
}

TEST_F(EngineStream, PinsNothingIfNothingIsStreamed) {
  TestDevice device(pinning());
  const auto model = load(device, 0);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(device.host_pinned(), 0U);
  EXPECT_THAT(model->notes(), ::testing::Not(Contains(HasSubstr("pinned"))));
}

/// Attention on a device reads caches that a pin keeps on the CPU: steps copy them to it.
class StreamedCaches : public EngineStream {
 protected:
  static TestDeviceConfig config(std::optional<std::size_t> pins_host) {
    return {.pins_host = pins_host};
  }
  struct Run {
    std::size_t pinned = 0;  ///< bytes of host memory, while there is a session
    std::vector<std::string> notes;
    std::vector<float> logits;
  };
  Run run(TestDevice& device, const char* home) {
    LoadOptions all = options(32);
    all.placement.pins = {{"(keys|values) of layer .*", home}};
    Run result;
    const auto model = Model::load(file_.path(), std::vector<Device*>{&device, cpu_}, all);
    EXPECT_TRUE(model) << model.error().message();
    if (!model) return result;
    EXPECT_EQ(device.host_pinned(), 0U) << "by loading";
    {
      const auto session = Session::create(*model, all.session);
      EXPECT_TRUE(session) << session.error().message();
      if (!session) return result;
      for (const std::size_t tokens : {40U, 3U, 1U}) {
        const auto logits = (*session)->append(std::span(prompt_).first(tokens));
        EXPECT_TRUE(logits) << logits.error().message();
        if (logits) result.logits.insert(result.logits.end(), logits->begin(), logits->end());
      }
      result.notes = (*session)->notes();
      result.pinned = device.host_pinned();
    }
    EXPECT_EQ(device.host_pinned(), 0U) << "after the session";
    return result;
  }
  /// Keys and values of the synthetic model: 64 rows of 32 numbers in each layer.
  static constexpr std::size_t kBytes = 2 * kLayers * 64 * 32 * sizeof(float);
};

TEST_F(StreamedCaches, ArePinnedOncePerSession) {
  TestDevice device(config(kBytes));
  const Run got = run(device, "cpu0");
  EXPECT_EQ(got.pinned, kBytes);
  const auto about_pins = std::ranges::count_if(
      got.notes, [](const std::string& note) { return note.find("pinned") != note.npos; });
  EXPECT_EQ(about_pins, 1);
  EXPECT_THAT(got.notes, Contains("test0: 64.0 KiB of caches in host memory are pinned, because "
                                  "steps copy them to the device"));
}

TEST_F(StreamedCaches, MayStayPageableIfPinningFails) {
  TestDevice can(config(kBytes));
  const Run wanted = run(can, "cpu0");
  TestDevice too_little(config(kBytes - 1));
  const Run refused = run(too_little, "cpu0");
  EXPECT_EQ(refused.pinned, 0U);
  EXPECT_EQ(refused.logits, wanted.logits);
  EXPECT_THAT(refused.notes,
              Contains(::testing::AllOf(HasSubstr("64.0 KiB of caches in host memory are not "
                                                  "pinned"),
                                        HasSubstr("test0 can't pin"))));
  TestDevice can_not(config(std::nullopt));
  const Run without = run(can_not, "cpu0");
  EXPECT_EQ(without.logits, wanted.logits);
  EXPECT_THAT(without.notes, ::testing::Not(Contains(HasSubstr("pinned"))));
}

TEST_F(StreamedCaches, AreNotPinnedIfTheyAreOnTheDevice) {
  TestDevice device(config(kBytes));
  const Run got = run(device, "test0");
  EXPECT_EQ(got.pinned, 0U);
  EXPECT_THAT(got.notes, ::testing::Not(Contains(HasSubstr("pinned"))));
}

/// By default pinning is unsupported, which is no note.
TEST_F(EngineStream, DeviceWithoutPinningHasNoNote) {
  TestDevice device(half_a_model());
  EXPECT_THAT(run(&device).notes, ::testing::Not(Contains(HasSubstr("pinned"))));
  const auto refused = device.pin_host({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message(), "test0 can't pin 0 bytes of existing host memory");
}

/// All weights of a device out of the host's reach come to it through its pinned buffers.
TEST_F(EngineStream, WeightsAreUploadedThroughPinnedBuffers) {
  const Outcome alone = run(nullptr);
  for (const bool late : {false, true}) {
    TestWorld world;
    TestDevice device({.ops = {"matmul"},
                       .pins_memory = true,
                       .world = late ? &world : nullptr,
                       .late_errors = late});
    const auto model = load(device);
    ASSERT_NE(model, nullptr);
    const std::uint64_t weights = model->ledger().bytes("test0", Purpose::kWeights);
    ASSERT_GT(weights, 0U);
    EXPECT_EQ(device.moved_through_pinned(), weights);
    EXPECT_EQ(device.pinned(), 0U) << "its pinned buffers are given back";
    const Outcome got = run(&device);
    expect_logits(got, alone);
  }
}

/// Without pinned memory they come all the same.
TEST_F(EngineStream, WeightsAreUploadedUnpinnedIfPinnedAllocationFails) {
  TestDevice device({.ops = {"matmul"}, .pins_memory = true});
  device.fail_at({.allocation = 2});  // the first is of the weights
  const auto model = load(device);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(device.has_failed());
  EXPECT_GT(model->ledger().bytes("test0", Purpose::kWeights), 0U);
  EXPECT_EQ(device.moved_through_pinned(), 0U);
  EXPECT_THAT(model->notes(), Contains(HasSubstr("weights are uploaded without pinned buffers")));
}

TEST_F(EngineStream, FailedUploadIsAnErrorThatNamesTheDevice) {
  for (const bool late : {false, true}) {
    TestWorld world;
    TestDevice device({.ops = {"matmul"},
                       .pins_memory = true,
                       .world = late ? &world : nullptr,
                       .late_errors = late});
    device.fail_at({.copy = 3});
    const auto model = try_load(device);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code(), ErrorCode::kDevice);
    EXPECT_EQ(model.error().device(), "test0");
    ASSERT_TRUE(model.error().vendor()) << model.error().message();
    EXPECT_EQ(model.error().vendor()->code, 719);
    EXPECT_EQ(device.pinned(), 0U);
    EXPECT_EQ(device.allocated(), 0U);
  }
}

TEST_F(EngineStream, DeviceOfAnyMemorySizeStreamsWhatFits) {
  const Outcome alone = run(nullptr);
  std::size_t before = 0;
  for (std::size_t memory = 0; memory <= 400000; memory += 40000) {
    TestDeviceConfig config = half_a_model();
    config.memory = memory;
    TestDevice device(config);
    const Outcome got = run(&device);
    SCOPED_TRACE(memory);
    expect_logits(got, alone);
    EXPECT_GE(got.prompt.nodes, before) << memory;
    before = got.prompt.nodes;
    EXPECT_EQ(device.allocated(), 0U);
  }
  EXPECT_GE(before, kOfManyRows);
}

/// The rest of a prompt is one step, so that its plan has inputs for one, whether those of whole
/// batches overlap or not.
TEST_F(EngineStream, PlanForThePromptRemainderHasInputsForOneStep) {
  std::map<std::int64_t, std::uint64_t> of_batch;
  std::map<std::int64_t, std::uint64_t> of_rest;
  for (const std::int64_t batch : {40, 128}) {  // several steps overlap; a prompt is one step
    TestWorld world;
    TestDeviceConfig config = half_a_model();
    config.world = &world;
    TestDevice device(config);
    Device* devices[] = {&device, cpu_};
    LoadOptions all = options(32);
    all.session.context = 128;
    all.session.batch = batch;
    const auto model = Model::load(file_.path(), devices, all);
    ASSERT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, all.session);
    ASSERT_TRUE(session) << session.error().message();
    const auto inputs = [&] { return (*session)->ledger().total(Purpose::kInputs); };
    of_batch[batch] = inputs();
    ASSERT_TRUE((*session)->append(std::span(prompt_).first(5)));
    of_rest[batch] = inputs() - of_batch[batch];
  }
  EXPECT_GT(of_rest[128], 0U);  // there is a plan of its own
  EXPECT_EQ(of_rest[40], of_rest[128]);
}

}  // namespace
}  // namespace shunt::test::engine_stream_test

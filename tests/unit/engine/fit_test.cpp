// The ledger, and how the loader uses devices' memory. Devices, the CPU among them, exist only in
// this test, so that every byte of theirs is counted.
#include "engine/load/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ops/common/cache_types.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_fit_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Ledger, GroupsRowsByDeviceAndPurpose) {
  Ledger ledger;
  ledger.add("b", Purpose::kCache, 10);
  ledger.add("a", Purpose::kInputs, 1);
  ledger.add("b", Purpose::kWeights, 100);
  ledger.add("b", Purpose::kCache, 5);
  ledger.add("b", Purpose::kMappedWeights, 1000);
  ledger.add("a", Purpose::kStaging, 0);
  EXPECT_THAT(ledger.rows, ElementsAre(LedgerRow{"b", Purpose::kWeights, 100},
                                       LedgerRow{"b", Purpose::kMappedWeights, 1000},
                                       LedgerRow{"b", Purpose::kCache, 15},
                                       LedgerRow{"a", Purpose::kInputs, 1}));
  EXPECT_EQ(ledger.allocated("b"), 115U);
  EXPECT_EQ(ledger.allocated("c"), 0U);
  EXPECT_EQ(ledger.bytes("b", Purpose::kCache), 15U);
  EXPECT_EQ(ledger.total(Purpose::kWeights), 100U);
  EXPECT_EQ(to_text(ledger),
            "b  weights         100 bytes\n"
            "b  mapped weights  1000 bytes\n"
            "b  cache           15 bytes\n"
            "b  allocated       115 bytes\n"
            "a  inputs          1 byte\n"
            "a  allocated       1 byte\n");
  Ledger twice = ledger;
  twice.add(ledger);
  EXPECT_EQ(twice.allocated("b"), 230U);
}

TEST(Ledger, OutOfMemoryTextHasNeededAndFreeBytes) {
  EXPECT_EQ(to_text(MemoryNeed{"test0", 3 << 20, 2 << 20, 65536}),
            "test0 needs 3.0 MiB (3145728 bytes), but has 2.0 MiB (2097152 bytes), of which 64.0 "
            "KiB are reserved");
}

TestDevice cpu(std::size_t memory = std::size_t{1} << 30) {
  return TestDevice(
      {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true, .memory = memory});
}

TEST(Fit, MarginIsTheUsersOr5PercentWithinBounds) {
  TestDevice large({.memory = std::size_t{64} << 30});
  TestDevice middle({.memory = std::size_t{512} << 20});
  TestDevice small({.memory = std::size_t{100} << 20});
  TestDevice host = cpu();
  Device* const devices[] = {&large, &middle, &small, &host};
  const auto limits = device_limits(devices, {});
  EXPECT_EQ(limits[0].margin, (std::uint64_t{64} << 30) / 20);
  EXPECT_EQ(limits[1].margin, 64U << 20);
  EXPECT_EQ(limits[2].margin, 25U << 20);
  EXPECT_EQ(limits[3].margin, 0U);
  EXPECT_EQ(device_limits(devices, 1000)[1].usable(), (512U << 20) - 1000);
  EXPECT_EQ(device_limits(devices, std::uint64_t{1} << 40)[1].usable(), 0U);
  EXPECT_EQ(DeviceLimit{}.usable(), kNoLimit);
}

TEST(Fit, CapFallsToZeroAfterRepeatedAllocationFailures) {
  std::uint64_t planned = std::uint64_t{1} << 40;
  int attempts = 0;
  while (planned > 0) {
    const std::uint64_t cap = lower_cap(planned, attempts++);
    ASSERT_LT(cap, planned);
    planned = cap;
  }
  EXPECT_EQ(lower_cap(80000, 0), 70000U);
  EXPECT_LT(attempts, 40);
}

constexpr std::int64_t kLayers = 6;

SynthOptions six_layers() {
  SynthOptions options;
  options.layers = kLayers;
  options.width = 64;
  options.vocabulary = 300;
  return options;
}

SessionOptions small_session() {
  SessionOptions session;
  session.context = 64;
  session.batch = 16;
  return session;
}

LoadOptions no_margin() {
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  return options;
}

/// The number of layers whose weights are on a device, which must be those from `first` on.
std::int64_t layers_on(const Model& model, int device, std::int64_t first) {
  const auto shared = model.state();
  const ModelState& state = *shared;
  const auto step = state.definition->build({1, 1, 1, DType::kF16});
  EXPECT_TRUE(step);
  std::vector<bool> here(kLayers, false);
  for (const WeightLeaf& weight : step->weights) {
    if (weight.layer < 0) continue;
    if (state.weights.at(weight.info).home == device)
      here[static_cast<std::size_t>(weight.layer)] = true;
  }
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    if (!here[static_cast<std::size_t>(layer)]) continue;
    EXPECT_EQ(layer, first + count) << "layers have a gap";
    ++count;
  }
  return count;
}

TEST(Fit, FillsDevicesByPriorityInLayerOrder) {
  const SynthModel file(six_layers());
  TestDevice host = cpu();
  LoadOptions options = no_margin();
  options.placement.rules_only = true;
  TestDevice roomy({.name = "test0"});
  {
    Device* const devices[] = {&roomy, &host};
    const auto model = Model::load(file.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ(layers_on(**model, 0, 0), kLayers);
    EXPECT_EQ(host.allocated(), 0U);
    EXPECT_THAT((*model)->notes()[0], HasSubstr("test0: layers 0 to 5 (6 of 6)"));
  }
  EXPECT_EQ(roomy.allocated(), 0U);
  const std::size_t layer = 4 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 192);
  TestDevice first({.name = "test0", .memory = 3 * layer});
  TestDevice second({.name = "test1", .memory = 3 * layer});
  Device* const devices[] = {&first, &second, &host};
  const auto model = Model::load(file.path(), devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const std::int64_t on_first = layers_on(**model, 0, 0);
  const std::int64_t on_second = layers_on(**model, 1, on_first);
  const std::int64_t on_host = layers_on(**model, 2, on_first + on_second);
  EXPECT_GE(on_first, 1);
  EXPECT_GE(on_second, 1);
  EXPECT_GE(on_host, 1);
  EXPECT_EQ(on_first + on_second + on_host, kLayers);
  EXPECT_EQ((*model)->notes().size(), 3U);
}

TEST(Fit, OnlyTheDeviceWhosePlanDoesNotFitGetsFewerLayers) {
  // Of all that a prompt of 64 tokens takes, the 192 values of a feed forward are the largest.
  constexpr std::size_t kLargest = std::size_t{64} * 192 * sizeof(float);
  SynthOptions shape = six_layers();
  shape.feed_forward = 192;
  shape.dtype = DType::kF16;
  const SynthModel file(shape);
  LoadOptions options = no_margin();
  options.session.batch = 64;
  options.placement.rules_only = true;
  for (const std::size_t buffer : {kLargest, kLargest - 1}) {
    TestDevice first({.name = "test0", .max_buffer = buffer});
    TestDevice second({.name = "test1"});
    TestDevice host = cpu();
    Device* const devices[] = {&first, &second, &host};
    const auto model = Model::load(file.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    const bool fits = buffer == kLargest;
    EXPECT_EQ(layers_on(**model, 0, 0), fits ? kLayers : 0);
    EXPECT_EQ(layers_on(**model, 1, 0), fits ? 0 : kLayers);
    const auto session = Session::create(*model, options.session);
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_THAT((*session)->notes(), Not(Contains(HasSubstr("refused memory"))));
  }
}

TEST(Fit, OnlyTheDeviceOutOfMemoryForASessionGetsLess) {
  const SynthModel file(six_layers());
  const std::size_t half = 3 * 4 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 192) + 100000;
  for (const int refuses : {0, 1, 2}) {
    TestDevice first({.name = "test0", .memory = half});
    TestDevice second({.name = "test1"});
    TestDevice host = cpu();
    Device* const devices[] = {&first, &second, &host};
    TestDevice* const all[] = {&first, &second, &host};
    LoadOptions options = no_margin();
    options.placement.rules_only = true;
    options.placement.pins = {{"output.*", "cpu0"}};  // so that the CPU has something to do
    const auto model = Model::load(file.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    TestDevice& refusing = *all[refuses];
    refusing.fail_at({.allocation = 1});
    const auto session = Session::create(*model, small_session());
    ASSERT_TRUE(refusing.has_failed()) << "so that this says something";
    if (refuses == 2) {  // others can't be given the CPU's work
      ASSERT_FALSE(session);
      EXPECT_EQ(session.error().code(), ErrorCode::kOutOfMemory);
      EXPECT_EQ(session.error().device(), "cpu0");
      continue;
    }
    ASSERT_TRUE(session) << session.error().message();
    for (const int other : {0, 1}) {
      const auto said = Contains(HasSubstr(fmt::format("test{}: refused memory", other)));
      EXPECT_EQ(::testing::Value((*session)->notes(), said), other == refuses);
    }
  }
}

TEST(Fit, LeavesTheMarginFree) {
  const SynthModel file(six_layers());
  TestDevice host = cpu();
  for (const std::uint64_t margin : {0U, 100000U, 400000U, 700000U, 2000000U}) {
    TestDevice device({.name = "test0", .memory = 1000000});
    Device* const devices[] = {&device, &host};
    LoadOptions options = no_margin();
    options.memory_margin = margin;
    const auto model = Model::load(file.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, small_session());
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_LE(device.allocated() + std::min<std::uint64_t>(margin, 1000000), 1000000U);
    EXPECT_EQ(device.allocated() == 0, margin > 900000);
  }
}

TEST(Fit, TooLittleHostMemoryFailsBeforeAnyAllocation) {
  const SynthModel file(six_layers());
  TestDevice device({.name = "test0", .memory = 500000});
  TestDevice host = cpu(300000);
  Device* const devices[] = {&device, &host};
  const auto model = Model::load(file.path(), devices, no_margin());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(model.error().message(), HasSubstr("cpu0 needs "));
  EXPECT_THAT(model.error().message(), HasSubstr("but has 293.0 KiB (300000 bytes)"));
  EXPECT_EQ(device.allocated(), 0U);
  EXPECT_EQ(host.allocated(), 0U);
}

TEST(Fit, PinnedLayersStayOrFailWithTheBytes) {
  const SynthModel file(six_layers());
  TestDevice host = cpu();
  LoadOptions options = no_margin();
  options.placement.pins = {{"blk\\.5\\..*", "test0"}};
  for (const std::size_t memory : {100000U, 600000U}) {
    TestDevice device({.name = "test0", .memory = memory});
    Device* const devices[] = {&device, &host};
    const auto model = Model::load(file.path(), devices, options);
    if (memory == 100000) {
      ASSERT_FALSE(model);
      EXPECT_EQ(model.error().code(), ErrorCode::kOutOfMemory);
      EXPECT_THAT(model.error().message(), HasSubstr("test0 needs "));
      EXPECT_THAT(model.error().message(), HasSubstr("(100000 bytes)"));
      EXPECT_THAT(model.error().message(), HasSubstr("can't leave test0 (set by the pin"));
      EXPECT_THAT(model.error().message(), HasSubstr("blk\\.5\\..*"));
      EXPECT_EQ(device.allocated() + host.allocated(), 0U);
      continue;
    }
    ASSERT_TRUE(model) << model.error().message();
    const auto step = (*model)->state()->definition->build({1, 1, 1, DType::kF16});
    for (const WeightLeaf& weight : step->weights) {
      if (weight.layer != 5) continue;
      EXPECT_EQ((*model)->state()->weights.at(weight.info).home, 0);
    }
    ASSERT_TRUE(Session::create(*model, small_session()));
  }
}

TEST(Fit, PinnedOpWithoutRoomNamesThePinAndTheBytes) {
  const SynthModel file(six_layers());
  TestDevice host = cpu();
  LoadOptions options = no_margin();
  options.placement.pins = {{"blk\\.0\\.attn_q", "test0"}};
  TestDevice device({.name = "test0", .memory = 20000});
  Device* const devices[] = {&device, &host};
  const auto model = Model::load(file.path(), devices, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(model.error().message(),
              HasSubstr("blk.0.attn_q (matmul) can't leave test0 (set by the pin"));
  EXPECT_THAT(model.error().message(), HasSubstr("(20000 bytes)"));
  EXPECT_EQ(device.allocated() + host.allocated(), 0U);
}

TEST(Fit, PredictedMemoryIsAllocated) {
  std::mt19937_64 random(11);
  const auto any = [&](std::uint64_t below) { return random() % below; };
  const std::set<std::string> some_ops = {"matmul", "add", "mul", "rms_norm", "swiglu"};
  std::size_t transcoded = 0;
  int streamed = 0;
  int staged = 0;
  for (int round = 0; round < 40; ++round) {
    SynthOptions shape;
    shape.layers = static_cast<std::int64_t>(1 + any(5));
    shape.width = static_cast<std::int64_t>(32 * (1 + any(3)));
    shape.feed_forward = static_cast<std::int64_t>(32 * (1 + any(6)));
    shape.vocabulary = static_cast<std::int64_t>(300 + any(300));
    shape.tied = any(2) == 0;
    shape.seed = random();
    const DType types[] = {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0};
    shape.dtype = types[any(4)];
    const SynthModel file(shape);
    std::vector<std::unique_ptr<TestDevice>> owned;
    // Devices that have room for a few layers each: data that crosses between them is staged.
    const bool spreads = round % 3 == 1;
    for (std::uint64_t i = spreads ? 2 + any(2) : any(4); i-- > 0;) {
      TestDeviceConfig config;
      config.name = "test" + std::to_string(i);
      if (any(2) == 0) config.ops = some_ops;
      config.memory = spreads ? 100000 + any(500000) : std::size_t{1000} << any(12);
      config.max_buffer = any(3) == 0 ? std::size_t{2000} << any(9) : std::size_t{1} << 30;
      config.host_accessible = !spreads && any(4) == 0;
      config.alignment = std::size_t{16} << any(6);
      config.padding = any(2) == 0 ? 1 : 256;
      config.scratch = any(2) * any(5000);
      config.pins_memory = any(2) == 0;
      if (any(3) > 0) config.wants_types[shape.dtype] = types[any(4)];
      owned.push_back(std::make_unique<TestDevice>(config));
    }
    const bool streams = round % 3 == 0;
    if (streams) {  // a device that has room for a part, and accepts streaming of the rest
      TestDeviceConfig config;
      config.wants = {"matmul", "mul", "get_rows"};
      config.memory = 100000 + any(500000);
      owned.clear();
      owned.push_back(std::make_unique<TestDevice>(config));
    }
    TestDeviceConfig host = {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
    if (any(2) == 0) host.alignment = 4096;
    if (any(2) == 0) host.padding = 48;
    host.scratch = any(2) * any(5000);
    owned.push_back(std::make_unique<TestDevice>(host));
    std::vector<Device*> devices;
    for (const auto& device : owned) devices.push_back(device.get());

    LoadOptions options;
    options.session = small_session();
    options.session.batch = static_cast<std::int64_t>(1 + any(40));
    options.session.cache_type = any(2) == 0 ? DType::kF32 : DType::kF16;
    if (streams) {
      options.placement.stream_rows = 1;
      options.placement.rules_only = round % 2 == 0;
    }
    if (any(2) == 0) options.memory_margin = any(100000);
    const Transcode modes[] = {Transcode::kNone, Transcode::kPrecise, Transcode::kLossy};
    options.placement.transcode = modes[any(3)];
    const auto model = Model::load(file.path(), devices, options);
    ASSERT_TRUE(model) << model.error().message();
    transcoded += (*model)->transcoded().size();
    for (const auto& device : owned)
      EXPECT_EQ(device->allocated(), (*model)->ledger().allocated(device->info().name));
    const auto session = Session::create(*model, options.session);
    ASSERT_TRUE(session) << session.error().message();

    Ledger both = (*model)->ledger();
    both.add((*session)->ledger());
    std::size_t pinned = 0;
    for (const auto& device : owned) pinned += device->pinned();
    staged += pinned > 0 ? 1 : 0;
    for (const auto& device : owned) {
      const std::string name = device->info().name;
      EXPECT_EQ(device->allocated() + device->pinned(), both.allocated(name)) << round;
      for (const Purpose purpose : {Purpose::kWeights, Purpose::kCache, Purpose::kActivations,
                                    Purpose::kInputs, Purpose::kStaging}) {
        EXPECT_EQ(both.bytes(name, purpose), (*model)->predicted().bytes(name, purpose))
            << round << " " << name << " " << to_string(purpose);
      }
    }
    const auto sent = ::testing::Contains(HasSubstr("for streamed weights"));
    streamed += ::testing::Value((*session)->notes(), sent) ? 1 : 0;
  }
  EXPECT_GT(transcoded, 20U) << "so that this says something";
  EXPECT_GT(streamed, 2) << "this hardly happened";
  EXPECT_GT(staged, 2) << "nor this";
}

TEST(Fit, WeightsAndCachesHaveTheirDevicesAlignmentAndPadding) {
  const SynthModel file(six_layers());
  std::vector<std::vector<float>> logits;
  for (const bool wide : {false, true}) {
    // A test device refuses tensors that are not aligned or have no room for their padding.
    TestDevice device(
        {.name = "test0", .alignment = wide ? 4096U : 64U, .padding = wide ? 256U : 1U});
    TestDevice host = cpu();
    Device* const devices[] = {&device, &host};
    const auto model = Model::load(file.path(), devices, no_margin());
    ASSERT_TRUE(model) << model.error().message();
    const auto session = Session::create(*model, small_session());
    ASSERT_TRUE(session) << session.error().message();
    const auto last = (*session)->append(std::vector<std::int32_t>{1, 20, 30});
    ASSERT_TRUE(last) << last.error().message();
    EXPECT_GT(device.computed(), 0U);
    logits.emplace_back(last->begin(), last->end());
  }
  EXPECT_EQ(logits[0], logits[1]);
}

TEST(Fit, PredictsCachesOfEveryType) {
  // Heads of whole blocks, and such as are decoded for each step.
  for (const std::int64_t heads : {2, 4}) {
    SynthOptions shape;
    shape.heads = heads;
    const SynthModel file(shape);
    for (const DType type : kCacheTypes) {
      TestDevice cpu({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
      Device* devices[] = {&cpu};
      LoadOptions options;
      options.session = {.context = 64, .cache_type = type, .batch = 8};
      const auto model = Model::load(file.path(), devices, options);
      ASSERT_TRUE(model) << model.error().message();
      const auto session = Session::create(*model, options.session);
      ASSERT_TRUE(session) << session.error().message();
      // Keys and values of 2 layers, 64 tokens of 2 heads.
      const std::int64_t elements = 2 * 2 * 64 * 2 * (shape.width / heads);
      const DTypeTrait& format = trait(type);
      EXPECT_EQ((*session)->ledger().bytes("cpu0", Purpose::kCache),
                static_cast<std::uint64_t>(elements / format.block_elements) * format.block_bytes)
          << heads << " " << to_string(type);
      Ledger both = (*model)->ledger();
      both.add((*session)->ledger());
      for (const Purpose purpose : {Purpose::kCache, Purpose::kActivations, Purpose::kInputs}) {
        EXPECT_EQ(both.bytes("cpu0", purpose), (*model)->predicted().bytes("cpu0", purpose))
            << heads << " " << to_string(type) << " " << to_string(purpose);
      }
      EXPECT_EQ(cpu.allocated(), both.allocated("cpu0"));
    }
  }
}

}  // namespace
}  // namespace shunt::test::engine_fit_test

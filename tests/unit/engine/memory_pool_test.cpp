// Devices whose memory is the host's: the bytes that they and the CPU are asked for together.
// Devices, the CPU among them, exist only in this test. They need the bytes that they allocate when
// nothing is short.
#include "engine/load/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/load/fitted_step.h"
#include "engine/load/session_steps.h"
#include "support/models.h"
#include "support/sanitized.h"
#include "support/test_device.h"

namespace shunt::test::engine_memory_pool_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

DeviceLimit pooled(std::uint64_t free, std::uint64_t margin = 0) {
  return {.free = free, .margin = margin, .pooled = true};
}

TEST(MemoryPool, SumsTheCpuAndDevicesWithUnifiedMemory) {
  const DeviceLimit limits[] = {pooled(1000, 100), {.free = 10}, pooled(950, 40), {.free = 5000}};
  const std::uint64_t just[] = {300, 4000, 200, 400};
  const MemoryPool pool = memory_pool(limits, just);
  EXPECT_THAT(pool.devices, ElementsAre(0, 2));
  EXPECT_EQ(pool.asked, 900U);
  EXPECT_EQ(pool.usable(), 900U) << "the device that leaves least";
  EXPECT_FALSE(pool.is_short());
  const std::uint64_t more[] = {300, 4000, 200, 401};
  EXPECT_TRUE(memory_pool(limits, more).is_short());
}

TEST(MemoryPool, IsNotCheckedIfOnlyTheCpuUsesIt) {
  const DeviceLimit limits[] = {pooled(1000), {.free = 10}, {.free = 5000}};
  const std::uint64_t cpu_alone[] = {0, 5, 4000};
  const MemoryPool pool = memory_pool(limits, cpu_alone);
  EXPECT_THAT(pool.devices, IsEmpty());
  EXPECT_FALSE(pool.is_short());
  const std::uint64_t with_one_byte[] = {1, 5, 4000};
  EXPECT_TRUE(memory_pool(limits, with_one_byte).is_short());
}

TEST(MemoryPool, CapOfADeviceDoesNotShrinkThePool) {
  DeviceLimit limit = pooled(1000);
  limit.cap = 10;  // of its own share
  const DeviceLimit limits[] = {limit, {.free = 5000}};
  const std::uint64_t asked[] = {10, 990};
  EXPECT_FALSE(memory_pool(limits, asked).is_short());
}

TEST(MemoryPool, IsUnlimitedIfFreeMemoryIsUnknown) {
  const DeviceLimit limits[] = {pooled(0), {.free = 0}};
  const std::uint64_t asked[] = {kMuch, kMuch};
  EXPECT_FALSE(memory_pool(limits, asked).is_short());
}

TEST(MemoryPool, NamesItsDevicesAndBytes) {
  const DeviceLimit limits[] = {pooled(3 << 20, 64 << 10), {}, pooled(kMuch), {}};
  const std::string names[] = {"test0", "test1", "test2", "cpu0"};
  EXPECT_EQ(names_in_pool(0, limits, names), "test2 and cpu0");
  EXPECT_EQ(names_in_pool(1, limits, names), "");
  EXPECT_EQ(names_in_pool(2, limits, names), "test0 and cpu0");
  EXPECT_EQ(names_in_pool(0, std::span(limits).first(2), std::span(names).first(2)), "test1");
  const std::uint64_t asked[] = {1 << 20, 7, 512, 3 << 20};
  EXPECT_EQ(
      to_text(memory_pool(limits, asked), asked, names),
      "test0 (1.0 MiB) with test2 (512 bytes) with cpu0 (3.0 MiB), unified memory, needs "
      "4.0 MiB (4194816 bytes), but has 3.0 MiB (3145728 bytes), of which 64.0 KiB are reserved");
}

TEST(MemoryPool, HasTheDevicesThatReportHostMemory) {
  TestDevice shared({.host_memory = true});
  TestDevice own({});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_memory = true});
  Device* const devices[] = {&shared, &own, &host};
  const auto limits = device_limits(devices, 0);
  EXPECT_TRUE(limits[0].pooled);
  EXPECT_FALSE(limits[1].pooled);
  EXPECT_FALSE(limits[2].pooled) << "it may ask for all";
}

constexpr std::int64_t kLayers = 6;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kFeedForward = 192;

/// Blocks are the same bytes in a file and in the memory of any machine.
SynthOptions six_layers() {
  SynthOptions shape;
  shape.layers = kLayers;
  shape.width = kWidth;
  shape.feed_forward = kFeedForward;
  shape.vocabulary = 320;
  shape.dtype = DType::kQ8_0;
  return shape;
}

/// Of the matrices of a layer: 34 bytes for 32 numbers; keys and values have half of the width.
constexpr std::uint64_t kLayerBytes =
    (2 * kWidth * kWidth + 2 * kWidth * kWidth / 2 + 3 * kWidth * kFeedForward) / 32 * 34;

LoadOptions small() {
  LoadOptions options;
  options.session.context = 64;
  options.session.batch = 16;
  options.memory_margin = 0;
  options.placement.rules_only = true;
  return options;
}

/// A model and a session.
struct Loaded {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
  std::uint64_t allocated(const std::string& device) const {
    return model->ledger().allocated(device) + session->ledger().allocated(device);
  }
};

class FitInPool : public ::testing::Test {
 protected:
  static TestDeviceConfig in_pool(std::uint64_t memory, const std::string& name = "test0") {
    return {.name = name, .memory = memory, .host_memory = true};
  }

  Result<Loaded> try_load(const std::vector<Device*>& devices,
                          const LoadOptions& options = small()) const {
    Loaded loaded;
    SHUNT_ASSIGN(loaded.model, Model::load(file_.path(), devices, options));
    SHUNT_ASSIGN(loaded.session, Session::create(loaded.model, options.session));
    return loaded;
  }
  Loaded load(const std::vector<Device*>& devices, const LoadOptions& options = small()) const {
    auto loaded = try_load(devices, options);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    return std::move(*loaded);
  }

  /// The bytes that a device and the CPU allocate if there is enough.
  std::uint64_t needed(const LoadOptions& options = small()) {
    TestDevice device(in_pool(kMuch));
    const Loaded loaded = load({&device, &host_}, options);
    EXPECT_EQ(device.allocated(), loaded.allocated("test0"));
    EXPECT_GT(loaded.allocated("test0"), kLayers * kLayerBytes);
    EXPECT_GT(loaded.allocated("cpu0"), 0U);
    return loaded.allocated("test0") + loaded.allocated("cpu0");
  }

  /// By layer, the device of all its matrices.
  static std::vector<int> layers(const Model& model) {
    const auto state = model.state();
    const auto step = state->definition->build({1, 1, 1, DType::kF16});
    std::vector<int> homes(kLayers, -1);
    for (const WeightLeaf& weight : step->weights) {
      if (weight.layer < 0) continue;
      int& home = homes[static_cast<std::size_t>(weight.layer)];
      EXPECT_TRUE(home < 0 || home == state->weights.at(weight.info).home) << "in two halves";
      home = state->weights.at(weight.info).home;
    }
    return homes;
  }

  static std::vector<float> logits(Session& session) {
    const std::vector<std::int32_t> prompt = {1, 290, 270, 261};
    const auto result = session.append(prompt);
    EXPECT_TRUE(result) << result.error().message();
    return {result->begin(), result->end()};
  }
  std::vector<float> logits_of_cpu() {
    const Loaded alone = load({&host_});
    return logits(*alone.session);
  }
  static void expect_near(std::span<const float> got, std::span<const float> want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4);
  }

  const SynthModel file_{six_layers()};
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .in_host_memory = true}};
  std::uint64_t weights_ = 0;  // bytes, of the last model
};

TEST_F(FitInPool, NeedsExactlyTheSumOfDeviceAndCpu) {
  const std::uint64_t both = needed();
  TestDevice enough(in_pool(both));
  const Loaded all = load({&enough, &host_});
  EXPECT_THAT(layers(*all.model), Each(0));
  EXPECT_EQ(all.allocated("test0") + all.allocated("cpu0"), both);

  TestDevice short_of_a_byte(in_pool(both - 1));
  const Loaded some = load({&short_of_a_byte, &host_});
  EXPECT_LT(some.allocated("test0") + some.allocated("cpu0"), both);
  EXPECT_LT(some.allocated("test0"), all.allocated("test0"));
  EXPECT_GT(some.model->ledger().total(Purpose::kMappedWeights),
            all.model->ledger().total(Purpose::kMappedWeights));
  expect_near(logits(*some.session), logits(*all.session));

  TestDeviceConfig own = in_pool(both - 1);
  own.host_memory = false;
  TestDevice elsewhere(own);
  const Loaded apart = load({&elsewhere, &host_});
  EXPECT_THAT(layers(*apart.model), Each(0));
  EXPECT_EQ(apart.allocated("test0"), all.allocated("test0"));
  EXPECT_THAT(apart.model->notes(), Not(Contains(HasSubstr("pool"))));
}

TEST_F(FitInPool, LayersWithoutRoomAreUsedFromTheMappedFile) {
  const std::uint64_t both = needed();
  const std::vector<float> want = logits_of_cpu();
  std::uint64_t before = kLayers + 1;
  for (std::uint64_t lacking = 0; lacking <= kLayers; ++lacking) {
    SCOPED_TRACE(lacking);
    const std::uint64_t memory = both - lacking * kLayerBytes;
    TestDevice device(in_pool(memory));
    const Loaded loaded = load({&device, &host_});
    const std::vector<int> homes = layers(*loaded.model);
    const auto here = static_cast<std::uint64_t>(std::ranges::count(homes, 0));
    EXPECT_TRUE(std::ranges::is_sorted(homes)) << "the last layers go first";
    EXPECT_LE(here + lacking, static_cast<std::uint64_t>(kLayers));
    EXPECT_LE(here, before);
    if (here > 0) {
      const std::uint64_t takes = loaded.allocated("test0") + loaded.allocated("cpu0");
      EXPECT_LE(takes, memory);
      // The output goes before the first layer.
      if (lacking > 0) {
        EXPECT_GT(takes + kLayerBytes, memory) << "there is room for another one";
      }
    }
    before = here;
    expect_near(logits(*loaded.session), want);
  }
  EXPECT_EQ(before, 0U);
}

TEST_F(FitInPool, CpuGetsAllMemoryIfThePoolIsSmall) {
  const std::vector<float> want = logits_of_cpu();
  const std::uint64_t alone = load({&host_}).allocated("cpu0");
  for (const std::uint64_t free : {std::uint64_t{4096}, alone, alone + 1000}) {
    TestDevice device(in_pool(free));
    const Loaded loaded = load({&device, &host_});
    EXPECT_THAT(layers(*loaded.model), Each(1));
    EXPECT_EQ(device.allocated(), 0U) << free;
    EXPECT_EQ(loaded.allocated("cpu0"), alone) << free;
    EXPECT_THAT(loaded.model->notes()[0], StartsWith("test0: no layer, 0 bytes of "));
    EXPECT_THAT(loaded.model->notes()[0], HasSubstr("; unified memory with cpu0, together "));
    EXPECT_EQ(logits(*loaded.session), want);
  }
  TestDevice device(in_pool(4096));
  TestDevice little(
      {.name = "cpu0", .kind = DeviceKind::kCpu, .memory = 1000, .in_host_memory = true});
  const auto loaded = try_load({&device, &little});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(), HasSubstr("cpu0 needs "));
  EXPECT_THAT(loaded.error().message(), HasSubstr("but has 1000 bytes (1000 bytes)"));
}

TEST_F(FitInPool, LeavesTheMarginFree) {
  const std::uint64_t both = needed();
  LoadOptions options = small();
  options.memory_margin = 100000;
  TestDevice enough(in_pool(both + 100000));
  const Loaded all = load({&enough, &host_}, options);
  EXPECT_EQ(all.allocated("test0") + all.allocated("cpu0"), both);
  TestDevice little(in_pool(both + 99999));
  const Loaded some = load({&little, &host_}, options);
  EXPECT_LT(some.allocated("test0") + some.allocated("cpu0"), both);
}

TEST_F(FitInPool, PinsWithoutRoomFailWithTheBytesOfBoth) {
  LoadOptions options = small();
  options.placement.pins = {{"output.*", "cpu0"}, {".*", "test0"}};
  const std::uint64_t both = needed(options);
  TestDevice enough(in_pool(both));
  EXPECT_TRUE(try_load({&enough, &host_}, options));
  TestDevice little(in_pool(both - 1));
  const auto refused = try_load({&little, &host_}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);
  const std::string text = refused.error().message();
  EXPECT_THAT(text, HasSubstr("can't leave test0 (set by the pin"));
  EXPECT_THAT(text, HasSubstr(") with cpu0 ("));
  EXPECT_THAT(text, HasSubstr(fmt::format("unified memory, needs {} ({} bytes), but has {} ({} "
                                          "bytes)",
                                          size_text(both), both, size_text(both - 1), both - 1)));
  EXPECT_EQ(little.allocated(), 0U);
}

TEST_F(FitInPool, PlacementFileWithoutRoomNamesTheLine) {
  const std::uint64_t both = needed();
  LoadOptions options = small();
  std::string text;
  {
    TestDevice device(in_pool(kMuch));
    const Loaded loaded = load({&device, &host_});
    const auto state = loaded.model->state();
    const auto step =
        state->build(session_steps(*complete(options.session, state->info)).front(), {});
    ASSERT_TRUE(step);
    const auto placed = state->place_step(*step, state->memory_of(**step), state->devices);
    ASSERT_TRUE(placed);
    text = write_placement((*step)->graph, *placed);
  }
  options.placement.file = std::move(*read_placement(text, "placed.txt"));
  // One byte is lacking for the last weight or cache there.
  const PlacementLine* last = nullptr;
  for (const PlacementLine& line : options.placement.file->lines) {
    if (line.device == "test0" && (line.op == "weight" || line.op == "cache")) last = &line;
  }
  ASSERT_NE(last, nullptr);
  TestDevice enough(in_pool(both));
  const auto kept = try_load({&enough, &host_}, options);
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_THAT(layers(*kept->model), Each(0));
  TestDevice little(in_pool(both - 1));
  const auto refused = try_load({&little, &host_}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message(),
              HasSubstr(fmt::format("placed.txt:{}: {} ({}) is too much: test0 (", last->line,
                                    last->name, last->op)));
  EXPECT_THAT(refused.error().message(), HasSubstr(fmt::format("({} bytes), but has", both)));
  EXPECT_EQ(little.allocated(), 0U);
}

TEST_F(FitInPool, SecondSessionUsesTheRemainingMemory) {
  std::uint64_t weights = 0;
  std::uint64_t own = 0;
  std::uint64_t cpus = 0;
  {
    TestDevice device(in_pool(kMuch));
    const Loaded loaded = load({&device, &host_});
    weights = loaded.model->ledger().allocated("test0");
    own = loaded.session->ledger().allocated("test0");
    cpus = loaded.session->ledger().allocated("cpu0");
  }
  ASSERT_GT(own, 0U);
  ASSERT_GT(cpus, 0U);
  for (const std::uint64_t lacking : {0, 1}) {
    const std::uint64_t left = own + cpus - lacking;
    TestDevice device(in_pool(weights + own + left));
    const Loaded first = load({&device, &host_});
    ASSERT_EQ(first.session->ledger().allocated("test0"), own);
    const auto second = Session::create(first.model, small().session);
    ASSERT_TRUE(second) << second.error().message();
    const std::uint64_t takes = (*second)->ledger().allocated("test0");
    if (lacking == 0) {
      EXPECT_EQ(takes, own);
    } else {
      EXPECT_LT(takes, own);
    }
    if (takes > 0) {
      EXPECT_LE(takes + (*second)->ledger().allocated("cpu0"), left);
    }
    EXPECT_EQ(device.allocated(), weights + own + takes);
    expect_near(logits(**second), logits(*first.session));
  }
}

TEST_F(FitInPool, LaterPlanUsesTheRemainingMemoryAndKeepsTheCache) {
  const std::uint64_t both = needed();
  std::vector<std::vector<float>> logits;
  for (const std::uint64_t memory : {kMuch, both}) {
    TestDevice device(in_pool(memory));
    const Loaded loaded = load({&device, &host_});
    ASSERT_EQ(device.allocated() + loaded.allocated("cpu0"), both);
    const std::vector<std::int32_t> prompt = {1, 290, 270, 261};
    ASSERT_TRUE(loaded.session->append(prompt));
    // The logits of each token: that is another plan, for which there are some bytes too few.
    logits.emplace_back();
    const std::vector<std::int32_t> more(16, 275);
    const Status done =
        loaded.session->append_all(more, [&](std::size_t, std::span<const float> batch) {
          logits.back().insert(logits.back().end(), batch.begin(), batch.end());
        });
    ASSERT_TRUE(done) << done.error().message();
    const std::uint64_t now = loaded.allocated("test0") + loaded.allocated("cpu0");
    EXPECT_EQ(device.allocated(), loaded.allocated("test0"));
    if (memory == kMuch) {
      EXPECT_GT(now, both) << "so that this says something";
    } else if (loaded.session->ledger().allocated("test0") > 0) {
      EXPECT_LE(now, memory);
    }
  }
  expect_near(logits[1], logits[0]);
}

/// Fits by limits that a test makes up.
class FitOfLimits : public FitInPool {
 protected:
  /// `first` has the first layers, `second` the others.
  Fit fit(const Model& model, std::vector<DeviceLimit> limits,
          const std::map<const gguf::TensorInfo*, int>* loaded = nullptr) const {
    const auto state = model.state();
    FitRequest request;
    request.steps = session_steps(*complete(small().session, state->info));
    request.limits = std::move(limits);
    request.loaded = loaded;
    request.may_overlap = false;  // so that a device takes the same together with any others
    auto made = fit_model(*state, request);
    if (!made) throw std::runtime_error(made.error().message());
    return std::move(*made);
  }
  static std::uint64_t sum(const Fit& fit) {
    std::uint64_t bytes = 0;
    for (const std::uint64_t each : fit.planned) bytes += each;
    return bytes;
  }

  TestDevice first_{in_pool(kMuch, "test0")};
  TestDevice second_{in_pool(kMuch, "test1")};
  const Loaded loaded_ = load({&first_, &second_, &host_});
};

TEST_F(FitOfLimits, LastOfTwoDevicesInThePoolGetsLess) {
  DeviceLimit half = pooled(kMuch);
  half.cap = 3 * kLayerBytes;
  const Fit roomy = fit(*loaded_.model, {half, pooled(kMuch), {.free = kMuch}});
  ASSERT_GT(roomy.planned[0], kLayerBytes);
  ASSERT_GT(roomy.planned[1], kLayerBytes);
  ASSERT_GT(roomy.planned[2], 0U);
  const std::uint64_t all = sum(roomy);
  half.free = all;
  const Fit just = fit(*loaded_.model, {half, pooled(all), {.free = kMuch}});
  EXPECT_EQ(just.homes.weights, roomy.homes.weights);
  EXPECT_EQ(just.planned, roomy.planned);
  EXPECT_THAT(just.notes[0],
              HasSubstr("; unified memory with test1 and cpu0, together " + size_text(all)));
  EXPECT_THAT(just.notes[1],
              HasSubstr("; unified memory with test0 and cpu0, together " + size_text(all)));
  EXPECT_THAT(just.notes[2], Not(HasSubstr("pool")));

  half.free = all - 1;
  const Fit less = fit(*loaded_.model, {half, pooled(kMuch), {.free = kMuch}});
  EXPECT_LT(sum(less), all);
  EXPECT_LT(less.planned[1], roomy.planned[1]);
  for (const auto& [info, home] : roomy.homes.weights) {
    if (home == 0) {
      EXPECT_EQ(less.homes.weights.at(info), 0) << "the first is filled first";
    }
  }
  EXPECT_TRUE(less.short_of_room);

  half.free = 4096;
  const Fit none = fit(*loaded_.model, {half, pooled(4096), {.free = kMuch}});
  EXPECT_EQ(none.planned[0] + none.planned[1], 0U);
}

TEST_F(FitOfLimits, DeviceWithItsOwnMemoryIsNotCounted) {
  DeviceLimit half = {.free = kMuch, .cap = 3 * kLayerBytes};
  const Fit roomy = fit(*loaded_.model, {half, pooled(kMuch), {.free = kMuch}});
  ASSERT_GT(roomy.planned[0], kLayerBytes);
  ASSERT_GT(roomy.planned[1], kLayerBytes);
  const std::uint64_t of_two = roomy.planned[1] + roomy.planned[2];
  const Fit just = fit(*loaded_.model, {half, pooled(of_two), {.free = kMuch}});
  EXPECT_EQ(just.planned, roomy.planned);
  EXPECT_THAT(just.notes[0], Not(HasSubstr("pool")));
  EXPECT_THAT(just.notes[1],
              HasSubstr("; unified memory with cpu0, together " + size_text(of_two)));
  const Fit less = fit(*loaded_.model, {half, pooled(of_two - 1), {.free = kMuch}});
  EXPECT_LT(less.planned[1] + less.planned[2], of_two);
  EXPECT_EQ(less.planned[0], roomy.planned[0]);
  // A device with memory of its own takes that, whatever the pool has.
  half.free = roomy.planned[0];
  const Fit own = fit(*loaded_.model, {half, pooled(4096), {.free = kMuch}});
  EXPECT_EQ(own.planned[0], roomy.planned[0]);
  EXPECT_EQ(own.planned[1], 0U);
}

TEST_F(FitOfLimits, LoadedWeightsAreNotRequestedAgain) {
  const auto homes = loaded_.model->state()->weights.homes();
  const std::uint64_t session =
      loaded_.session->ledger().allocated("test0") + loaded_.session->ledger().allocated("cpu0");
  const Fit fresh = fit(*loaded_.model, {pooled(kMuch), pooled(kMuch), {.free = kMuch}});
  ASSERT_GT(sum(fresh), session + kLayers * kLayerBytes);
  const Fit just = fit(*loaded_.model, {pooled(session), pooled(session), {.free = kMuch}}, &homes);
  EXPECT_EQ(sum(just), session);
  EXPECT_EQ(just.homes.weights, homes);
  const Fit less =
      fit(*loaded_.model, {pooled(session - 1), pooled(session - 1), {.free = kMuch}}, &homes);
  EXPECT_TRUE(sum(less) < session || less.planned[0] == 0);
}

/// How often a reason says that test0 has no room for weights because of the pool.
std::size_t count_no_room(const ModelState& state, const FitRequest& request,
                          const std::string& numbers) {
  const auto made = fit_model(state, request);
  EXPECT_TRUE(made) << made.error().message();
  const auto placed = place_fitted(state, request.steps.front(), request, *made);
  EXPECT_TRUE(placed) << placed.error().message();
  const std::string text = "test0 has no room left for its weights: with " + numbers;
  std::size_t said = 0;
  for (const Decision& decision : placed->placement.decisions) {
    for (const RejectedCandidate& passed : decision.rejected) said += passed.reason == text ? 1 : 0;
  }
  return said;
}

TEST_F(FitOfLimits, ReasonSaysThatThePoolHasNoRoom) {
  const std::uint64_t both = needed();
  const auto state = loaded_.model->state();
  FitRequest request;
  request.steps = session_steps(*complete(small().session, state->info));
  request.limits = {pooled(both / 2), {.free = 1}, {.free = kMuch}};
  EXPECT_GT(count_no_room(*state, request,
                          fmt::format("cpu0, in unified memory, it would need {} and may use "
                                      "{}",
                                      size_text(both), size_text(both / 2))),
            0U);
}

TEST_F(FitInPool, ReasonCountsLoadedWeightsOfThePool) {
  TestDeviceConfig config = in_pool(kMuch);
  config.answer = [](const Graph& graph, NodeId id) {
    for (const NodeId source : graph.node(id).sources) {
      if (source != kNoNode && graph.node(source).name.starts_with("blk.5."))
        return Support::no(Refusal::kCost, "that is the last layer");
    }
    return Support::yes();
  };
  TestDevice first(config);
  TestDevice second(in_pool(kMuch, "test1"));
  LoadOptions options = small();
  options.session.batch = options.session.context;  // prompts of one step: nothing overlaps
  const Loaded loaded = load({&first, &second, &host_}, options);
  ASSERT_THAT(layers(*loaded.model), ElementsAre(0, 0, 0, 0, 0, 1));
  std::uint64_t weights = 0;
  std::uint64_t all = 0;
  for (const char* device : {"test0", "test1", "cpu0"}) {
    weights += loaded.model->ledger().allocated(device);
    all += loaded.allocated(device);
  }
  ASSERT_GT(loaded.model->ledger().allocated("test1"), 0U);
  const auto state = loaded.model->state();
  FitRequest request;
  request.steps = session_steps(*complete(options.session, state->info));
  request.limits = {pooled(10000), pooled(10000), {.free = kMuch}};
  const auto homes = state->weights.homes();
  request.loaded = &homes;
  EXPECT_GT(count_no_room(*state, request,
                          fmt::format("test1 and cpu0, in unified memory, it would need {} "
                                      "and may use {}",
                                      size_text(all), size_text(weights + 10000))),
            0U);
}

TEST_F(FitInPool, RandomFitsNeverExceedTheMemory) {
  std::mt19937_64 random(5);
  const auto any = [&](std::uint64_t below) { return random() % below; };
  int shared = 0;
  int unused = 0;
  constexpr int kRounds = repetitions(40);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t memory = 20000 + any(1500000);
    const std::uint64_t margin = any(2) * any(50000);
    std::vector<std::unique_ptr<TestDevice>> owned;
    const std::uint64_t count = 1 + any(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      TestDeviceConfig config = in_pool(memory, fmt::format("test{}", i));
      config.host_memory = i == 0 || any(3) > 0;
      if (any(2) == 0) config.ops = {"matmul", "add", "mul", "rms_norm", "swiglu"};
      if (any(2) == 0) config.max_buffer = 20000 + any(100000);
      if (any(3) == 0) config.wants = {"matmul"};
      if (any(3) == 0) config.wants_types = {{DType::kQ8_0, DType::kF32}};
      config.scratch = any(2) * any(5000);
      owned.push_back(std::make_unique<TestDevice>(config));
    }
    // One that uses the file, or needs copies.
    TestDeviceConfig host = {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
    host.in_host_memory = any(3) > 0;
    owned.push_back(std::make_unique<TestDevice>(host));
    std::vector<Device*> devices;
    for (const auto& device : owned) devices.push_back(device.get());
    LoadOptions options = small();
    options.placement.rules_only = any(2) == 0;
    options.memory_margin = margin;
    if (any(2) == 0) options.placement.stream_rows = 1;
    const Loaded loaded = load(devices, options);
    std::uint64_t of_accelerators = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (owned[i]->info().host_memory) of_accelerators += owned[i]->allocated();
    }
    (of_accelerators > 0 ? shared : unused) += 1;
    if (of_accelerators == 0) continue;
    EXPECT_LE(of_accelerators + loaded.allocated("cpu0"), memory - margin) << round;
  }
  EXPECT_GT(shared, kRounds / 4) << "so that this says something";
  EXPECT_GT(unused, kRounds / 10) << "nor this";
}

/// The reported progress shows whether the file is read ahead.
TEST_F(FitInPool, ReadsTheFileAheadOnlyIfItFitsBesideTheWeights) {
  const auto read_all = [&](bool shared, std::uint64_t total_memory) {
    TestDeviceConfig config = in_pool(kMuch);
    config.host_memory = shared;
    config.ops = {"matmul"};
    config.answer = [](const Graph& graph, NodeId id) {
      const bool output = graph.node(graph.node(id).sources[0]).name == "output.weight";
      return output ? Support::no(Refusal::kCost, "too wide") : Support::yes();
    };
    TestDevice device(config);
    TestDevice host(
        {.name = "cpu0", .kind = DeviceKind::kCpu, .memory = total_memory, .in_host_memory = true});
    LoadOptions options = small();
    std::uint64_t last = 0;
    std::uint64_t all = 0;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      last = done;
      all = total;
    };
    const Loaded loaded = load({&device, &host}, options);
    const Ledger ledger = loaded.model->ledger();
    EXPECT_GE(ledger.bytes("test0", Purpose::kWeights), kLayers * kLayerBytes);
    EXPECT_GT(ledger.bytes("cpu0", Purpose::kMappedWeights), 0U);
    weights_ = ledger.total(Purpose::kWeights) + ledger.total(Purpose::kMappedWeights);
    return last == all;
  };
  ASSERT_TRUE(read_all(true, kMuch));
  const std::uint64_t most = weights_ / 8 * 10;  // of which 8 tenths are at most all weights
  EXPECT_FALSE(read_all(true, most));
  EXPECT_TRUE(read_all(true, most + 20));
  EXPECT_TRUE(read_all(false, most)) << "then the others are elsewhere";
}

}  // namespace
}  // namespace shunt::test::engine_memory_pool_test

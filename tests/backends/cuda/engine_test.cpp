// Models on CUDA devices: the same as on the CPU, for each type of weights, on two unlike devices
// with and without direct copies, and on one that is too small.
#include <gmock/gmock.h>

#include <array>
#include <set>

#include "backends/cuda/cuda_devices.h"
#include "base/clock.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_engine_test {
namespace {

using testing::IsEmpty;

double distance(const EngineRun& a, const EngineRun& b) {
  return test::distance(a.logits, b.logits);
}

class CudaEngine : public CudaDevices {
 protected:
  Result<EngineRun> run(const std::string& path, const std::vector<std::string>& names,
                        const std::vector<Pin>& pins = {}, std::uint64_t margin = 0) const {
    SHUNT_ASSIGN(const auto chosen, registry_->select(names));
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = margin;
    options.placement.rules_only = true;
    options.placement.pins = pins;
    return run_engine(path, chosen, options);
  }
  /// The devices that compute a step.
  static std::set<std::string> used(const EngineRun& run) {
    std::set<std::string> names;
    for (const LedgerRow& row : run.session->ledger().rows) {
      if (row.purpose == Purpose::kActivations) names.insert(row.device);
    }
    return names;
  }
};

class CudaEngineTypes : public CudaEngine, public testing::WithParamInterface<DType> {};

TEST_P(CudaEngineTypes, MatchTheCpu) {
  SynthOptions options;
  options.dtype = GetParam();
  options.width = options.feed_forward = 256;  // all lanes of a warp have work
  const SynthModel model(options);
  if (GetParam() == DType::kBF16) {
    // CPUs with instructions for BF16 round activations to that type. Plain code does not.
    Options plain = twin_.options();
    plain.backend_options["cpu"]["level"] = "scalar";
    registry_.reset();
    twin_.restart();
    open(plain);
  }
  const auto cuda = run(model.path(), {"cuda0"});
  const auto cpu = run(model.path(), {"cpu0"});
  ASSERT_TRUE(cuda) << cuda.error().message();
  ASSERT_TRUE(cpu) << cpu.error().message();
  // Each rounds the other operand of quantized weights to 8 bits in blocks of its own.
  EXPECT_LT(distance(*cuda, *cpu), trait(GetParam()).quantized ? 2e-3 : 1e-9);
  EXPECT_THAT(used(*cuda), testing::Contains("cuda0"));
  EXPECT_LE(twin_.all_counts().worst_bank_conflict, 1U) << "at most two passes over shared memory";
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, CudaEngineTypes,
                         testing::ValuesIn(every(3, std::array{DType::kF32, DType::kF16,
                                                               DType::kBF16, DType::kQ8_0,
                                                               DType::kQ4_0, DType::kIQ4_NL,
                                                               DType::kQ4_K, DType::kQ6_K})),
                         [](const auto& test) { return std::string(to_string(test.param)); });

/// Kernels use IEEE operations and exact sums of integers, so cards of all ages agree.
TEST_F(CudaEngine, AStepHasTheSameBitsTwiceAndOnEachProfile) {
  std::vector<DType> types = {DType::kQ4_K};
  std::vector<const char*> profiles = {"h200", "p40"};
  if (!kSanitized) {
    types.push_back(DType::kF32);
    profiles.insert(profiles.end(), {"t4", "a100", "rtx4090", "orin", "b200"});
  }
  for (const DType type : types) {
    SynthOptions shape;
    shape.dtype = type;
    shape.width = shape.feed_forward = 256;
    const SynthModel model(shape);
    std::vector<float> expected;
    for (const char* profile : profiles) {
      reopen({{"CUDA_TWIN_PROFILE", profile}});
      auto run = this->run(model.path(), {"cuda0"});
      ASSERT_TRUE(run) << run.error().message();
      Session& session = *run->session;
      const auto length = session.length();
      std::vector<std::vector<float>> steps;
      for (int i = 0; i < 2; ++i) {
        const auto logits = session.append(std::vector{run->tokens.back()});
        ASSERT_TRUE(logits) << logits.error().message();
        steps.emplace_back(logits->begin(), logits->end());
        ASSERT_TRUE(session.truncate(length));
      }
      EXPECT_EQ(steps[0], steps[1]) << profile;
      if (expected.empty()) expected = steps[0];
      EXPECT_EQ(steps[0], expected) << profile;
    }
  }
}

/// So a later version can replay a step as a graph. Sizes come from a ring in pinned memory, or, if
/// the driver refuses pinned memory, as parameters of the first kernel.
TEST_F(CudaEngine, LaunchesHaveTheSameParametersInEachStep) {
  const SynthModel model;
  for (const bool is_pinned : {true, false}) {
    reopen({{"CUDA_TWIN_FAIL_PINNED", is_pinned ? "0" : "1+"}});
    const auto run = this->run(model.path(), {"cuda0"});
    ASSERT_TRUE(run) << run.error().message();
    const std::vector next = {run->tokens.back()};
    const std::vector<std::int32_t> two = {40, 50}, three = {60, 70, 80};
    for (const auto& tokens : {three, next}) ASSERT_TRUE(run->session->append(tokens));
    const KernelCounts all = twin_.all_counts(), first = twin_.counts("begin_run");
    for (const auto& tokens : {next, two, next, three}) ASSERT_TRUE(run->session->append(tokens));
    const KernelCounts all_after = twin_.all_counts(), first_after = twin_.counts("begin_run");
    EXPECT_EQ(first_after.launches, first.launches + 4);
    EXPECT_GT(all_after.launches, all.launches + 40);
    EXPECT_EQ(first_after.parameter_sets, first.parameter_sets + (is_pinned ? 0 : 4));
    EXPECT_EQ(all_after.parameter_sets, all.parameter_sets + (is_pinned ? 0 : 4));
  }
}

/// For each type of cache: scores of the 60 tokens before stay on the chip.
TEST_F(CudaEngine, AttentionOfAStepWritesItsResultOnly) {
  SynthOptions shape;
  shape.width = 128;  // heads of 32, a block of Q8_0
  const SynthModel model(shape);
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < 60; ++i) prompt.push_back(i == 0 ? 1 : 20 + i);
  for (const DType type : {DType::kF16, DType::kQ8_0}) {
    reopen({});
    LoadOptions options;
    options.session = small_session(64);
    options.session.cache_type = type;
    options.placement.rules_only = true;
    const auto loaded = Model::load(model.path(), *devices(), options);
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto session = Session::create(*loaded, options.session);
    ASSERT_TRUE(session) << session.error().message();
    ASSERT_TRUE((*session)->append(prompt));
    const KernelCounts before = twin_.counts("paged_attention");
    ASSERT_TRUE((*session)->append(std::vector{30}));
    const KernelCounts after = twin_.counts("paged_attention");
    EXPECT_EQ(after.launches - before.launches, 2U);
    EXPECT_EQ(after.bytes_written - before.bytes_written, 2U * 128 * sizeof(float));
  }
}

/// A grid is fixed for the largest step. Blocks without work return at once.
TEST_F(CudaEngine, MostBlocksOfADecodeStepHaveWork) {
  const SynthModel model;
  const auto run = this->run(model.path(), {"cuda0"});
  ASSERT_TRUE(run) << run.error().message();
  const KernelCounts before = twin_.all_counts();
  ASSERT_TRUE(run->session->append(std::vector{run->tokens.back()}));
  const KernelCounts after = twin_.all_counts();
  const auto blocks = after.blocks - before.blocks;
  ASSERT_GT(blocks, 0U);
  EXPECT_LE(2 * (after.blocks_without_write - before.blocks_without_write), blocks);
}

/// Steps of several sequences have plans of several sizes.
TEST_F(CudaEngine, MostBlocksOfADecodeStepOfSequencesHaveWork) {
  const SynthModel model;
  for (const int sequences : {2, 3, 5}) {
    reopen({});
    LoadOptions options;
    options.session = small_session();
    options.session.sequences = 8;
    options.placement.rules_only = true;
    const auto loaded = Model::load(model.path(), *devices(), options);
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto session = Session::create(*loaded, options.session);
    ASSERT_TRUE(session) << session.error().message();
    std::vector<SequenceTokens> step;
    const std::vector<std::int32_t> prompt = {1, 20, 30}, next = {40};
    std::vector<SequenceTokens> prompts;
    for (int i = 0; i < sequences; ++i) {
      prompts.push_back({.sequence = i, .tokens = prompt});
      step.push_back({.sequence = i, .tokens = next});
    }
    ASSERT_TRUE((*session)->append_each(prompts));
    ASSERT_TRUE((*session)->append_each(step));
    const KernelCounts before = twin_.all_counts();
    ASSERT_TRUE((*session)->append_each(step));
    const KernelCounts after = twin_.all_counts();
    const auto blocks = after.blocks - before.blocks;
    ASSERT_GT(blocks, 0U);
    EXPECT_LE(2 * (after.blocks_without_write - before.blocks_without_write), blocks)
        << sequences << " sequences";
  }
}

TEST_F(CudaEngine, NotesGiveTheTimeThatTheDriverTookToLoadKernels) {
  const SynthModel model;
  const auto before = twin_.calls("cuModuleLoadDataEx");
  const double start = steady_seconds();
  const auto cuda = run(model.path(), {"cuda0"});
  ASSERT_TRUE(cuda) << cuda.error().message();
  const auto loads = twin_.calls("cuModuleLoadDataEx") - before;
  const LoadedKernels kernels = (*registry_->find("cuda0"))->loaded_kernels();
  EXPECT_EQ(kernels.modules, loads + 1) << "one to see whether the driver can compile PTX";
  EXPECT_GT(kernels.seconds, 0);
  EXPECT_LT(kernels.seconds, steady_seconds() - start);
  EXPECT_GT(loads, 3U);
  EXPECT_THAT(
      cuda->session->notes(),
      testing::Contains(testing::MatchesRegex("cuda0: the driver took [0-9.]+ s to load " +
                                              std::to_string(loads + 1) + " modules of kernels")));
}

TEST_F(CudaEngine, TwoUnlikeDevicesGiveTheTextOfOne) {
  const SynthModel model;
  const auto alone = run(model.path(), {"cuda0"});
  ASSERT_TRUE(alone) << alone.error().message();
  for (const char* peers : {"on", "off"}) {
    reopen({{"CUDA_TWIN_PROFILE", "h200,t4"}, {"CUDA_TWIN_PEERS", peers}});
    const auto direct = twin_.copies_between_devices();
    const auto waits = twin_.calls("cuStreamWaitEvent");
    const auto both = run(model.path(), {"cuda0", "cuda1"}, {{"blk\\.1\\..*", "cuda1"}});
    ASSERT_TRUE(both) << both.error().message();
    EXPECT_THAT(used(*both), testing::IsSupersetOf({"cuda0", "cuda1"}));
    EXPECT_EQ(twin_.copies_between_devices() > direct, std::string_view(peers) == "on");
    if (std::string_view(peers) == "on") {
      EXPECT_GT(twin_.calls("cuStreamWaitEvent"), waits) << "the device waits, not the host";
    }
    EXPECT_EQ(both->tokens, alone->tokens);
    EXPECT_LT(distance(*both, *alone), 1e-12);
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
}

// A card with room for some layers only. The driver gives memory in pieces of 2 MiB, which fits do
// not know: their margin is a piece.
constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
constexpr std::uint64_t kSmallCard = std::uint64_t{9} << 20;

TEST_F(CudaEngine, ADeviceThatIsTooSmallSharesWithTheCpu) {
  SynthOptions options;
  options.width = options.feed_forward = 256;
  options.layers = 6;
  const SynthModel model(options);
  const auto cpu = run(model.path(), {"cpu0"});
  ASSERT_TRUE(cpu) << cpu.error().message();
  ASSERT_GT(cpu->model->predicted().allocated("cpu0"), kSmallCard);
  reopen({{"CUDA_TWIN_MEMORY", std::to_string(kSmallCard).c_str()}});
  const auto shared = run(model.path(), {"cuda0"}, {}, kPiece);
  ASSERT_TRUE(shared) << shared.error().message();
  EXPECT_THAT(used(*shared), testing::IsSupersetOf({"cuda0", "cpu0"}));
  EXPECT_THAT(shared->model->notes(),
              testing::Contains(testing::MatchesRegex("cuda0: layers .* of 6\\).*")));
  EXPECT_EQ(shared->tokens, cpu->tokens);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaEngine, WeightsInHostMemoryAreSentToTheDeviceForLongPrompts) {
  SynthOptions shape;
  shape.width = shape.feed_forward = 256;
  shape.layers = 6;
  const SynthModel model(shape);
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < 40; ++i) prompt.push_back(i == 0 ? 1 : 20 + i);
  reopen({{"CUDA_TWIN_MEMORY", std::to_string(kSmallCard).c_str()}});
  // The logits after the prompt, and the products that cuda0 computed for it.
  using Outcome = std::pair<std::vector<float>, std::uint64_t>;
  const auto prompt_on = [&](const std::string& device,
                             std::int64_t stream_rows) -> Result<Outcome> {
    LoadOptions options;
    options.session = small_session(64);
    options.session.batch = 40;
    options.memory_margin = kPiece;
    options.placement.rules_only = true;
    options.placement.stream_rows = stream_rows;
    SHUNT_ASSIGN(const auto chosen, registry_->select(std::vector{device}));
    SHUNT_ASSIGN(const auto loaded, Model::load(model.path(), chosen, options));
    SHUNT_ASSIGN(const auto session, Session::create(loaded, options.session));
    const auto before = twin_.counts("matmul_F32").launches;
    SHUNT_ASSIGN(const auto logits, session->append(prompt));
    return Outcome({logits.begin(), logits.end()}, twin_.counts("matmul_F32").launches - before);
  };
  const auto cpu = prompt_on("cpu0", 32);
  const auto few = prompt_on("cuda0", 0);
  const auto sent = prompt_on("cuda0", 32);
  for (const auto* outcome : {&cpu, &few, &sent})
    ASSERT_TRUE(*outcome) << outcome->error().message();
  EXPECT_GT(few->second, 0U);
  EXPECT_GT(sent->second, few->second);
  EXPECT_LT(test::distance(few->first, cpu->first), 1e-9);
  EXPECT_LT(test::distance(sent->first, cpu->first), 1e-9);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test::cuda_engine_test

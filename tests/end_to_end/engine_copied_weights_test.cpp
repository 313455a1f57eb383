// Weights that the CPU has in memory of its own. The text is the same as from the mapped file, and
// the ledger is as predicted. This holds for weights anywhere else, and for any failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/model_state.h"
#include "shunt/importance.h"
#include "shunt/verify_model.h"
#include "support/big_endian.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/resident.h"
#include "support/run_command.h"
#include "support/stories.h"
#include "support/test_device.h"

namespace shunt::test::engine_copied_weights_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// A weight of more than one row.
bool is_matrix(const Graph& graph, NodeId leaf) {
  return max_sizes(graph.node(leaf).result.shape)[1] > 1;
}

std::uint64_t matrix_bytes(const ModelState& state) {
  std::uint64_t bytes = 0;
  for (const gguf::TensorInfo& info : state.file.tensors()) {
    if (max_sizes(info.tensor.shape)[1] > 1) bytes += info.bytes;
  }
  return bytes;
}

class CopiedWeights : public ::testing::Test {
 protected:
  CopiedWeights() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
    to_native_order(file_.path());
  }

  static SynthOptions shape(bool tied = false) {
    SynthOptions options;
    options.layers = 3;
    options.width = 32;
    options.feed_forward = 96;
    options.vocabulary = 300;
    options.tied = tied;
    return options;
  }

  static LoadOptions load_options(WeightMode mode) {
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.weights = mode;
    return options;
  }

  /// A CPU that computes with the ops' references in host memory, and prefers another memory type
  /// for matrices.
  static TestDeviceConfig choosy() {
    return {.name = "cpu7",
            .kind = DeviceKind::kCpu,
            .in_host_memory = true,
            .wants_weight = is_matrix};
  }

  EngineRun must_run(const std::vector<Device*>& devices, const LoadOptions& options,
                     std::int64_t context = 32) const {
    auto made = run_engine(file_.path(), devices, options, context);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : EngineRun();
  }

  static void expect_same_numbers(const EngineRun& a, const EngineRun& b) {
    EXPECT_EQ(a.tokens, b.tokens);
    ASSERT_EQ(a.logits.size(), b.logits.size());
    for (std::size_t i = 0; i < a.logits.size(); ++i) {
      ASSERT_NEAR(a.logits[i], b.logits[i], 1e-3) << i;
    }
  }

  /// The memory is as predicted for a session as announced.
  static void expect_as_predicted(const EngineRun& run) {
    Ledger used;
    for (const Device* device : run.model->state()->devices) {  // in the order of predicted()
      for (const Ledger& ledger : {run.model->ledger(), run.session->ledger()}) {
        for (const LedgerRow& row : ledger.rows) {
          if (row.device == device->info().name) used.add(row.device, row.purpose, row.bytes);
        }
      }
    }
    EXPECT_EQ(to_text(used.in_buffers()), to_text(run.model->predicted().in_buffers()));
  }

  SynthModel file_{shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

TEST_F(CopiedWeights, GiveTheNumbersOfTheMappedFile) {
  const std::string& path = stories().path;
  const auto mapped = run_engine(path, {cpu_}, load_options(WeightMode::kMapped));
  const auto copied = run_engine(path, {cpu_}, load_options(WeightMode::kCopied));
  ASSERT_TRUE(mapped && copied);
  expect_same_numbers(*copied, *mapped);
}

TEST_F(CopiedWeights, AreOnTheLedgerAsAllocated) {
  const std::string name = cpu_->info().name;
  for (const WeightMode mode : {WeightMode::kMapped, WeightMode::kCopied, WeightMode::kAuto}) {
    SCOPED_TRACE(to_string(mode));
    const EngineRun run = must_run({cpu_}, load_options(mode));
    ASSERT_TRUE(run.model);
    expect_as_predicted(run);
    const Ledger ledger = run.model->ledger();
    const std::uint64_t all = run.model->info().weight_bytes;
    const std::uint64_t allocated = ledger.bytes(name, Purpose::kWeights);
    const std::uint64_t mapped = ledger.bytes(name, Purpose::kMappedWeights);
    if (mode == WeightMode::kMapped) {
      EXPECT_EQ(allocated, 0U);
      EXPECT_EQ(mapped, all);
      continue;
    }
    // All but the norms, and the embedding, whose rows are looked up. The bytes that align and pad
    // them in memory are included.
    EXPECT_GE(allocated, all - mapped);
    EXPECT_LE(allocated, (all - mapped) * 11 / 10);
    EXPECT_EQ(mapped, 4U * 32 * (2 * 3 + 1 + 300));
  }
}

TEST_F(CopiedWeights, AreTheDefaultOnlyOnACpuOnly) {
  TestDevice other({.name = "test0", .ops = {"add"}});
  const std::string name = cpu_->info().name;
  const EngineRun together = must_run({&other, cpu_}, load_options(WeightMode::kAuto));
  EXPECT_EQ(together.model->ledger().bytes(name, Purpose::kWeights), 0U);
  const EngineRun asked = must_run({&other, cpu_}, load_options(WeightMode::kCopied));
  EXPECT_GT(asked.model->ledger().bytes(name, Purpose::kWeights), 0U);
  expect_same_numbers(asked, together);
  expect_as_predicted(asked);
}

TEST_F(CopiedWeights, ReleaseThePagesOfTheFile) {
  SynthOptions options = shape(true);
  options.width = 256;
  options.vocabulary = 4000;
  options.feed_forward = 512;
  const SynthModel file(options);  // some 12 MiB
  to_native_order(file.path());
  for (const bool copied : {false, true}) {
    const auto made = run_engine(file.path(), {cpu_},
                                 load_options(copied ? WeightMode::kCopied : WeightMode::kMapped));
    ASSERT_TRUE(made) << made.error().message();
    const std::uint64_t all = made->model->info().weight_bytes;
    ASSERT_GT(all, 8U << 20);
    // Beside norms and the description of the file: pages come with some of their neighbours.
    const std::size_t resident = resident_bytes(file.path());
    EXPECT_EQ(resident < all / 4, copied) << resident << " of " << all;
    EXPECT_EQ(resident > all / 4 * 3, !copied) << resident << " of " << all;
  }
}

TEST_F(CopiedWeights, MayBeInMemoryThatTheHostCannotAccess) {
  for (const bool tied : {false, true}) {
    const SynthModel file(shape(tied));
    to_native_order(file.path());
    TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
    TestDevice device(choosy());
    const auto mapped = run_engine(file.path(), {&plain}, load_options(WeightMode::kAuto));
    const auto copied = run_engine(file.path(), {&device}, load_options(WeightMode::kAuto));
    ASSERT_TRUE(mapped && copied);
    EXPECT_EQ(copied->tokens, mapped->tokens);
    EXPECT_EQ(copied->logits, mapped->logits);
    expect_as_predicted(*mapped);
    expect_as_predicted(*copied);

    // The device gets each matrix once, with its place, as it is in the file.
    ASSERT_EQ(device.weights_placed().size(), 1U);
    const auto state = copied->model->state();
    EXPECT_EQ(device.weights_placed()[0].size(), tied ? 22U : 23U);
    const std::uint64_t bytes = matrix_bytes(*state);
    EXPECT_EQ(copied->model->ledger().bytes("cpu7", Purpose::kWeights), bytes);
    EXPECT_EQ(device.weights_allocated(), bytes);
    std::size_t matrices = 0;
    for (const auto& [info, record] : state->weights.records) {
      const Address address = record.address;
      const std::vector<std::byte> data = bytes_of(state->file, *info);
      std::vector<std::byte> there(data.size());
      ASSERT_TRUE(address.buffer->read(address.offset, there));
      EXPECT_TRUE(there == data) << info->name;
      if (address.buffer->type().host_accessible()) continue;
      ++matrices;
      const auto is_there = [&](const PlacedTensor& placed) {
        return placed.offset == address.offset && placed.tensor.shape == info->tensor.shape &&
               placed.tensor.dtype == info->tensor.dtype;
      };
      EXPECT_TRUE(std::ranges::any_of(device.weights_placed()[0], is_there)) << info->name;
    }
    EXPECT_EQ(matrices, device.weights_placed()[0].size());
  }
}

TEST_F(CopiedWeights, IncludeOnlyWeightsThatEveryStepWants) {
  // Wants the output where a prompt is computed, all others always.
  TestDeviceConfig config = choosy();
  config.wants_weight = [](const Graph& graph, NodeId leaf) {
    bool prompt = false;
    for (const Node& node : graph.nodes()) {
      prompt = prompt || (node.role == Role::kInput && max_sizes(node.result.shape)[0] == 8);
    }
    const bool output = max_sizes(graph.node(leaf).result.shape)[1] == 300;
    return is_matrix(graph, leaf) && (prompt || !output);
  };
  TestDevice device(config);
  const EngineRun run = must_run({&device}, load_options(WeightMode::kCopied));
  const auto state = run.model->state();
  // Of this shape are the embedding and the output.
  EXPECT_EQ(device.weights_allocated(), matrix_bytes(*state) - 2 * 4 * 32 * 300);
  for (const auto& [info, record] : state->weights.records) {
    const Address address = record.address;
    const std::int64_t rows = max_sizes(info->tensor.shape)[1];
    EXPECT_EQ(address.buffer->type().host_accessible(), rows == 300 || rows == 1) << info->name;
  }
  expect_as_predicted(run);
}

TEST_F(CopiedWeights, WithoutMemoryAutoUsesTheMappedFileAndCopiedFails) {
  std::vector<std::string> said;
  LoadOptions options = load_options(WeightMode::kAuto);
  options.placement.fallback.log = [&](std::string_view line) { said.emplace_back(line); };
  TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
  const EngineRun mapped = must_run({&plain}, options);
  EXPECT_THAT(said, Each(Not(HasSubstr("can't allocate memory for copies"))));
  const std::uint64_t needed = mapped.model->predicted().allocated("cpu7");

  for (const bool refuses : {true, false}) {
    SCOPED_TRACE(refuses ? "an allocation is refused" : "it is known to be too much");
    TestDeviceConfig config = choosy();
    if (!refuses) config.memory = needed + 1000;
    for (const WeightMode mode : {WeightMode::kAuto, WeightMode::kCopied}) {
      TestDevice device(config);
      if (refuses) device.fail_at({.allocation = 1});
      options.weights = mode;
      said.clear();
      const auto made = run_engine(file_.path(), {&device}, options);
      if (mode == WeightMode::kCopied) {
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code(), ErrorCode::kOutOfMemory);
        EXPECT_EQ(made.error().device(), refuses ? "cpu7" : "");
        EXPECT_THAT(made.error().message(), HasSubstr(refuses ? "cpu7: weights" : "cpu7 needs "));
        continue;
      }
      ASSERT_TRUE(made) << made.error().message();
      EXPECT_EQ(made->tokens, mapped.tokens);
      EXPECT_EQ(made->logits, mapped.logits);
      const auto line =
          HasSubstr("can't allocate memory for copies of weights, so the mapped file is used: ");
      EXPECT_THAT(said, Contains(line));
      EXPECT_THAT(made->model->notes(), Contains(line));
      EXPECT_EQ(made->model->ledger().bytes("cpu7", Purpose::kWeights), 0U);
      EXPECT_EQ(device.weights_allocated(), 0U);
      expect_as_predicted(*made);
    }
  }
}

TEST_F(CopiedWeights, WriteFailureIsAnErrorOnLoad) {
  for (const WeightMode mode : {WeightMode::kAuto, WeightMode::kCopied}) {
    TestDevice device(choosy());
    device.fail_at({.copy = 3});
    const auto model = Model::load(file_.path(), std::vector<Device*>{&device}, load_options(mode));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code(), ErrorCode::kDevice);
    EXPECT_EQ(model.error().device(), "cpu7");
    EXPECT_EQ(device.weights_allocated(), 0U);
  }
}

TEST_F(CopiedWeights, WorkWithADeviceThatHoldsTheOthers) {
  TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
  const EngineRun alone = must_run({&plain}, load_options(WeightMode::kMapped));
  const std::uint64_t all = alone.model->info().weight_bytes;
  int shared = 0;
  int moved = 0;
  for (std::size_t memory = 20000; memory <= 380000; memory += 60000) {
    for (const bool streams : {false, true}) {
      SCOPED_TRACE(memory);
      TestDeviceConfig config = {.name = "test0", .memory = memory};
      if (streams) config.wants = {"matmul"};
      TestDevice other(config);
      TestDevice device(choosy());
      LoadOptions options = load_options(WeightMode::kCopied);
      options.placement.stream_rows = 2;
      const EngineRun run = must_run({&other, &device}, options);
      ASSERT_TRUE(run.session);
      EXPECT_EQ(run.tokens, alone.tokens);
      expect_as_predicted(run);
      const std::uint64_t copied = device.weights_allocated();
      EXPECT_EQ(run.model->ledger().bytes("cpu7", Purpose::kWeights), copied);
      if (copied > 0 && copied < all * 3 / 4) ++shared;
      // A context that the loader knew nothing of drives weights from the device to the CPU, for
      // this session: they are used from the file.
      const EngineRun larger = must_run({&other, &device}, options, 200);
      EXPECT_EQ(larger.tokens, alone.tokens);
      const auto state = larger.model->state();
      for (const auto& [info, home] : state->weights.homes()) {
        EXPECT_TRUE(home == 0 || max_sizes(info->tensor.shape)[1] == 1 ||
                    !state->weights.at(info).address.buffer->type().host_accessible());
      }
      moved += other.sent() > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 0) << "this never happened";
  EXPECT_GT(moved, 0) << "this never happened";
}

TEST_F(CopiedWeights, ArePinnedOpsStreamedThroughTheHost) {
  TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
  const EngineRun alone = must_run({&plain}, load_options(WeightMode::kMapped));
  // The other device has room for an op and its weights, which stay where they are.
  TestDevice other({.name = "test0"});
  TestDevice device(choosy());
  LoadOptions options = load_options(WeightMode::kCopied);
  options.placement.pins = {{"blk.1.ffn_down", "test0"}, {".*", "cpu7"}};
  const EngineRun run = must_run({&other, &device}, options);
  EXPECT_EQ(run.tokens, alone.tokens);
  EXPECT_GT(other.computed(), 0U);
  EXPECT_GT(other.received(), 9U * 4 * 32 * 96);
  EXPECT_GT(run.session->ledger().total(Purpose::kStaging), 0U);
  EXPECT_EQ(device.weights_placed()[0].size(), 23U);
  expect_as_predicted(run);
}

TEST_F(CopiedWeights, OfALostDeviceAreCopiedToTheCpu) {
  TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
  const EngineRun alone = must_run({&plain}, load_options(WeightMode::kMapped));
  for (const std::size_t launch : {1U, 40U, 100U}) {
    SCOPED_TRACE(launch);
    TestDevice other({.name = "test0", .memory = 150000});
    TestDevice device(choosy());
    LoadOptions options = load_options(WeightMode::kCopied);
    options.on_device_error.mode = DeviceErrorMode::kFallback;
    other.fail_at({.launch = launch, .for_good = true});
    const EngineRun run = must_run({&other, &device}, options);
    EXPECT_TRUE(other.has_failed());
    EXPECT_EQ(run.tokens, alone.tokens);
    const std::uint64_t all = matrix_bytes(*run.model->state());
    EXPECT_EQ(device.weights_allocated(), all);
    EXPECT_EQ(run.model->ledger().bytes("cpu7", Purpose::kWeights), all);
    EXPECT_GE(device.weights_placed().size(), 2U);
  }
}

TEST_F(CopiedWeights, WorkWithVerifyAndImportanceMatrix) {
  const std::vector<std::int32_t> prompt = {1, 20, 30, 40, 50};
  std::vector<ImportanceMatrix> gathered;
  for (const bool copied : {false, true}) {
    TestDevice device(
        copied
            ? choosy()
            : TestDeviceConfig{.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
    const EngineRun run = must_run({&device}, load_options(WeightMode::kCopied));
    EXPECT_EQ(device.weights_allocated() > 0, copied);
    TestDevice other({.name = "test0"});
    for (Device* judged : {static_cast<Device*>(&other), cpu_, static_cast<Device*>(&device)}) {
      const auto steps = verify(*run.model, *judged, prompt);
      ASSERT_TRUE(steps) << steps.error().message();
      for (const VerifiedStep& step : *steps) {
        for (const NodeCheck& check : step.checks) EXPECT_NE(check.outcome, CheckOutcome::kFailed);
        EXPECT_TRUE(std::ranges::none_of(step.checks, &NodeCheck::wrong));
      }
    }
    ImportanceOptions options;
    options.session = small_session(5);
    auto matrix = gather_importance(*run.model, prompt, options);
    ASSERT_TRUE(matrix) << matrix.error().message();
    gathered.push_back(std::move(*matrix));
  }
  ASSERT_EQ(gathered[0].tensors.size(), gathered[1].tensors.size());
  for (const auto& [name, sums] : gathered[0].tensors) {
    EXPECT_EQ(gathered[1].tensors.at(name).squares, sums.squares) << name;
  }
}

/// A device that computes in the host's memory, and has a layout of its own for some weights: those
/// come into it, however the CPU has its own.
TEST_F(CopiedWeights, OfADeviceInHostMemoryHaveItsLayout) {
  TestDevice plain({.name = "cpu7", .kind = DeviceKind::kCpu, .in_host_memory = true});
  const EngineRun alone = must_run({&plain}, load_options(WeightMode::kMapped));
  for (const WeightMode mode : {WeightMode::kMapped, WeightMode::kAuto, WeightMode::kCopied}) {
    SCOPED_TRACE(to_string(mode));
    TestDevice other({.name = "test0", .in_host_memory = true, .wants_weight = is_matrix});
    const EngineRun run = must_run({&other, &plain}, load_options(mode));
    ASSERT_TRUE(run.session);
    EXPECT_EQ(run.tokens, alone.tokens);
    EXPECT_GT(other.computed(), 0U);
    const auto state = run.model->state();
    EXPECT_EQ(other.weights_allocated(), matrix_bytes(*state));
    // Norms are where they were.
    EXPECT_EQ(run.model->ledger().bytes("test0", Purpose::kMappedWeights),
              state->info.weight_bytes - matrix_bytes(*state));
    expect_as_predicted(run);
  }
}

TEST_F(CopiedWeights, AreSelectedByTheWeightsFlag) {
  const auto text = [&](const std::string& mode) {
    const RunResult result = run_command({"run", "-m", file_.path(), "-p", "x", "-n", "4", "--temp",
                                          "0", "--weights", mode, "--devices", "cpu0"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(text("copied"), text("mapped"));
  EXPECT_EQ(text("auto"), text("mapped"));
  for (const bool copied : {true, false}) {
    const RunResult result = run_command({"explain", "-m", file_.path(), "--devices", "cpu0",
                                          "--weights", copied ? "copied" : "mapped"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

}  // namespace
}  // namespace shunt::test::engine_copied_weights_test

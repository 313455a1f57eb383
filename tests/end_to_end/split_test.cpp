// A model split by rows among test accelerators and the real CPU: the same text as on one device,
// and the parts of it that users see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/model_state.h"
#include "support/big_endian.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "support/test_device.h"
#include "test_paths.h"

namespace shunt::test::split_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

RunResult run_with_accelerators(std::vector<std::string> arguments,
                                const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_ACCELERATOR_PLUGINS;
  return run_command(arguments, options);
}

RunResult tell(const Stories& of, const std::vector<std::string>& more) {
  return run_with_accelerators(
      {"run", "--model", of.path, "-n", of.count(), "--temp", "0", "--prompt", of.prompt}, more);
}

struct Variation {
  const char* name;
  std::vector<std::string> arguments;
};

class SplitModel : public testing::TestWithParam<Variation> {};

TEST_P(SplitModel, GeneratesTheSameText) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--split", "rows"});
  const RunResult result = tell(told, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told.text + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    , SplitModel,
    testing::Values(
        Variation{"ThreeToOne", {"--devices", "accel0,accel1", "--shares", "3,1"}},
        Variation{"InTheOtherOrder", {"--devices", "accel1,accel0", "--shares", "3,1"}},
        Variation{"ByRules", {"--devices", "accel0,accel1", "--shares", "1,3", "--rules-only"}},
        Variation{"WithTheCpu", {"--devices", "accel0", "--shares", "1,1"}},
        Variation{"WithoutShares", {"--devices", "accel0,accel1,accel2,accel3"}},
        Variation{"CacheOfF32", {"--devices", "accel0", "--shares", "1,1", "--cache-type", "f32"}},
        Variation{"OnTheCpuAlone", {"--devices", "cpu0"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SplitCommand, ExplainAndPlaceListThePartsWithTheirDevices) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const std::vector<std::string> split = {"--devices", "accel0,accel1", "--split",
                                          "rows",      "--shares",      "3,1"};
  const RunResult result = run_with_accelerators(
      {"explain", "--model", stories_260k().path, "--rules-only", "--json"}, split);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("weights: its weight blk.0.attn_q.weight/1 (weight) is on "
                                    "accel1"));
  const json explained = json::parse(result.out);
  ASSERT_EQ(explained["devices"].size(), 3U);
  // Of a layer of width 64 with 8 heads of 8 in 4 groups, and 172 rows of feed-forward, in F32.
  const std::uint64_t layer = 64 * (16 + 8 + 8 + 16 + 3 * 43);  // two heads, their group; 43 rows
  const std::uint64_t part = 4 * (5 * layer + 64 * 512 / 4);    // and a quarter of the output
  EXPECT_EQ(explained["devices"][1]["weight_bytes"], part);
  const std::string placed =
      run_with_accelerators({"place", "--model", stories_260k().path, "--rules-only"}, split).out;
  EXPECT_THAT(placed, HasSubstr("blk.0.attn_q.weight/0"));
  EXPECT_THAT(placed, HasSubstr("keys of layer 0/1"));
}

TEST(SplitCommand, FollowsAPlacementFileOfTheSplitModel) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  const TempFolder folder;
  const std::string file = folder.file("split.placement");
  const std::vector<std::string> split = {"--devices", "accel0,accel1", "--split", "rows"};
  const RunResult placed =
      run_with_accelerators({"place", "--model", told.path, "-o", file}, split);
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  std::vector<std::string> arguments = split;
  arguments.insert(arguments.end(), {"--placement", file});
  const RunResult result = tell(told, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told.text + "\n");
}

TEST(SplitCommand, RejectsMoreSharesThanDevicesOrKvHeads) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  const RunResult shares =
      tell(told, {"--devices", "accel0", "--split", "rows", "--shares", "1,1,1"});
  EXPECT_EQ(shares.exit_code, 1);
  EXPECT_THAT(shares.err, HasSubstr("there are 3 shares, but 2 devices: accel0, cpu0"));
  const RunResult heads = tell(told, {"--devices", "accel0,accel1,accel2,accel3", "--split", "rows",
                                      "--shares", "1,1,1,1,1"});
  EXPECT_EQ(heads.exit_code, 1);
  EXPECT_THAT(heads.err, HasSubstr("layer 0, attention has 4 heads of keys and values, which can't "
                                   "be split among 5 devices"));
}

TEST(SplitCommand, RejectsModelsWithWindowsOrStates) {
  for (const char* architecture : {"gemma2", "gemma3", "gpt-oss", "mamba2", "qwen35", "lfm2"}) {
    SynthOptions shape;
    shape.architecture = architecture;
    const SynthModel model(shape);
    const RunResult result =
        run_with_accelerators({"run", "--model", model.path(), "--prompt", "a", "-n", "1"},
                              {"--devices", "accel0,accel1", "--split", "rows"});
    EXPECT_EQ(result.exit_code, 1) << architecture;
    EXPECT_EQ(result.out, "") << architecture;
    EXPECT_THAT(result.err, HasSubstr("a model with windows or states can't be split"))
        << architecture;
  }
}

TEST(SplitCommand, RejectsSharesThatDoNotMatchTheDevices) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  const std::vector<std::string> cpu_first = {"--devices", "cpu0,accel0", "--split",
                                              "rows",      "--shares",    "3,1"};
  const std::vector<std::string> one = {"--devices", "accel0,accel1", "--split",
                                        "rows",      "--shares",      "3"};
  for (const char* command : {"run", "explain"}) {
    std::vector<std::string> arguments = {command, "--model", told.path};
    if (command == std::string("run")) arguments.insert(arguments.end(), {"--prompt", "a"});
    const RunResult first = run_with_accelerators(arguments, cpu_first);
    EXPECT_EQ(first.exit_code, 1) << command;
    EXPECT_THAT(first.err, HasSubstr("cpu0 is always the last device: name it last"));
    const RunResult single = run_with_accelerators(arguments, one);
    EXPECT_EQ(single.exit_code, 1) << command;
    EXPECT_THAT(single.err, HasSubstr("one share splits nothing; give one for each device"));
  }
}

TEST(SplitCommand, PinOfAWholeWeightAppliesToItsParts) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  const std::vector<std::string> pinned = {"--devices", "accel0,accel1",
                                           "--split",   "rows",
                                           "--place",   "blk\\.0\\.attn_q\\.weight=accel1"};
  std::vector<std::string> arguments = {"place", "--model", told.path, "--rules-only"};
  const RunResult placed = run_with_accelerators(arguments, pinned);
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out + placed.err, Not(HasSubstr("matches no node")));
  std::istringstream lines(placed.out);
  std::size_t parts = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id;
    std::string name;
    std::string op;
    std::string device;
    words >> id >> name >> op >> device;
    if (!name.starts_with("blk.0.attn_q.weight/")) continue;
    EXPECT_EQ(device, "accel1") << line;
    ++parts;
  }
  EXPECT_EQ(parts, 2U);
  const RunResult result = tell(told, pinned);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told.text + "\n");
}

/// A session of a larger context than the loader left room for uses parts of the device from the
/// CPU: rows in the mapped file, columns in a copy.
TEST(SplitEngine, LargerContextMovesPartsToTheCpu) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const std::string path = stories_260k().path;
  const auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  Device* const cpu = (*registry)->devices().back();
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  options.weights = WeightMode::kMapped;
  constexpr std::int64_t kContext = 1024;
  const auto alone = run_engine(path, {cpu}, options, kContext);
  ASSERT_TRUE(alone) << to_text(alone.error());
  options.split = {SplitMode::kRows, {1, 1}};
  int moved = 0;
  for (std::size_t memory = 200000; memory <= 1200000; memory += 50000) {
    SCOPED_TRACE(memory);
    TestDevice device({.name = "test0", .memory = memory});
    const auto split = run_engine(path, {&device, cpu}, options, kContext);
    ASSERT_TRUE(split) << to_text(split.error());
    EXPECT_EQ(split->tokens, alone->tokens);
    ASSERT_EQ(split->logits.size(), alone->logits.size());
    for (std::size_t i = 0; i < alone->logits.size(); ++i) {
      ASSERT_NEAR(split->logits[i], alone->logits[i], 1e-2) << i;
    }
    // The session's own weights: whole ones and rows are used from the file.
    const std::uint64_t copied = split->session->ledger().bytes("cpu0", Purpose::kWeights);
    const auto state = split->model->state();
    std::uint64_t unmapped = 0;  // that are on the device, and are not used from the file
    for (const auto& [info, home] : state->weights.homes()) {
      const bool is_mapped = state->mapped_address(*info).buffer != nullptr;
      EXPECT_FALSE(is_mapped && !is_contiguous(info->tensor)) << info->name;
      if (home == 0 && !is_mapped) unmapped += info->bytes;
    }
    EXPECT_LE(copied, unmapped + 64 * state->weights.homes().size());
    moved += copied > 0 ? 1 : 0;
  }
  EXPECT_GT(moved, 0) << "this never happened";
}

/// The real CPU has the last part: rows in the mapped file, columns in a copy.
TEST(SplitEngine, CpuUsesRowsInTheMappedFile) {
  for (const DType dtype : {DType::kF32, DType::kQ8_0, DType::kQ4_K}) {
    SynthOptions shape;
    shape.width = 512;
    shape.feed_forward = 512;
    shape.heads = 8;
    shape.kv_heads = 4;
    shape.vocabulary = 300;
    shape.dtype = dtype;
    const SynthModel file(shape);
    to_native_order(file.path());
    const auto registry = Registry::create({});
    ASSERT_TRUE(registry);
    Device* const cpu = (*registry)->devices().back();
    TestDevice device({.name = "test0"});
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.weights = WeightMode::kMapped;
    const auto alone = run_engine(file.path(), {cpu}, options);
    options.split = {SplitMode::kRows, {1, 1}};
    const auto split = run_engine(file.path(), {&device, cpu}, options);
    ASSERT_TRUE(alone) << to_text(alone.error());
    ASSERT_TRUE(split) << to_text(split.error());
    double squares = 0;
    double errors = 0;
    for (std::size_t i = 0; i < alone->logits.size(); ++i) {
      const double off = split->logits[i] - alone->logits[i];
      squares += alone->logits[i] * alone->logits[i];
      errors += off * off;
    }
    EXPECT_LT(errors, 1e-3 * squares) << to_string(dtype);
    const auto state = split->model->state();
    std::uint64_t columns = 0;
    std::uint64_t mapped = 0;
    for (const auto& [info, home] : state->weights.homes()) {
      if (home != 1) continue;
      const bool is_view = !is_contiguous(info->tensor);
      (is_view ? columns : mapped) += info->bytes;
      EXPECT_EQ(state->mapped_address(*info).buffer != nullptr, !is_view) << info->name;
    }
    EXPECT_GT(columns, 0U);
    const Ledger ledger = split->model->ledger();
    EXPECT_EQ(ledger.bytes("cpu0", Purpose::kMappedWeights), mapped);
    EXPECT_GE(ledger.bytes("cpu0", Purpose::kWeights), columns);
    Ledger all = ledger;
    all.add(split->session->ledger());
    EXPECT_THAT(all.in_buffers().rows,
                UnorderedElementsAreArray(split->model->predicted().in_buffers().rows));
  }
}

}  // namespace
}  // namespace shunt::test::split_test

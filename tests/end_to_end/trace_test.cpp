// `shunt run --trace FILE`: the contents of the file, and when there is none. The device comes as a
// plugin: test0, which has matmul and add and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "shunt/costs.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::trace_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class RunTrace : public testing::Test {
 protected:
  static RunResult run(std::vector<std::string> arguments) {
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
    return run_command(arguments, options);
  }
  RunResult run_traced(const std::string& path, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "run", "-m",      model_.path(), "-p", "Hello", "-n",           "4",  "--temp",
        "0",   "--trace", path,          "-c", "64",    "--ignore-eos", "-b", "64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::string file(const std::string& name) const { return model_.folder().file(name); }

  /// The events of a traced run.
  std::vector<json> events() const {
    const RunResult result = run_traced(file("trace.json"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(file("trace.json")));
    return json::parse(test::read_file(file("trace.json")))["traceEvents"];
  }

  SynthModel model_;
};

TEST_F(RunTrace, HasEveryActionOfEveryStepOnce) {
  // The actions of a step are those of shunt explain: its segments, and its copies.
  const RunResult explained =
      run({"explain", "-m", model_.path(), "--json", "--ctx", "64", "--tokens", "64"});
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const json e = json::parse(explained.out);
  using What = std::tuple<std::string, std::string, std::size_t, std::string>;
  std::multiset<What> expected;
  std::map<std::pair<std::string, std::size_t>, std::vector<std::string>> copies;  // of a segment
  const auto expect_copy = [&](const json& transfer, std::size_t segment) {
    // The host does not reach test0's memory: test0 does both.
    const std::string kind = transfer["to"] == "test0" ? "write" : "read";
    expected.insert({kind, "test0", segment, transfer["name"]});
    copies[{kind, segment}].push_back(transfer["name"]);
  };
  // One copy of adjacent tensors counts as a copy of each: "first to last".
  const auto names_of = [&](const json& event) -> std::vector<std::string> {
    const json& args = event["args"];
    const std::size_t tensors = args.value("tensors", std::size_t{1});
    if (event["cat"] == "segment") return {args["first"]};
    if (tensors == 1) return {event["name"]};
    const auto& names = copies[{event["cat"], args["segment"]}];
    for (std::size_t i = 0; i + tensors <= names.size(); ++i) {
      if (json(names[i] + " to " + names[i + tensors - 1]) != event["name"]) continue;
      return {names.begin() + i, names.begin() + i + tensors};
    }
    ADD_FAILURE() << event["name"] << " are no " << tensors << " copies of a segment";
    return {};
  };
  for (std::size_t i = 0; i < e["segments"].size(); ++i) {
    const json& segment = e["segments"][i];
    expected.insert({"segment", segment["device"], i, segment["nodes"].front()["name"]});
    for (const json& transfer : segment["transfers"]) expect_copy(transfer, i);
  }
  for (const json& result : e["results"]) expect_copy(result, e["segments"].size());

  std::map<int, std::string> threads;
  std::map<std::pair<int, int>, std::multiset<What>> steps;  // by plan and number
  for (const json& event : events()) {
    if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X" || event["cat"] == "host") continue;
    const json& args = event["args"];
    for (const std::string& name : names_of(event)) {
      steps[{args["plan"], args["step"]}].insert(
          {event["cat"], threads.at(event["tid"]), args["segment"], name});
    }
  }
  // The prompt, and three tokens: the fourth needs no step. Each of the two plans counts its own.
  ASSERT_EQ(steps.size(), 4U);
  std::multiset<int> numbers;
  for (const auto& [step, actions] : steps) {
    numbers.insert(step.second);
    EXPECT_EQ(actions, expected) << "plan " << step.first << ", step " << step.second;
  }
  EXPECT_EQ(numbers, (std::multiset<int>{0, 0, 1, 2}));
}

TEST_F(RunTrace, SpansOfAThreadAreNestedOrDisjoint) {
  std::map<int, std::string> threads;
  std::map<int, std::vector<std::pair<double, double>>> spans;
  std::map<std::string, int> of_host;
  for (const json& event : events()) {
    if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["ts"], 0);
    EXPECT_GE(event["dur"], 0);
    const double begin = event["ts"];
    spans[event["tid"]].emplace_back(begin, begin + event["dur"].get<double>());
    if (event["cat"] == "host") ++of_host[event["name"]];
  }
  std::multiset<std::string> names;
  for (const auto& [id, name] : threads) names.insert(name);
  EXPECT_EQ(names, (std::multiset<std::string>{"cpu0", "host", "test0"}));
  EXPECT_EQ(of_host,
            (std::map<std::string, int>{{"load", 1}, {"tokenize", 1}, {"step", 4}, {"sample", 4}}));
  constexpr double kRounding = 1e-6;  // of a sum of two decimal numbers, in microseconds
  for (auto& [id, of_thread] : spans) {
    std::sort(of_thread.begin(), of_thread.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    for (const auto& [begin, end] : of_thread) {
      while (!open.empty() && open.back() <= begin + kRounding) open.pop_back();
      if (open.empty()) {
        open.push_back(end);
        continue;
      }
      EXPECT_EQ(threads[id], "host") << "a device does one thing at a time";
      EXPECT_LE(end, open.back() + kRounding);
      open.push_back(end);
    }
  }
}

TEST_F(RunTrace, FlowEventsLeadToLaterSpans) {
  std::map<std::uint64_t, std::vector<json>> arrows;
  std::size_t copies = 0;
  for (const json& event : events()) {
    if (event["ph"] == "s" || event["ph"] == "f") arrows[event["id"]].push_back(event);
    const std::string kind = event.value("cat", "");
    if (kind == "write" || kind == "read") ++copies;
  }
  EXPECT_GE(arrows.size(), copies);
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_EQ(ends[1]["ph"], "f");
    EXPECT_LE(ends[0]["ts"], ends[1]["ts"]);
  }
}

TEST_F(RunTrace, DoesNotChangeTheText) {
  EXPECT_EQ(run_traced(file("t.json")).out, run({"run", "-m", model_.path(), "-p", "Hello", "-n",
                                                 "4", "--temp", "0", "-c", "64", "--ignore-eos"})
                                                .out);
}

TEST_F(RunTrace, UnwritableFileIsAnErrorBeforeLoading) {
  const RunResult result =
      run({"run", "-m", "/nonexistent.gguf", "-p", "x", "--trace", "/nonexistent/trace.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent/trace.json"));
  EXPECT_THAT(result.err, Not(HasSubstr("gguf")));
  const RunResult folder = run_traced(model_.folder().path());
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_EQ(folder.out, "");
  EXPECT_THAT(folder.err, HasSubstr("Is a directory"));
}

TEST_F(RunTrace, FullDiskIsAnErrorAfterTheText) {
  const RunResult result = run_traced("/dev/full");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::StartsWith("Hello"));
  EXPECT_THAT(result.err, HasSubstr("cannot write /dev/full: No space left on device"));
}

TEST_F(RunTrace, KeepsDeviceFiles) {
  EXPECT_EQ(run_traced("/dev/null").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(RunTrace, FailedRunKeepsTheExistingFile) {
  std::ofstream(file("kept.json")) << "before";
  EXPECT_EQ(
      run({"run", "-m", "/nonexistent.gguf", "-p", "x", "--trace", file("kept.json")}).exit_code,
      1);
  EXPECT_EQ(test::read_file(file("kept.json")), "before");
  run_traced(file("kept.json"));
  EXPECT_TRUE(json::accept(test::read_file(file("kept.json"))));
  for (const auto& entry : std::filesystem::directory_iterator(model_.folder().path())) {
    EXPECT_NE(entry.path().extension(), ".tmp") << "a temporary file was left behind";
  }
}

TEST_F(RunTrace, SymlinkTargetIsWrittenOnlyAfterASuccessfulRun) {
  std::ofstream(file("target.json")) << "before";
  std::filesystem::create_symlink("target.json", file("link.json"));
  EXPECT_EQ(
      run({"run", "-m", "/nonexistent.gguf", "-p", "x", "--trace", file("link.json")}).exit_code,
      1);
  EXPECT_EQ(test::read_file(file("target.json")), "before");
  run_traced(file("link.json"));
  EXPECT_TRUE(std::filesystem::is_symlink(file("link.json")));
  EXPECT_TRUE(json::accept(test::read_file(file("target.json"))));
}

using Steps = std::map<int, std::pair<double, double>>;  // when each began and ended

/// Traces a prompt of a model whose first layer is on accel6, which computes on a thread of its
/// own, and the rest on another device, with the costs if there are any. When each device computed
/// each step.
std::map<std::string, Steps> trace_prompt(const std::string& devices, const std::string& rest,
                                          const SynthOptions& shape = {},
                                          const CostModel* costs = nullptr) {
  const SynthModel model(shape);
  const std::string path = model.folder().file("trace.json");
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_ACCELERATOR_PLUGINS;
  std::string prompt;
  for (int i = 0; i < 100; ++i) prompt += "word ";
  std::vector<std::string> arguments = {"run", "-m", model.path(), "-p", prompt, "-n", "0"};
  const auto add = [&](std::vector<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  add({"-c", "1024", "-b", "8", "--devices", devices, "--trace", path});
  add({"--place", "blk.0.*=accel6"});
  add({"--place", "blk.[1-9].*=" + rest});
  add({"--place", "output.*=" + rest});
  if (costs == nullptr) {
    add({"--rules-only"});
  } else {
    const std::string costs_path = model.folder().file("costs.json");
    EXPECT_TRUE(costs->save(costs_path));
    add({"--costs", costs_path});
  }
  const RunResult result = run_command(arguments, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<int, std::string> threads;
  std::map<std::string, Steps> computed;
  const json trace = json::parse(test::read_file(path));
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X" || event["cat"] != "segment") continue;
    const double begin = event["ts"];
    const double end = begin + event["dur"].get<double>();
    auto& step = computed[threads.at(event["tid"])]
                     .try_emplace(event["args"]["step"], begin, end)
                     .first->second;
    step = {std::min(step.first, begin), std::max(step.second, end)};
  }
  return computed;
}

/// Steps that the first device began before the other one had ended the step before.
int count_overlaps(const Steps& first, const Steps& second) {
  EXPECT_GE(first.size(), 10U);
  EXPECT_EQ(second.size(), first.size());
  int overlaps = 0;
  for (const auto& [number, before] : second) {
    const auto next = first.find(number + 1);
    if (next != first.end() && next->second.first < before.second) ++overlaps;
  }
  return overlaps;
}

TEST(TraceOfAPrompt, StepsOverlapOnTwoDevices) {
  // Each device computes on a thread of its own. With one step at a time they would never overlap.
  auto computed = trace_prompt("accel6,accel7", "accel7");
  EXPECT_GT(count_overlaps(computed["accel6"], computed["accel7"]), 0);
}

TEST(TraceOfAPrompt, StepsOverlapWithTheCpuAfterADevice) {
  // The CPU has eleven layers, which take longer than it takes a thread to wake up on a busy
  // machine. Copies take far longer than nodes: there are no more of them than the pins ask for.
  CostModel costs;
  costs.add(OpCost{.device = "accel6",
                   .description = "exists only in tests",
                   .op = std::string(kAnyOp),
                   .overhead = 1e-9});
  for (const bool to_device : {true, false}) {
    costs.add(CopyCost{"accel6", "exists only in tests", to_device, {.latency = 1}});
  }
  auto computed = trace_prompt("accel6", "cpu0", {.layers = 12}, &costs);
  EXPECT_GT(count_overlaps(computed["accel6"], computed["cpu0"]), 0);
}

}  // namespace
}  // namespace shunt::test::trace_test

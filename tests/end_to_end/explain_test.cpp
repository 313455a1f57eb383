// The operations that fall back, and the reasons, as users see them: `shunt explain`,
// `shunt place`, `run --fallback`, `run --placement`. The device comes as a plugin: test0, which
// has matmul and add and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "shunt/costs.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::explain_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExplainCommand : public testing::Test {
 protected:
  RunResult run(std::vector<std::string> arguments, bool plugins = true) {
    RunOptions options;
    if (plugins) options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
    return run_command(arguments, options);
  }
  json explain(std::vector<std::string> more = {}, bool plugins = true) {
    std::vector<std::string> arguments = {"explain", "--model", model_.path(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult result = run(arguments, plugins);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }
  std::string description_of(const std::string& device) {
    const json devices = json::parse(run({"devices", "--json"}).out);
    for (const json& each : devices["devices"]) {
      if (each["name"] == device) return each["description"];
    }
    ADD_FAILURE() << device << " is not there";
    return {};
  }
  /// A greedy continuation.
  RunResult greedy(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", "-m", model_.path(), "-p", "x",
                                          "-n",  "4",  "--temp",      "0",  "--ignore-eos"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::string file(const std::string& name) const { return model_.folder().file(name); }

  SynthModel model_;
};

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string replace_first(std::string text, const std::regex& what, const std::string& with) {
  EXPECT_TRUE(std::regex_search(text, what)) << text;
  return std::regex_replace(text, what, with, std::regex_constants::format_first_only);
}

// ---- explain

TEST_F(ExplainCommand, EverySegmentHasDeviceReasonAndNodes) {
  const json e = explain();
  EXPECT_EQ(e["tokens"], 512);
  std::set<std::string> devices;
  std::size_t operations = 0;
  std::size_t fell_back = 0;
  for (const json& segment : e["segments"]) {
    devices.insert(segment["device"].get<std::string>());
    EXPECT_FALSE(segment["reason"].get<std::string>().empty());
    EXPECT_FALSE(segment["nodes"].empty());
    operations += segment["nodes"].size();
    for (const json& node : segment["nodes"]) {
      const std::string op = node["op"];
      const bool known = op == "matmul" || op == "add";
      EXPECT_EQ(segment["device"], known ? "test0" : "cpu0") << node;
      EXPECT_EQ(node["fell_back"], !known) << node;
      if (known) continue;
      ++fell_back;
      EXPECT_EQ(node["rejected"][0]["device"], "test0");
      EXPECT_EQ(node["rejected"][0]["reason"], "test0 has no kernel for " + op);
    }
  }
  EXPECT_EQ(devices, (std::set<std::string>{"cpu0", "test0"}));
  EXPECT_EQ(e["operations"], operations);
  EXPECT_EQ(e["fell_back"], fell_back);
}

TEST_F(ExplainCommand, BytesInAndOutAddUp) {
  const json e = explain();
  std::uint64_t in = 0;
  for (const json& segment : e["segments"]) {
    std::uint64_t transfers = 0;
    for (const json& transfer : segment["transfers"]) {
      EXPECT_EQ(transfer["to"], segment["device"]);
      transfers += transfer["bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(segment["bytes_in"], transfers);
    in += transfers;
  }
  for (const json& result : e["results"]) in += result["bytes"].get<std::uint64_t>();
  EXPECT_EQ(e["bytes_copied"], in);
  std::uint64_t device_in = 0;
  std::uint64_t device_out = 0;
  for (const json& device : e["devices"]) {
    device_in += device["bytes_in"].get<std::uint64_t>();
    device_out += device["bytes_out"].get<std::uint64_t>();
  }
  EXPECT_EQ(device_in, in);
  EXPECT_EQ(device_out, in);
  // The logits of one token come back: 512 values of 4 bytes.
  EXPECT_EQ(e["results"][0]["bytes"], 512 * 4);
}

TEST_F(ExplainCommand, WeightsAreOnTheDeviceThatUsesThem) {
  const json e = explain();
  // 2 layers: four square-ish matrices of attention (64 x 64, twice 64 x 32), three of 64 x 192;
  // and the output matrix. The embedding (rows are gathered on the CPU) and the norms stay behind.
  const std::uint64_t matrices = 4 * (2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 192) + 64 * 512);
  EXPECT_EQ(e["devices"][0]["name"], "test0");
  EXPECT_EQ(e["devices"][0]["weight_bytes"], matrices);
  EXPECT_EQ(e["devices"][1]["weight_bytes"], 4 * (64 * 512 + 5 * 64));
}

TEST_F(ExplainCommand, CpuOnlyIsOneSegmentWithoutFallback) {
  const json e = explain({"--devices", "cpu0"});
  EXPECT_EQ(e["segments"].size(), 1U);
  EXPECT_EQ(e["fell_back"], 0);
  EXPECT_EQ(e["bytes_copied"], 0);
  EXPECT_EQ(e["results"].size(), 0U);
}

TEST_F(ExplainCommand, StepOfOneTokenCopiesLess) {
  const json one = explain({"--tokens", "1"});
  EXPECT_EQ(one["tokens"], 1);
  EXPECT_LT(one["bytes_copied"], explain()["bytes_copied"]);
}

TEST_F(ExplainCommand, StepIsABatchAndCacheTypeIsApplied) {
  EXPECT_EQ(explain({"--batch", "64"})["tokens"], 64);
  EXPECT_EQ(explain({"--batch", "64", "--tokens", "2"})["tokens"], 2);
  const auto cache = [&](const std::string& type) {
    std::uint64_t bytes = 0;
    const json explained = explain({"--cache-type", type});
    for (const json& device : explained["devices"])
      bytes += device["cache_bytes"].get<std::uint64_t>();
    return bytes;
  };
  EXPECT_GT(cache("f16"), 0U);
  EXPECT_EQ(cache("f32"), 2 * cache("f16"));
}

TEST_F(ExplainCommand, PrintsText) {
  const RunResult result = run({"explain", "--model", model_.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("a step of 512 tokens"), HasSubstr("on 2 devices"),
                                HasSubstr("test0"), HasSubstr("starts because"),
                                HasSubstr("swiglu from test0: test0 has no kernel for swiglu"),
                                HasSubstr("blk.1.attn_output (matmul)")));
}

TEST_F(ExplainCommand, PinIsFollowedAndAnUnmatchedPinIsNoted) {
  const json e = explain({"--place", "blk.0.ffn_down=cpu0", "--place", "nothing=test0"});
  for (const json& segment : e["segments"]) {
    for (const json& node : segment["nodes"]) {
      if (node["name"] != "blk.0.ffn_down (matmul)") continue;
      EXPECT_EQ(segment["device"], "cpu0");
      EXPECT_THAT(node["reason"].get<std::string>(), HasSubstr("pinned"));
    }
  }
  EXPECT_THAT(e["notes"].dump(), HasSubstr("nothing=test0"));
  const RunResult kept = greedy({"--place", "blk.0.ffn_down=cpu0"});
  EXPECT_EQ(kept.out, greedy({}).out);
  EXPECT_THAT(greedy({"--place", "nothing=test0"}).err, HasSubstr("nothing=test0"));
}

TEST_F(ExplainCommand, ImpossiblePinReportsTheReason) {
  const RunResult result =
      run({"explain", "-m", model_.path(), "--place", "blk.0.attention=test0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("blk.0.attention=test0"),
                                HasSubstr("test0 has no kernel for paged_attention")));
  EXPECT_EQ(run({"explain", "-m", model_.path(), "--place", "attention"}).exit_code, 2);
}

TEST_F(ExplainCommand, HostWeightsAreStreamedUnlessStreamRowsIsZero) {
  const std::vector<std::string> on_host = {"--rules-only", "--place", "blk.0.ffn_.*weight=cpu0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), on_host.begin(), on_host.end());
    return more;
  };
  const auto sent = [](const json& e) {
    std::set<std::string> names;
    for (const json& segment : e["segments"]) {
      for (const json& transfer : segment["transfers"]) {
        const auto name = transfer["name"].get<std::string>();
        if (name.find("(weight)") != std::string::npos) names.insert(name);
      }
    }
    return names;
  };
  const json many = explain(with({}));
  EXPECT_THAT(sent(many), testing::Contains("blk.0.ffn_up.weight (weight)"));
  EXPECT_THAT(many.dump(), AllOf(HasSubstr("is sent to test0, as 512 rows are at least 32"),
                                 HasSubstr("of it for streamed weights")));
  EXPECT_THAT(sent(explain(with({"--tokens", "31"}))), testing::IsEmpty());
  EXPECT_THAT(sent(explain(with({"--stream-rows", "0"}))), testing::IsEmpty());
  const RunResult always = greedy(with({"--stream-rows", "1"}));
  EXPECT_EQ(always.exit_code, 0) << always.err;
  EXPECT_EQ(always.out, greedy(with({"--stream-rows", "0"})).out);
}

TEST_F(ExplainCommand, TimesArePredictedFromEstimatesOrMeasurements) {
  const json estimated = explain();
  EXPECT_GT(estimated["seconds"], 0);
  EXPECT_EQ(estimated["measured"], false);
  // Every node of the CPU takes a second, whatever it is; and nothing takes time on test0.
  CostModel costs;
  costs.add(OpCost{.device = "cpu0",
                   .description = description_of("cpu0"),
                   .op = std::string(kAnyOp),
                   .overhead = 1});
  ASSERT_TRUE(costs.save(file("costs.json")));
  const json e = explain({"--costs", file("costs.json")});
  EXPECT_EQ(e["measured"], true);
  for (const json& device : e["devices"]) {
    if (device["name"] != "cpu0") continue;
    EXPECT_NEAR(device["seconds"], device["operations"], 1e-3);
    EXPECT_GE(e["seconds"].get<double>(), device["seconds"].get<double>() * (1 - 1e-9));
  }
  double segments = 0;
  double devices = 0;
  for (const json& segment : e["segments"]) segments += segment["seconds"].get<double>();
  for (const json& device : e["devices"]) devices += device["seconds"].get<double>();
  EXPECT_GT(segments, 0);
  EXPECT_NEAR(devices, segments, 1e-9);
  const RunResult page = run({"explain", "-m", model_.path(), "--costs", file("costs.json"),
                              "--html", file("timed.html")});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_THAT(test::read_file(file("timed.html")), HasSubstr(">predicted</th>"));
  EXPECT_EQ(run({"explain", "-m", model_.path(), "--costs", "/nonexistent/c"}).exit_code, 1);
}

// ---- the page

/// Complains about tags that are not closed in the order they were opened.
void expect_balanced(const std::string& page) {
  static const std::set<std::string> kVoid = {"meta", "br", "hr", "img", "link", "input"};
  static const std::regex kTag("<(/?)([a-z][a-z0-9]*)((?:\\s+[a-z-]+=\"[^\"<]*\")*)\\s*>");
  const std::size_t style = page.find("<style>");
  const std::size_t style_end = page.find("</style>");
  std::string body = page.substr(0, style + 7) + page.substr(style_end);
  ASSERT_TRUE(body.starts_with("<!doctype html>\n"));
  body = body.substr(16);
  std::vector<std::string> open;
  std::size_t brackets = 0;
  for (auto at = std::sregex_iterator(body.begin(), body.end(), kTag); at != std::sregex_iterator();
       ++at) {
    ++brackets;
    const std::string name = (*at)[2];
    if (kVoid.contains(name)) continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << "nothing to close: " << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
  // Every "<" and ">" is of such a tag: the rest is escaped.
  EXPECT_EQ(std::count(body.begin(), body.end(), '<'), static_cast<std::ptrdiff_t>(brackets));
  EXPECT_EQ(std::count(body.begin(), body.end(), '>'), static_cast<std::ptrdiff_t>(brackets));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ExplainPage : public ExplainCommand {
 protected:
  std::string write_page(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"explain", "-m", model_.path(), "--html",
                                          file("explanation.html")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    return test::read_file(file("explanation.html"));
  }
};

TEST_F(ExplainPage, IsWellFormedAndSelfContained) {
  const std::string page = write_page();
  expect_balanced(page);
  for (const char* part : {"http", "//", "<script", "<link", "@import", "url(", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST_F(ExplainPage, ListsEverySegmentInTimelineAndTable) {
  const std::string page = write_page();
  const json e = explain();
  const std::size_t segments = e["segments"].size();
  EXPECT_EQ(count_of(page, "<a class=\"box"), segments);
  EXPECT_EQ(count_of(page, "<div class=\"row\">"), e["devices"].size());
  for (std::size_t i = 0; i < segments; ++i) {
    EXPECT_EQ(count_of(page, "href=\"#segment-" + std::to_string(i) + "\""), 1U);
    EXPECT_EQ(count_of(page, "<tr id=\"segment-" + std::to_string(i) + "\">"), 1U);
  }
  EXPECT_THAT(page, HasSubstr("test0 has no kernel for swiglu"));
  EXPECT_THAT(page, HasSubstr("blk.1.attn_output (matmul)"));
}

TEST_F(ExplainPage, WithoutTimesBoxesFillTheTimelineInOrder) {
  CostModel costs;  // a file that says that nothing takes any time
  for (const char* device : {"cpu0", "test0"}) {
    costs.add(
        OpCost{.device = device, .description = description_of(device), .op = std::string(kAnyOp)});
  }
  ASSERT_TRUE(costs.save(file("costs.json")));
  const std::vector<std::string> no_time = {"--costs", file("costs.json")};
  ASSERT_TRUE(explain(no_time)["seconds"].is_null());
  const std::string page = write_page(no_time);
  EXPECT_THAT(page, Not(HasSubstr(">predicted</th>")));
  static const std::regex kBox("left:([0-9.]+)%;width:([0-9.]+)%");
  std::vector<std::pair<double, double>> boxes;
  for (auto at = std::sregex_iterator(page.begin(), page.end(), kBox); at != std::sregex_iterator();
       ++at) {
    boxes.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  }
  std::sort(boxes.begin(), boxes.end());
  double end = 0;
  for (const auto& [left, width] : boxes) {
    EXPECT_NEAR(left, end, 1e-2);
    end = left + width;
  }
  EXPECT_NEAR(end, 100, 1e-2);
}

TEST_F(ExplainPage, EscapesThePath) {
  const std::string path = file("<b>&\"'.gguf");
  std::filesystem::copy_file(model_.path(), path);
  const RunResult result = run({"explain", "-m", path, "--html", file("odd.html")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string page = test::read_file(file("odd.html"));
  expect_balanced(page);
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;&quot;&#39;.gguf"));
}

TEST_F(ExplainCommand, UnwritableFileIsNamed) {
  const RunResult result = run({"explain", "-m", model_.path(), "--html", "/nonexistent/x.html"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent/x.html"));
}

// ---- falling back

TEST_F(ExplainCommand, RunReportsFallbackInOneLine) {
  const RunResult result = greedy({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json e = explain();
  const std::string expected =
      "shunt: " + std::to_string(e["fell_back"].get<int>()) + " of " +
      std::to_string(e["operations"].get<int>()) +
      " operations run on cpu0 instead of test0; the first is get_rows: test0 has no kernel for "
      "get_rows; a kernel for it would change that (shunt explain shows all)\n";
  EXPECT_THAT(result.err, testing::StartsWith(expected));
}

TEST_F(ExplainCommand, NoMessageWithoutFallbackOrIfAllowed) {
  EXPECT_THAT(greedy({"--fallback", "allow"}).err, Not(HasSubstr("instead of")));
  const RunResult alone = greedy(
      {"--devices", "cpu0", "--fallback", "deny", "--max-cpu-time", "0%", "--max-copy", "0"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.err, Not(HasSubstr("instead of")));
}

TEST_F(ExplainCommand, DeniedFallbackListsOpsAndReasons) {
  const RunResult result = greedy({"--fallback", "deny"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(model_.path()), HasSubstr("denied"),
                    HasSubstr("operations would run on cpu0 instead of test0"),
                    HasSubstr("a kernel for it would change that"), HasSubstr("--fallback warn"),
                    HasSubstr("2 swiglu (test0 has no kernel for swiglu)"), HasSubstr("rms_norm")));
}

TEST_F(ExplainCommand, FallbackLimitsAreEnforced) {
  const RunResult share = greedy({"--max-cpu-time", "10%"});
  EXPECT_EQ(share.exit_code, 1);
  EXPECT_THAT(share.err, HasSubstr("at most 10.0% may"));
  // A device so slow that next to nothing of the time is the CPU's; rules keep it at work.
  CostModel slow;
  slow.add(OpCost{.device = "test0",
                  .description = description_of("test0"),
                  .op = std::string(kAnyOp),
                  .overhead = 1});
  ASSERT_TRUE(slow.save(file("slow.json")));
  const RunResult little =
      greedy({"--max-cpu-time", "1%", "--rules-only", "--costs", file("slow.json")});
  EXPECT_EQ(little.exit_code, 0) << little.err;
  const RunResult copies = greedy({"--max-copy", "1KiB"});
  EXPECT_EQ(copies.exit_code, 1);
  EXPECT_THAT(copies.err, HasSubstr("at most 1024 may"));
  EXPECT_EQ(greedy({"--max-copy", "1GiB"}).exit_code, 0);
}

TEST_F(ExplainCommand, WrongFlagsAreWrongUsage) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--fallback", "maybe"},
                                                {"--max-cpu-time", "10"},
                                                {"--max-cpu-time", "101%"},
                                                {"--max-copy", "4 apples"},
                                                {"--max-copy", "4194305TiB"},
                                                {"--max-copy", "99999999999GiB"},
                                                {"--max-copy", "4611686018427387905"},
                                                {"--max-copy", "-1"}}) {
    const RunResult result = greedy(flags);
    EXPECT_EQ(result.exit_code, 2) << flags[1];
    EXPECT_THAT(result.err, HasSubstr(flags[1]));
  }
  for (const std::string size : {"4194304TiB", "2000000KiB", "4611686018427387904"}) {
    const RunResult result = greedy({"--max-copy", size});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(run({"explain", "-m", model_.path(), "--tokens", "0"}).exit_code, 2);
  EXPECT_EQ(run({"explain", "-m", model_.path(), "--batch", "0"}).exit_code, 2);
  EXPECT_EQ(run({"explain", "-m", model_.path(), "--cache-type", "q2_k"}).exit_code, 2);
  EXPECT_EQ(run({"place", "--diff", "a"}).exit_code, 2);
  EXPECT_EQ(run({"place", "-m", model_.path(), "a"}).exit_code, 2);
}

// ---- placements as files

class PlaceCommand : public ExplainCommand {
 protected:
  std::string written() {
    const RunResult result = run({"place", "--model", model_.path(), "-o", file("a.placement")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return test::read_file(file("a.placement"));
  }
  RunResult follow(const std::string& text) {
    write_text(file("edited.placement"), text);
    return greedy({"--placement", file("edited.placement")});
  }
};

TEST_F(PlaceCommand, RunFollowsTheWrittenPlacement) {
  const std::string text = written();
  EXPECT_EQ(run({"place", "--model", model_.path()}).out, text);
  const RunResult as_placed = greedy({});
  const RunResult followed = follow(text);
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_EQ(followed.out, as_placed.out);
}

TEST_F(PlaceCommand, EditedLineIsFollowedAndShownByDiff) {
  // A product that test0 would have computed goes to the CPU, its weight stays.
  const std::string text = written();
  const std::regex line("(\\n[0-9]+ +blk\\.0\\.ffn_down +matmul +)test0");
  const std::string edited = replace_first(text, line, "$1cpu0");
  const RunResult followed = follow(edited);
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_EQ(followed.out, greedy({}).out);

  const RunResult diff = run({"place", "--diff", file("a.placement"), file("edited.placement")});
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_THAT(diff.out,
              AllOf(HasSubstr("blk.0.ffn_down  matmul  test0 -> cpu0\n"), HasSubstr("\n1 of ")));
  const RunResult same = run({"place", "--diff", file("a.placement"), file("a.placement")});
  EXPECT_THAT(same.out, testing::StartsWith("0 of "));
  const json changes = json::parse(
      run({"place", "--diff", "--json", file("a.placement"), file("edited.placement")}).out);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0]["before"], "test0");
}

TEST_F(PlaceCommand, ImpossibleLineIsNamed) {
  const std::regex line("(\\n[0-9]+ +- +swiglu +)cpu0");
  const RunResult result = follow(replace_first(written(), line, "$1test0"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::ContainsRegex("edited.placement:[0-9]+: test0 can't compute"));
  EXPECT_THAT(result.err, HasSubstr("test0 has no kernel for swiglu"));
}

TEST_F(PlaceCommand, LineWithoutMemoryIsNamed) {
  (void)written();
  const auto with_margin = [&](const std::string& margin) {
    return greedy({"--placement", file("a.placement"), "--memory-margin", margin});
  };
  const RunResult none = with_margin("2GiB");  // of 1 GiB: not even the first line fits
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, testing::ContainsRegex(
                            "a.placement:[0-9]+: blk.0.[a-z_.]+ .* is too much: test0 needs .* of "
                            "which 2.0 GiB are reserved"));
  // With room for half of the weights, a later one is the first that is too much.
  const auto line_of = [](const std::string& text) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, std::regex("a.placement:([0-9]+): "))) << text;
    return found.empty() ? 0 : std::stoi(found[1]);
  };
  std::smatch needs;
  ASSERT_TRUE(std::regex_search(none.err, needs, std::regex("test0 needs [^(]*\\(([0-9]+) bytes")));
  const std::uint64_t all = std::stoull(needs[1]);
  const std::uint64_t gib = std::uint64_t{1} << 30;
  const RunResult one_less = with_margin(std::to_string(gib - all + 1));
  EXPECT_EQ(one_less.exit_code, 1);
  EXPECT_GT(line_of(one_less.err), line_of(none.err));
  const RunResult just = with_margin(std::to_string(gib - all));
  EXPECT_EQ(just.exit_code, 0) << just.err;
}

TEST_F(PlaceCommand, FileWithoutWeightsOnADeviceIsFollowedOrRejected) {
  // Only a sum is on test0, which has no room for it: that device is named, not "not there".
  std::string text = std::regex_replace(written(), std::regex("test0 "), "cpu0  ");
  text = replace_first(text, std::regex("(\\n[0-9]+ +[^ ]+ +add +)cpu0 "), "$1test0");
  write_text(file("edited.placement"), text);
  const RunResult fits = greedy({"--placement", file("edited.placement")});
  EXPECT_EQ(fits.exit_code, 0) << fits.err;
  const RunResult result =
      greedy({"--placement", file("edited.placement"), "--memory-margin", "2GiB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::ContainsRegex("edited.placement:[0-9]+: #?[0-9a-z_.]+ .add. is "
                                                 "too much: test0 needs"));
}

TEST_F(PlaceCommand, ExplainFollowsAPlacementFile) {
  const std::regex line("(\\n[0-9]+ +blk\\.0\\.ffn_down +matmul +)test0");
  write_text(file("edited.placement"), replace_first(written(), line, "$1cpu0"));
  struct Where {
    std::string device, reason;
  };
  const auto explained = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"explain", "--json", "--model", model_.path()};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json e = json::parse(result.out);
    std::map<std::string, Where> nodes;
    for (const json& segment : e["segments"]) {
      for (const json& node : segment["nodes"])
        nodes[node["name"]] = {segment["device"], node["reason"]};
    }
    return nodes;
  };
  const auto changes = [](const auto& before, const auto& after) {
    EXPECT_EQ(before.size(), after.size());
    std::vector<std::string> names;
    for (const auto& [name, where] : before)
      if (after.at(name).device != where.device) names.push_back(name);
    return names;
  };
  const auto free = explained({});
  EXPECT_THAT(changes(free, explained({"--placement", file("a.placement")})), testing::IsEmpty());
  for (const char* tokens : {"512", "1"}) {
    const auto edited = explained({"--tokens", tokens, "--placement", file("edited.placement")});
    EXPECT_THAT(changes(free, edited), testing::ElementsAre("blk.0.ffn_down (matmul)"));
    EXPECT_THAT(edited.at("blk.0.ffn_down (matmul)").reason,
                testing::ContainsRegex("edited.placement:[0-9]+"));
  }
}

TEST_F(PlaceCommand, EmptyFileIsReported) {
  const RunResult result = follow("");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("edited.placement: the file is empty; a placement starts with "
                                    "\"# shunt placement 1\""));
}

TEST_F(PlaceCommand, RejectsTheFileOfAnotherModel) {
  SynthOptions options;
  options.layers = 1;
  const SynthModel other(options);
  const RunResult text = run({"place", "--model", other.path()});
  const RunResult result = follow(text.out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("edited.placement"));
}

TEST_F(PlaceCommand, RejectsAFileThatIsNoPlacement) {
  const RunResult result = follow(
      "\x7f"
      "ELF");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("edited.placement:1"));
  EXPECT_EQ(greedy({"--placement", "/nonexistent/p"}).exit_code, 1);
}

}  // namespace
}  // namespace shunt::test::explain_test

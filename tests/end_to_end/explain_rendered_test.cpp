// The page of `shunt explain --html` as Chromium shows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "shunt/costs.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::explain_rendered_test {
namespace {

using nlohmann::json;

/// A script that the test adds to the page. It collects the errors. When all is laid out, it writes
/// the positions of boxes, as parts of their row's width, into the page.
constexpr std::string_view kHarness = R"html(
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<script>
const trouble = [];
addEventListener('error', e => trouble.push(e.message || 'could not load ' + e.target), true);
addEventListener('securitypolicyviolation', e => trouble.push('wanted ' + e.blockedURI));
addEventListener('load', () => {
  const rows = [...document.querySelectorAll('.row')].map(row => {
    const track = row.querySelector('.track');
    if (!track) return null;
    const whole = track.getBoundingClientRect();
    const boxes = [...track.querySelectorAll('.box')].map(box => {
      const at = box.getBoundingClientRect();
      return {target: box.getAttribute('href'), title: box.title, height: at.height,
              left: (at.left - whole.left) / whole.width,
              right: (at.right - whole.left) / whole.width};
    });
    return {label: row.querySelector('.label').textContent, width: whole.width, boxes};
  }).filter(row => row);
  const loaded = performance.getEntriesByType('resource').map(entry => entry.name);
  const seen = {rows, trouble, loaded, heading: document.querySelector('h1').textContent,
                segments: document.querySelectorAll('tr[id^=segment-]').length};
  const text = JSON.stringify(seen).replace(/[<>&]/g, c => '\\u00' + c.charCodeAt(0).toString(16));
  document.body.insertAdjacentHTML('beforeend', '<pre id="seen">' + text + '</pre>');
});
</script>
)html";

/// The page as a Chromium renders it.
class RenderedPage : public testing::Test {
 protected:
  /// `shunt explain` of the model with test0, a plugin that has matmul and add and nothing else.
  static RunResult explain(const std::string& model, const std::vector<std::string>& more) {
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
    std::vector<std::string> arguments = {"explain", "-m", model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments, options);
  }
  std::string file(const std::string& name) const { return model_.folder().file(name); }

  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome"}) {
      if (browser_.empty() &&
          std::system(("command -v " + std::string(name) + " >/dev/null").c_str()) == 0) {
        browser_ = name;
      }
    }
    // Not so where ./dev ci runs: it does not start without one (tools/packages.txt).
    if (browser_.empty()) {
      GTEST_SKIP() << "there is no Chromium: rendering the page is NOT TESTED.";
    }
  }

  json render(std::string page) const {
    const std::string_view head = "<head>";
    page.insert(page.find(head) + head.size(), kHarness);
    std::ofstream(file("page.html"), std::ios::binary) << page;
    const std::string call = browser_ +
                             " --headless --no-sandbox --disable-gpu --window-size=1200,900 "
                             "--host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=5000 "
                             "--user-data-dir=" +
                             file("profile") + " --dump-dom file://" + file("page.html") + " >" +
                             file("dom.html") + " 2>" + file("browser.log");
    EXPECT_EQ(std::system(call.c_str()), 0) << test::read_file(file("browser.log"));
    const std::string dom = test::read_file(file("dom.html"));
    const std::string_view mark = "<pre id=\"seen\">";
    const std::size_t begin = dom.rfind(mark);  // the script has it, too
    EXPECT_NE(begin, std::string::npos) << dom.substr(0, 1000);
    if (begin == std::string::npos) return {};
    const std::size_t from = begin + mark.size();
    return json::parse(dom.substr(from, dom.find("</pre>", from) - from));
  }

  SynthModel model_;
  std::string browser_;
};

TEST_F(RenderedPage, BoxesMatchThePredictedTimes) {
  ASSERT_TRUE(CostModel().save(file("costs.json")));  // estimates
  // With some matrices of each layer pinned there, both devices have something to do.
  std::vector<std::string> flags = {"--costs", file("costs.json"), "--place",
                                    "blk.*(attn_q|ffn_up|ffn_down)=test0", "--json"};
  const RunResult text = explain(model_.path(), flags);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const json e = json::parse(text.out);
  flags.back() = "--html";
  flags.push_back(file("explanation.html"));
  const RunResult page = explain(model_.path(), flags);
  ASSERT_EQ(page.exit_code, 0) << page.err;
  const json seen = render(test::read_file(file("explanation.html")));
  EXPECT_EQ(seen["trouble"], json::array());
  EXPECT_EQ(seen["loaded"], json::array());
  EXPECT_EQ(seen["segments"], e["segments"].size());

  // The expected boxes, by row: where each box begins and ends, as parts of the step.
  struct Bar {
    std::string target;
    double begin = 0;
    double end = 0;
  };
  std::map<std::string, std::vector<Bar>> expected;
  const double step = e["seconds"];
  double last = 0;
  const auto expect_bar = [&](const std::string& row, const std::string& target, const json& when) {
    if (when.is_null()) return;
    last = std::max(last, when["end"].get<double>());
    expected[row].push_back(
        {target, when["start"].get<double>() / step, when["end"].get<double>() / step});
  };
  const auto expect_copies = [&](const json& transfers) {
    for (const json& t : transfers) {
      expect_bar(t["from"].get<std::string>() + " \u2192 " + t["to"].get<std::string>(), "",
                 t["when"]);
    }
  };
  for (const json& device : e["devices"]) expected[device["name"]] = {};
  for (std::size_t i = 0; i < e["segments"].size(); ++i) {
    const json& segment = e["segments"][i];
    ASSERT_FALSE(segment["when"].is_null());
    expect_bar(segment["device"], "#segment-" + std::to_string(i), segment["when"]);
    expect_copies(segment["transfers"]);
  }
  expect_copies(e["results"]);
  EXPECT_EQ(last, step);
  EXPECT_GE(expected.size(), 4U);  // two devices, and both ways between them

  ASSERT_EQ(seen["rows"].size(), expected.size());
  for (const json& row : seen["rows"]) {
    const auto& bars = expected.at(row["label"]);
    ASSERT_EQ(row["boxes"].size(), bars.size()) << row["label"];
    const double width = row["width"];
    EXPECT_GT(width, 500);
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const json& box = row["boxes"][i];
      const std::string target = box["target"].is_null() ? "" : box["target"];
      EXPECT_EQ(target, bars[i].target);
      EXPECT_FALSE(box["title"].get<std::string>().empty());
      EXPECT_GT(box["height"], 5);
      EXPECT_NEAR(box["left"].get<double>(), bars[i].begin, 1 / width) << box;
      // No box is narrower than two pixels.
      EXPECT_NEAR(box["right"].get<double>(), std::max(bars[i].end, bars[i].begin + 2 / width),
                  1 / width)
          << box;
    }
  }
}

TEST_F(RenderedPage, FileNameIsEscaped) {
  const std::string name = "<img src=x onerror=trouble.push(1)><script>&amp;.gguf";
  std::filesystem::copy_file(model_.path(), file(name));
  const RunResult result = explain(file(name), {"--html", file("odd.html")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json seen = render(test::read_file(file("odd.html")));
  EXPECT_EQ(seen["trouble"], json::array());
  EXPECT_EQ(seen["heading"], file(name));
}

TEST_F(RenderedPage, HarnessDetectsErrors) {
  const std::string page =
      "<!doctype html><html><head></head><body><h1>x</h1>"
      "<img src=\"http://127.0.0.1:9/x.png\"><script>nothing.there()</script>"
      "</body></html>";
  EXPECT_GE(render(page)["trouble"].size(), 2U);
}

}  // namespace
}  // namespace shunt::test::explain_rendered_test

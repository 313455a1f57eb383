// The table of allowed errors in docs/backends/zdnn.md agrees with the device for every op.
#include <regex>
#include <sstream>

#include "backends/zdnn/support.h"
#include "conformance/cases.h"
#include "conformance/op_case.h"
#include "ops/list.h"
#include "support/markdown.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::documentation_test {
namespace {

/// The page multiplies the errors of a result of n elements by this factor.
double share_of(std::int64_t n) {
  return 1 + 64 / static_cast<double>(n);
}

struct Allowed {
  double z17 = 0;
  double z16 = 0;
};

/// By op, in units of 2^-20.
std::map<std::string, Allowed> allowed_by_page() {
  std::map<std::string, Allowed> rows;
  std::istringstream page(read_file(SHUNT_TEST_DOCS "/backends/zdnn.md"));
  std::string line;
  const auto starts_table = [](const std::string& each) {
    return each.starts_with("| operation | normalised mean square error allowed");
  };
  while (std::getline(page, line) && !starts_table(line)) {
  }
  std::getline(page, line);  // the line below the head
  while (std::getline(page, line) && line.starts_with("|")) {
    const auto cells = table_cells(line);
    EXPECT_EQ(cells.size(), 2U) << line;
    static const std::regex kAllowed(
        "([0-9]+)(; of a z16 ([0-9]+)|; of a `matmul` whose sums are cut 1/3 more for each further "
        "piece of 4096)?");
    std::smatch words;
    EXPECT_TRUE(std::regex_match(cells.back(), words, kAllowed)) << line;
    Allowed allowed;
    allowed.z17 = std::stod(words[1]);
    allowed.z16 = words[3].matched ? std::stod(words[3]) : allowed.z17;
    static const std::regex kName("`([a-z_]+)`");
    for (std::sregex_iterator name(cells.front().begin(), cells.front().end(), kName), end;
         name != end; ++name) {
      EXPECT_TRUE(rows.emplace((*name)[1], allowed).second) << line;
    }
  }
  return rows;
}

class ZdnnPage : public ZdnnTest {
 protected:
  /// By op that the device takes some case of, in units of 2^-20; a case is enough.
  std::map<std::string, double> allowed_by_device() {
    std::map<std::string, double> found;
    for (const Op* op : all_ops()) {
      const std::string name(op->info().name);
      bool done = false;
      each_case(*op, [&](const Case& each) {
        if (done) return;
        const auto made = OpCase::create(*op, each);
        if (!made || made->graph().node(made->node()).op != op) return;
        const Support answer = zdnn().supports(made->graph(), made->node());
        done = !answer && answer.refusal() == Refusal::kOp;
        // A single number may be judged otherwise.
        const std::int64_t n = element_count(made->graph().node(made->node()).result.shape);
        if (!answer || n < 2) return;
        found[name] = zdnn().rounding_error(made->graph(), made->node()) * 0x1p20 / share_of(n);
        done = true;
      });
    }
    return found;
  }
};

TEST_F(ZdnnPage, ListsTheErrorOfEachOperation) {
  const auto page = allowed_by_page();
  EXPECT_FALSE(page.empty());
  for (const std::string profile : {"z17", "z16"}) {
    SCOPED_TRACE(profile);
    open(profile.c_str());
    const auto device = allowed_by_device();
    for (const auto& [op, error] : device) {
      ASSERT_TRUE(page.contains(op)) << op;
      const Allowed& allowed = page.at(op);
      EXPECT_NEAR(error, profile == "z17" ? allowed.z17 : allowed.z16, 1e-9) << op;
    }
    for (const auto& [op, allowed] : page) {
      const bool only_z17 = op == "sqrt";
      EXPECT_EQ(device.contains(op), profile == "z17" || !only_z17) << op;
    }
  }
}

/// The error depends on the pieces of a plain weight, as the memory of the weight is not given. A
/// z16 takes sums of 32768 whole.
TEST_F(ZdnnPage, StatesTheErrorOfSplitSums) {
  struct Case {
    std::int64_t k, further_pieces;
  };
  const double whole = allowed_by_page().at("matmul").z16;
  open("z16");
  for (const auto& [k, further_pieces] : {Case{32768, 0}, {32769, 8}, {40960, 9}, {65536, 15}}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {k, 3}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {k, 9}));
    const auto y = matmul(g, w, x);
    ASSERT_TRUE(g.output(y, "y"));
    const auto graph = built(std::move(g));
    const double error = zdnn().rounding_error(*graph, y->id) * 0x1p20 / share_of(3 * 9);
    EXPECT_NEAR(error, whole + static_cast<double>(further_pieces) / 3, 1e-9) << k;
  }
}

}  // namespace
}  // namespace shunt::test::documentation_test

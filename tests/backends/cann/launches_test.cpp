// docs/backends/cann-launches.md: how many operators of the vendor an operation takes on each chip,
// compared with the twin's counts.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "backends/cann/cann_devices.h"
#include "conformance/cases.h"
#include "conformance/op_case.h"
#include "ops/list.h"
#include "test_paths.h"

namespace shunt::test::cann_launches_test {
namespace {

/// The rows of the page's table: "| `add` | 1 | 1 | 1 |".
std::map<std::string, std::string> rows_of_page() {
  std::map<std::string, std::string> rows;
  std::ifstream page(SHUNT_TEST_DOCS "/backends/cann-launches.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    rows[line.substr(3, end - 3)] = line;
  }
  return rows;
}

class CannLaunches : public CannDevices {
 protected:
  /// Of the first case with a result that the device takes; none if it takes none.
  std::optional<std::uint64_t> launches_of(const Op& op) {
    std::optional<std::uint64_t> launches;
    each_case(op, [&](const Case& each) {
      if (launches) return;
      auto made = OpCase::create(op, each);
      if (!made || element_count(made->graph().node(made->node()).result.shape) == 0 ||
          !device().supports(made->graph(), made->node()))
        return;
      ASSERT_TRUE(made->make_data());
      const std::uint64_t before = twin_.count(AscendCount::kSecondPhases);
      const auto computed = made->compute(device());
      ASSERT_TRUE(computed) << each.name << ": " << computed.error().message();
      launches = twin_.count(AscendCount::kSecondPhases) - before;
    });
    return launches;
  }
};

TEST_F(CannLaunches, AreThoseOfThePage) {
  std::map<std::string, std::string> expected;
  for (const char* profile : {"910b", "310p", "310b"}) {
    const bool has_f32 = std::string_view(profile) == "910b";
    reopen({{"PROFILE", profile}}, with("matmul", has_f32 ? "f32" : "f16"));
    for (const Op* op : all_ops()) {
      const std::string name(op->info().name);
      std::string& row = expected.try_emplace(name, "| `" + name + "` |").first->second;
      const auto launches = launches_of(*op);
      row += " " + (launches ? std::to_string(*launches) : "none") + " |";
    }
  }
  const auto page = rows_of_page();
  std::ostringstream table;
  for (const auto& [name, row] : expected) table << row << "\n";
  EXPECT_EQ(page, expected) << "the page should have:\n" << table.str();
}

}  // namespace
}  // namespace shunt::test::cann_launches_test

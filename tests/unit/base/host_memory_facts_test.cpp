#include "base/host_memory_facts.h"

#include <gtest/gtest.h>

#include "base/available_memory.h"

namespace shunt::test::base_host_memory_facts_test {
namespace {

TEST(HostMemoryFacts, TotalMatchesMemTotalAndFreeIsLess) {
  EXPECT_GT(host_memory_free(), 0U);
  EXPECT_LE(host_memory_free(), host_memory_total());
  // The kernel keeps some for itself, which one of the two figures may leave out.
  if (const auto total = read_kilobytes("/proc/meminfo", "MemTotal:")) {
    EXPECT_NEAR(static_cast<double>(host_memory_total()), static_cast<double>(*total),
                0.01 * static_cast<double>(*total));
  }
}

}  // namespace
}  // namespace shunt::test::base_host_memory_facts_test

#include "support/all_orders.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace shunt::test::support_all_orders_test {
namespace {

TEST(AllOrders, EnumeratesEveryCombinationOfChoicesOnce) {
  AllOrders orders;
  std::multiset<std::vector<std::size_t>> seen;
  do {
    const std::size_t first = orders.pick(2);
    const std::size_t second = orders.pick(3);
    seen.insert({first, second});
  } while (orders.next());
  EXPECT_EQ(seen, (std::multiset<std::vector<std::size_t>>{
                      {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(AllOrders, FollowsAProgramWhoseLaterChoicesDependOnEarlierOnes) {
  AllOrders orders;
  std::multiset<std::vector<std::size_t>> seen;
  do {
    std::vector<std::size_t> taken = {orders.pick(2)};
    if (taken[0] == 1) taken.push_back(orders.pick(2));
    seen.insert(taken);
  } while (orders.next());
  EXPECT_EQ(seen, (std::multiset<std::vector<std::size_t>>{{0}, {1, 0}, {1, 1}}));
}

TEST(AllOrders, HasOneOrderWithoutChoices) {
  AllOrders orders;
  EXPECT_FALSE(orders.next());
}

}  // namespace
}  // namespace shunt::test::support_all_orders_test

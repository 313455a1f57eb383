// Which slots of the host keep content, and which content is given up first.
#include "engine/session/host_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>

namespace shunt::test::engine_host_blocks_test {
namespace {

using Order = HostBlocks::Order;

/// A block after no other one whose tokens are all `token`.
KnownBlock block_of(std::int32_t token, const std::string& scope = "") {
  KnownBlock block;
  block.id = block.content = static_cast<std::uint64_t>(token);
  block.hash = static_cast<std::uint64_t>(token % 3);  // most collide
  block.scope = scope;
  block.tokens.fill(token);
  return block;
}

std::int64_t find(const HostBlocks& host, const KnownBlock& block) {
  return host.find(block.hash, block.parent, block.scope, block.tokens);
}

/// Adds a block, and makes its copy.
std::int64_t add(HostBlocks& host, std::int32_t token) {
  const std::int64_t slot = host.add(block_of(token));
  if (slot >= 0) host.unpin(slot, Order::kLast);
  return slot;
}

TEST(HostBlocks, FindsABlockByItsTokensScopeAndParent) {
  HostBlocks host(4);
  const std::int64_t slot = add(host, 7);
  ASSERT_GE(slot, 0);
  EXPECT_EQ(find(host, block_of(7)), slot);
  EXPECT_EQ(find(host, block_of(4)), -1) << "its hash is the same";
  EXPECT_EQ(find(host, block_of(7, "alice")), -1);
  EXPECT_EQ(host.find(1, 5, "", block_of(7).tokens), -1) << "after other tokens";
  EXPECT_EQ(host.find(block_of(7)), slot);
  EXPECT_TRUE(host.has(7));
  EXPECT_FALSE(host.has(1));
  EXPECT_EQ(host.used(), 1);
}

TEST(HostBlocks, ABlockAfterAnotherOneHasItsScope) {
  HostBlocks host(1);
  KnownBlock block = block_of(7);
  block.parent = 3;
  host.add(KnownBlock(block));
  EXPECT_EQ(host.find(block.hash, 3, "alice", block.tokens), 0);
}

TEST(HostBlocks, GivesUpTheContentThatWasLeftFirst) {
  HostBlocks host(3);
  for (const std::int32_t token : {1, 2, 3}) add(host, token);
  add(host, 4);
  EXPECT_EQ(find(host, block_of(1)), -1);
  host.renew(find(host, block_of(2)), 20);
  EXPECT_TRUE(host.has(20));
  EXPECT_FALSE(host.has(2));
  add(host, 5);
  EXPECT_EQ(find(host, block_of(3)), -1);
  EXPECT_GE(find(host, block_of(2)), 0);
}

TEST(HostBlocks, UsesEmptySlotsFirst) {
  HostBlocks host(3);
  const std::int64_t slot = add(host, 1);
  host.pin(slot);
  host.unpin(slot, Order::kFirst);
  for (const std::int32_t token : {2, 3}) EXPECT_NE(add(host, token), slot);
  EXPECT_EQ(add(host, 4), slot);
}

TEST(HostBlocks, GivesUpContentThatTheDeviceHasBeforeAnyOther) {
  HostBlocks host(3);
  for (const std::int32_t token : {1, 2, 3}) add(host, token);
  const std::int64_t slot = find(host, block_of(3));
  host.pin(slot);
  host.unpin(slot, Order::kFirst);
  EXPECT_EQ(add(host, 4), slot);
}

TEST(HostBlocks, PinnedSlotsKeepTheirContent) {
  HostBlocks host(2);
  const std::int64_t first = add(host, 1);
  add(host, 2);
  host.pin(first);
  host.pin(first);
  add(host, 3);
  EXPECT_EQ(find(host, block_of(1)), first);
  const std::int64_t second = host.add(block_of(4));
  EXPECT_GE(second, 0);
  EXPECT_EQ(host.add(block_of(5)), -1) << "all are pinned";
  host.unpin(first, Order::kFirst);
  EXPECT_EQ(host.add(block_of(5)), -1) << "pinned twice";
  host.unpin(first, Order::kFirst);
  EXPECT_EQ(host.add(block_of(5)), first);
}

TEST(HostBlocks, LostContentIsNotFoundAndItsSlotIsUsedNext) {
  HostBlocks host(3);
  for (const std::int32_t token : {1, 2, 3}) add(host, token);
  const std::int64_t slot = find(host, block_of(2));
  host.drop(slot);
  EXPECT_EQ(find(host, block_of(2)), -1);
  EXPECT_EQ(host.used(), 2);
  EXPECT_EQ(add(host, 4), slot);
}

TEST(HostBlocks, WithoutSlotsNothingIsKept) {
  HostBlocks host;
  EXPECT_EQ(host.add(block_of(1)), -1);
  EXPECT_EQ(find(host, block_of(1)), -1);
  EXPECT_FALSE(host.has(1));
  EXPECT_EQ(host.slot_count(), 0);
}

/// The account is a list of tokens, the first to go in front, and a count of pins.
TEST(HostBlocks, AnyOperationsKeepTheOrder) {
  constexpr std::int64_t kSlots = 7;
  HostBlocks host(kSlots);
  std::list<std::int32_t> order;
  std::map<std::int32_t, int> pins;
  std::mt19937 random(3);
  for (int step = 0; step < 20000; ++step) {
    const auto token = static_cast<std::int32_t>(random() % 20 + 1);
    const std::int64_t slot = find(host, block_of(token));
    const bool listed = std::ranges::count(order, token) > 0;
    ASSERT_EQ(slot >= 0, listed || pins[token] > 0) << step;
    const auto put = [&](Order where) {
      order.insert(where == Order::kFirst ? order.begin() : order.end(), token);
    };
    const Order where = random() % 2 == 0 ? Order::kFirst : Order::kLast;
    switch (random() % 5) {
      case 0:
        if (slot >= 0) break;
        if (std::ranges::count_if(pins, [](const auto& each) { return each.second > 0; }) ==
            kSlots) {
          ASSERT_EQ(host.add(block_of(token)), -1);
          break;
        }
        if (host.used() == kSlots) order.pop_front();
        ASSERT_GE(host.add(block_of(token)), 0);
        pins[token] = 1;
        break;
      case 1:
        if (slot < 0 || random() % 3 > 0) break;
        host.pin(slot);
        ++pins[token];
        order.remove(token);
        break;
      case 2:
        if (pins[token] == 0) break;
        host.unpin(slot, where);
        if (--pins[token] == 0) put(where);
        break;
      case 3:
        if (slot < 0) break;
        host.renew(slot, static_cast<std::uint64_t>(token));
        if (pins[token] > 0) break;
        order.remove(token);
        put(Order::kLast);
        break;
      default:
        if (!listed) break;
        host.drop(slot);
        order.remove(token);
    }
    std::int64_t used = std::ssize(order);
    for (const auto& [each, count] : pins) used += count > 0 ? 1 : 0;
    ASSERT_EQ(host.used(), used) << step;
    for (std::int32_t each = 1; each <= 20; ++each)
      ASSERT_EQ(host.has(static_cast<std::uint64_t>(each)), find(host, block_of(each)) >= 0);
  }
}

}  // namespace
}  // namespace shunt::test::engine_host_blocks_test

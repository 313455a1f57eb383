// The requests that wait, and the order in which they are taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace shunt {

/// By falling priority; among equals, the scope that was served least recently; then in order.
/// Every kOldestEvery-th one that is taken is the oldest of all, so that none waits without end.
class RequestQueue {
 public:
  static constexpr std::int64_t kOldestEvery = 8;

  struct Entry {
    std::int64_t priority = 0;
    std::string scope = {};
  };

  /// A request's memory in a queue. A request that has been taken keeps it, so that it can wait
  /// again without an allocation.
  using Places = std::map<std::int64_t, Entry>;  // by order
  using Place = Places::node_type;
  /// `order`: smaller is older; one that was paused keeps the order it had.
  static Place place(std::int64_t order, Entry entry);
  void add(Place place);
  void add(std::int64_t order, Entry entry) { add(place(order, std::move(entry))); }
  /// Empty if it is not there.
  Place remove(std::int64_t order);
  /// The order of the next one, which stays; nothing if there is none.
  std::optional<std::int64_t> next();
  /// Whether the next one is taken because it is the oldest of all.
  bool is_turn_of_oldest() const { return (taken_ + 1) % kOldestEvery == 0; }
  /// Removes the next one. If there is no memory for that, it throws and changes nothing.
  Place take();
  std::int64_t size() const { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  std::int64_t served(const std::string& scope) const;
  std::optional<std::int64_t> find_next() const;
  void forget(const std::string& scope);

  Places waiting_;
  std::map<std::string, std::int64_t> served_;  // by scope, of those that wait: when last
  std::int64_t taken_ = 0;
  std::optional<std::int64_t> next_ = {};  // found once for many steps; nothing after a change
};

}  // namespace shunt

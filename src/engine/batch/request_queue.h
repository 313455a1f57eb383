// The requests that wait, and the order in which they are taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

  /// `order`: smaller is older; one that was paused keeps the order it had.
  void add(std::int64_t order, Entry entry);
  /// False if it is not there.
  bool remove(std::int64_t order);
  /// The order of the next one, which stays; nothing if there is none.
  std::optional<std::int64_t> next();
  /// Removes the next one.
  void take();
  std::int64_t size() const { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  std::int64_t served(const std::string& scope) const;
  std::optional<std::int64_t> find_next() const;
  void forget(const std::string& scope);

  std::map<std::int64_t, Entry> waiting_;       // by order
  std::map<std::string, std::int64_t> served_;  // by scope, of those that wait: when last
  std::int64_t taken_ = 0;
  std::optional<std::int64_t> next_ = {};  // found once for many steps; nothing after a change
};

}  // namespace shunt

#include "engine/batch/request_queue.h"

#include <algorithm>
#include <tuple>

namespace shunt {

void RequestQueue::add(std::int64_t order, Entry entry) {
  waiting_.emplace(order, std::move(entry));
}

bool RequestQueue::remove(std::int64_t order) {
  return waiting_.erase(order) > 0;
}

std::int64_t RequestQueue::served(const std::string& scope) const {
  const auto found = served_.find(scope);
  return found == served_.end() ? 0 : found->second;
}

std::optional<std::int64_t> RequestQueue::next() const {
  if (waiting_.empty()) return std::nullopt;
  if ((taken_ + 1) % kOldestEvery == 0) return waiting_.begin()->first;
  const auto before = [this](const auto& a, const auto& b) {
    const auto rank = [this](const auto& each) {
      return std::tuple(-each.second.priority, served(each.second.scope), each.first);
    };
    return rank(a) < rank(b);
  };
  return std::ranges::min_element(waiting_, before)->first;
}

void RequestQueue::take() {
  const auto order = next();
  if (!order) return;
  const auto found = waiting_.find(*order);
  const std::string scope = found->second.scope;
  waiting_.erase(found);
  served_[scope] = ++taken_;
  // Scopes without requests start like new ones, so that their number has no limit.
  const auto waits = [&](const auto& each) { return each.second.scope == scope; };
  constexpr std::size_t kRemembered = 1024;
  if (served_.size() > kRemembered && std::ranges::none_of(waiting_, waits)) served_.erase(scope);
}

}  // namespace shunt

#include "engine/batch/request_queue.h"

#include <algorithm>
#include <utility>

namespace shunt {

RequestQueue::Place RequestQueue::place(std::int64_t order, Entry entry) {
  Places only;
  return only.extract(only.emplace(order, std::move(entry)).first);
}

void RequestQueue::add(Place place) {
  waiting_.insert(std::move(place));
  next_.reset();
}

RequestQueue::Place RequestQueue::remove(std::int64_t order) {
  Place place = waiting_.extract(order);
  if (place.empty()) return place;
  next_.reset();
  forget(place.mapped().scope);
  return place;
}

/// Scopes without requests start like new ones, so that their number has no limit.
void RequestQueue::forget(const std::string& scope) {
  constexpr std::size_t kRemembered = 1024;
  if (served_.size() <= kRemembered) return;
  const auto waits = [&](const auto& each) { return each.second.scope == scope; };
  if (std::ranges::none_of(waiting_, waits)) served_.erase(scope);
}

std::int64_t RequestQueue::served(const std::string& scope) const {
  const auto found = served_.find(scope);
  return found == served_.end() ? 0 : found->second;
}

std::optional<std::int64_t> RequestQueue::next() {
  if (!next_) next_ = find_next();
  return next_;
}

std::optional<std::int64_t> RequestQueue::find_next() const {
  if (waiting_.empty()) return std::nullopt;
  if (is_turn_of_oldest()) return waiting_.begin()->first;
  const auto before = [this](const auto& a, const auto& b) {
    if (a.second.priority != b.second.priority) return a.second.priority > b.second.priority;
    const auto rank = [this](const auto& each) {
      return std::pair(served(each.second.scope), each.first);
    };
    return rank(a) < rank(b);
  };
  return std::ranges::min_element(waiting_, before)->first;
}

RequestQueue::Place RequestQueue::take() {
  const auto order = next();
  if (!order) return {};
  std::int64_t& served = served_[waiting_.at(*order).scope];  // may need memory
  Place place = waiting_.extract(*order);
  next_.reset();
  served = ++taken_;
  forget(place.mapped().scope);
  return place;
}

}  // namespace shunt

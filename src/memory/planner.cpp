#include "memory/planner.h"

#include <array>
#include <numeric>

#include "memory/first_fit.h"
#include "memory/sweep.h"
#include "shunt/message.h"

namespace shunt {

namespace {

// More pairs than that: only sweeps are fast enough, unless several blocks are needed.
constexpr std::size_t kMostPairs = std::size_t{1} << 20;
// Work (FirstFit::work) after which no other order is tried: some 20 ms.
constexpr std::size_t kMostWork = std::size_t{3} << 19;
// Orders in a row that bring nothing better.
constexpr int kMostFutile = 64;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A moment when a request starts or ends.
struct Moment {
  std::int64_t time = 0;
  bool comes = false;
  std::uint64_t bytes = 0;
};

std::uint64_t lower_bound_of(std::span<const MemoryItem> items) {
  std::vector<Moment> moments;
  moments.reserve(2 * items.size());
  for (const MemoryItem& item : items) {
    moments.push_back({item.first, true, item.rounded});
    moments.push_back({item.last, false, item.rounded});
  }
  std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    return a.time != b.time ? a.time < b.time : a.comes && !b.comes;
  });
  std::uint64_t live = 0;
  std::uint64_t largest = 0;
  for (const Moment& moment : moments) {
    live = moment.comes ? live + moment.bytes : live - moment.bytes;
    largest = std::max(largest, live);
  }
  return largest;
}

std::vector<MemoryItem> items_of(std::span<const MemoryRequest> requests, std::size_t alignment) {
  std::vector<MemoryItem> items;
  items.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const MemoryRequest& request = requests[i];
    if (request.bytes == 0) continue;
    items.push_back(
        {i, request.bytes, round_up(request.bytes, alignment), request.first, request.last});
  }
  return items;
}

Result<MemoryProblem> make_problem(std::span<const MemoryRequest> requests, std::size_t alignment,
                                   std::size_t max_block) {
  // No address may overflow: no machine has that many bytes.
  constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 62;
  std::uint64_t sum = 0;
  for (const MemoryRequest& request : requests) {
    if (request.bytes > max_block) {
      return fail(ErrorCode::kOutOfMemory, "a tensor of {} bytes, but one buffer holds at most {}",
                  request.bytes, max_block);
    }
    if (request.bytes > kMostAddresses - sum) {
      return fail(ErrorCode::kOutOfMemory, "tensors of more than {} bytes", kMostAddresses);
    }
    sum += round_up(request.bytes, alignment);
  }
  MemoryProblem problem;
  problem.items = items_of(requests, alignment);
  // Where all fit into one block side by side, no other is ever begun.
  problem.limit = std::min<std::uint64_t>(max_block, std::max(sum, std::uint64_t{alignment}));
  problem.stride = round_up(problem.limit, alignment);
  if (problem.limit < sum && problem.stride > kMostAddresses / problem.items.size()) {
    return fail(ErrorCode::kOutOfMemory, "{} tensors of {} bytes", problem.items.size(), sum);
  }
  problem.lower_bound = lower_bound_of(problem.items);
  return problem;
}

/// Bytes that live at the fullest moment of each item's life.
std::vector<std::uint64_t> fullest_moments(const MemoryProblem& problem) {
  // Live bytes by moment (a sum of differences), then the largest over each life (a sparse table).
  const auto& items = problem.items;
  std::vector<std::int64_t> times;
  times.reserve(items.size());
  for (const MemoryItem& item : items) times.push_back(item.first);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto index = [&](std::int64_t time) {  // how many times are not after it
    return static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), time) -
                                    times.begin());
  };
  std::vector<std::uint64_t> live(times.size() + 1, 0);  // differences; they wrap around and back
  for (const MemoryItem& item : items) {
    live[index(item.first) - 1] += item.rounded;
    live[index(item.last)] -= item.rounded;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::vector<std::vector<std::uint64_t>> table = {live};
  for (std::size_t width = 1; 2 * width <= live.size(); width *= 2) {
    const auto& half = table.back();
    std::vector<std::uint64_t> next(live.size() - 2 * width + 1);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = std::max(half[i], half[i + width]);
    table.push_back(std::move(next));
  }
  std::vector<std::uint64_t> fullest;
  for (const MemoryItem& item : items) {
    const std::size_t begin = index(item.first) - 1;
    const std::size_t end = index(item.last);
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= end - begin) ++level;
    fullest.push_back(std::max(table[level][begin], table[level][end - (std::size_t{1} << level)]));
  }
  return fullest;
}

using Order = std::vector<std::size_t>;

/// Items by falling keys; equal ones by falling size, then as they came.
template <class Key>
Order order_by(const MemoryProblem& problem, const Key& key) {
  Order order(problem.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (key(a) != key(b)) return key(a) > key(b);
    const std::uint64_t size_a = problem.items[a].rounded;
    const std::uint64_t size_b = problem.items[b].rounded;
    return size_a != size_b ? size_a > size_b : a < b;
  });
  return order;
}

std::array<Order, 6> orders(const MemoryProblem& problem) {
  const auto& items = problem.items;
  const auto length = [&](std::size_t i) {
    return static_cast<double>(items[i].last) - static_cast<double>(items[i].first) + 1;
  };
  const auto fullest = fullest_moments(problem);
  return {
      order_by(problem, [&](std::size_t i) { return items[i].rounded; }),
      order_by(problem, [&](std::size_t i) { return fullest[i]; }),
      order_by(problem,
               [&](std::size_t i) { return static_cast<double>(items[i].rounded) * length(i); }),
      order_by(problem, length),
      order_by(problem, [&](std::size_t i) { return -static_cast<double>(items[i].first); }),
      order_by(problem, [&](std::size_t i) { return items[i].last; }),
  };
}

/// Keeps the smallest attempt.
class Best {
 public:
  Best(const MemoryProblem& problem, MemoryAttempt first)
      : enough_(problem.lower_bound + problem.lower_bound / 100), best_(std::move(first)) {}
  bool offer(MemoryAttempt attempt) {
    if (attempt.total >= best_.total) return false;
    best_ = std::move(attempt);
    return true;
  }
  std::uint64_t total() const { return best_.total; }
  bool good_enough() const { return total() <= enough_; }
  const MemoryAttempt& attempt() const { return best_; }

 private:
  std::uint64_t enough_;
  MemoryAttempt best_;
};

/// First fit in several orders. Then it repeats the best of them, with one request put half way to
/// the front: the one that made it larger than the best so far ("squeaky wheel": Joslin and
/// Clements, 1999).
void try_orders(const MemoryProblem& problem, const MemoryNeighbours& neighbours, Best& best) {
  FirstFit first_fit(problem, neighbours);
  Order chosen;
  for (Order& order : orders(problem)) {
    if (best.good_enough() || (!chosen.empty() && first_fit.work() > kMostWork)) return;
    const bool better = first_fit.run(order, best.total()) && best.offer(first_fit.attempt());
    if (better || chosen.empty()) chosen = std::move(order);
  }
  for (int futile = 0; futile < kMostFutile; ++futile) {
    if (best.good_enough() || first_fit.work() > kMostWork) return;
    if (first_fit.run(chosen, best.total())) {
      best.offer(first_fit.attempt());
      futile = 0;
      continue;
    }
    const auto position = static_cast<std::ptrdiff_t>(first_fit.obstacle());
    if (position == 0) return;  // it alone is too large
    std::rotate(chosen.begin() + position / 2, chosen.begin() + position,
                chosen.begin() + position + 1);
  }
}

}  // namespace

std::size_t MemoryLayout::total() const {
  return std::accumulate(block_bytes.begin(), block_bytes.end(), std::size_t{0});
}

std::size_t memory_lower_bound(std::span<const MemoryRequest> requests, std::size_t alignment) {
  return static_cast<std::size_t>(lower_bound_of(items_of(requests, alignment)));
}

Result<MemoryLayout> plan_memory(std::span<const MemoryRequest> requests, std::size_t alignment,
                                 std::size_t max_block) {
  MemoryLayout layout;
  layout.places.resize(requests.size());
  SHUNT_ASSIGN(const MemoryProblem problem, make_problem(requests, alignment, max_block));
  if (problem.items.empty()) return layout;

  Best best(problem, sweep_memory(problem, SweepDirection::kForward));
  if (!best.good_enough()) best.offer(sweep_memory(problem, SweepDirection::kBackward));
  if (!best.good_enough()) {
    if (const auto neighbours = MemoryNeighbours::find(problem, kMostPairs))
      try_orders(problem, *neighbours, best);
  }
  layout.block_bytes = block_sizes(problem, best.attempt().addresses);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const MemoryAddress at = best.attempt().addresses[i];
    layout.places[problem.items[i].request] = {static_cast<std::size_t>(at / problem.stride),
                                               static_cast<std::size_t>(at % problem.stride)};
  }
  return layout;
}

}  // namespace shunt

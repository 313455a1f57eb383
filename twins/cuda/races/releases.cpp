#include "cuda/races/releases.h"

#include <algorithm>

namespace cuda_twin {

namespace {

constexpr std::size_t kMostReleases = 1 << 20;  // of one address

}  // namespace

void Acquired::add(const ReleaseLog* log, std::size_t count) {
  for (Part& part : parts) {
    if (part.log != log) continue;
    part.count = std::max(part.count, count);
    return;
  }
  parts.push_back({log, count});
}

void Acquired::join(const Acquired& other) {
  for (const Part& part : other.parts) add(part.log, part.count);
}

void ReleaseLog::add(std::shared_ptr<const Release> release) {
  if (!releases_.empty() && releases_.back() == release) return;
  if (releases_.size() >= kMostReleases) return;
  of_block_[release->block].push_back(releases_.size());
  releases_.push_back(std::move(release));
}

bool ReleaseLog::covers(std::size_t count, std::uint64_t block, unsigned warp,
                        std::uint32_t epoch) const {
  const auto found = of_block_.find(block);
  if (found == of_block_.end()) return false;
  // Different warps of the block release: each may know more of one warp.
  const auto& places = found->second;
  return std::any_of(places.begin(), places.end(), [&](std::size_t place) {
    return place < count && releases_[place]->epochs[warp] >= epoch;
  });
}

const Release* ReleaseLog::last_of(std::uint64_t block) const {
  const auto found = of_block_.find(block);
  return found == of_block_.end() ? nullptr : releases_[found->second.back()].get();
}

namespace {

/// A search through chains of releases, each part of a log once.
class Search {
 public:
  Search(std::uint64_t block, unsigned warp, std::uint32_t epoch)
      : block_(block), warp_(warp), epoch_(epoch) {}

  bool find(const Acquired& first) {
    push(first);
    while (!open_.empty()) {
      const Acquired::Part part = open_.back();
      open_.pop_back();
      if (part.log->covers(part.count, block_, warp_, epoch_)) return true;
      std::size_t& done = done_[part.log];
      for (std::size_t i = done; i < part.count; ++i) push((*part.log)[i].acquired);
      done = std::max(done, part.count);
    }
    return false;
  }

 private:
  void push(const Acquired& acquired) {
    for (const auto& part : acquired.parts) {
      const auto done = done_.find(part.log);
      if (done == done_.end() || done->second < part.count) open_.push_back(part);
    }
  }

  std::uint64_t block_;
  unsigned warp_;
  std::uint32_t epoch_;
  std::vector<Acquired::Part> open_;
  std::unordered_map<const ReleaseLog*, std::size_t> done_;
};

}  // namespace

bool covers(const Acquired& acquired, std::uint64_t block, unsigned warp, std::uint32_t epoch) {
  return !acquired.empty() && Search(block, warp, epoch).find(acquired);
}

}  // namespace cuda_twin

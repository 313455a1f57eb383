#include "cuda/races/cells.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>

namespace cuda_twin {

namespace {

constexpr std::size_t kMostCovers = 256;
constexpr unsigned kCoarsest = 2;

}  // namespace

CellPage::CellPage() : marks_(2 * (kCellPageBytes >> kCoarsest)) {}

void CellPage::refine(unsigned shift) {
  if (shift >= shift_) return;
  const unsigned repeat = 1u << (shift_ - shift);
  const auto repeated = [&](const std::vector<Mark>& from) {
    std::vector<Mark> to;
    to.reserve(from.size() * repeat);
    for (const Mark mark : from) to.insert(to.end(), repeat, mark);
    return to;
  };
  marks_ = repeated(marks_);
  others_ = repeated(others_);
  shift_ = shift;
}

void CellPage::clear() {
  std::fill(marks_.begin(), marks_.end(), 0);
  others_.clear();
  newest = 0;
}

void CellPage::cover(Mark mark) {
  Mark* const first = (mark & kMarkWrite) != 0 ? writes() : reads();
  std::fill(first, first + size(), mark);
  newest = std::max(newest, mark);
}

void CellPage::wait() {
  std::this_thread::yield();
}

GlobalCells::GlobalCells(std::uint64_t bytes) : count_(bytes / kCellPageBytes + 1) {}

GlobalCells::~GlobalCells() {
  for (CellPage* page = all_.load(); page != nullptr;) {
    CellPage* const next = page->next;
    delete page;
    page = next;
  }
  std::free(pages_.load());
}

CellPage* GlobalCells::existing_page(std::uint64_t offset) const {
  const std::uint64_t index = offset / kCellPageBytes;
  Table* const pages = pages_.load(std::memory_order_acquire);
  if (pages == nullptr || index >= count_) return nullptr;
  return pages[index].load(std::memory_order_acquire);
}

GlobalCells::Table* GlobalCells::table() {
  Table* pages = pages_.load(std::memory_order_acquire);
  if (pages != nullptr) return pages;
  // Zeros from the system: the table of a large allocation takes no memory until it is used.
  auto* const made = static_cast<Table*>(std::calloc(count_, sizeof(Table)));
  if (made == nullptr || pages_.compare_exchange_strong(pages, made, std::memory_order_acq_rel)) {
    return made;
  }
  std::free(made);
  return pages;
}

CellPage* GlobalCells::page(std::uint64_t offset) {
  const std::uint64_t index = offset / kCellPageBytes;
  Table* const pages = table();
  if (pages == nullptr || index >= count_) return nullptr;
  CellPage* found = pages[index].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  auto* const made = new (std::nothrow) CellPage;
  if (made == nullptr) return nullptr;
  if (!pages[index].compare_exchange_strong(found, made, std::memory_order_acq_rel)) {
    delete made;
    return found;
  }
  made->next = all_.load();
  while (!all_.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

void GlobalCells::add_cover(const Cover& cover) {
  const std::lock_guard lock(mutex_);
  if (covers_.size() == kMostCovers) {
    covers_.erase(covers_.begin(), covers_.begin() + kMostCovers / 2);
    dropped_covers_ += kMostCovers / 2;
  }
  covers_.push_back(cover);
  cover_count_.store(dropped_covers_ + covers_.size(), std::memory_order_release);
}

std::vector<GlobalCells::Cover> GlobalCells::covers() const {
  const std::lock_guard lock(mutex_);
  return covers_;
}

void GlobalCells::take_covers(CellPage& page, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = offset / kCellPageBytes * kCellPageBytes;
  const std::size_t first = page.covers < dropped_covers_ ? 0 : page.covers - dropped_covers_;
  for (std::size_t i = first; i < covers_.size(); ++i) {
    const Cover& cover = covers_[i];
    if (cover.generation != page.generation) continue;
    if (cover.begin <= begin && cover.end >= begin + kCellPageBytes) {
      page.cover(cover.mark);
      continue;
    }
    if (cover.end <= begin || cover.begin >= begin + kCellPageBytes) continue;
    const std::uint64_t from = std::max(cover.begin, begin) - begin;
    const std::uint64_t to = std::min(cover.end, begin + kCellPageBytes) - begin;
    if ((from | to) % 4 != 0) page.refine(0);
    Mark* const marks = (cover.mark & kMarkWrite) != 0 ? page.writes() : page.reads();
    std::fill(marks + (from >> page.shift()), marks + (to >> page.shift()), cover.mark);
    page.newest = std::max(page.newest, cover.mark);
  }
  page.covers = dropped_covers_ + covers_.size();
}

}  // namespace cuda_twin

#include "cuda/races/cells.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>

namespace cuda_twin {

namespace {

constexpr std::size_t kMostCovers = 4096;

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
  newest_write = newest_read = 0;
  covers = 0;
}

void CellPage::cover(std::uint64_t first, std::uint64_t end, Mark mark, Mark limit) {
  refine(cell_shift_for(first, end));
  note(mark);
  const std::uint64_t begin = first >> shift_, count = (end - first) >> shift_;
  if ((mark & kMarkWrite) != 0) {
    std::fill_n(writes() + begin, count, mark);
    return;
  }
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    if (reads()[i] < limit) {
      reads()[i] = mark;
    } else {
      if (!has_others()) make_others();
      others()[i] = mark;
    }
  }
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

void GlobalCells::append_cover(const Cover& cover) {
  if (covers_.size() == kMostCovers) {
    covers_.erase(covers_.begin(), covers_.begin() + kMostCovers / 2);
  }
  covers_.push_back(cover);
  covers_.back().number = last_cover_.load(std::memory_order_relaxed) + 1;
  last_cover_.store(covers_.back().number, std::memory_order_release);
}

void GlobalCells::take_covers(CellPage& page, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = offset / kCellPageBytes * kCellPageBytes;
  const std::uint64_t end = begin + kCellPageBytes;
  const auto first = std::partition_point(covers_.begin(), covers_.end(), [&](const Cover& cover) {
    return cover.number <= page.covers;
  });
  for (auto cover = first; cover != covers_.end(); ++cover) {
    if (cover->generation != page.generation || cover->end <= begin || cover->begin >= end)
      continue;
    page.cover(std::max(cover->begin, begin) - begin, std::min(cover->end, end) - begin,
               cover->mark, cover->limit);
  }
  page.covers = last_cover_.load(std::memory_order_relaxed);
}

}  // namespace cuda_twin

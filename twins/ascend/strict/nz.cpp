#include "ascend/strict/nz.h"

#include <map>
#include <mutex>

#include "ascend/memory/space.h"
#include "ascend/resets.h"

namespace ascend_twin {
namespace {

struct Mark {
  std::uintptr_t end = 0;
  std::uint64_t allocation = 0;  ///< Space::number_at: freed memory has no marks
};
struct Marks {
  std::mutex mutex;
  std::map<std::uintptr_t, Mark> all;  ///< by first address
};
Marks& marks() {
  static auto* all = new Marks;  // no destructor runs at exit
  return *all;
}

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// The first mark that overlaps the bytes; all.end() if there is none. Those of memory that was
/// freed since are dropped.
auto find_mark(std::uintptr_t begin, std::uintptr_t end) {
  auto mark = marks().all.begin();
  while (mark != marks().all.end()) {
    if (mark->second.end <= begin || mark->first >= end) {
      ++mark;
    } else if (space().number_at(reinterpret_cast<const void*>(mark->first)) !=
               mark->second.allocation) {
      mark = marks().all.erase(mark);
    } else {
      return mark;
    }
  }
  return mark;
}

const AtReset drop_marks([] {
  const std::lock_guard lock(marks().mutex);
  marks().all.clear();
});

}  // namespace

void mark_nz(const void* address, std::uint64_t bytes) {
  if (!is_strict() || bytes == 0) return;
  const std::uint64_t allocation = space().number_at(address);
  if (allocation == 0) return;
  forget_nz(address, bytes);
  const std::lock_guard lock(marks().mutex);
  marks().all[number_of(address)] = {number_of(address) + bytes, allocation};
}

void forget_nz(const void* address, std::uint64_t bytes) {
  const std::lock_guard lock(marks().mutex);
  const std::uintptr_t begin = number_of(address);
  for (auto mark = find_mark(begin, begin + bytes); mark != marks().all.end();
       mark = find_mark(begin, begin + bytes)) {
    marks().all.erase(mark);
  }
}

Status check_nz(const View& view, const std::string& what) {
  if (!is_strict() || view.elements() == 0) return ACL_SUCCESS;
  const View::Reach reach = view.reach();
  const std::uint64_t bits = bits_of(view.type);
  const std::uintptr_t base = number_of(view.base);
  const std::uintptr_t begin = base + static_cast<std::uint64_t>(reach.begin) * bits / 8;
  const std::uintptr_t end = base + (static_cast<std::uint64_t>(reach.end) * bits + 7) / 8;
  std::uintptr_t marked = 0;
  {
    const std::lock_guard lock(marks().mutex);
    const auto mark = find_mark(begin, end);
    if (mark == marks().all.end()) return ACL_SUCCESS;
    marked = mark->first;
  }
  if (!view.is_nz())
    return object_late(ACL_ERROR_RT_AICORE_EXCEPTION, what + ": bytes in FRACTAL_NZ, read as ND");
  if (begin == marked) return ACL_SUCCESS;
  return object_late(ACL_ERROR_RT_AICORE_EXCEPTION, what + ": a view into bytes in FRACTAL_NZ");
}

}  // namespace ascend_twin

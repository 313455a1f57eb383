#include <algorithm>

#include "base/fail.h"
#include "device/range.h"
#include "shunt/device.h"

namespace shunt {

namespace {

/// Calls `visit(part, offset in part, offset in range, bytes)` for each part that [offset, offset +
/// bytes) meets.
template <class F>
Status for_each_piece(std::span<const std::unique_ptr<Buffer>> parts, std::size_t offset,
                      std::size_t bytes, F&& visit) {
  std::size_t done = 0;
  for (const auto& part : parts) {
    if (done == bytes) break;
    if (offset >= part->size()) {
      offset -= part->size();
      continue;
    }
    const std::size_t piece = std::min(bytes - done, part->size() - offset);
    SHUNT_TRY(visit(*part, offset, done, piece));
    done += piece;
    offset = 0;
  }
  return ok();
}

}  // namespace

Result<std::unique_ptr<BufferGroup>> BufferGroup::create(
    std::vector<std::unique_ptr<Buffer>> parts) {
  if (parts.empty()) return invalid("a group of buffers needs at least one");
  auto group = std::unique_ptr<BufferGroup>(new BufferGroup());
  for (const auto& part : parts) {
    if (&part->type() != &parts.front()->type()) {
      return invalid("a group of buffers is of one type, not of {} and {}",
                     parts.front()->type().name(), part->type().name());
    }
    group->size_ += part->size();
  }
  group->parts_ = std::move(parts);
  return group;
}

std::byte* BufferGroup::host_data() {
  return parts_.size() == 1 ? parts_.front()->host_data() : nullptr;
}

Status BufferGroup::write(std::size_t offset, std::span<const std::byte> from) {
  SHUNT_TRY(check_range(*this, offset, from.size()));
  return for_each_piece(parts_, offset, from.size(),
                        [&](Buffer& part, std::size_t at, std::size_t done, std::size_t bytes) {
                          return part.write(at, from.subspan(done, bytes));
                        });
}

Status BufferGroup::read(std::size_t offset, std::span<std::byte> to) {
  SHUNT_TRY(check_range(*this, offset, to.size()));
  return for_each_piece(parts_, offset, to.size(),
                        [&](Buffer& part, std::size_t at, std::size_t done, std::size_t bytes) {
                          return part.read(at, to.subspan(done, bytes));
                        });
}

Result<Address> BufferGroup::locate(std::size_t offset, std::size_t bytes) const {
  SHUNT_TRY(check_range(*this, offset, bytes));
  std::size_t at = offset;
  for (const auto& part : parts_) {
    if (at < part->size() || (bytes == 0 && at == part->size())) {
      if (bytes <= part->size() - at) return Address{part.get(), at};
      break;
    }
    at -= part->size();
  }
  return invalid("{} bytes at {} reach over the edge between two parts of the group", bytes,
                 offset);
}

}  // namespace shunt

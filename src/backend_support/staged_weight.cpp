#include "backend_support/staged_weight.h"

#include <cstring>

#include "shunt/message.h"

namespace shunt {

Status StagedWeight::check_written() const {
  if (packed_ || !plain_.empty()) return ok();
  return invalid("a weight is read before it is written");
}

Status StagedWeight::write(std::size_t offset, std::span<const std::byte> from) {
  const std::lock_guard lock(mutex_);
  if (plain_.empty()) {
    std::vector<std::byte> plain(plain_bytes_);
    if (packed_) SHUNT_TRY(unpack(plain));
    plain_.swap(plain);  // only now: data that can't be unpacked stays as it is
  }
  std::memcpy(plain_.data() + offset, from.data(), from.size());
  dirty_ = true;
  if (offset + from.size() < plain_bytes_) return ok();
  auto settled = settle_locked();
  if (!settled) return Error(std::move(settled.error()));
  return ok();
}

Status StagedWeight::read(std::size_t offset, std::span<std::byte> to) {
  return look([&](std::span<std::byte> plain) -> Status {
    std::vector<std::byte> unpacked;
    if (plain.empty()) {
      unpacked.resize(plain_bytes_);
      SHUNT_TRY(unpack(unpacked));
      plain = unpacked;
    }
    std::memcpy(to.data(), plain.data() + offset, to.size());
    return ok();
  });
}

Result<bool> StagedWeight::settle() {
  const std::lock_guard lock(mutex_);
  return settle_locked();
}

Result<bool> StagedWeight::settle_locked() {
  if (!dirty_) return packed_ && plain_.empty();
  SHUNT_ASSIGN(const bool all, pack(plain_));
  dirty_ = false;
  packed_ = true;
  if (all) std::vector<std::byte>().swap(plain_);
  return all;
}

}  // namespace shunt

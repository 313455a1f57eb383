#include "backends/zdnn/memory.h"

#include <array>
#include <cstring>

#include "base/aligned_bytes.h"
#include "base/fail.h"
#include "device/range.h"

namespace shunt::zdnn {

namespace {

class ZdnnBuffer final : public Buffer {
 public:
  ZdnnBuffer(const ZdnnMemory& type, AlignedBytes data, std::size_t size)
      : type_(type), data_(std::move(data)), size_(size) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  std::byte* host_data() override { return data_.get(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    if (!from.empty()) std::memcpy(data_.get() + offset, from.data(), from.size());
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    if (!to.empty()) std::memcpy(to.data(), data_.get() + offset, to.size());
    return ok();
  }

 private:
  const ZdnnMemory& type_;
  AlignedBytes data_;
  std::size_t size_;
};

}  // namespace

std::span<const Layout> ZdnnMemory::layouts() const {
  static const std::array<Layout, 2> kLayouts = {
      Layout{},
      Layout{LayoutKind::kStickified, false, "numbers are rounded to DLFLOAT16"},
  };
  return kLayouts;
}

Result<std::unique_ptr<Buffer>> ZdnnMemory::allocate(std::size_t bytes) {
  AlignedBytes data = allocate_aligned(bytes, alignment());
  if (data == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "no {} bytes of host memory to be had", bytes);
  }
  return std::make_unique<ZdnnBuffer>(*this, std::move(data), bytes);
}

}  // namespace shunt::zdnn

#include "engine/promised_memory.h"

#include <limits>

#include "base/fail.h"

namespace shunt {

namespace {

class PromisedBuffer final : public Buffer {
 public:
  explicit PromisedBuffer(const BufferType& type) : type_(type) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return std::numeric_limits<std::size_t>::max(); }
  Status write(std::size_t, std::span<const std::byte>) override { return not_there(); }
  Status read(std::size_t, std::span<std::byte>) override { return not_there(); }

 private:
  static Status not_there() { return invalid("this memory is not there yet"); }
  const BufferType& type_;
};

}  // namespace

PromisedMemory::PromisedMemory(std::span<Device* const> devices) {
  for (Device* device : devices)
    buffers_.push_back(std::make_unique<PromisedBuffer>(device->memory()));
}

}  // namespace shunt

#include "shunt/device.h"

#include <array>

#include "base/enum_table.h"
#include "base/host_memory_facts.h"

namespace shunt {

std::string_view to_string(Refusal refusal) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "op", "type", "shape", "layout", "parameter", "missing vendor function", "memory", "cost"};
  return name_in(kNames, refusal);
}

std::string_view to_string(DeviceKind kind) {
  static constexpr std::array<std::string_view, 5> kNames = {"CPU", "GPU", "NPU", "accelerator",
                                                             "null"};
  return name_in(kNames, kind);
}

Support Support::yes_if(int source, DType dtype) {
  Support support;
  support.source_ = source;
  support.dtype_ = dtype;
  return support;
}

Support Support::no(Refusal refusal, std::string facts) {
  Support support;
  support.refused_ = true;
  support.refusal_ = refusal;
  support.facts_ = std::move(facts);
  return support;
}

Status Stream::copy(Address, Address from, std::size_t bytes, std::span<Event* const>, Event*) {
  return Error(ErrorCode::kUnsupported,
               "this device does not copy " + std::to_string(bytes) + " bytes from " +
                   std::string(from.buffer->type().name()) + " memory directly");
}

std::uint64_t Device::memory_free() const {
  return info().host_memory ? host_memory_free() : 0;
}

Result<std::shared_ptr<const void>> Device::pin_host(std::span<const std::byte> range) {
  return Error(ErrorCode::kUnsupported, std::string(name()) + " can't pin " +
                                            std::to_string(range.size()) +
                                            " bytes of existing host memory");
}

Result<std::unique_ptr<Buffer>> BufferType::allocate_for(std::size_t bytes,
                                                         std::span<const PlacedTensor>) {
  return allocate(bytes);
}

Result<std::unique_ptr<Buffer>> BufferType::place_in(Buffer& memory,
                                                     std::span<const PlacedTensor>) {
  return Error(ErrorCode::kUnsupported, "a buffer of " + std::string(name()) +
                                            " memory can't be placed in " +
                                            std::string(memory.type().name()) + " memory");
}

std::span<const Layout> BufferType::layouts() const {
  static const std::array<Layout, 1> kPlain = {Layout{}};
  return kPlain;
}

std::size_t BufferType::size_of(const Tensor& tensor) const {
  return static_cast<std::size_t>(byte_span(tensor));
}

}  // namespace shunt

#include "backends/cuda/device.h"

#include <array>

#include "backend_support/event_stream.h"
#include "backends/cuda/native.h"
#include "shunt/message.h"

namespace shunt::cuda {

#include "kernel_list.inc"

namespace {

constexpr int kOldestCapability = 61;

/// A card's facts, as the driver reports them.
class Facts {
 public:
  Facts(const Driver& driver, DeviceNumber device) : driver_(driver), device_(device) {}

  /// 0 where the driver does not know it.
  int attribute(Attribute which) const {
    int value = 0;
    if (driver_.symbols().device_get_attribute(&value, which, device_) != kSuccess) return 0;
    return value;
  }
  std::string name() const {
    std::array<char, 256> name = {};
    (void)driver_.symbols().device_get_name(name.data(), static_cast<int>(name.size()) - 1,
                                            device_);
    return name.data();
  }
  std::string pci_address() const {
    std::array<char, 32> address = {};
    (void)driver_.symbols().device_get_pci_bus_id(address.data(),
                                                  static_cast<int>(address.size()) - 1, device_);
    return address.data();
  }
  std::uint64_t memory() const {
    std::size_t bytes = 0;
    (void)driver_.symbols().device_total_mem(&bytes, device_);
    return bytes;
  }
  int capability() const { return 10 * attribute(kCapabilityMajor) + attribute(kCapabilityMinor); }

 private:
  const Driver& driver_;
  DeviceNumber device_;
};

/// From the clock rates and the width of the bus. A multiprocessor of 7.0, 7.2, 7.5 and 8.0
/// multiplies and adds 64 numbers a clock, others 128. A memory clock moves two bits a line.
DeviceSpeed speed_of(const Facts& facts) {
  DeviceSpeed speed;
  const double clock = 1e3 * facts.attribute(kClockRate);
  const int capability = facts.capability();
  const int per_clock = capability >= 70 && capability <= 80 ? 64 : 128;
  speed.operations_per_second = clock * facts.attribute(kMultiprocessors) * per_clock * 2;
  speed.bytes_per_second =
      1e3 * facts.attribute(kMemoryClockRate) * 2 * facts.attribute(kMemoryBusWidth) / 8;
  return speed;
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const std::shared_ptr<Driver>& driver,
                                                       DeviceNumber number, int ordinal) {
  const Facts facts(*driver, number);
  const std::string card = facts.name();
  CudaTarget target;
  target.capability = facts.capability();
  target.multiprocessors = std::max(1, facts.attribute(kMultiprocessors));
  if (target.capability < kOldestCapability) {
    return fail(ErrorCode::kUnsupported, "{} has compute capability {}.{}; the oldest is {}.{}",
                card, target.capability / 10, target.capability % 10, kOldestCapability / 10,
                kOldestCapability % 10);
  }
  if (facts.attribute(kIntegrated) != 0) {
    return fail(ErrorCode::kUnsupported,
                "{} shares memory with the host, which is not supported yet", card);
  }
  DeviceInfo info;
  info.name = "cuda" + std::to_string(ordinal);
  info.description = fmt::format(
      "{}, compute capability {}.{}, {} multiprocessors, PCI {}, driver for CUDA {}.{}{}", card,
      target.capability / 10, target.capability % 10, target.multiprocessors, facts.pci_address(),
      driver->version() / 1000, driver->version() % 1000 / 10,
      driver->is_twin() ? "; a twin of the driver" : "");
  info.kind = DeviceKind::kGpu;
  info.priority = 10;
  info.memory_total = facts.memory();
  info.twin = driver->is_twin();
  info.asynchronous = true;
  info.speed = speed_of(facts);
  SHUNT_ASSIGN(auto context, Context::create(driver, number));
  return std::unique_ptr<CudaDevice>(new CudaDevice(std::move(context), std::move(info), target));
}

CudaDevice::CudaDevice(std::shared_ptr<Context> context, DeviceInfo info, const CudaTarget& target)
    : context_(std::move(context)),
      info_(std::move(info)),
      target_(target),
      table_(kKernelFiles),
      memory_(info_.name, context_, info_.memory_total),
      staging_(info_.name + " pinned",
               [context = context_](std::size_t bytes) { return allocate_pinned(context, bytes); }),
      modules_(context_),
      health_(std::make_shared<DeviceHealth>(info_.name)) {}

std::uint64_t CudaDevice::memory_free() const {
  std::size_t free = 0, total = 0;
  if (!context_->call<&Symbols::mem_get_info>(&free, &total)) return 0;
  return free;
}

Result<std::unique_ptr<Stream>> CudaDevice::open_stream() {
  SHUNT_ASSIGN(FunctionHandle begin_run, modules_.find("begin_run", Level::kBase, "begin_run"));
  SHUNT_ASSIGN(auto native, CudaStream::create(context_, begin_run));
  SHUNT_ASSIGN(auto stream, EventStream::create(std::move(native), health_));
  return stream;
}

Result<std::unique_ptr<Program>> CudaDevice::prepare(const SegmentView& segment) {
  return cuda::prepare(segment, table_, modules_, target_);
}

}  // namespace shunt::cuda

#include "backends/cuda/device.h"

#include <algorithm>
#include <array>
#include <map>

#include "backend_support/event_stream.h"
#include "backend_support/host_memory_facts.h"
#include "backends/cuda/native.h"
#include "backends/cuda/peak_meter.h"
#include "backends/cuda/timed_events.h"
#include "base/host_memory_facts.h"
#include "shunt/message.h"
#include "shunt/ops/matrix.h"

namespace shunt::cuda {

#include "kernel_list.inc"

namespace {

constexpr int kOldestCapability = 61;

/// A card's facts, as the driver reports them.
class Facts {
 public:
  Facts(const Driver& driver, DeviceNumber device) : driver_(driver), device_(device) {}

  /// 0 where the driver does not know it.
  int attribute(Attribute which) const { return driver_.attribute(which, device_); }
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

/// The module and the kernel that each stream needs.
constexpr const char* kBeginRun = "begin_run";
/// A kernel of the same module.
constexpr const char* kEmptyKernel = "empty";

bool is_vendor_code(const Error& error, Status32 code) {
  return error.vendor() && error.vendor()->code == code;
}

/// Whether two devices can read each other's memory.
bool are_peers(const Context& a, const Context& b) {
  const Symbols& symbols = a.driver().symbols();
  if (!a.driver().has(kPeersFeature)) return false;
  const auto can = [&](const Context& from, const Context& to) {
    int yes = 0;
    return symbols.device_can_access_peer(&yes, from.device(), to.device()) == kSuccess && yes != 0;
  };
  return can(a, b) && can(b, a);
}

/// Whether a device can have access to memory of another one: to mapped memory only if it has
/// virtual memory, too.
bool can_map(const Context& user, const DeviceMemory& memory) {
  return memory.kind() != MemoryKind::kMapped || user.attribute(kVirtualMemory) != 0;
}

/// Lets one context use plain memory of another. It may have been enabled before.
bool enable_access(const Context& user, const Context& owner) {
  const Status enabled = user.call_idle<&Symbols::ctx_enable_peer_access>(owner.handle(), 0U);
  return enabled || is_vendor_code(enabled.error(), kPeerAccessEnabled);
}

Result<Level> choose_level(std::optional<Level> wanted, int capability, std::string_view card) {
  if (!wanted) {
    const auto best =
        std::ranges::find_if(kLevels.rbegin(), kLevels.rend(),
                             [&](const LevelRow& row) { return row.capability <= capability; });
    return best->level;
  }
  const LevelRow& row = row_of(*wanted);
  if (row.capability <= capability) return row.level;
  return fail(ErrorCode::kUnsupported, "cuda.level={} needs compute capability {}.{}; {} has {}.{}",
              row.name, row.capability / 10, row.capability % 10, card, capability / 10,
              capability % 10);
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const std::shared_ptr<Driver>& driver,
                                                       DeviceNumber number, int ordinal,
                                                       const CudaOptions& options) {
  const Facts facts(*driver, number);
  const std::string card = facts.name();
  CudaTarget target;
  target.capability = facts.capability();
  target.multiprocessors = std::max(1, facts.attribute(kMultiprocessors));
  if (target.capability < kOldestCapability) {
    return fail(ErrorCode::kUnsupported,
                "{} has compute capability {}.{}; the oldest that works is {}.{}", card,
                target.capability / 10, target.capability % 10, kOldestCapability / 10,
                kOldestCapability % 10);
  }
  SHUNT_ASSIGN(target.level, choose_level(options.level, target.capability, card));
  DeviceInfo info;
  info.name = "cuda" + std::to_string(ordinal);
  auto health = std::make_shared<DeviceHealth>(info.name, options.timeout,
                                               [driver] { driver->state().count_loss(); });
  SHUNT_ASSIGN(auto context, Context::create(driver, number, std::move(health)));
  const MemoryKind memory = choose_memory_kind(options.memory, *context);
  if (const Status status = check_memory_kind(memory, *context); !status)
    return Error(status.error()).with_context(card);
  info.description = fmt::format(
      "{}, compute capability {}.{}, {} multiprocessors, kernels of level {}, PCI {}, driver for "
      "CUDA {}.{}{}{}",
      card, target.capability / 10, target.capability % 10, target.multiprocessors,
      row_of(target.level).name, facts.pci_address(), driver->version() / 1000,
      driver->version() % 1000 / 10,
      memory == MemoryKind::kManaged ? fmt::format("; {}", kManagedText) : "",
      driver->is_twin() ? "; a twin of the driver" : "");
  info.kind = DeviceKind::kGpu;
  info.priority = 10;
  info.memory_total = facts.memory();
  if (facts.attribute(kIntegrated) != 0) {
    set_host_memory(info);
  } else if (memory == MemoryKind::kManaged) {
    info.memory_total += host_memory_total();
  }
  info.managed_memory = memory == MemoryKind::kManaged;
  info.twin = driver->is_twin();
  info.asynchronous = true;
  info.speed = speed_of(facts);
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(context), std::move(info), target, memory, options));
  // Some drivers can't compile PTX.
  const auto empty = device->modules_.find(kBeginRun, Level::kBase, kEmptyKernel);
  if (!empty) return Error(empty.error()).with_context(card);
  device->context_->set_empty_kernel(*empty);
  return device;
}

CudaDevice::CudaDevice(std::shared_ptr<Context> context, DeviceInfo info, const CudaTarget& target,
                       MemoryKind memory, const CudaOptions& options)
    : context_(std::move(context)),
      info_(std::move(info)),
      target_(target),
      table_(kKernelFiles),
      memory_(memory == MemoryKind::kManaged ? info_.name + " managed" : info_.name, memory,
              context_, info_.memory_total),
      staging_(info_.name + " pinned",
               [context = context_](std::size_t bytes) { return allocate_pinned(context, bytes); }),
      has_staging_(options.pinned && !memory_.host_accessible()),
      modules_(context_),
      clock_(std::make_shared<EventClock>(timed_events(context_))) {
  if (options.fuse) patterns_ = fused_patterns();
}

void CudaDevice::connect(std::span<CudaDevice* const> devices) {
  std::map<CudaDevice*, std::vector<DeviceNumber>> readers;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      CudaDevice* const pair[] = {devices[a], devices[b]};
      if (!are_peers(*pair[0]->context_, *pair[1]->context_)) continue;
      if (!enable_access(*pair[0]->context_, *pair[1]->context_)) continue;
      if (!enable_access(*pair[1]->context_, *pair[0]->context_)) continue;
      for (const int i : {0, 1}) {
        if (!can_map(*pair[i]->context_, pair[1 - i]->memory_)) continue;
        pair[i]->peers_.push_back(&pair[1 - i]->memory_);
        readers[pair[1 - i]].push_back(pair[i]->context_->device());
      }
    }
  }
  for (auto& [device, numbers] : readers) device->memory_.set_peers(std::move(numbers));
}

bool CudaDevice::can_copy_from(const BufferType& type) const {
  return std::ranges::find(peers_, &type) != peers_.end();
}

std::uint64_t CudaDevice::memory_free() const {
  if (info_.host_memory) return host_memory_free();
  constexpr std::uint64_t kNone = 1;  // 0 means that it is not known
  const auto free = context_->free_memory();
  if (!free) return kNone;
  return std::max<std::uint64_t>(*free, kNone) +
         (memory_.kind() == MemoryKind::kManaged ? host_memory_free() : 0);
}

OwnMemory CudaDevice::own_memory() const {
  if (info_.host_memory)
    return {};  // other programs of the host change its free memory all the time
  OwnMemory own = modules_.memory();
  own.context = context_->own_bytes();
  return own;
}

Result<std::unique_ptr<Stream>> CudaDevice::open_stream() {
  SHUNT_ASSIGN(FunctionHandle begin_run, modules_.find(kBeginRun, Level::kBase, kBeginRun));
  SHUNT_ASSIGN(auto native, CudaStream::create(context_, clock_, begin_run, staging_));
  SHUNT_ASSIGN(auto stream, EventStream::create(std::move(native), context_->health()));
  return stream;
}

Result<std::unique_ptr<Program>> CudaDevice::prepare(const SegmentView& segment) {
  return cuda::prepare(segment, table_, modules_, target_, patterns_);
}

Result<std::unique_ptr<PeakMeter>> CudaDevice::open_peak_meter(int) {
  return std::make_unique<CudaPeakMeter>(memory_, modules_, target_);
}

bool CudaDevice::offload_op(const Graph& graph, NodeId node) const {
  const Op* const op = graph.node(node).op;
  return op == &matmul_op() || op == &matmul_id_op();
}

}  // namespace shunt::cuda

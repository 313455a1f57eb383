#include "backends/cuda/allocation.h"

#include <algorithm>
#include <array>
#include <bit>

#include "shunt/message.h"

namespace shunt::cuda {

namespace {

class PlainAllocation : public Allocation {
 public:
  explicit PlainAllocation(const MemoryOwner& owner) : context_(owner.context) {}
  ~PlainAllocation() override {
    if (address_ != 0) context_->release_idle<&Symbols::mem_free>(address_);
  }
  Status allocate(const MemoryOwner&, std::size_t bytes) {
    return context_->call_idle<&Symbols::mem_alloc>(&address_, bytes);
  }

 protected:
  std::shared_ptr<Context> context_;
};

class ManagedAllocation final : public PlainAllocation {
 public:
  using PlainAllocation::PlainAllocation;
  Status allocate(const MemoryOwner&, std::size_t bytes) {
    return context_->call_idle<&Symbols::mem_alloc_managed>(&address_, bytes, kAttachGlobal);
  }
};

class HostAllocation final : public Allocation {
 public:
  explicit HostAllocation(const MemoryOwner& owner) : context_(owner.context) {}
  ~HostAllocation() override {
    if (address_ != 0)
      context_->release_idle<&Symbols::mem_free_host>(std::bit_cast<void*>(address_));
  }
  Status allocate(const MemoryOwner&, std::size_t bytes) {
    void* address = nullptr;
    SHUNT_TRY(context_->call_idle<&Symbols::mem_host_alloc>(&address, bytes, kHostMapped));
    address_ = std::bit_cast<DevicePointer>(address);  // one address for host and device
    return ok();
  }

 private:
  std::shared_ptr<Context> context_;
};

/// A range of addresses with one piece of memory mapped to it.
class MappedAllocation final : public Allocation {
 public:
  explicit MappedAllocation(const MemoryOwner& owner) : context_(owner.context) {}
  ~MappedAllocation() override {
    if (mapped_) context_->release_idle<&Symbols::mem_unmap>(address_, bytes_);
    if (address_ != 0) context_->release<&Symbols::mem_address_free>(address_, bytes_);
  }

  Status allocate(const MemoryOwner& owner, std::size_t bytes) {
    const MemoryProperties properties = {.location = {kOnDevice, context_->device()}};
    std::size_t granularity = 0;
    SHUNT_TRY(context_->call<&Symbols::mem_granularity>(&granularity, &properties, 0U));
    if (!std::has_single_bit(granularity))
      return fail(ErrorCode::kDevice, "the driver's granularity of memory is {}", granularity);
    bytes_ = (bytes + granularity - 1) / granularity * granularity;
    SHUNT_TRY(context_->call<&Symbols::mem_address_reserve>(&address_, bytes_, std::size_t{0},
                                                            DevicePointer{0}, std::uint64_t{0}));
    MemoryHandle handle = 0;
    SHUNT_TRY(
        context_->call_idle<&Symbols::mem_create>(&handle, bytes_, &properties, std::uint64_t{0}));
    const Status mapped = context_->call<&Symbols::mem_map>(address_, bytes_, std::size_t{0},
                                                            handle, std::uint64_t{0});
    context_->release<&Symbols::mem_release>(handle);  // the mapping keeps the memory
    SHUNT_TRY(mapped);
    mapped_ = true;
    std::vector<MemoryAccess> access = {{{kOnDevice, context_->device()}, kReadWrite}};
    for (const DeviceNumber peer : owner.peers) access.push_back({{kOnDevice, peer}, kReadWrite});
    return context_->call<&Symbols::mem_set_access>(
        address_, bytes_, static_cast<const MemoryAccess*>(access.data()), access.size());
  }

 private:
  std::shared_ptr<Context> context_;
  std::size_t bytes_ = 0;
  bool mapped_ = false;
};

template <class Kind>
Result<std::unique_ptr<Allocation>> make_allocation(const MemoryOwner& owner, std::size_t bytes) {
  auto made = std::make_unique<Kind>(owner);
  SHUNT_TRY(made->allocate(owner, bytes));
  return made;
}

struct KindRow {
  MemoryKind kind;
  std::string_view name;
  const char* feature;  ///< of the driver; null: all have it
  Attribute attribute;  ///< 0 on devices that lack it
  Result<std::unique_ptr<Allocation>> (*allocate)(const MemoryOwner&, std::size_t);
};
constexpr std::array kKinds = {
    KindRow{MemoryKind::kMapped, "virtual memory", kVirtualMemoryFeature, kVirtualMemory,
            make_allocation<MappedAllocation>},
    KindRow{MemoryKind::kPlain, "plain memory", nullptr, kCapabilityMajor,
            make_allocation<PlainAllocation>},
    KindRow{MemoryKind::kManaged, "managed memory", kManagedMemoryFeature, kConcurrentManagedAccess,
            make_allocation<ManagedAllocation>},
    KindRow{MemoryKind::kHost, "memory of the host", nullptr, kIntegrated,
            make_allocation<HostAllocation>},
};

const KindRow& row_of(MemoryKind kind) {
  return *std::ranges::find(kKinds, kind, &KindRow::kind);
}

}  // namespace

Status check_memory_kind(MemoryKind kind, const Context& context) {
  const KindRow& row = row_of(kind);
  if (row.feature != nullptr && !context.driver().has(row.feature))
    return fail(ErrorCode::kUnsupported, "this driver has no functions for {}", row.name);
  if (context.attribute(row.attribute) == 0)
    return fail(ErrorCode::kUnsupported, "this device has no {}", row.name);
  return ok();
}

MemoryKind choose_memory_kind(MemoryKind kind, const Context& context) {
  if (kind != MemoryKind::kAuto) return kind;
  if (check_memory_kind(MemoryKind::kHost, context)) return MemoryKind::kHost;
  if (check_memory_kind(MemoryKind::kMapped, context)) return MemoryKind::kMapped;
  return MemoryKind::kPlain;
}

Result<std::unique_ptr<Allocation>> allocate(MemoryKind kind, const MemoryOwner& owner,
                                             std::size_t bytes) {
  // The rest of a mapped piece, usually 2 MiB, is lost.
  constexpr std::size_t kWorthMapping = std::size_t{1} << 20;
  if (kind == MemoryKind::kMapped && bytes < kWorthMapping) kind = MemoryKind::kPlain;
  return row_of(kind).allocate(owner, bytes);
}

}  // namespace shunt::cuda

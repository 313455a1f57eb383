#include "backends/cann/device.h"

#include <algorithm>
#include <limits>

#include "backend_support/event_stream.h"
#include "backend_support/host_memory_facts.h"
#include "backends/cann/native.h"
#include "backends/cann/timed_events.h"
#include "base/host_memory_facts.h"
#include "shunt/message.h"
#include "shunt/ops/matrix.h"

namespace shunt::cann {

#include "kernel_list.inc"

namespace {

/// Rows of the cache to which sessions round up, so that a captured graph can be replayed.
constexpr std::int64_t kGraphRows = 64;

struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};
Result<MemoryInfo> memory_of(const DeviceContext& context) {
  MemoryInfo info;
  SHUNT_TRY(context.call<&Symbols::memory_info>(kHbmMemory, &info.free, &info.total));
  return info;
}

}  // namespace

Result<std::unique_ptr<CannDevice>> CannDevice::create(const std::shared_ptr<Runtime>& runtime,
                                                       int ordinal, const CannOptions& options) {
  DeviceInfo info;
  info.name = "cann" + std::to_string(ordinal);
  auto health = std::make_shared<DeviceHealth>(info.name, options.timeout);
  SHUNT_ASSIGN(auto context, DeviceContext::create(runtime, ordinal, std::move(health)));
  const Chip& chip = runtime->chip();
  std::int64_t cores = 0;
  (void)context->call<&Symbols::device_capability>(static_cast<std::uint32_t>(ordinal), kAiCores,
                                                   &cores);
  std::string note;
  if (options.deterministic && runtime->has(kDeterminismFeature)) {
    const Status set = context->call<&Symbols::set_system_option>(kDeterministic, std::int64_t{1});
    if (!set)
      note = fmt::format("{}: no {}: {}", info.name, kDeterminismFeature, to_text(set.error()));
  }
  info.description =
      fmt::format("{}, {} AI cores, ACL {}{}{}", runtime->soc_name(), cores, runtime->version(),
                  runtime->shares_memory() ? ", memory of the host" : "",
                  runtime->is_twin() ? "; a twin of the libraries" : "");
  info.kind = DeviceKind::kNpu;
  info.priority = 10;
  SHUNT_ASSIGN(const MemoryInfo memory, memory_of(*context));
  info.memory_total = memory.total;
  if (runtime->shares_memory()) set_host_memory(info);
  info.twin = runtime->is_twin();
  info.asynchronous = true;
  const bool captures = options.graph && chip.graphs && runtime->has(kGraphsFeature);
  // Only runs with the same sizes come again.
  if (captures || options.executors > 0) info.dynamic_dim_granularity = kGraphRows;
  info.speed = DeviceSpeed{.operations_per_second = chip.operations_per_second,
                           .bytes_per_second = chip.bytes_per_second};
  std::unique_ptr<CannDevice> made(new CannDevice(std::move(context), std::move(info), options));
  made->note_ = std::move(note);
  return made;
}

CannDevice::CannDevice(std::shared_ptr<DeviceContext> context, DeviceInfo info,
                       const CannOptions& options)
    : context_(std::move(context)),
      info_(std::move(info)),
      options_(options),
      target_{&context_->runtime().chip(), context_.get(), options.f32_products,
              options.fuses_attention},
      table_(kKernelFiles),
      memory_(info_.name, context_, info_.memory_total),
      weights_(info_.name + " weights", memory_, *target_.chip),
      fractals_(info_.name + " fractals", memory_,
                options.fractal_weights && target_.chip->fractal_weights),
      staging_(info_.name + " pinned",
               [context = std::shared_ptr<const DeviceContext>(context_)](std::size_t bytes) {
                 return allocate_pinned(context, bytes);
               }),
      has_staging_(options.pinned && !memory_.host_accessible()) {
  if (auto events = timed_events(context_))
    clock_ = std::make_shared<EventClock>(std::move(events));
}

void CannDevice::connect(std::span<CannDevice* const> devices) {
  const auto enable = [](const CannDevice& user, const CannDevice& owner) {
    std::int32_t can = 0;
    const std::int32_t peer = owner.context_->device();
    return user.context_->runtime().has(kPeersFeature) &&
           user.context_->call<&Symbols::can_access_peer>(&can, user.context_->device(), peer) &&
           can != 0 && user.context_->call<&Symbols::enable_peer>(peer, std::uint32_t{0});
  };
  for (CannDevice* const a : devices) {
    for (CannDevice* const b : devices) {
      if (b->context_->device() <= a->context_->device()) continue;
      if (!enable(*a, *b) || !enable(*b, *a)) continue;
      a->peers_.push_back(&b->memory_);
      b->peers_.push_back(&a->memory_);
    }
  }
}

bool CannDevice::can_copy_from(const BufferType& type) const {
  return std::ranges::find(peers_, &type) != peers_.end();
}

std::uint64_t CannDevice::memory_free() const {
  if (info_.host_memory) return host_memory_free();
  constexpr std::uint64_t kNone = 1;  // 0 means that it is not known
  const auto memory = memory_of(*context_);
  return memory ? std::max<std::uint64_t>(memory->free, kNone) : kNone;
}

std::vector<WeightCandidate> CannDevice::weight_forms(const Graph& graph, NodeId leaf) {
  // Of different types.
  auto forms = cann::weight_forms(weights_, graph, leaf);
  return forms.empty() ? fractal_forms(fractals_, graph, leaf) : forms;
}

Support CannDevice::supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const {
  if (const Status health = context_->health()->check(); !health)
    return Support::no(Refusal::kVendorFunction, health.error().message());
  return table_.supports(graph, node, target_, memory);
}

const CannKernel* CannDevice::kernel_of(const Graph& graph, NodeId node) const {
  const Op* const op = graph.node(node).op;
  return op == nullptr ? nullptr : table_.find(*op);
}

double CannDevice::rounding_error(const Graph& graph, NodeId node, MemoryOfLeaves memory) const {
  const CannKernel* const kernel = kernel_of(graph, node);
  return kernel == nullptr ? 0 : kernel->rounding_error(NodeView(graph, node, memory), target_);
}

double CannDevice::largest_number(const Graph& graph, NodeId node) const {
  const CannKernel* const kernel = kernel_of(graph, node);
  return kernel == nullptr ? std::numeric_limits<double>::infinity()
                           : kernel->largest_number(NodeView(graph, node), target_);
}

Result<std::unique_ptr<Stream>> CannDevice::open_stream() {
  SHUNT_ASSIGN(auto native, CannStream::create(context_, clock_, options_));
  SHUNT_ASSIGN(auto stream, EventStream::create(std::move(native), context_->health()));
  return stream;
}

Result<std::unique_ptr<Program>> CannDevice::prepare(const SegmentView& segment) {
  const auto patterns = options_.fuse ? fused_patterns() : std::span<const Pattern>();
  return cann::prepare(segment, table_, target_, memory_, patterns);
}

bool CannDevice::offload_op(const Graph& graph, NodeId node) const {
  const Op* const op = graph.node(node).op;
  return op == &matmul_op() || op == &matmul_id_op();
}

}  // namespace shunt::cann

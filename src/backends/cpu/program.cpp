#include "backends/cpu/program.h"

#include <algorithm>
#include <limits>

#include "backend_support/node_launch.h"
#include "backends/cpu/fusion.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/weight_memory.h"
#include "base/fail.h"
#include "memory/hazards.h"

namespace shunt::cpu {

namespace {

// Shared scratch goes round these, so that three independent matmuls (Q, K and V) need no barrier
// between them.
constexpr std::size_t kScratchSlots = 3;
// Chunks a thread: enough to even out a slow core, few enough that taking them costs nothing.
constexpr std::int64_t kChunksPerThread = 8;

/// A node made ready: its kernel, and where its sources come from.
struct Prepared {
  NodeId node = 0;                   ///< whose result comes out
  NodeId asked = 0;                  ///< that the kernel is asked about: the same, if not fused
  std::vector<NodeId> sources = {};  ///< of the call
  const CpuKernel* kernel = nullptr;
  std::size_t scratch_slot = 0;
  bool needs_scratch = false;
  std::array<bool, kMaxSources> interleaved = {};  ///< by source
  std::array<bool, kMaxSources> has_lanes = {};    ///< of TensorArg, at the level of the program
  bool writes_last_source = false;                 ///< it is a result, too
  bool staged = false;      // phase 0 makes a source's other form, and later phases read it
  bool staged_for = false;  // by a node before: there is no phase 0
};

/// What is in a slot of scratch for nodes to come.
struct Staged {
  NodeId node = kNoNode;  // whose source it is another form of; none: nothing is there
  Staging form;
};

/// Null if there is none.
std::byte* host_data(const Address& at) {
  if (!at) return nullptr;
  const bool interleaved = is_interleaved_memory(&at.buffer->type());
  std::byte* data = interleaved ? packed_data(*at.buffer) : at.buffer->host_data();
  return data == nullptr ? nullptr : data + at.offset;
}

/// By host addresses, as buffers may lie over the same memory.
Region region(const std::byte* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {nullptr, begin, begin + bytes};
}

class CpuProgram;

struct Launch {
  const CpuKernel* kernel = nullptr;
  std::size_t call = 0;
  int phase = 0;
  bool barrier = false;       // all from `wait_from` up to this one must be done before it starts
  std::size_t wait_from = 0;  // launches before that are done when those are
  std::int64_t items = 0;
  // The first `heads` chunks are of `head` items, one a thread; the others of `step`.
  std::int64_t heads = 0;
  std::int64_t head = 0;
  std::int64_t step = 1;
  std::uint32_t chunks = 1;  // at least one, which may be empty
  bool shared = false;       // else the caller's thread does it alone
};

/// How far a launch is, in chunks. Eight of them share a cache line on purpose: a line that goes
/// from core to core is what sharing costs. time.
struct Progress {
  std::atomic<std::uint32_t> taken{0};
  std::atomic<std::uint32_t> done{0};
};

/// A dimension of a call that hangs on an extent.
struct Patch {
  std::size_t call = 0;
  std::int64_t* size = nullptr;
  ExtentId extent = kNoExtent;
  std::int64_t factor = 1;
};

class CpuBinding final : public HostBinding, private Task {
 public:
  explicit CpuBinding(const CpuProgram& program) : program_(program) {}

  Status bind(const Addresses& addresses);
  Status run(const RunArgs& args) override;

 private:
  TensorArg argument(const Tensor& tensor, const Address& address) const;
  Status check_layout(const Prepared& user, std::size_t source, const Address& at) const;
  void find_barriers(std::span<const Footprint> footprints);
  void add_patches(std::size_t call, const Tensor& tensor, TensorArg& argument);
  void run(int worker) override;
  void use_threads(int threads);
  void cut(const Call& call, Launch& launch) const;
  void wait_for(std::size_t begin, std::size_t end) const;
  void compute(std::size_t index, std::int64_t chunk, std::byte* scratch);
  void take(std::size_t index, std::byte* scratch);
  void do_alone(std::size_t index, std::byte* scratch);
  Error describe_fault(std::size_t launch);

  const CpuProgram& program_;
  std::vector<Call> calls_;
  std::vector<Launch> launches_;
  std::size_t last_barrier_ = 0;  // the last launch that waits for others
  std::vector<Patch> patches_;
  std::vector<bool> is_cut_;              // by call: its launches are cut for the sizes it has
  std::unique_ptr<Progress[]> progress_;  // by launch
  int threads_ = 0;                       // that share the launches of the run at work
  bool together_ = false;                 // the run at work has launches to share
  RunState state_;                        // of the run at work
  std::atomic<std::size_t> faulty_{0};    // 1 + the first launch that found a fault; 0: none
  Fault fault_ = Fault::kNone;            // which one, written by the thread that says which launch
};

class CpuProgram final : public Program {
 public:
  CpuProgram(const Graph& graph, const CpuTarget& target, Pool& pool)
      : graph_(graph), target_(target), pool_(pool) {}

  Status prepare(const SegmentView& segment, const Table& table,
                 std::span<const Pattern> patterns) {
    std::size_t slot = 0;
    std::vector<Staged> slots(kScratchSlots);  // what was staged there last, then what lasts
    std::vector<std::size_t> lasting_bytes;
    const Fusions fusions(segment, patterns, target_);
    for (NodeId id : segment.nodes) {
      if (fusions.is_inside(id)) continue;
      const Node& node = graph_.node(id);
      const Fused* fused = fusions.ending_at(id);
      SHUNT_ASSIGN(Prepared prepared, choose(id, fused, table));
      const CpuKernel* kernel = prepared.kernel;
      const NodeView view(graph_, prepared.asked, segment.memory);
      SHUNT_TRY(find_layouts(segment, prepared));
      const std::size_t scratch = (kernel->scratch(view, target_) + 63) / 64 * 64;
      prepared.needs_scratch = scratch > 0;
      Staged staged;
      if (const auto form = kernel->staging(view, target_)) {
        staged = {prepared.asked, *form};
        prepared.staged = true;
      }
      const auto same = [&](const Staged& other) { return serves(other, staged, segment.memory); };
      if (const auto found = std::ranges::find_if(slots, same); found != slots.end()) {
        prepared.scratch_slot = static_cast<std::size_t>(found - slots.begin());
        prepared.staged_for = true;
      } else if (scratch > 0 && staged.form.lasting) {
        prepared.scratch_slot = slots.size();
        slots.push_back(staged);
        lasting_bytes.push_back(scratch);
      } else if (scratch > 0) {
        prepared.scratch_slot = slot;
        slots[slot] = staged;
        slot = (slot + 1) % kScratchSlots;
        slot_bytes_ = std::max(slot_bytes_, scratch);
      }
      if (node.writes_storage) {
        for (Staged& made : slots) {
          if (reads(made, node.storage)) made.node = kNoNode;
        }
      }
      worker_scratch_ = std::max(worker_scratch_, kernel->worker_scratch(view, target_));
      nodes_.push_back(prepared);
      if (fused != nullptr) {
        add_fused(graph_, *fused, needs_);
      } else {
        add_in_place(graph_, id, kernel->in_place_source(), needs_);
      }
    }
    for (std::size_t i = 0; i <= slots.size(); ++i) {
      slot_starts_.push_back(needs_.scratch_bytes);
      if (i == slots.size()) break;
      needs_.scratch_bytes += i < kScratchSlots ? slot_bytes_ : lasting_bytes[i - kScratchSlots];
    }
    return ok();
  }

  const Needs& needs() const override { return needs_; }

  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    SHUNT_TRY(reserve_scratch(pool_, worker_scratch_));
    return bind_to<CpuBinding>(*this, addresses);
  }

  const Graph& graph() const { return graph_; }
  Pool& pool() const { return pool_; }
  const CpuTarget& target() const { return target_; }
  std::span<const Prepared> nodes() const { return nodes_; }
  /// Where a slot starts in scratch; one more says where the last one ends.
  std::size_t slot_start(std::size_t slot) const { return slot_starts_[slot]; }

 private:
  Result<Prepared> choose(NodeId id, const Fused* fused, const Table& table) const {
    const Node& node = graph_.node(id);
    Prepared prepared{.node = id, .asked = id, .sources = node.sources};
    if (fused != nullptr) {
      prepared.asked = fused->asked;
      prepared.kernel = fused->kernel;
      prepared.sources = fused->sources;
      prepared.writes_last_source = fused->written != kNoNode;
      if (prepared.writes_last_source) prepared.sources.push_back(fused->written);
    } else {
      prepared.kernel = table.find(*node.op);
    }
    if (prepared.kernel == nullptr)
      return fail(ErrorCode::kUnsupported, "{}: no CPU kernel", graph_.describe(id));
    if (prepared.sources.size() > kMaxSources)
      return invalid("{}: too many sources", graph_.describe(id));
    return prepared;
  }
  Status find_layouts(const SegmentView& segment, Prepared& prepared) const {
    for (std::size_t s = 0; s < prepared.sources.size(); ++s) {
      const NodeId source = prepared.sources[s];
      if (source == kNoNode || !is_interleaved(segment, source)) continue;
      const Node& node = graph_.node(source);
      prepared.interleaved[s] = prepared.kernel->reads_interleaved(s) && node.storage == source;
      prepared.has_lanes[s] =
          prepared.interleaved[s] && multiplies_interleaved(target_.level, node.result.dtype);
      if (prepared.interleaved[s]) continue;
      return fail(ErrorCode::kUnsupported, "{}: source {} lies in {}, which it can't read",
                  graph_.describe(prepared.node), s, segment.memory[node.storage]->name());
    }
    return ok();
  }
  /// Whether what a node has staged is what another one wants.
  bool serves(const Staged& made, const Staged& wanted,
              std::span<const BufferType* const> memory) const {
    if (made.node == kNoNode || made.form != wanted.form) return false;
    const NodeId source = graph_.node(made.node).sources[made.form.source];
    return source == graph_.node(wanted.node).sources[wanted.form.source] &&
           made.form.maker->same_staging(NodeView(graph_, made.node, memory),
                                         NodeView(graph_, wanted.node, memory), target_);
  }
  /// Whether what is staged was made from what a node now writes into.
  bool reads(const Staged& made, NodeId storage) const {
    if (made.node == kNoNode) return false;
    return std::ranges::any_of(graph_.node(made.node).sources, [&](NodeId source) {
      return source != kNoNode && graph_.node(source).storage == storage;
    });
  }

  const Graph& graph_;
  const CpuTarget target_;
  Pool& pool_;
  Needs needs_;
  std::vector<Prepared> nodes_;
  std::size_t slot_bytes_ = 0;
  std::vector<std::size_t> slot_starts_;
  std::size_t worker_scratch_ = 0;
};

TensorArg CpuBinding::argument(const Tensor& tensor, const Address& address) const {
  TensorArg argument;
  argument.data = host_data(address);
  argument.sizes = max_sizes(tensor.shape);
  argument.strides = tensor.strides;
  argument.dtype = tensor.dtype;
  argument.level = program_.target().level;
  return argument;
}

/// A source, or what it is a view of, must lie as it was said to when this was prepared.
Status CpuBinding::check_layout(const Prepared& user, std::size_t source, const Address& at) const {
  const Graph& graph = program_.graph();
  const Node& node = graph.node(user.sources[source]);
  const Tensor& owner = graph.node(node.storage).result;
  const bool here = is_interleaved_memory(&at.buffer->type());
  if (user.interleaved[source] != (here && can_interleave(owner))) {
    return invalid("{}: source {} lies in {}, and this was prepared for other memory",
                   graph.describe(user.node), source, at.buffer->type().name());
  }
  const std::size_t begin = at.offset - static_cast<std::size_t>(node.offset);
  if (!here || is_placed(*at.buffer, begin, owner)) return ok();
  return invalid("{}: source {} lies in a buffer of {} that was not allocated for it",
                 graph.describe(user.node), source, at.buffer->type().name());
}

void CpuBinding::add_patches(std::size_t call, const Tensor& tensor, TensorArg& argument) {
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const Dim& dim = tensor.shape[i];
    if (!dim.is_fixed()) patches_.push_back({call, &argument.sizes[i], dim.extent, dim.factor});
  }
}

Status CpuBinding::bind(const Addresses& addresses) {
  const Graph& graph = program_.graph();
  calls_.resize(program_.nodes().size());  // patches point into it: it never grows again
  std::vector<Footprint> footprints;       // by launch
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Prepared& prepared = program_.nodes()[i];
    const Node& node = graph.node(prepared.node);
    Call& call = calls_[i];
    Footprint touched;
    const auto range = [](const Tensor& tensor, const TensorArg& arg) {
      return region(arg.data, static_cast<std::size_t>(byte_span(tensor)));
    };
    for (std::size_t s = 0; s < prepared.sources.size(); ++s) {
      const NodeId source = prepared.sources[s];
      if (source == kNoNode) continue;
      const Tensor& tensor = graph.node(source).result;
      const Address& at = addresses.nodes[source];
      if (host_data(at) == nullptr) {
        return fail(ErrorCode::kInternal, "{}: source {} has no address",
                    graph.describe(prepared.node), s);
      }
      SHUNT_TRY(check_layout(prepared, s, at));
      call.sources[s] = argument(tensor, at);
      call.sources[s].interleaved = prepared.interleaved[s];
      call.sources[s].has_lanes = prepared.has_lanes[s];
      add_patches(i, tensor, call.sources[s]);
      const bool written = prepared.writes_last_source && s + 1 == prepared.sources.size();
      (written ? touched.writes : touched.reads).push_back(range(tensor, call.sources[s]));
    }
    const Address& at = addresses.nodes[prepared.node];
    if (host_data(at) == nullptr) {
      return fail(ErrorCode::kInternal, "{}: its result has no address",
                  graph.describe(prepared.node));
    }
    call.result = argument(node.result, at);
    add_patches(i, node.result, call.result);
    touched.writes.push_back(range(node.result, call.result));
    call.params = &graph.node(prepared.asked).params;
    call.run = &state_;
    Region scratch;
    if (addresses.scratch && prepared.needs_scratch) {
      call.scratch = scratch_address(addresses) + program_.slot_start(prepared.scratch_slot);
      const std::size_t slot = prepared.scratch_slot;
      scratch = region(call.scratch, program_.slot_start(slot + 1) - program_.slot_start(slot));
      (prepared.staged ? touched.reads : touched.writes).push_back(scratch);
    }
    const int first_phase = prepared.staged_for ? 1 : 0;
    for (int phase = first_phase; phase < prepared.kernel->phases(); ++phase) {
      launches_.push_back({prepared.kernel, i, phase, phase > first_phase});
      footprints.push_back(touched);
      if (prepared.staged && phase == 0) footprints.back().writes = {scratch};
    }
  }
  find_barriers(footprints);
  progress_ = std::make_unique<Progress[]>(launches_.size());
  is_cut_.assign(calls_.size(), false);
  return ok();
}

/// Launches that touch what one since the last barrier writes, or the other way round, get one.
void CpuBinding::find_barriers(std::span<const Footprint> footprints) {
  MemoryHazards hazards(footprints);
  last_barrier_ = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const std::vector<std::size_t> conflict = hazards.last_conflicts(i);
    hazards.add(i);
    Launch& launch = launches_[i];
    launch.barrier |= !conflict.empty() && conflict.front() >= last_barrier_;
    launch.wait_from = last_barrier_;
    if (launch.barrier) last_barrier_ = i;
  }
}

Status CpuBinding::run(const RunArgs& args) {
  Pool& pool = program_.pool();
  SHUNT_TRY(expect_outside(pool));
  const auto lock = pool.lock();
  for (const Patch& patch : patches_) {
    const std::int64_t size = patch.factor * args.extents[patch.extent];
    if (*patch.size == size) continue;
    *patch.size = size;
    is_cut_[patch.call] = false;
  }
  use_threads(pool.threads_of(args.threads));
  together_ = false;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (!is_cut_[launches_[i].call]) cut(calls_[launches_[i].call], launches_[i]);
    together_ |= launches_[i].shared;
    progress_[i].taken.store(0, std::memory_order_relaxed);
    progress_[i].done.store(0, std::memory_order_relaxed);
  }
  is_cut_.assign(calls_.size(), true);
  faulty_.store(0, std::memory_order_relaxed);
  state_.start(args.cancel);
  pool.run(*this, together_ ? threads_ : 1);
  if (state_.cancelled()) return fail(ErrorCode::kCancelled, "cancelled");
  const std::size_t faulty = faulty_.load(std::memory_order_relaxed);
  if (faulty == 0) return ok();
  return describe_fault(faulty - 1);
}

/// Launches are cut for that many.
void CpuBinding::use_threads(int threads) {
  if (threads == threads_) return;
  threads_ = threads;
  for (Call& call : calls_) call.threads = threads;
  is_cut_.assign(calls_.size(), false);
}

Error CpuBinding::describe_fault(std::size_t launch) {
  const NodeId id = program_.nodes()[launches_[launch].call].node;
  const std::string node = program_.graph().describe(id);
  if (fault_ == Fault::kIndexOutOfRange) {
    return invalid("{}: an index is out of range", node);
  }
  if (!state_.error()) return fail(ErrorCode::kOutOfMemory, "{}: it failed", node);
  return std::move(*state_.error()).with_node(node).with_context(node);
}

/// Cuts a launch into chunks at its actual sizes. What is no more than a chunk is not shared: that
/// costs less than to tell others about it.
void CpuBinding::cut(const Call& call, Launch& launch) const {
  const std::int64_t threads = call.threads;
  const std::int64_t chunks = kChunksPerThread * threads;
  launch.items = launch.kernel->items(call, launch.phase);
  launch.step =
      std::max(launch.kernel->grain(call, launch.phase), (launch.items + chunks - 1) / chunks);
  // Half of the work in one piece a thread, which reads its weights in order; the rest evens out
  // what cores differ by.
  const std::int64_t head = launch.items / (2 * threads);
  launch.heads = head > launch.step ? threads : 0;
  launch.head = head;
  const std::int64_t rest = launch.items - launch.heads * head;
  launch.chunks = static_cast<std::uint32_t>(
      std::max(launch.heads + (rest + launch.step - 1) / launch.step, std::int64_t{1}));
  launch.shared = threads > 1 && launch.chunks > 1;
}

/// From the last one back: of launches in a row that the caller does alone, it announces the last.
void CpuBinding::wait_for(std::size_t begin, std::size_t end) const {
  for (std::size_t i = end; i > begin; --i) {
    program_.pool().waiting().until(progress_[i - 1].done, launches_[i - 1].chunks);
  }
}

/// Computes a chunk.
void CpuBinding::compute(std::size_t index, std::int64_t chunk, std::byte* scratch) {
  // When cancelled, chunks are only counted, so that nobody waits for ever. So they are after a
  // fault: what it leaves behind must not get into a cache.
  if (state_.cancelled() || faulty_.load(std::memory_order_relaxed) != 0) return;
  const Launch& launch = launches_[index];
  const bool is_head = chunk < launch.heads;
  const std::int64_t begin =
      is_head ? chunk * launch.head
              : launch.heads * launch.head + (chunk - launch.heads) * launch.step;
  const std::int64_t end = std::min(begin + (is_head ? launch.head : launch.step), launch.items);
  if (begin >= end) return;
  const Fault fault = launch.kernel->run(calls_[launch.call], launch.phase, begin, end, scratch);
  std::size_t none = 0;
  if (fault != Fault::kNone &&
      faulty_.compare_exchange_strong(none, index + 1, std::memory_order_relaxed)) {
    fault_ = fault;
  }
}

/// Computes chunks of a launch as long as there are any. A thread that is held up somewhere has
/// taken few, if any: the others go on with the rest, and wait only for what it has taken.
void CpuBinding::take(std::size_t index, std::byte* scratch) {
  const Launch& launch = launches_[index];
  Progress& progress = progress_[index];
  std::uint32_t taken = 0;
  while (true) {
    const std::uint32_t chunk = progress.taken.fetch_add(1, std::memory_order_acq_rel);
    if (chunk >= launch.chunks) break;
    compute(index, chunk, scratch);
    ++taken;
  }
  if (taken == 0) return;
  const std::uint32_t done = progress.done.fetch_add(taken, std::memory_order_acq_rel);
  if (done + taken == launch.chunks) progress.done.notify_all();
}

/// All chunks of a launch that isn't shared, by the caller's thread.
void CpuBinding::do_alone(std::size_t index, std::byte* scratch) {
  const Launch& launch = launches_[index];
  for (std::uint32_t chunk = 0; chunk < launch.chunks; ++chunk) compute(index, chunk, scratch);
  std::atomic<std::uint32_t>& done = progress_[index].done;
  const bool last = index + 1 == launches_.size() || launches_[index + 1].shared;
  done.store(launch.chunks, last ? std::memory_order_seq_cst : std::memory_order_relaxed);
  if (last && together_) done.notify_all();
}

void CpuBinding::run(int worker) {
  std::byte* scratch = program_.pool().scratch(worker);
  bool left_out = false;  // a barrier before which only the caller has waited
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    if (!launch.shared) {
      if (worker == 0) {
        if (launch.barrier && together_) wait_for(launch.wait_from, i);
        do_alone(i, scratch);
      } else {
        left_out |= launch.barrier;
      }
      continue;
    }
    // Where everything has been taken, whoever took it has waited.
    if (progress_[i].taken.load(std::memory_order_acquire) < launch.chunks) {
      if (launch.barrier) {
        wait_for(launch.wait_from, i);
      } else if (left_out) {
        wait_for(i - 1, i);
      }
      take(i, scratch);
    }
    left_out = false;
  }
  if (worker == 0 && together_) wait_for(last_barrier_, launches_.size());
}

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const CpuTarget& target, Pool& pool,
                                         std::span<const Pattern> patterns) {
  auto program = std::make_unique<CpuProgram>(segment.graph, target, pool);
  SHUNT_TRY(program->prepare(segment, table, patterns));
  return program;
}

}  // namespace shunt::cpu

#include "backends/cpu/binding.h"

#include <algorithm>
#include <bit>

#include "backend_support/node_launch.h"
#include "backends/cpu/interleaved.h"
#include "backends/cpu/weight_memory.h"
#include "shunt/message.h"

namespace shunt::cpu {

namespace {

// Chunks a thread: enough to even out a slow core, few enough that taking them costs nothing.
constexpr std::int64_t kChunksPerThread = 8;
// Bits of Progress::heads. More threads than that take other chunks only.
constexpr std::int64_t kMostHeads = 64;

/// Null if there is none.
std::byte* host_data(const Address& at) {
  if (!at) return nullptr;
  const bool interleaved = is_interleaved_memory(&at.buffer->type());
  std::byte* data = interleaved ? packed_data(*at.buffer) : at.buffer->host_data();
  return data == nullptr ? nullptr : data + at.offset;
}

/// By host addresses, as several buffers may cover the same memory.
Region region(const std::byte* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {nullptr, begin, begin + bytes};
}

Region region(const Tensor& tensor, const TensorArg& arg) {
  return region(arg.data, static_cast<std::size_t>(byte_span(tensor)));
}

}  // namespace

TensorArg CpuBinding::argument(const Tensor& tensor, const Address& address) const {
  TensorArg argument;
  argument.data = host_data(address);
  argument.sizes = max_sizes(tensor.shape);
  argument.most = argument.sizes;
  argument.strides = tensor.strides;
  argument.dtype = tensor.dtype;
  argument.level = prepared_.target.level;
  return argument;
}

/// A source, or the tensor that it is a view of, must have the layout that was declared when this
/// was prepared.
Status CpuBinding::check_layout(const PreparedNode& user, std::size_t source,
                                const Address& at) const {
  const Graph& graph = prepared_.graph;
  const Node& node = graph.node(user.sources[source]);
  const Tensor& owner = graph.node(node.storage).result;
  const bool here = is_interleaved_memory(&at.buffer->type());
  if (user.interleaved[source] != (here && can_interleave(owner))) {
    return invalid("{}: source {} is in {}, but the program was prepared for other memory",
                   graph.describe(user.node), source, at.buffer->type().name());
  }
  const std::size_t begin = at.offset - static_cast<std::size_t>(node.offset);
  if (!here || is_placed(*at.buffer, begin, owner)) return ok();
  return invalid("{}: source {} is in a buffer of {} that was not allocated for it",
                 graph.describe(user.node), source, at.buffer->type().name());
}

void CpuBinding::add_patches(std::size_t call, const Tensor& tensor, TensorArg& argument) {
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const Dim& dim = tensor.shape[i];
    if (!dim.is_fixed())
      patches_.push_back({call, &argument.sizes[i], dim.dynamic_dim, dim.factor});
  }
}

Status CpuBinding::bind_sources(std::size_t index, std::span<const Address> nodes,
                                Footprint& touched) {
  const PreparedNode& prepared = prepared_.nodes[index];
  Call& call = calls_[index];
  for (std::size_t s = 0; s < prepared.sources.size(); ++s) {
    const NodeId source = prepared.sources[s];
    if (source == kNoNode) continue;
    const Tensor& tensor = prepared_.graph.node(source).result;
    const Address& at = nodes[source];
    if (host_data(at) == nullptr) {
      return fail(ErrorCode::kInternal, "{}: source {} has no address",
                  prepared_.graph.describe(prepared.node), s);
    }
    SHUNT_TRY(check_layout(prepared, s, at));
    call.sources[s] = argument(tensor, at);
    call.sources[s].interleaved = prepared.interleaved[s];
    call.sources[s].has_lanes = prepared.has_lanes[s];
    add_patches(index, tensor, call.sources[s]);
    const bool written = prepared.writes_last_source && s + 1 == prepared.sources.size();
    (written ? touched.writes : touched.reads).push_back(region(tensor, call.sources[s]));
  }
  return ok();
}

Status CpuBinding::bind(const Addresses& addresses) {
  SHUNT_TRY(reserve_scratch(prepared_.pool, prepared_.worker_scratch));
  const Graph& graph = prepared_.graph;
  calls_.resize(prepared_.nodes.size());  // patches point into it: it never grows again
  std::vector<Footprint> footprints;      // by launch
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const PreparedNode& prepared = prepared_.nodes[i];
    const Node& node = graph.node(prepared.node);
    Call& call = calls_[i];
    Footprint touched;
    SHUNT_TRY(bind_sources(i, addresses.nodes, touched));
    const Address& at = addresses.nodes[prepared.node];
    if (host_data(at) == nullptr) {
      return fail(ErrorCode::kInternal, "{}: its result has no address",
                  graph.describe(prepared.node));
    }
    call.result = argument(node.result, at);
    add_patches(i, node.result, call.result);
    touched.writes.push_back(region(node.result, call.result));
    call.params = &graph.node(prepared.asked).params;
    call.run = &state_;
    call.batch_invariant = prepared_.target.batch_invariant;
    Region scratch;
    if (addresses.scratch && prepared.needs_scratch) {
      call.scratch = scratch_address(addresses) + prepared_.slot_starts[prepared.scratch_slot];
      const std::size_t slot = prepared.scratch_slot;
      scratch = region(call.scratch, prepared_.slot_starts[slot + 1] - prepared_.slot_starts[slot]);
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

/// A launch gets a barrier if it touches memory that a launch since the last barrier writes, or
/// writes memory that such a launch touches.
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
  Pool& pool = prepared_.pool;
  SHUNT_TRY(expect_outside(pool));
  const auto lock = pool.lock();
  for (const Patch& patch : patches_) {
    const std::int64_t size = patch.factor * args.dynamic_dims[patch.dynamic_dim];
    if (*patch.size == size) continue;
    *patch.size = size;
    is_cut_[patch.call] = false;
  }
  use_threads(pool.threads_of(args.threads));
  together_ = false;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (!is_cut_[launches_[i].call]) cut(calls_[launches_[i].call], launches_[i]);
    together_ |= launches_[i].shared;
    progress_[i].clear();
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
  const NodeId id = prepared_.nodes[launches_[launch].call].node;
  const std::string node = prepared_.graph.describe(id);
  if (fault_ == Fault::kIndexOutOfRange) {
    return invalid("{}: an index is out of range", node);
  }
  if (!state_.error()) return fail(ErrorCode::kOutOfMemory, "{}: it failed", node);
  return std::move(*state_.error()).with_node(node).with_context(node);
}

/// Cuts a launch into chunks at its actual sizes. A launch of at most one chunk is not shared: that
/// costs less than telling other threads about it.
void CpuBinding::cut(const Call& call, Launch& launch) const {
  const std::int64_t threads = call.threads;
  const std::int64_t chunks = kChunksPerThread * threads;
  launch.items = launch.kernel->items(call, launch.phase);
  launch.step =
      std::max(launch.kernel->grain(call, launch.phase), (launch.items + chunks - 1) / chunks);
  // Half of the work is in one piece a thread, which reads its weights in order. The rest evens out
  // the differences between cores.
  const std::int64_t head = launch.items / (2 * threads);
  launch.heads = head > launch.step ? std::min(threads, kMostHeads) : 0;
  launch.head = head;
  const std::int64_t rest = launch.items - launch.heads * head;
  launch.chunks = static_cast<std::uint32_t>(
      std::max(launch.heads + (rest + launch.step - 1) / launch.step, std::int64_t{1}));
  launch.shared = threads > 1 && launch.chunks > 1;
  launch.streamed = launch.shared && launch.heads > 0
                        ? launch.kernel->streamed(call, launch.phase, 0, head)
                        : StreamedBytes{};
}

bool CpuBinding::Progress::all_taken(const Launch& launch) const {
  const std::int64_t rest = launch.chunks - launch.heads;
  if (taken.load(std::memory_order_acquire) < rest) return false;
  return std::popcount(heads.load(std::memory_order_acquire)) == launch.heads;
}

std::uint64_t CpuBinding::Progress::free_heads(const Launch& launch) const {
  const auto beyond = static_cast<unsigned>(kMostHeads - launch.heads);
  const std::uint64_t all = launch.heads == 0 ? 0 : ~std::uint64_t{0} >> beyond;
  return all & ~heads.load(std::memory_order_relaxed);
}

/// The head of this thread in the first launch from `next` on that streams weights.
void CpuBinding::choose_ahead(Ahead& ahead, std::size_t next, int worker) const {
  if (ahead.chosen && ahead.launch >= next) return;
  ahead = {.launch = next, .chosen = true, .bytes = {}};
  while (ahead.launch < launches_.size() && launches_[ahead.launch].streamed[0].empty()) {
    ++ahead.launch;
  }
  if (ahead.launch == launches_.size() || worker >= launches_[ahead.launch].heads) return;
  ahead.bytes = Prefetch(launches_[ahead.launch].streamed, static_cast<std::size_t>(worker));
}

/// From the last one back: of launches in a row that the caller does alone, it announces the last.
/// `end` is the launch that waits.
void CpuBinding::wait_for(std::size_t begin, std::size_t end, Ahead& ahead, int worker) const {
  for (std::size_t i = end; i > begin; --i) {
    prepared_.pool.waiting().until(progress_[i - 1].done, launches_[i - 1].chunks, [&] {
      choose_ahead(ahead, end, worker);
      ahead.bytes.step();
    });
  }
}

/// Computes a chunk.
void CpuBinding::compute(std::size_t index, std::int64_t chunk, std::byte* scratch) {
  // When cancelled, chunks are only counted, so that no thread waits forever. The same holds after
  // a fault: the results that it leaves behind must not get into a cache.
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

/// Computes chunks of a launch as long as there are any. A delayed thread has taken few, if any.
/// The others go on with the rest, and wait only for the chunks that it has taken.
/// A thread takes its own head first, whose weights it may have asked for. Once half of the other
/// chunks are taken, the heads of threads that have not come are taken, too: what is left then
/// evens out the difference.
void CpuBinding::take(std::size_t index, int worker, std::byte* scratch) {
  const Launch& launch = launches_[index];
  Progress& progress = progress_[index];
  std::uint32_t taken = 0;
  const auto take_head = [&](int head) {
    if (!progress.take_head(head)) return;
    compute(index, head, scratch);
    ++taken;
  };
  const auto take_free_heads = [&] {
    for (std::uint64_t left = progress.free_heads(launch); left != 0; left &= left - 1) {
      take_head(std::countr_zero(left));
    }
  };
  const std::int64_t half = launch.heads + (launch.chunks - launch.heads) / 2;
  if (worker < launch.heads) take_head(worker);
  while (true) {
    const std::int64_t chunk =
        launch.heads + progress.taken.fetch_add(1, std::memory_order_acq_rel);
    if (chunk >= launch.chunks) break;
    if (chunk >= half) take_free_heads();
    compute(index, chunk, scratch);
    ++taken;
  }
  take_free_heads();
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
  std::byte* scratch = prepared_.pool.scratch(worker);
  bool left_out = false;  // a barrier before which only the caller has waited
  Ahead ahead;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    if (!launch.shared) {
      if (worker == 0) {
        if (launch.barrier && together_) wait_for(launch.wait_from, i, ahead, worker);
        do_alone(i, scratch);
      } else {
        left_out |= launch.barrier;
      }
      continue;
    }
    // Where everything has been taken, the threads that took it have waited.
    if (!progress_[i].all_taken(launch)) {
      if (launch.barrier) {
        wait_for(launch.wait_from, i, ahead, worker);
      } else if (left_out) {
        wait_for(i - 1, i, ahead, worker);
      }
      take(i, worker, scratch);
    }
    left_out = false;
  }
  if (worker == 0 && together_) wait_for(last_barrier_, launches_.size(), ahead, worker);
}

}  // namespace shunt::cpu

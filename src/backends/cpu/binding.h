// A segment with its addresses: a flat list of launches that all threads walk together.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend_support/host_binding.h"
#include "backend_support/pool.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/prefetch.h"
#include "memory/hazards.h"

namespace shunt::cpu {

/// A node made ready: its kernel, and where its sources come from.
struct PreparedNode {
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

/// A prepared segment, as a program keeps it. Table and pool outlive it.
struct Prepared {
  const Graph& graph;
  const CpuTarget target;
  Pool& pool;
  std::vector<PreparedNode> nodes = {};
  std::vector<std::size_t> slot_starts = {};  ///< in scratch; one more is where the last one ends
  std::size_t worker_scratch = 0;
  Needs needs = {};
};

class CpuBinding final : public HostBinding, private Task {
 public:
  explicit CpuBinding(const Prepared& prepared) : prepared_(prepared) {}

  Status bind(const Addresses& addresses);
  Status run(const RunArgs& args) override;

 private:
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
    std::uint32_t chunks = 1;     // at least one, which may be empty
    bool shared = false;          // else the caller's thread does it alone
    StreamedBytes streamed = {};  // by the first head; the other heads follow in memory
  };

  /// The progress of a launch, in chunks. Four of them share a cache line on purpose: the cost of
  /// sharing is a line that goes from core to core.
  struct Progress {
    std::atomic<std::uint64_t> heads{0};  // a bit for each that has been taken
    std::atomic<std::uint32_t> taken{0};  // of the other chunks, or more
    std::atomic<std::uint32_t> done{0};

    void clear() {
      heads.store(0, std::memory_order_relaxed);
      taken.store(0, std::memory_order_relaxed);
      done.store(0, std::memory_order_relaxed);
    }
    /// Whether the caller gets this head.
    bool take_head(int head) {
      const std::uint64_t bit = std::uint64_t{1} << head;
      return (heads.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
    }
    /// A bit for each head that nobody has taken yet.
    std::uint64_t free_heads(const Launch& launch) const;
    bool all_taken(const Launch& launch) const;
  };

  /// What a thread asks for while it waits, and before which launch.
  struct Ahead {
    std::size_t launch = 0;
    bool chosen = false;
    Prefetch bytes;
  };

  /// A dimension of a call that depends on a dynamic dimension.
  struct Patch {
    std::size_t call = 0;
    std::int64_t* size = nullptr;
    DynamicDimId dynamic_dim = kNoDynamicDim;
    std::int64_t factor = 1;
  };

  TensorArg argument(const Tensor& tensor, const Address& address) const;
  Status check_layout(const PreparedNode& user, std::size_t source, const Address& at) const;
  /// Of call `index`; adds their memory to `touched`.
  Status bind_sources(std::size_t index, std::span<const Address> nodes, Footprint& touched);
  void find_barriers(std::span<const Footprint> footprints);
  void add_patches(std::size_t call, const Tensor& tensor, TensorArg& argument);
  void run(int worker) override;
  Error describe_fault(std::size_t launch);
  // Called for each launch, by binding.cpp only.
  inline void use_threads(int threads);
  inline void cut(const Call& call, Launch& launch) const;
  inline void choose_ahead(Ahead& ahead, std::size_t next, int worker) const;
  inline void wait_for(std::size_t begin, std::size_t end, Ahead& ahead, int worker) const;
  inline void compute(std::size_t index, std::int64_t chunk, std::byte* scratch);
  inline void take(std::size_t index, int worker, std::byte* scratch);
  inline void do_alone(std::size_t index, std::byte* scratch);

  const Prepared& prepared_;
  std::vector<Call> calls_;
  std::vector<Launch> launches_;
  std::size_t last_barrier_ = 0;  // the last launch that waits for others
  std::vector<Patch> patches_;
  std::vector<bool> is_cut_;              // by call: its launches are cut for the sizes it has
  std::unique_ptr<Progress[]> progress_;  // by launch
  int threads_ = 0;                       // that share the launches of the current run
  bool together_ = false;                 // the current run has launches to share
  RunState state_;                        // of the run at work
  std::atomic<std::size_t> faulty_{0};    // 1 + the first launch that found a fault; 0: none
  Fault fault_ = Fault::kNone;            // which one, written by the thread that says which launch
};

}  // namespace shunt::cpu

// CPU kernels: work over a node's actual sizes, cut into items that threads take as they come.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/target.h"
#include "device/kernel_table.h"

namespace shunt::cpu {

/// A tensor as a kernel sees it in a run: its address, its actual sizes, its strides in bytes.
struct TensorArg {
  std::byte* data = nullptr;  ///< null: an optional source that is not given
  Sizes sizes = {};
  std::array<std::int64_t, kMaxDims> strides = {};
  DType dtype = DType::kF32;
  /// Rows are interleaved (interleaved.h). `data` is where a group starts, and strides are those of
  /// plain rows. Then row() gives no address, but its distance to `data` says which row it is.
  bool interleaved = false;
  bool has_lanes = false;  ///< and there are products of such rows (weight_memory.h)
  simd::Level level = {};  ///< of the code that reads or writes it: that of the device
  Sizes most = {};         ///< sizes at the dynamic dimensions' maximum

  std::byte* row(std::int64_t i1, std::int64_t i2 = 0, std::int64_t i3 = 0) const {
    return data + i1 * strides[1] + i2 * strides[2] + i3 * strides[3];
  }
  std::int64_t rows() const { return sizes[1] * sizes[2] * sizes[3]; }
};

/// At most this many sources.
inline constexpr int kMaxSources = 9;

/// The run that a call is part of: for kernels that call a user's function.
class RunState {
 public:
  void start(const std::atomic<bool>* cancel) {
    cancel_ = cancel;
    cancelled_.store(false, std::memory_order_relaxed);
    error_.reset();
  }
  /// Once true, the run is to stop; may be null.
  const std::atomic<bool>* cancel() const { return cancel_; }
  /// Once it was true, it stays true to the end of the run, even if the flag changes: later code
  /// may read results that were left out. A thread that has waited for such an item sees that it
  /// was left out.
  bool cancelled() {
    if (cancelled_.load(std::memory_order_relaxed)) return true;
    if (cancel_ == nullptr || !cancel_->load(std::memory_order_relaxed)) return false;
    cancelled_.store(true, std::memory_order_relaxed);
    return true;
  }
  /// Says why a kernel returns Fault::kFailed; the first one counts. From any thread.
  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  /// That reason, if one was given. No thread may be running it any more.
  std::optional<Error>& error() { return error_; }

 private:
  const std::atomic<bool>* cancel_ = nullptr;
  std::atomic<bool> cancelled_{false};  // a thread has seen it be true
  std::mutex mutex_;
  std::optional<Error> error_;
};

/// One launch. `scratch` is shared by all threads; a phase starts when the one before is done.
struct Call {
  std::array<TensorArg, kMaxSources> sources;
  TensorArg result;
  const Params* params = nullptr;
  std::byte* scratch = nullptr;
  RunState* run = nullptr;
  int threads = 1;  ///< that share the items: items() may depend on it, results must not
  bool batch_invariant = false;  ///< CpuTarget::batch_invariant

  /// Of the device: vector code that a kernel calls is of this one.
  simd::Level level() const { return result.level; }
};

class CpuKernel;

/// A source in another form, made in shared scratch.
struct Staging {
  const CpuKernel* maker = nullptr;  ///< whose form it is; others may make it, too
  std::size_t source = 0;
  bool lasting = false;  ///< all nodes that need it share one, at any distance
  bool operator==(const Staging&) const = default;
};

/// Weights that a launch reads from memory to registers: up to two runs of bytes.
using StreamedBytes = std::array<std::span<const std::byte>, 2>;

/// The faults of a running kernel. They depend only on the values of its inputs, or on a user's
/// function (RunState::fail()).
enum class Fault : std::uint8_t { kNone, kIndexOutOfRange, kFailed };

/// Ops write each result element by one item only, and compute it the same way for any assignment
/// of items to threads, so that results are bit-equal for any number of threads.
class CpuKernel : public Kernel<CpuTarget> {
 public:
  /// How many phases: in each all items of the one before are done.
  virtual int phases() const { return 1; }
  /// How many items of work phase `phase` has, at the call's actual sizes; 0 is fine.
  virtual std::int64_t items(const Call& call, int phase) const = 0;
  /// How many items are worth a thread's while to take at once (at least 1).
  virtual std::int64_t grain(const Call&, int) const { return 1; }
  /// Computes items [begin, end) of a phase. `worker_scratch` is this thread's own, of
  /// worker_scratch() bytes, 64-byte aligned.
  virtual Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
                    std::byte* worker_scratch) const = 0;
  /// Bytes of each thread's own scratch, at the dynamic dimensions' maximum.
  virtual std::size_t worker_scratch(const NodeView&, const CpuTarget&) const { return 0; }
  /// A form of a source that phase 0 makes in shared scratch, if phase 0 does nothing else and
  /// later phases only read it. Nodes of the same maker and source share the form that one of them
  /// made, if it is the same for them.
  virtual std::optional<Staging> staging(const NodeView&, const CpuTarget&) const { return {}; }
  /// Whether two such nodes of the same source get the same bytes.
  virtual bool same_staging(const NodeView&, const NodeView&, const CpuTarget&) const {
    return false;
  }
  /// The source whose memory the result may take, if it has the same type, shape and strides; -1:
  /// none.
  virtual int in_place_source() const { return -1; }
  /// Whether it takes a source that is interleaved. If not, such a node is refused.
  virtual bool reads_interleaved(std::size_t) const { return false; }
  /// Whether a source is read in whole, from memory to registers, and nearly all the time goes into
  /// that if its rows are many. Then a weight had better be in huge pages.
  virtual bool streams(std::size_t) const { return false; }
  /// The weights of items [begin, end) of a phase, if they are read once, and the items behind them
  /// read what follows in memory. A thread that waits asks for them before the launch starts.
  virtual StreamedBytes streamed(const Call&, int, std::int64_t, std::int64_t) const { return {}; }
};

/// The kernels of one file kernels/OP.cpp, which defines `KernelList OP_kernels();`.
using KernelList = std::span<const CpuKernel* const>;

}  // namespace shunt::cpu

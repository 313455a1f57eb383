// The memory of a session: caches on the devices where they fit, and plans, each for one kind of
// step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/load/fit.h"
#include "engine/load/fitted_step.h"
#include "engine/load/memory_budget.h"
#include "engine/load/pinned_ranges.h"
#include "engine/load/weights_in_memory.h"
#include "engine/model_state.h"
#include "engine/session/block_pool.h"
#include "engine/session/host_rows.h"
#include "shunt/plan.h"

namespace shunt {

class WindowRows;

/// A graph compiled for steps up to a number of tokens and outputs.
struct StepPlan {
  std::shared_ptr<const StepGraph> step;
  std::unique_ptr<Plan> plan;
  bool streams = false;          ///< weights are sent to a device in every step
  std::int64_t granularity = 1;  ///< row_granularity()
  int steps_in_flight = 1;
};

/// The tensor of a cache: a row for each token of the context or of windows, or a state for each
/// slot.
struct CacheTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::size_t row_bytes = 0;  ///< of a row or a state
  bool is_state = false;
  std::optional<std::size_t> window = {};  ///< of StepGraph::windows, if it is of one
  std::int64_t window_tokens = 0;          ///< of that
};

class SessionPlans {
 public:
  /// With the plans that every session needs, so that a lack of room is reported before the first
  /// token. A device that refuses memory gets less, down to nothing. OutOfMemory if that is not
  /// enough. Unsupported if the model's policy denies the resulting fallbacks. `options` are
  /// complete(). `host`: host memory for blocks of the cache that there is already; null: it is
  /// allocated if the options ask for it, and there is a use and room for it.
  static Result<std::unique_ptr<SessionPlans>> create(const ModelState& model,
                                                      const SessionOptions& options,
                                                      std::shared_ptr<HostRows> host = nullptr);

  /// The plan for steps of `tokens` tokens and `outputs` outputs, made at its first use. Where it
  /// does not fit in addition to the others, all are made again with less on the device, and caches
  /// move with their content. Valid until the next call.
  Result<StepPlan*> plan_for(std::int64_t tokens, std::int64_t outputs);
  /// The same if it has been made; else null.
  StepPlan* find(std::int64_t tokens, std::int64_t outputs);

  /// False after an error that lost plans or the content of the caches: this object must be made
  /// again.
  bool intact() const { return intact_; }
  /// Whether all caches are in memory of these devices.
  bool caches_are_on(std::span<Device* const> devices) const;
  /// Makes all pending copies of a pool, and those in caches of windows; `windows` may be null.
  Status make_copies(BlockPool& pool, WindowRows* windows);
  /// Makes the pending copies of rows of windows from and to the host.
  Status make_window_copies(WindowRows& windows);
  /// Null: none.
  const std::shared_ptr<HostRows>& host() const { return host_; }
  /// The caches, in the order of StepGraph::caches.
  std::span<const CacheTensor> cache_tensors() const { return cache_tensors_; }
  /// Copies whole rows of a cache, from `row` on, to the host or from it, in the byte order of
  /// memory.
  Status read_rows(std::size_t cache, std::int64_t row, std::span<std::byte> to) const;
  Status write_rows(std::size_t cache, std::int64_t row, std::span<const std::byte> from);
  /// All that is in the caches, one after the other; to be written into caches of another
  /// SessionPlans of the same options.
  Result<std::vector<std::vector<std::byte>>> read_caches() const;
  Status write_caches(std::span<const std::vector<std::byte>> contents);
  /// The plan to append `tokens` tokens with. Only the logits of each sequence's last one are
  /// wanted.
  Result<StepPlan*> plan_to_append(std::int64_t tokens);
  /// The same if it has been made; else null.
  StepPlan* find_to_append(std::int64_t tokens);

  /// All that is allocated.
  Ledger ledger() const;
  std::span<const std::string> notes() const { return notes_; }

 private:
  SessionPlans(const ModelState& model, const SessionOptions& options,
               std::shared_ptr<HostRows> host)
      : model_(model), options_(options), fell_back_(model.fell_back), host_(std::move(host)) {}

  FitRequest request(std::vector<StepShape> steps, const MemoryBudget& budget) const;
  void note_refusal(const std::string& line);
  Result<Verdict> judge(const FitRequest& request, const Fit& fit) const;
  void log_line(const std::string& line) const;
  void log_line(const Verdict& verdict);
  Status make_all(std::vector<StepShape> steps);
  Result<StepPlan> make_one(const StepShape& shape);
  Status make_again(const StepShape& shape);
  Status allocate_caches(const StepGraph& step, const Homes& homes);
  void allocate_host(const HostLayout& layout);
  void pin_host();
  Result<Address> weight_at(const gguf::TensorInfo& info, DeviceIndex home);
  Result<StepPlan> compile_step(const StepShape& shape, const Fit& fit);
  void pin_sent_caches(const StepPlan& made, const Graph& graph);
  void clear();
  bool uses_plan_for_few(const StepPlan& whole, std::int64_t tokens) const;
  std::int64_t few() const { return model_.placement.stream_rows - 1; }
  /// Steps of at most this many tokens have plans of their own: they are the rest of a prompt.
  std::int64_t lone_tokens() const { return options_.batch > few() ? few() : 0; }
  /// Logits of at most one token of each sequence.
  std::int64_t outputs_of(std::int64_t tokens) const {
    return std::min(options_.sequences, tokens);
  }

  Status copy_rows(const BlockCopy& rows, std::optional<std::size_t> window = {});
  Status copy_rows_of(std::size_t cache, const BlockCopy& rows);
  Error of_cache(Error error, std::size_t cache) const;
  /// The start of a row in a cache.
  Address row_at(std::size_t cache, std::int64_t row) const;

  const ModelState& model_;
  SessionOptions options_;
  std::size_t fell_back_;  // operations of a step, as last reported
  bool intact_ = true;
  Homes homes_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<Buffer>> cache_buffers_;
  std::vector<DeviceIndex> cache_devices_;  // by buffer
  std::vector<Address> caches_;             // in the order of StepGraph::caches
  std::vector<std::size_t> cache_bytes_;    // of each of them
  std::vector<CacheTensor> cache_tensors_;
  std::set<std::pair<Device*, std::size_t>> sent_caches_;  // by index, for a device to pin
  PinnedRanges pinned_caches_;  // of them; unpinned before they are freed
  std::shared_ptr<HostRows> host_;
  PinnedRanges pinned_host_;                                         // of it
  std::map<const gguf::TensorInfo*, WeightBlocks> moved_;            // weights brought to the CPU
  std::map<std::pair<std::int64_t, std::int64_t>, StepPlan> plans_;  // by tokens, outputs
};

}  // namespace shunt

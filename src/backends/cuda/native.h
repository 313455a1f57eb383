// CUDA's streams and events, for EventStream.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

#include "backend_support/event_clock.h"
#include "backend_support/native_stream.h"
#include "backend_support/pinned_memory.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/launch.h"

namespace shunt::cuda {

class CudaStream final : public NativeStream {
 public:
  /// `staging`: counts a refusal of pinned memory, without which the stream works, too.
  static Result<std::unique_ptr<CudaStream>> create(const std::shared_ptr<Context>& context,
                                                    std::shared_ptr<EventClock> clock,
                                                    FunctionHandle begin_run,
                                                    PinnedMemory& staging);
  ~CudaStream() override;

  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override;
  Status run(std::uint64_t task, Binding& binding, const RunArgs& args) override;
  Status write(std::uint64_t task, Address to, std::span<const std::byte> from) override;
  Status read(std::uint64_t task, std::span<std::byte> to, Address from) override;
  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override;
  Status write_2d(std::uint64_t task, Address to, const std::byte* from,
                  const CopyShape& shape) override;
  Status read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape) override;
  Status record(NativeEvent& event) override;
  Result<bool> wait_for(NativeEvent& event) override;
  std::optional<NativeFailure> failure() override;
  bool is_busy() override;
  Status recover() override;
  std::string nodes_of(const Binding& binding) const override;

 private:
  /// The names of the nodes of a run, for a fault that is found late.
  struct RunNames {
    std::uint64_t task = 0;
    std::shared_ptr<const NodeNames> names;
  };

  CudaStream(std::shared_ptr<Context> context, std::shared_ptr<EventClock> clock,
             FunctionHandle begin_run);
  Result<gpu::FaultRecord> read_record() const;
  Status wait_for_pageable(const std::byte* host) const;
  /// Counts a piece of work, and waits until all but the last ones are done.
  Status limit_queue(const std::atomic<bool>* cancel);
  /// Until the driver's object is ready. Fails if the device, or one that the stream waits for, is
  /// lost or takes too long.
  template <auto Query, class Object>
  Status wait_to_submit(const std::atomic<bool>* cancel, Object object) const;
  /// A call that gives the stream a piece of work.
  template <auto Member, class... Arguments>
  Status submit(const std::atomic<bool>* cancel, Arguments... arguments);
  Status begin_run(std::uint64_t task, DevicePointer run, const RunArgs& args);
  Status launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameters,
                const std::atomic<bool>* cancel);

  std::shared_ptr<Context> context_;
  std::shared_ptr<EventClock> clock_;
  FunctionHandle begin_run_;
  StreamHandle stream_ = nullptr;
  std::uint64_t submitted_ = 0;
  std::array<EventHandle, 2> marks_ = {};  // the older first, each behind kWorkAhead of them
  DevicePointer memory_ = 0;               // StreamMemory
  std::shared_ptr<std::byte> pinned_;      // PinnedStreamMemory; null: the driver refuses it
  std::uint32_t next_ = 0;                 // StreamMemory::next, once all is done
  bool is_counted_ = true;                 // next_ holds
  mutable std::mutex mutex_;
  std::array<RunNames, 1024> runs_;  // the last ones, by task
};

}  // namespace shunt::cuda

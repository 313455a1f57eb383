// NVIDIA's driver library, opened and bound, and one of its devices.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend_support/vendor_library.h"
#include "backends/cuda/driver_state.h"
#include "backends/cuda/symbols.h"
#include "shunt/error.h"

namespace shunt::cuda {

/// The opened library. Thread-safe.
class Driver {
 public:
  /// Opens and initializes the library. NotFound if it can't be loaded, or lacks a function;
  /// Device if it reports an error.
  static Result<std::shared_ptr<Driver>> open(const Options& options);

  const Symbols& symbols() const { return symbols_; }
  /// 12040: version 12.4, the newest CUDA that the driver runs.
  int version() const { return version_; }
  bool is_twin() const { return twin_; }
  int device_count() const { return devices_; }
  /// Whether it has all functions of a feature (symbols.h).
  bool has(std::string_view feature) const;
  const std::vector<MissingFeature>& missing() const { return missing_; }

  /// Ok, or the error of a function with this name.
  Status check(Status32 status, const char* function) const;
  Error error(Status32 status, const char* function) const;
  /// 0 where the driver does not know the attribute.
  int attribute(Attribute which, DeviceNumber device) const;

  DriverState& state() const { return *state_; }

 private:
  Driver(std::shared_ptr<VendorLibrary> library, const Symbols& symbols)
      : library_(std::move(library)),
        state_(library_->shared_state<DriverState>()),
        symbols_(symbols) {}

  std::shared_ptr<VendorLibrary> library_;
  std::shared_ptr<DriverState> state_;
  Symbols symbols_;
  int version_ = 0;
  int devices_ = 0;
  bool twin_ = false;
  std::vector<MissingFeature> missing_;
};

/// Whether nothing of a context works any more after this status, as the driver's documentation has
/// it.
bool ends_context(Status32 status);
/// Whether the status is of a device that may never answer again.
bool ends_device(Status32 status);

/// The primary context of a device, retained while this lives. Thread-safe.
///
/// A status that ends the context makes the device lost, and so does a task that does not end in
/// time. From then on no function of the driver is called for it, as one may block. Only the
/// context is released at the end, and plain memory with it. Mapped memory stays until the process
/// ends. A context whose device hangs, or is gone, stays until then, and no other registry gets it.
/// The driver may have lost all devices of the process, so each of the others has to complete a
/// task before its next call.
class Context {
 public:
  /// `health`: of the device.
  static Result<std::shared_ptr<Context>> create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device,
                                                 std::shared_ptr<DeviceHealth> health);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const { return *driver_; }
  DeviceNumber device() const { return device_; }
  ContextHandle handle() const { return handle_; }
  const std::shared_ptr<DeviceHealth>& health() const { return health_; }
  int attribute(Attribute which) const { return driver_->attribute(which, device_); }
  /// Bytes of the device that can be allocated now; nothing if the driver reports an error.
  std::optional<std::uint64_t> free_memory() const;
  /// Bytes of the device that a context takes: measured once, with a second one that is destroyed
  /// at once. 0 if the device has no room for that.
  std::uint64_t own_bytes() const;
  /// Stacks of at least that many bytes for each thread: the driver takes the memory now.
  Status reserve_stacks(std::size_t bytes) const;

  /// Calls a function of the driver with this context as the thread's current one. Its status comes
  /// back as an error that names it.
  template <auto Member, class... Arguments>
  Status call(Arguments... arguments) const {
    SHUNT_ASSIGN(const Status32 status, query<Member>(arguments...));
    return check(status, name_of<Member>());
  }
  /// The same, for a function whose status the caller reads. It does not make the device lost.
  template <auto Member, class... Arguments>
  Result<Status32> query(Arguments... arguments) const {
    SHUNT_TRY(check_health());
    return query_unchecked<Member>(arguments...);
  }
  /// The same, for a function that returns at once, whatever the driver does: it does not wait for
  /// the device after the loss of another one.
  template <auto Member, class... Arguments>
  Result<Status32> peek(Arguments... arguments) const {
    SHUNT_TRY(health_->check());
    return query_unchecked<Member>(arguments...);
  }
  /// The same, for a function that frees something: not called once the device is lost.
  template <auto Member, class... Arguments>
  void release(Arguments... arguments) const {
    (void)call<Member>(arguments...);
  }
  /// The same, for a function that gives a stream work.
  template <auto Member, class... Arguments>
  Status submit(Arguments... arguments) const {
    const auto lock = state_.submission();
    return call<Member>(arguments...);
  }
  /// The same, for a function whose status the caller reads.
  template <auto Member, class... Arguments>
  Result<Status32> try_submit(Arguments... arguments) const {
    const auto lock = state_.submission();
    return query<Member>(arguments...);
  }
  /// The same, for a function that waits, or may wait, for all work of the context in the driver,
  /// without a limit: frees, allocations, loads of kernels. So first the work submitted so far is
  /// waited for: a device that hangs counts as lost. Other threads submit nothing meanwhile, except
  /// to ask whether the device works.
  template <auto Member, class... Arguments>
  Status call_idle(Arguments... arguments) const {
    const ContextState::Pause pause(state_);
    SHUNT_TRY(wait_for_streams());
    return call<Member>(arguments...);
  }
  /// The same, for a function that frees memory or modules. Not called once the device is lost.
  template <auto Member, class... Arguments>
  void release_idle(Arguments... arguments) const {
    (void)call_idle<Member>(arguments...);
  }

  /// A kernel without parameters that does nothing: launched after the loss of another device, to
  /// see whether this one completes work. Null takes it back, before its module is unloaded.
  void set_empty_kernel(FunctionHandle kernel);
  /// The error of a lost device. After the loss of another one it is asked first.
  Status check_device() const { return check_health(); }

  /// call_idle() waits for the work of a stream until it is removed.
  void add_stream(StreamHandle stream) { state_.add_stream(stream); }
  void remove_stream(StreamHandle stream) { state_.remove_stream(stream); }

  /// Copies, fills and launches that are complete when they return. One at a time.
  Status write(DevicePointer to, const void* from, std::size_t bytes);
  Status read(void* to, DevicePointer from, std::size_t bytes);
  /// Until all work of a stream is done. Polls: a call that blocks might never return. A stream
  /// that takes longer than the timeout makes the device lost.
  Status wait_until_idle(StreamHandle stream) const {
    return wait_until_idle(stream, health_->timeout());
  }
  /// Whether all work of a stream is done before `most` has passed.
  Result<bool> is_idle_within(StreamHandle stream, std::chrono::milliseconds most) const;
  Status fill(DevicePointer at, std::size_t bytes, unsigned char value);
  /// `times` launches, one after the other. `parameters`: the kernel's only one.
  Status launch_and_wait(FunctionHandle function, unsigned blocks, unsigned threads,
                         void* parameters, int times);

 private:
  Context(std::shared_ptr<Driver> driver, DeviceNumber device, std::shared_ptr<DeviceHealth> health,
          ContextHandle handle)
      : driver_(std::move(driver)),
        device_(device),
        health_(std::move(health)),
        handle_(handle),
        state_(driver_->state().context(handle)),
        seen_losses_(driver_->state().losses()) {}

  /// The context is current in this thread as long as this lives.
  class Current {
   public:
    explicit Current(const Context& context);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current();
    Status status() const;

   private:
    const Context& context_;
    Status32 status_;
  };

  template <auto Member, class... Arguments>
  Result<Status32> query_unchecked(Arguments... arguments) const {
    const Current current(*this);
    SHUNT_TRY(current.status());
    return (driver_->symbols().*Member)(arguments...);
  }
  /// The error of a status. Makes the device lost if it ends the context.
  Status check(Status32 status, const char* function) const;
  /// The error of a lost device.
  Status check_health() const;
  /// Whether the device still completes work, now that another one was lost.
  Status check_alive() const;
  Status launch_empty_kernel() const;
  Status wait_until_idle(StreamHandle stream, std::chrono::milliseconds most) const;
  /// Until the work is done that all streams have now, those of other registries included.
  Status wait_for_streams() const;
  template <class Submit>
  Status complete(Submit submit);

  std::shared_ptr<Driver> driver_;
  DeviceNumber device_;
  std::shared_ptr<DeviceHealth> health_;
  ContextHandle handle_;
  ContextState& state_;
  mutable std::mutex own_stream_mutex_;
  StreamHandle own_stream_ = nullptr;
  mutable std::mutex alive_mutex_;
  FunctionHandle empty_kernel_ = nullptr;
  mutable std::atomic<int> seen_losses_;
  mutable std::once_flag measured_;
  mutable std::uint64_t own_bytes_ = 0;
};

}  // namespace shunt::cuda

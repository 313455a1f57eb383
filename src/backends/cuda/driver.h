// NVIDIA's driver library, opened and bound, and one of its devices.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend_support/device_health.h"
#include "backend_support/vendor_library.h"
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

  /// Ok, or the error of a function with this name.
  Status check(Status32 status, const char* function) const;
  Error error(Status32 status, const char* function) const;
  /// 0 where the driver does not know the attribute.
  int attribute(Attribute which, DeviceNumber device) const;

  /// How many devices were lost so far. The driver may have lost others with them.
  int losses() const { return losses_; }
  void count_loss() { ++losses_; }

 private:
  Driver(std::shared_ptr<VendorLibrary> library, const Symbols& symbols)
      : library_(std::move(library)), symbols_(symbols) {}

  std::shared_ptr<VendorLibrary> library_;
  Symbols symbols_;
  int version_ = 0;
  int devices_ = 0;
  bool twin_ = false;
  std::atomic<int> losses_ = 0;
};

/// Whether nothing of a context works any more after this status, as the driver's documentation has
/// it.
bool ends_context(Status32 status);

/// The primary context of a device, retained while this lives. Thread-safe.
///
/// A status that ends the context makes the device lost, and so does a task that does not end in
/// time. From then on no function of the driver is called for it, as one may block. The context is
/// released at the end, unless the device hangs, and plain memory with it; mapped memory stays
/// until the process ends. The driver may have lost all devices of the process, so each of the
/// others has to complete a task before its next call.
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
  /// The same, for memory and modules. In the driver such calls wait for all work of the context.
  /// So first the work submitted so far is waited for: a device that hangs counts as lost. Work
  /// that another thread submits meanwhile is waited for by the driver, without a limit.
  template <auto Member, class... Arguments>
  void release_idle(Arguments... arguments) const {
    if (wait_for_streams()) release<Member>(arguments...);
  }

  /// release_idle() waits for the work of a stream until it is removed.
  Status add_stream(StreamHandle stream);
  void remove_stream(StreamHandle stream);

  /// Copies, fills and launches that are complete when they return. One at a time.
  Status write(DevicePointer to, const void* from, std::size_t bytes);
  Status read(void* to, DevicePointer from, std::size_t bytes);
  /// Until all work of a stream is done. Polls: a call that blocks might never return.
  Status wait_until_idle(StreamHandle stream) const {
    return wait_until_idle(stream, health_->timeout());
  }
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
        seen_losses_(driver_->losses()) {}

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

  /// An event behind the work of a stream. A waiting thread shares ownership of it.
  struct Mark {
    explicit Mark(const Context& of) : context(of) {}
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark();
    const Context& context;
    EventHandle event = nullptr;
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
  Status wait_until_idle(StreamHandle stream, std::chrono::milliseconds most) const;
  /// Until the work is done that all streams have now.
  Status wait_for_streams() const;
  /// Until an event has completed.
  Status wait_until_complete(EventHandle event) const;
  template <class Submit>
  Status complete(Submit submit);

  std::shared_ptr<Driver> driver_;
  DeviceNumber device_;
  std::shared_ptr<DeviceHealth> health_;
  ContextHandle handle_;
  mutable std::mutex own_stream_mutex_;
  StreamHandle own_stream_ = nullptr;
  mutable std::mutex alive_mutex_;
  DevicePointer own_word_ = 0;  // written to see whether the device works
  mutable std::atomic<int> seen_losses_;
  mutable std::mutex streams_mutex_;
  std::vector<std::pair<StreamHandle, std::shared_ptr<Mark>>> streams_;
};

}  // namespace shunt::cuda

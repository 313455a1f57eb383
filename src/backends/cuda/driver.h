// NVIDIA's driver library, opened and bound, and one of its devices.
#pragma once

#include <memory>
#include <mutex>
#include <string>

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

 private:
  Driver(std::shared_ptr<VendorLibrary> library, const Symbols& symbols)
      : library_(std::move(library)), symbols_(symbols) {}

  std::shared_ptr<VendorLibrary> library_;
  Symbols symbols_;
  int version_ = 0;
  int devices_ = 0;
  bool twin_ = false;
};

/// The primary context of a device, retained while this lives. Thread-safe.
class Context {
 public:
  static Result<std::shared_ptr<Context>> create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const { return *driver_; }
  DeviceNumber device() const { return device_; }

  /// Calls a function of the driver with this context as the thread's current one. Its status comes
  /// back as an error that names it.
  template <auto Member, class... Arguments>
  Status call(Arguments... arguments) const {
    const Current current(*this);
    SHUNT_TRY(current.status());
    return driver_->check((driver_->symbols().*Member)(arguments...), name_of<Member>());
  }
  /// The same, for a function whose status the caller reads.
  template <auto Member, class... Arguments>
  Result<Status32> query(Arguments... arguments) const {
    const Current current(*this);
    SHUNT_TRY(current.status());
    return (driver_->symbols().*Member)(arguments...);
  }

  /// Copies and fills that are complete when they return. One at a time.
  Status write(DevicePointer to, const void* from, std::size_t bytes);
  Status read(void* to, DevicePointer from, std::size_t bytes);
  Status fill(DevicePointer at, std::size_t bytes, unsigned char value);

 private:
  Context(std::shared_ptr<Driver> driver, DeviceNumber device, ContextHandle handle)
      : driver_(std::move(driver)), device_(device), handle_(handle) {}

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

  template <class Submit>
  Status complete(Submit submit);

  std::shared_ptr<Driver> driver_;
  DeviceNumber device_;
  ContextHandle handle_;
  std::mutex own_stream_mutex_;
  StreamHandle own_stream_ = nullptr;
};

}  // namespace shunt::cuda

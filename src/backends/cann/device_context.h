// One device of the vendor's library: the context that threads make current, and what its chip
// answers to first phases.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend_support/device_health.h"
#include "backends/cann/acl.h"
#include "backends/cann/runtime.h"

namespace shunt::cann {

/// The answer of a first phase without addresses: the bytes of workspace, or the error.
struct PhaseAnswer {
  Status32 status = kSuccess;
  std::string text;  ///< of an error
  std::uint64_t workspace = 0;
};

/// The default context of a device, held while this lives. Thread-safe.
class DeviceContext {
 public:
  static Result<std::shared_ptr<DeviceContext>> create(std::shared_ptr<Runtime> runtime,
                                                       std::int32_t device,
                                                       std::shared_ptr<DeviceHealth> health);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  ~DeviceContext();

  const Runtime& runtime() const { return *runtime_; }
  const Symbols& symbols() const { return runtime_->symbols(); }
  std::int32_t device() const { return device_; }
  const std::shared_ptr<DeviceHealth>& health() const { return health_; }

  /// Makes the context the thread's current one, and the one before current again. A thread that
  /// had none keeps it: the library has no call for that.
  class Current {
   public:
    explicit Current(const DeviceContext& context);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current();

   private:
    const Symbols& symbols_;
    ContextHandle before_ = nullptr;
  };

  /// Ok, or the error of a function. A status that ends the device makes it lost.
  Status check(Status32 status, std::string_view function) const;
  /// Calls a function of the runtime on this device. Not once the device is lost.
  template <auto Member, class... Arguments>
  Status call(Arguments... arguments) const {
    SHUNT_TRY(health_->check());
    const Current current(*this);
    return check((symbols().*Member)(arguments...), name_of<Member>());
  }
  /// The same, for a function that frees something. Not once the device hangs: it may block.
  template <auto Member, class... Arguments>
  void release(Arguments... arguments) const {
    if (health_->is_hung()) return;
    const Current current(*this);
    (void)(symbols().*Member)(arguments...);
  }

  /// A number that it never gives again.
  std::uint64_t next_number() const { return ++last_number_; }
  /// Bytes of the device that are in no buffer: constants, counters, reserves of workspace.
  std::uint64_t own_bytes() const { return static_cast<std::uint64_t>(own_bytes_.load()); }
  void add_own(std::int64_t bytes) const { own_bytes_ += bytes; }
  /// Answers of first phases, by the operator and all its parameters.
  std::optional<PhaseAnswer> find_answer(const std::string& key) const;
  void keep_answer(const std::string& key, const PhaseAnswer& answer) const;

 private:
  DeviceContext(std::shared_ptr<Runtime> runtime, std::int32_t device,
                std::shared_ptr<DeviceHealth> health)
      : runtime_(std::move(runtime)), device_(device), health_(std::move(health)) {}

  std::shared_ptr<Runtime> runtime_;
  std::int32_t device_;
  std::shared_ptr<DeviceHealth> health_;
  ContextHandle handle_ = nullptr;
  bool is_set_ = false;
  mutable std::atomic<std::uint64_t> last_number_ = 0;
  mutable std::atomic<std::int64_t> own_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, PhaseAnswer> answers_;
};

}  // namespace shunt::cann

#include "backends/cuda/driver.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "backend_support/vendor_error.h"
#include "backends/cuda/pause.h"
#include "base/clock.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

constexpr std::array kNames = {"libcuda.so.1"};
constexpr std::array kFiles = {LibraryFile{kNames}};

bool is_twin_library(const VendorLibrary& library) {
  return library.find("cuda_twin_version") != nullptr;
}

constexpr VendorRuntime kRuntime = {.backend = "cuda",
                                    .description = "NVIDIA's driver",
                                    .remedy = "install it if this machine has an NVIDIA GPU",
                                    .files = kFiles,
                                    .stays_loaded = true,
                                    .is_twin = is_twin_library};

constexpr std::array kNamedCodes = {
    VendorCode{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", ErrorCode::kOutOfMemory,
               "place fewer layers on the device, or use a smaller context"},
    VendorCode{kNoDevice, "CUDA_ERROR_NO_DEVICE", ErrorCode::kNotFound,
               "check with nvidia-smi that the driver sees the device"},
    VendorCode{kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
               ErrorCode::kUnsupported, "install a newer driver"},
    VendorCode{kInvalidPtx, "CUDA_ERROR_INVALID_PTX", ErrorCode::kUnsupported,
               "install a newer driver"},
    VendorCode{kNoPtxCompiler, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", ErrorCode::kNotFound,
               "install libnvidia-ptxjitcompiler.so.1, which comes with the driver"},
    VendorCode{kPtxCompilerDisabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED", ErrorCode::kUnsupported,
               "unset CUDA_DISABLE_PTX_JIT"},
    VendorCode{kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", ErrorCode::kUnsupported,
               "check the process's limit of locked memory (ulimit -l)"},
    VendorCode{kSystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY", ErrorCode::kUnsupported,
               "start NVIDIA's services (nvidia-fabricmanager, nvidia-persistenced)"},
    VendorCode{
        kDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", ErrorCode::kUnsupported,
        "the kernel has another version of the driver than libcuda.so.1: restart the machine"},
    VendorCode{kCompatNotSupported, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
               ErrorCode::kUnsupported,
               "remove the folder of CUDA's compatibility libraries from LD_LIBRARY_PATH"},
    VendorCode{kMpsConnectionFailed, "CUDA_ERROR_MPS_CONNECTION_FAILED", ErrorCode::kUnsupported,
               "start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY"},
    VendorCode{kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", ErrorCode::kDevice,
               "another process may use the device exclusively (nvidia-smi -q -d COMPUTE)"},
    VendorCode{kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", ErrorCode::kUnsupported, ""},
    VendorCode{kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", ErrorCode::kUnsupported, ""},
};
/// After these nothing of the context works any more.
constexpr std::array kContextEnds = {
    kDeinitialized,         kDeviceUnavailable,  kEccUncorrectable,   kNvlinkUncorrectable,
    kIllegalAddress,        kLaunchTimeout,      kContextIsDestroyed, kAssert,
    kHardwareStackError,    kIllegalInstruction, kMisalignedAddress,  kInvalidAddressSpace,
    kInvalidProgramCounter, kLaunchFailed,       kContained,          kTensorMemoryLeak,
    kMpsClientTerminated};

/// After these the device itself may not answer: its context is not released.
constexpr std::array kDeviceEnds = {kDeinitialized, kDeviceUnavailable, kEccUncorrectable,
                                    kNvlinkUncorrectable};

constexpr std::size_t kWordBytes = 4;
/// A device that works writes a word within this time.
constexpr std::chrono::milliseconds kMostForAWord{30'000};

constexpr VendorCodes kCodes = {.library = "CUDA driver", .codes = kNamedCodes};

}  // namespace

Result<std::shared_ptr<Driver>> Driver::open(const Options& options) {
  SHUNT_ASSIGN(auto library, VendorLibrary::open(kRuntime, options));
  const auto find = [&](const char* name) { return library->find(name); };
  SHUNT_ASSIGN(const Symbols symbols,
               bind_symbols<Symbols>(symbol_rows(), find, "drivers since version 450 have"));
  auto missing = missing_features(symbol_rows(), find);
  std::shared_ptr<Driver> driver(new Driver(std::move(library), symbols));
  driver->missing_ = std::move(missing);
  driver->twin_ = is_twin_library(*driver->library_);
  SHUNT_TRY(driver->check(symbols.init(0), name_of<&Symbols::init>()));
  SHUNT_TRY(driver->check(symbols.driver_get_version(&driver->version_),
                          name_of<&Symbols::driver_get_version>()));
  SHUNT_TRY(driver->check(symbols.device_get_count(&driver->devices_),
                          name_of<&Symbols::device_get_count>()));
  return driver;
}

Status Driver::check(Status32 status, const char* function) const {
  if (status == kSuccess) return ok();
  return error(status, function);
}

Error Driver::error(Status32 status, const char* function) const {
  const auto ask = [&](auto* get) -> std::string_view {
    const char* text = nullptr;
    return get(status, &text) == kSuccess && text != nullptr ? text : "";
  };
  return vendor_error(kCodes, function, status, ask(symbols_.get_error_string),
                      ask(symbols_.get_error_name));
}

bool Driver::has(std::string_view feature) const {
  return std::ranges::find(missing_, feature, &MissingFeature::feature) == missing_.end();
}

int Driver::attribute(Attribute which, DeviceNumber device) const {
  int value = 0;
  return symbols_.device_get_attribute(&value, which, device) == kSuccess ? value : 0;
}

bool ends_context(Status32 status) {
  return std::ranges::find(kContextEnds, status) != kContextEnds.end();
}

bool ends_device(Status32 status) {
  return std::ranges::find(kDeviceEnds, status) != kDeviceEnds.end();
}

bool DriverState::has_lost_within(std::chrono::milliseconds time) const {
  return losses_ != 0 &&
         steady_seconds() - last_loss_ < std::chrono::duration<double>(time).count();
}

void DriverState::count_loss() {
  last_loss_ = steady_seconds();
  ++losses_;
}

std::mutex& DriverState::limits(ContextHandle context) {
  const std::lock_guard lock(mutex_);
  return limits_[context];
}

Status DriverState::add(ContextHandle context, const std::shared_ptr<DeviceHealth>& health) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = users_.equal_range(context);
  for (auto user = begin; user != end; ++user) {
    if (user->second->is_hung()) return user->second->check();
  }
  users_.emplace(context, health);
  return ok();
}

void DriverState::remove(ContextHandle context, const std::shared_ptr<DeviceHealth>& health) {
  if (health->is_hung()) return;
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = users_.equal_range(context);
  const auto found =
      std::find_if(begin, end, [&](const auto& user) { return user.second == health; });
  if (found != end) users_.erase(found);
}

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device,
                                                 std::shared_ptr<DeviceHealth> health) {
  ContextHandle handle = nullptr;
  SHUNT_TRY(driver->check(driver->symbols().device_primary_ctx_retain(&handle, device),
                          name_of<&Symbols::device_primary_ctx_retain>()));
  SHUNT_TRY(driver->state().add(handle, health));  // or leave it retained
  std::shared_ptr<Context> context(
      new Context(std::move(driver), device, std::move(health), handle));
  SHUNT_TRY(context->call<&Symbols::stream_create>(&context->own_stream_, kStreamNonBlocking));
  context->add_stream(context->own_stream_);
  SHUNT_TRY(context->call<&Symbols::mem_alloc>(&context->own_word_, kWordBytes));
  return context;
}

Context::~Context() {
  // Without asking whether the device works: nothing that follows needs an answer.
  if (own_word_ != 0) (void)peek<&Symbols::mem_free>(own_word_);
  if (own_stream_ != nullptr) (void)peek<&Symbols::stream_destroy>(own_stream_);
  driver_->state().remove(handle_, health_);
  if (!health_->is_hung()) (void)driver_->symbols().device_primary_ctx_release(device_);
}

std::optional<std::uint64_t> Context::free_memory() const {
  std::size_t free = 0, total = 0;
  if (!call<&Symbols::mem_get_info>(&free, &total)) return std::nullopt;
  return free;
}

std::uint64_t Context::own_bytes() const {
  std::call_once(measured_, [this] {
    const auto before = free_memory();
    const Symbols& symbols = driver_->symbols();
    ContextHandle second = nullptr;
    if (!before || symbols.ctx_create(&second, 0, device_) != kSuccess) return;
    std::size_t free = 0, total = 0;
    const Status32 asked = symbols.mem_get_info(&free, &total);  // it is the current one
    ContextHandle popped = nullptr;
    (void)symbols.ctx_pop_current(&popped);
    (void)symbols.ctx_destroy(second);
    if (asked == kSuccess && free < *before) own_bytes_ = *before - free;
  });
  return own_bytes_;
}

Status Context::reserve_stacks(std::size_t bytes) const {
  const std::lock_guard lock(driver_->state().limits(handle_));
  std::size_t now = 0;
  SHUNT_TRY(call<&Symbols::ctx_get_limit>(&now, kStackSize));
  if (bytes <= now) return ok();
  return call_idle<&Symbols::ctx_set_limit>(kStackSize, bytes);
}

std::shared_lock<std::shared_mutex> Context::submission() const {
  // Readers come first in this mutex, and would keep a thread that frees memory from its turn.
  for (int i = 0; freeing_ != 0; ++i) pause(i);
  return std::shared_lock(submission_mutex_);
}

Context::FreeingScope::FreeingScope(const Context& context) : context_(context) {
  ++context_.freeing_;
  context_.submission_mutex_.lock();
}

Context::FreeingScope::~FreeingScope() {
  context_.submission_mutex_.unlock();
  --context_.freeing_;
}

Context::Current::Current(const Context& context)
    : context_(context), status_(context.driver_->symbols().ctx_push_current(context.handle_)) {}

Context::Current::~Current() {
  ContextHandle popped = nullptr;
  if (status_ == kSuccess) (void)context_.driver_->symbols().ctx_pop_current(&popped);
}

Status Context::Current::status() const {
  return context_.check(status_, name_of<&Symbols::ctx_push_current>());
}

Status Context::check(Status32 status, const char* function) const {
  if (status == kSuccess) return ok();
  Error error = driver_->error(status, function);
  if (ends_device(status)) {
    health_->lose_hung(error);
  } else if (ends_context(status)) {
    health_->lose(error);
  }
  return error;
}

Status Context::check_health() const {
  SHUNT_TRY(health_->check());
  return seen_losses_ == driver_->state().losses() ? ok() : check_alive();
}

Status Context::check_alive() const {
  const std::lock_guard lock(alive_mutex_);
  const int losses = driver_->state().losses();
  if (seen_losses_ == losses) return health_->check();
  const auto submitted = query_unchecked<&Symbols::memset_bytes>(
      own_word_, static_cast<unsigned char>(0), kWordBytes, own_stream_);
  Status status =
      submitted ? check(*submitted, name_of<&Symbols::memset_bytes>()) : Status(submitted.error());
  if (status) status = wait_until_idle(own_stream_, std::min(health_->timeout(), kMostForAWord));
  if (!status) health_->lose(status.error());
  seen_losses_ = losses;  // now other threads may go on
  return health_->check();
}

Result<bool> Context::is_idle_within(StreamHandle stream, std::chrono::milliseconds most) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most;
  for (int i = 0;; ++i) {
    SHUNT_ASSIGN(const Status32 status, peek<&Symbols::stream_query>(stream));
    if (status != kNotReady) {
      SHUNT_TRY(check(status, name_of<&Symbols::stream_query>()));
      return true;
    }
    if (Clock::now() >= end) return false;
    pause(i);
  }
}

Status Context::wait_until_idle(StreamHandle stream, std::chrono::milliseconds most) const {
  SHUNT_ASSIGN(const bool idle, is_idle_within(stream, most));
  if (!idle) health_->lose_hung();
  return health_->check();
}

void Context::add_stream(StreamHandle stream) {
  const std::lock_guard lock(streams_mutex_);
  streams_.push_back(stream);
}

void Context::remove_stream(StreamHandle stream) {
  const std::lock_guard lock(streams_mutex_);
  std::erase(streams_, stream);
}

Status Context::wait_for_streams() const {
  SHUNT_TRY(check_health());
  // A stream may wait for work of a device that was lost, for ever.
  const auto most = driver_->state().has_lost_within(health_->timeout())
                        ? std::min(health_->timeout(), kMostForAWord)
                        : health_->timeout();
  const auto end = std::chrono::steady_clock::now() + most;
  const std::lock_guard lock(streams_mutex_);
  for (StreamHandle stream : streams_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    SHUNT_TRY(wait_until_idle(stream, std::max(left, std::chrono::milliseconds(0))));
  }
  return ok();
}

template <class Submit>
Status Context::complete(Submit submit) {
  SHUNT_TRY(check_health());
  const std::lock_guard lock(own_stream_mutex_);
  const Status submitted = submit(own_stream_);
  Status ended = wait_until_idle(own_stream_);  // work submitted before an error runs, too
  SHUNT_TRY(submitted);
  return ended;
}

Status Context::write(DevicePointer to, const void* from, std::size_t bytes) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memcpy_to_device>(to, from, bytes, stream);
  });
}

Status Context::read(void* to, DevicePointer from, std::size_t bytes) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memcpy_to_host>(to, from, bytes, stream);
  });
}

Status Context::fill(DevicePointer at, std::size_t bytes, unsigned char value) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memset_bytes>(at, value, bytes, stream);
  });
}

Status Context::launch_and_wait(FunctionHandle function, unsigned blocks, unsigned threads,
                                void* parameters, int times) {
  return complete([&](StreamHandle stream) -> Status {
    for (int i = 0; i < times; ++i) {
      SHUNT_TRY(submit<&Symbols::launch_kernel>(function, blocks, 1U, 1U, threads, 1U, 1U, 0U,
                                                stream, &parameters, static_cast<void**>(nullptr)));
    }
    return ok();
  });
}

}  // namespace shunt::cuda

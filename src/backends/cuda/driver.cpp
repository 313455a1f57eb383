#include "backends/cuda/driver.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "backend_support/vendor_error.h"
#include "backends/cuda/pause.h"
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
    VendorCode{kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", ErrorCode::kUnsupported,
               "check the process's limit of locked memory (ulimit -l)"},
    VendorCode{kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", ErrorCode::kUnsupported, ""},
    VendorCode{kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", ErrorCode::kUnsupported, ""},
};
/// After these nothing of the context works any more.
constexpr std::array kContextEnds = {
    kDeinitialized,         kDeviceUnavailable,  kEccUncorrectable,   kNvlinkUncorrectable,
    kIllegalAddress,        kLaunchTimeout,      kContextIsDestroyed, kAssert,
    kHardwareStackError,    kIllegalInstruction, kMisalignedAddress,  kInvalidAddressSpace,
    kInvalidProgramCounter, kLaunchFailed};

constexpr std::size_t kWordBytes = 4;
/// A device that works writes a word within this time.
constexpr std::chrono::milliseconds kMostForAWord{30'000};

constexpr VendorCodes kCodes = {.library = "CUDA driver", .codes = kNamedCodes};

}  // namespace

Result<std::shared_ptr<Driver>> Driver::open(const Options& options) {
  SHUNT_ASSIGN(auto library, VendorLibrary::open(kRuntime, options));
  SHUNT_ASSIGN(const Symbols symbols,
               bind_symbols<Symbols>(
                   symbol_rows(), [&](const char* name) { return library->find(name); },
                   "drivers since version 450 have"));
  std::shared_ptr<Driver> driver(new Driver(std::move(library), symbols));
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

int Driver::attribute(Attribute which, DeviceNumber device) const {
  int value = 0;
  return symbols_.device_get_attribute(&value, which, device) == kSuccess ? value : 0;
}

bool ends_context(Status32 status) {
  return std::ranges::find(kContextEnds, status) != kContextEnds.end();
}

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device,
                                                 std::shared_ptr<DeviceHealth> health) {
  ContextHandle handle = nullptr;
  SHUNT_TRY(driver->check(driver->symbols().device_primary_ctx_retain(&handle, device),
                          name_of<&Symbols::device_primary_ctx_retain>()));
  std::shared_ptr<Context> context(
      new Context(std::move(driver), device, std::move(health), handle));
  SHUNT_TRY(context->call<&Symbols::stream_create>(&context->own_stream_, kStreamNonBlocking));
  SHUNT_TRY(context->call<&Symbols::mem_alloc>(&context->own_word_, kWordBytes));
  return context;
}

Context::~Context() {
  seen_losses_ = driver_->losses();  // nothing that follows needs an answer of the device
  if (own_stream_ != nullptr) release<&Symbols::stream_destroy>(own_stream_);
  if (own_word_ != 0) release<&Symbols::mem_free>(own_word_);
  if (!health_->is_hung()) (void)driver_->symbols().device_primary_ctx_release(device_);
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
  if (ends_context(status)) health_->lose(error);
  return error;
}

Status Context::check_health() const {
  SHUNT_TRY(health_->check());
  return seen_losses_ == driver_->losses() ? ok() : check_alive();
}

Status Context::check_alive() const {
  const std::lock_guard lock(alive_mutex_);
  const int losses = driver_->losses();
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

Status Context::wait_until_idle(StreamHandle stream, std::chrono::milliseconds most) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most;
  for (int i = 0;; ++i) {
    SHUNT_ASSIGN(const Status32 status, query_unchecked<&Symbols::stream_query>(stream));
    if (status != kNotReady) return check(status, name_of<&Symbols::stream_query>());
    if (Clock::now() >= end) {
      health_->lose_hung();
      return health_->check();
    }
    pause(i);
  }
}

Status Context::wait_until_complete(EventHandle event) const {
  using Clock = std::chrono::steady_clock;
  // Behind a lost device its work may wait for ever.
  const auto most =
      driver_->losses() == 0 ? health_->timeout() : std::min(health_->timeout(), kMostForAWord);
  const auto end = Clock::now() + most;
  for (int i = 0;; ++i) {
    SHUNT_ASSIGN(const Status32 status, query<&Symbols::event_query>(event));
    if (status != kNotReady) return check(status, name_of<&Symbols::event_query>());
    if (Clock::now() >= end) {
      health_->lose_hung();
      return health_->check();
    }
    pause(i);
  }
}

Status Context::add_stream(StreamHandle stream) {
  auto mark = std::make_shared<Mark>(*this);
  SHUNT_TRY(call<&Symbols::event_create>(&mark->event, kEventBlockingSync | kEventDisableTiming));
  const std::lock_guard lock(streams_mutex_);
  streams_.emplace_back(stream, std::move(mark));
  return ok();
}

void Context::remove_stream(StreamHandle stream) {
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(streams_, [&](const auto& each) { return each.first == stream; });
}

Context::Mark::~Mark() {
  if (event != nullptr) context.release<&Symbols::event_destroy>(event);
}

Status Context::wait_for_streams() const {
  SHUNT_TRY(check_health());
  std::vector<std::shared_ptr<Mark>> marks;
  {
    const std::lock_guard lock(streams_mutex_);
    for (const auto& [stream, mark] : streams_) {
      const Status recorded = call<&Symbols::event_record>(mark->event, stream);
      // Otherwise nothing reports when its work ends.
      if (!recorded && !health_->is_lost()) health_->lose_hung(recorded.error());
      SHUNT_TRY(recorded);
      marks.push_back(mark);
    }
  }
  for (const auto& mark : marks) SHUNT_TRY(wait_until_complete(mark->event));
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
    return call<&Symbols::memcpy_to_device>(to, from, bytes, stream);
  });
}

Status Context::read(void* to, DevicePointer from, std::size_t bytes) {
  return complete(
      [&](StreamHandle stream) { return call<&Symbols::memcpy_to_host>(to, from, bytes, stream); });
}

Status Context::fill(DevicePointer at, std::size_t bytes, unsigned char value) {
  return complete(
      [&](StreamHandle stream) { return call<&Symbols::memset_bytes>(at, value, bytes, stream); });
}

Status Context::launch_and_wait(FunctionHandle function, unsigned blocks, unsigned threads,
                                void* parameters, int times) {
  return complete([&](StreamHandle stream) -> Status {
    for (int i = 0; i < times; ++i) {
      SHUNT_TRY(call<&Symbols::launch_kernel>(function, blocks, 1U, 1U, threads, 1U, 1U, 0U, stream,
                                              &parameters, static_cast<void**>(nullptr)));
    }
    return ok();
  });
}

}  // namespace shunt::cuda

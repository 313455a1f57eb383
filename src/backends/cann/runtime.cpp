#include "backends/cann/runtime.h"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "backend_support/vendor_error.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

constexpr std::array kAclNames = {"libascendcl.so", "libacl_rt.so"};
constexpr std::array kBaseNames = {"libnnopbase.so"};
constexpr std::array kOpNames = {"libopapi.so"};
constexpr std::array kMathNames = {"libopapi_math.so"};
constexpr std::array kNnNames = {"libopapi_nn.so"};
constexpr std::array kTransformerNames = {"libopapi_transformer.so"};
constexpr std::array kWhole = {LibraryFile{kAclNames}, LibraryFile{kBaseNames},
                               LibraryFile{kOpNames}};
constexpr std::array kSplit = {LibraryFile{kAclNames}, LibraryFile{kBaseNames},
                               LibraryFile{kMathNames}, LibraryFile{kNnNames},
                               LibraryFile{kTransformerNames}};

bool is_twin(const VendorLibrary& library) {
  return library.find("ascend_twin_version") != nullptr;
}

/// Libraries of one version: libopapi.so has all operators, or several libraries have them. Both
/// must not be loaded.
constexpr VendorRuntime runtime_of(std::span<const LibraryFile> files) {
  return {.backend = "cann",
          .description = "Huawei's CANN",
          .remedy =
              "install the CANN toolkit and the kernels of your chip, and source its "
              "set_env.sh; or give its lib64 folder: --library cann=PATH",
          .files = files,
          .stays_loaded = true,
          .is_twin = is_twin};
}

/// Where the toolkit is by default.
constexpr std::array kToolkitFolders = {"/usr/local/Ascend/ascend-toolkit/latest/lib64",
                                        "/usr/local/Ascend/cann/lib64",
                                        "/usr/local/Ascend/latest/lib64"};

constexpr std::array kCodes = {
    VendorCode{100000, "ACL_ERROR_INVALID_PARAM"},
    VendorCode{kStubLibrary, "ACL_ERROR_COMPILING_STUB_MODE", ErrorCode::kNotFound,
               "this is a stub to compile against; use the libraries in lib64"},
    VendorCode{kOppPathInvalid, "ACL_ERROR_INVALID_OPP_PATH", ErrorCode::kNotFound,
               "source the toolkit's set_env.sh, which sets ASCEND_OPP_PATH"},
    VendorCode{kBadAlloc, "ACL_ERROR_BAD_ALLOC", ErrorCode::kOutOfMemory},
    VendorCode{107001, "ACL_ERROR_RT_INVALID_DEVICEID"},
    VendorCode{kContextNull, "ACL_ERROR_RT_CONTEXT_NULL"},
    VendorCode{kFeatureNotSupported, "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", ErrorCode::kUnsupported},
    VendorCode{kMemoryAllocation, "ACL_ERROR_RT_MEMORY_ALLOCATION", ErrorCode::kOutOfMemory},
    VendorCode{207004, "ACL_ERROR_RT_NO_DEVICE", ErrorCode::kNotFound,
               "check with npu-smi info that the driver sees a device"},
    VendorCode{kResourceAllocation, "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", ErrorCode::kOutOfMemory},
    VendorCode{207006, "ACL_ERROR_RT_NO_PERMISSION", ErrorCode::kDevice,
               "add the user to the group HwHiAiUser, which may open the device"},
    VendorCode{kNoEventResource, "ACL_ERROR_RT_NO_EVENT_RESOURCE", ErrorCode::kOutOfMemory},
    VendorCode{kNoStreamResource, "ACL_ERROR_RT_NO_STREAM_RESOURCE", ErrorCode::kOutOfMemory},
    VendorCode{207009, "ACL_ERROR_RT_NO_NOTIFY_RESOURCE", ErrorCode::kOutOfMemory},
    VendorCode{207010, "ACL_ERROR_RT_NO_MODEL_RESOURCE", ErrorCode::kOutOfMemory},
    VendorCode{kDeviceOutOfMemory, "ACL_ERROR_RT_DEVICE_OOM", ErrorCode::kOutOfMemory},
    VendorCode{kLostHeartbeat, "ACL_ERROR_RT_LOST_HEARTBEAT"},
    VendorCode{kAiCoreException, "ACL_ERROR_RT_AICORE_EXCEPTION"},
    VendorCode{kVectorCoreException, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION"},
    VendorCode{kStreamSyncTimeout, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT"},
    VendorCode{kNullParameter, "ACLNN_ERR_PARAM_NULLPTR", ErrorCode::kUnsupported},
    VendorCode{kInvalidParameter, "ACLNN_ERR_PARAM_INVALID", ErrorCode::kUnsupported},
    VendorCode{kOpRuntimeError, "ACLNN_ERR_RUNTIME_ERROR", ErrorCode::kUnsupported},
    VendorCode{kOpInner, "ACLNN_ERR_INNER", ErrorCode::kUnsupported},
    VendorCode{561002, "ACLNN_ERR_INNER_TILING_ERROR", ErrorCode::kUnsupported},
    VendorCode{kOpKernelNotFound, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR", ErrorCode::kUnsupported},
    VendorCode{kOpInnerNull, "ACLNN_ERR_INNER_NULLPTR", ErrorCode::kUnsupported},
    VendorCode{kOpPathNotFound, "ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND", ErrorCode::kUnsupported,
               "source the toolkit's set_env.sh, which sets ASCEND_OPP_PATH"},
    VendorCode{kOpPackageNotFound, "ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND",
               ErrorCode::kUnsupported, "install the package Ascend-cann-kernels of this chip"},
};
constexpr VendorCodes kVendor = {.library = "CANN", .codes = kCodes};

/// Of all users of a library in this process.
struct AclUsers {
  std::mutex mutex;
  int count = 0;
  bool initialized = false;  // by us, so that we finalize it
};

/// Settings that a failed first phase needs: without information on exceptions it makes later calls
/// fail as well.
constexpr std::string_view kConfig = R"({"dump":{"dump_scene":"lite_exception"}})";

/// A file with settings, as long as this lives. Its path is empty if the system has no such files.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view text) : file_(memfd_create("shunt-cann", MFD_CLOEXEC)) {
    if (file_ < 0) return;
    if (write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()))
      path_ = fmt::format("/proc/self/fd/{}", file_);
  }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  ~ConfigFile() {
    if (file_ >= 0) close(file_);
  }
  const char* path() const { return path_.empty() ? nullptr : path_.c_str(); }

 private:
  int file_;
  std::string path_;
};

/// The folder of a library that was given by its file.
Options with_folder(Options options) {
  const auto given = options.libraries.find("cann");
  if (given == options.libraries.end()) return options;
  const std::filesystem::path path(given->second);
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(path, unreadable))
    given->second = path.has_parent_path() ? path.parent_path().string() : ".";
  return options;
}

Result<std::shared_ptr<VendorLibrary>> open_layouts(const Options& options) {
  auto whole = VendorLibrary::open(runtime_of(kWhole), options);
  if (whole) return whole;
  auto split = VendorLibrary::open(runtime_of(kSplit), options);
  if (split) return split;
  if (whole.error().message() == split.error().message()) return whole;
  return fail(ErrorCode::kNotFound, "{}; or as separate libraries: {}", whole.error().message(),
              split.error().message());
}

Result<std::shared_ptr<VendorLibrary>> open_library(const Options& options) {
  const Options searched = with_folder(options);
  auto opened = open_layouts(searched);
  if (opened || searched.libraries.contains("cann")) return opened;
  for (const char* folder : kToolkitFolders) {
    std::error_code unreadable;
    if (!std::filesystem::is_directory(folder, unreadable)) continue;
    Options there = searched;
    there.libraries["cann"] = folder;
    auto found = open_layouts(there);
    if (found && !is_twin(**found)) return found;
    if (!found) opened = std::move(found);
  }
  return opened;
}

}  // namespace

bool ends_device(Status32 status) {
  constexpr std::array kEnds = {kTaskScheduler, kLostHeartbeat, kDeviceSetup, kDeviceMemoryError,
                                kUncorrectableEcc};
  return std::ranges::find(kEnds, status) != kEnds.end();
}

bool is_refusal(Status32 status) {
  return (status >= 161000 && status < 162000) || (status >= 361000 && status < 362000) ||
         (status >= 561000 && status < 562000) || status == kFeatureNotSupported;
}

Result<std::shared_ptr<Runtime>> Runtime::open(const Options& options) {
  SHUNT_ASSIGN(auto library, open_library(options));
  std::shared_ptr<Runtime> made(new Runtime(std::move(library)));
  const auto find = [&](const char* name) { return made->library_->find(name); };
  auto symbols = bind_symbols<Symbols>(symbol_rows(), find, "CANN 8.0 has");
  const std::string& path = made->library_->paths().front();
  if (!symbols) return std::move(symbols.error()).with_context(path);
  made->symbols_ = *symbols;
  made->missing_ = missing_features(symbol_rows(), find);
  made->twin_ = shunt::cann::is_twin(*made->library_);
  for (const MissingFeature& missing : made->missing_)
    made->notes_.push_back(missing.to_text("the library", "CANN"));
  SHUNT_TRY(made->initialize());
  return made;
}

Status Runtime::initialize() {
  const auto check = [&](Status32 status, const char* function) -> Status {
    if (status == kSuccess) return ok();
    return error(status, function);
  };
  {
    AclUsers& users = *library_->shared_state<AclUsers>();
    const std::lock_guard lock(users.mutex);
    if (users.count == 0) {
      const ConfigFile config(kConfig);
      const Status32 status = symbols_.init(config.path());
      users.initialized = status == kSuccess;
      if (status != kRepeatedInit) {
        SHUNT_TRY(check(status, name_of<&Symbols::init>()));
      } else if (symbols_.init_ops != nullptr) {
        // The program that called aclInit may have done so without this configuration.
        (void)symbols_.init_ops(config.path());
      }
    }
    ++users.count;
    initialized_ = true;
  }
  std::uint32_t count = 0;
  Status counted = check(symbols_.device_count(&count), name_of<&Symbols::device_count>());
  if (!counted) {
    return std::move(counted.error())
        .with_context("check with npu-smi info that the driver sees a device");
  }
  devices_ = static_cast<int>(count);
  std::int32_t major = 0, minor = 0, patch = 0;
  if (symbols_.version(&major, &minor, &patch) == kSuccess)
    version_ = fmt::format("{}.{}", major, minor);
  if (devices_ == 0) return ok();
  const char* const soc = symbols_.soc_name();
  soc_ = soc == nullptr ? "" : soc;
  chip_ = find_chip(soc_);
  if (chip_ == nullptr) {
    return shunt::fail(
        ErrorCode::kUnsupported,
        "the chip \"{}\" is not supported: 910B, A3, 310P and 310B are. Please report its name",
        soc_);
  }
  RunMode mode = kOnHost;
  SHUNT_TRY(check(symbols_.run_mode(&mode), name_of<&Symbols::run_mode>()));
  shares_memory_ = mode == kOnDeviceHost;
  return ok();
}

Runtime::~Runtime() {
  if (!initialized_) return;
  AclUsers& users = *library_->shared_state<AclUsers>();
  const std::lock_guard lock(users.mutex);
  if (--users.count > 0 || !users.initialized) return;
  std::uint64_t others = 0;
  if (symbols_.finalize_reference != nullptr) {
    (void)symbols_.finalize_reference(&others);
  } else {
    (void)symbols_.finalize();
  }
}

bool Runtime::has(std::string_view feature) const {
  return std::ranges::find(missing_, feature, &MissingFeature::feature) == missing_.end();
}

OpFunctions Runtime::op(const char* name) const {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = ops_.try_emplace(name);
  if (is_new) {
    const std::string second = fmt::format("aclnn{}", name);
    entry->second.first = library_->find((second + "GetWorkspaceSize").c_str());
    entry->second.second =
        reinterpret_cast<decltype(OpFunctions::second)>(library_->find(second.c_str()));
  }
  return entry->second;
}

Error Runtime::error(Status32 status, std::string_view function) const {
  const char* const text = symbols_.recent_message();
  return vendor_error(kVendor, function, status, text == nullptr ? "" : text);
}

}  // namespace shunt::cann

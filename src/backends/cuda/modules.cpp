#include "backends/cuda/modules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "base/clock.h"
#include "shunt/message.h"

namespace shunt::cuda {

#include "module_declarations.inc"

namespace {

#include "module_list.inc"

std::span<const ModuleText> modules() {
  return kModules;
}

/// Null if this build lacks the file.
const ModuleText* find_text(std::string_view module, Level level) {
  for (auto row = std::ranges::find(kLevels, level, &LevelRow::level);; --row) {
    const auto text = std::ranges::find_if(modules(), [&](const ModuleText& each) {
      return each.name == module && each.level == row->name;
    });
    if (text != modules().end()) return &*text;
    if (row == kLevels.begin()) return nullptr;
  }
}

/// Adds the seconds that it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += steady_seconds() - start_; }

 private:
  double& sum_;
  double start_ = steady_seconds();
};

}  // namespace

bool has_modules() {
  return !modules().front().name.empty();
}

Modules::~Modules() {
  for (const auto& [text, handle] : loaded_)
    context_->release_idle<&Symbols::module_unload>(handle);
}

Status Modules::load(std::string_view module, Level level) {
  const std::lock_guard lock(mutex_);
  SHUNT_TRY(load_locked(module, level));
  return ok();
}

Result<ModuleHandle> Modules::load_locked(std::string_view module, Level level) {
  const ModuleText* const text = find_text(module, level);
  if (text == nullptr) {
    return fail(ErrorCode::kUnsupported, "this build has no CUDA kernels in \"{}\"", module);
  }
  const auto known = loaded_.find(text);
  if (known != loaded_.end()) return known->second;
  const Stopwatch watch(seconds_);
  std::array<char, 4096> log = {};
  std::array options = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {log.data(), std::bit_cast<void*>(log.size() - 1)};
  ModuleHandle handle = nullptr;
  const Status status = context_->call<&Symbols::module_load_data>(
      &handle, text->ptx, static_cast<unsigned>(options.size()), options.data(), values.data());
  if (!status) {
    Error error = status.error();
    if (log[0] != '\0') return std::move(error).with_context(log.data());
    return error;
  }
  loaded_.emplace(text, handle);
  return handle;
}

LoadedKernels Modules::loaded() const {
  const std::lock_guard lock(mutex_);
  return {loaded_.size(), seconds_};
}

Result<FunctionHandle> Modules::find(std::string_view module, Level level,
                                     const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  SHUNT_ASSIGN(ModuleHandle handle, load_locked(module, level));
  const auto known = functions_.find({handle, kernel});
  if (known != functions_.end()) return known->second;
  const Stopwatch watch(seconds_);
  FunctionHandle function = nullptr;
  SHUNT_TRY(context_->call<&Symbols::module_get_function>(&function, handle, kernel.c_str()));
  // Drivers may load a kernel's code when it is first used: now, not at a launch.
  int registers = 0;
  SHUNT_TRY(context_->call<&Symbols::func_get_attribute>(&registers, kRegisters, function));
  functions_.emplace(std::pair(handle, kernel), function);
  return function;
}

}  // namespace shunt::cuda

#include "backends/cuda/modules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
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

/// Adds the device memory that the driver takes during its lifetime to a sum.
class MemoryMeter {
 public:
  MemoryMeter(const Context& context, std::uint64_t& sum)
      : context_(context), sum_(sum), before_(context.free_memory()) {}
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;
  ~MemoryMeter() {
    const auto after = context_.free_memory();
    if (before_ && after && *after < *before_) sum_ += *before_ - *after;
  }

 private:
  const Context& context_;
  std::uint64_t& sum_;
  std::optional<std::uint64_t> before_;
};

}  // namespace

bool has_modules() {
  return !modules().front().name.empty();
}

Modules::~Modules() {
  (void)context_->check_device();  // the last time that the kernel can ask
  context_->set_empty_kernel(nullptr);
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
  const MemoryMeter meter(*context_, memory_.code);
  std::array<char, 4096> log = {};
  std::array options = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {log.data(), std::bit_cast<void*>(log.size() - 1)};
  ModuleHandle handle = nullptr;
  const Status status = context_->call_idle<&Symbols::module_load_data>(
      &handle, text->ptx, static_cast<unsigned>(options.size()), options.data(), values.data());
  if (!status) {
    Error error = status.error();
    const std::string_view lines = log.data();
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (!line.empty()) return std::move(error).with_context(std::string(line));
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
  SHUNT_ASSIGN(FunctionHandle function, find_locked(handle, kernel));
  if (Status status = reserve_stacks(function); !status)
    return Error(status.error()).with_context("stacks of " + kernel);
  functions_.emplace(std::pair(handle, kernel), function);
  return function;
}

Result<FunctionHandle> Modules::find_locked(ModuleHandle module, const std::string& kernel) {
  const Stopwatch watch(seconds_);
  const MemoryMeter meter(*context_, memory_.code);
  FunctionHandle function = nullptr;
  SHUNT_TRY(context_->call<&Symbols::module_get_function>(&function, module, kernel.c_str()));
  // Drivers may load a kernel's code when it is first used: now, not at a launch.
  int registers = 0;
  SHUNT_TRY(context_->call_idle<&Symbols::func_get_attribute>(&registers, kRegisters, function));
  return function;
}

Status Modules::reserve_stacks(FunctionHandle function) {
  int local = 0;
  SHUNT_TRY(context_->call<&Symbols::func_get_attribute>(&local, kLocalBytes, function));
  const auto bytes = static_cast<std::size_t>(std::max(0, local));
  if (bytes <= stack_bytes_) return ok();
  const MemoryMeter meter(*context_, memory_.workspace);
  SHUNT_TRY(context_->reserve_stacks(bytes));
  stack_bytes_ = bytes;
  return ok();
}

Result<int> Modules::blocks_at_once(FunctionHandle function, unsigned threads) {
  const std::lock_guard lock(mutex_);
  const auto known = blocks_at_once_.find({function, threads});
  if (known != blocks_at_once_.end()) return known->second;
  int blocks = 0;
  SHUNT_TRY(context_->call<&Symbols::occupancy>(&blocks, function, static_cast<int>(threads),
                                                std::size_t{0}));
  blocks = std::max(1, blocks);
  blocks_at_once_.emplace(std::pair(function, threads), blocks);
  return blocks;
}

OwnMemory Modules::memory() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

}  // namespace shunt::cuda

/// \file
/// Runs graphs on the devices of this machine. Include it to compile a Builder (builder.h) and to
/// run the result.
///
/// \code
/// SHUNT_ASSIGN(Runtime runtime, Runtime::create());
/// SHUNT_ASSIGN(Executable y, runtime.compile(std::move(g)));  // g: a Builder
/// y.input<float>("x")[0] = 1;
/// SHUNT_TRY(y.run());
/// for (float v : y.output<float>("y")) std::cout << v << "\n";
/// \endcode
///
/// Nothing here aborts. A misuse of a span function is the error of the next run().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/builder.h"
#include "shunt/options.h"
#include "shunt/plan.h"
#include "shunt/registry.h"

namespace shunt {

/// A graph with its weights, compiled for devices. Belongs to one thread at a time. It may outlive
/// its Runtime.
class Executable {
 public:
  /// Afterwards run() of the old object is InvalidArgument, and its spans are empty.
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// The elements of an input, to be filled before the next run. Elements that are not filled stay
  /// as in the run before; before the first they are 0. Empty if there is no such input, or its
  /// elements are of another type: the next run() returns that error. Valid until the next run().
  template <class T>
  std::span<T> input(std::string_view name) {
    return as<T>(input_bytes(name, dtype_of<T>()));
  }
  /// The elements of an output of the last run, with the strides of the graph's tensor. Empty under
  /// the same conditions, and before the first run. Valid until the next run().
  template <class T>
  std::span<const T> output(std::string_view name) {
    return as<const T>(output_bytes(name, dtype_of<T>()));
  }
  /// The same for tensors of any type, such as F16.
  std::span<std::byte> input_bytes(std::string_view name, std::optional<DType> dtype = {});
  /// As output(), for tensors of any type.
  std::span<const std::byte> output_bytes(std::string_view name, std::optional<DType> dtype = {});

  /// States a dynamic dimension for the runs that follow. Invalid for an unknown name, below 0 and
  /// above its maximum.
  Status set_dynamic_dim(std::string_view name, std::int64_t value);
  /// Computes all outputs. Returns the first misuse since the last run instead, if there is one.
  /// Other errors are those of Plan::run().
  Status run(const std::atomic<bool>* cancel = nullptr);

  /// The plan: placement, segments, memory. Not of an object that was moved from.
  const Plan& plan() const;
  /// "y (silu) runs on cpu0: REASON", a line for each op.
  std::string explain() const;

 private:
  friend class Runtime;
  struct State;
  explicit Executable(std::unique_ptr<State> state);
  template <class T, class Byte>
  static std::span<T> as(std::span<Byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  std::unique_ptr<State> state_;
};

/// The backends and devices of this machine. A copy shares them. For use by many threads.
class Runtime {
 public:
  /// With options from the environment, and all devices but those that must be named.
  static Result<Runtime> create();
  /// `devices`: names, in the order in which the scheduler prefers them; the CPU is added at the
  /// end. Empty: all devices but those that must be named. NotFound, with a list, for unknown
  /// names.
  static Result<Runtime> create(const Options& options, std::span<const std::string> devices = {});

  /// The backends and all devices, also those that compile() does not use.
  const Registry& registry() const { return *registry_; }
  /// Those that compile() uses, the CPU last.
  std::span<Device* const> devices() const { return devices_; }

  /// Places the graph, copies its weights to where they are used and compiles it. Returns the first
  /// error of the builder, if there is one; Invalid for a graph without outputs. Other errors are
  /// those of make_plan(). Calls of the builder are errors afterwards. PlaceOptions::memory and
  /// transcode are ignored: weights keep their type and memory.
  Result<Executable> compile(Builder&& builder, const PlaceOptions& options = {}) const;

 private:
  friend class Engine;
  Runtime(std::shared_ptr<const Registry> registry, std::vector<Device*> devices)
      : registry_(std::move(registry)), devices_(std::move(devices)) {}
  std::shared_ptr<const Registry> registry_;
  std::vector<Device*> devices_;
};

}  // namespace shunt

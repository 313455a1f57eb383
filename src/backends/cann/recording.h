// The launches of a run, kept to be made again with the same addresses: the second phases of
// executors that the library lets be used repeatedly.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cann/device_context.h"

namespace shunt::cann {

/// Belongs to one stream. Its executors must have ended their work when it is destroyed.
class Recording {
 public:
  explicit Recording(std::shared_ptr<const DeviceContext> context) : context_(std::move(context)) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { clear(); }

  /// Whether it has all launches so far.
  bool is_complete() const { return complete_; }
  std::size_t size() const { return launches_.size(); }
  /// Asks the library to let an executor be used again, directly after its first phase.
  bool make_repeatable(ExecutorHandle executor);
  /// A launch of an executor that is repeatable. `descriptors`: destroy its operands.
  void add(const char* name, const OpFunctions& functions, DevicePointer workspace,
           std::uint64_t bytes, ExecutorHandle executor,
           std::vector<std::function<void()>> descriptors);
  /// A launch can't be made again: nothing more is kept.
  void give_up();
  /// Makes all launches again.
  Status launch(StreamHandle stream) const;

 private:
  struct Launch {
    const char* name;
    decltype(OpFunctions::second) second;
    DevicePointer workspace;
    std::uint64_t bytes;
    ExecutorHandle executor;
    std::vector<std::function<void()>> descriptors;
  };
  void clear();

  std::shared_ptr<const DeviceContext> context_;
  std::vector<Launch> launches_;
  bool complete_ = true;
};

}  // namespace shunt::cann

// A stand-in for a vendor's stream. It copies between a buffer and the host, and launches any work.
#pragma once

#include <functional>

#include "backend_support/native_stream.h"
#include "shunt/message.h"

namespace shunt::test {

class NativeQueue : public NativeStream {
 public:
  using Work = std::function<Status()>;
  /// Adds work. `seconds`: its duration where time is simulated.
  virtual void submit(std::uint64_t task, double seconds, Work work) = 0;
  /// The work of a run of a binding; a device sets it.
  std::function<Result<Work>(Binding& binding, const RunArgs& args)> launch;

  Status run(std::uint64_t task, Binding& binding, const RunArgs& args) override {
    SHUNT_ASSIGN(Work work, launch(binding, args));
    submit(task, 0, std::move(work));
    return ok();
  }
  Status write(std::uint64_t task, Address to, std::span<const std::byte> from) override {
    submit(task, 0, [to, from] { return to.buffer->write(to.offset, from); });
    return ok();
  }
  Status read(std::uint64_t task, std::span<std::byte> to, Address from) override {
    submit(task, 0, [to, from] { return from.buffer->read(from.offset, to); });
    return ok();
  }

  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override {
    submit(task, 0, [to, from, bytes] { return shunt::copy(to, from, bytes); });
    return ok();
  }

 protected:
  /// Whether an error is that of a lost device.
  static bool is_loss(const Error& error) { return error.vendor() && error.vendor()->code == 79; }
};

}  // namespace shunt::test

// Bindings that a stream without asynchrony runs: on the calling thread, or on threads that are
// done when it returns.
#pragma once

#include <memory>

#include "base/fail.h"
#include "device/sync_stream.h"

namespace shunt {

class HostBinding : public Binding {
 public:
  virtual Status run(const RunArgs& args) = 0;
};

/// Runs a binding that is a HostBinding.
inline Status run(Binding& binding, const RunArgs& args) {
  return static_cast<HostBinding&>(binding).run(args);
}

/// Runs HostBindings, and nothing else.
class HostStream final : public SyncStream {
 protected:
  Status run_now(Binding& binding, const RunArgs& args) override {
    return shunt::run(binding, args);
  }
};

/// A binding `B(prepared)` with these addresses. `prepared` must outlive it.
template <class B, class Prepared>
Result<std::unique_ptr<Binding>> bind_to(const Prepared& prepared, const Addresses& addresses) {
  auto binding = std::make_unique<B>(prepared);
  SHUNT_TRY(binding->bind(addresses));
  return binding;
}

/// A program that is no more than what was prepared: `Prepared` has `needs`, and outlives bindings.
template <class B, class Prepared>
class PreparedProgram final : public Program {
 public:
  explicit PreparedProgram(Prepared prepared) : prepared_(std::move(prepared)) {}
  const Needs& needs() const override { return prepared_.needs; }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    return bind_to<B>(prepared_, addresses);
  }

 private:
  const Prepared prepared_;
};

}  // namespace shunt

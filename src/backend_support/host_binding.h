// Bindings for a synchronous stream. They run on the calling thread, or on threads that end their
// work before run() returns.
#pragma once

#include <memory>

#include "device/sync_stream.h"
#include "shunt/message.h"

namespace shunt {

class HostBinding : public Binding {
 public:
  virtual Status run(const RunArgs& args) = 0;
};

/// Runs a binding that is a HostBinding.
inline Status run(Binding& binding, const RunArgs& args) {
  return static_cast<HostBinding&>(binding).run(args);
}

/// A stream whose bindings are all HostBindings.
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

/// A program that owns a value of type `Prepared`, which has a member `needs`. Bindings refer to
/// it.
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

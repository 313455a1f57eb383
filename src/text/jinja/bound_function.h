// A builtin as a value, with the value that it is a method of.
#pragma once

#include <utility>

#include "text/jinja/builtin.h"
#include "text/jinja/object.h"

namespace shunt::text::jinja {

class BoundFunction final : public Object {
 public:
  BoundFunction(const Builtin& builtin, Value self) : builtin_(builtin), self_(std::move(self)) {}

  std::string_view type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Run& run, Arguments&& arguments) override {
    return call_builtin(run, builtin_, self_, arguments);
  }
  void release() override { self_ = Value(); }

 private:
  const Builtin& builtin_;
  Value self_;
};

}  // namespace shunt::text::jinja

// The floating-point environment of a call.
#pragma once

#include <cfenv>

namespace twin {

/// IEEE arithmetic with its defaults (to nearest, subnormal numbers as they are) and no exceptions
/// on record. The calling thread's own state comes back afterwards.
class DefaultArithmetic {
 public:
  DefaultArithmetic() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&saved_); }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace twin

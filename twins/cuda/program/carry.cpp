// The condition code register of PTX, of which programs see the carry flag only: a predicate that
// each function gets when its first instruction asks for it.
#include "cuda/program/binder.h"
#include "cuda/program/builder.h"

namespace cuda_twin {

Arg Builder::carry() {
  if (!carry_ || carry_function_ != number_) {
    carry_ = new_predicate();
    carry_function_ = number_;
  }
  return *carry_;
}

// Its value lasts from any instruction to any other, so each use counts as a read and a write that
// keeps the old value.
Arg Binder::carry() {
  const Arg flag = builder_.carry();
  builder_.reads(flag);
  builder_.writes(flag, false);
  return flag;
}

}  // namespace cuda_twin

// The work of every operation of the machine before and after its own, in the order of the vendor's
// library. Its questions: Is there such a function? Are the arguments in order? Does the machine
// take the tensors? Does it take the parameters?
#pragma once

#include <array>
#include <initializer_list>

#include "call.h"
#include "include/zdnn.h"
#include "memory.h"
#include "rows.h"

namespace zdnn_twin {

/// The tensors that an operation is called with; null is one that the caller left out.
template <class Tensor>
class Few {
 public:
  Few(std::initializer_list<Tensor*> tensors) {
    for (Tensor* tensor : tensors) tensors_[count_++] = tensor;
  }
  Tensor* const* begin() const { return tensors_.data(); }
  Tensor* const* end() const { return tensors_.data() + count_; }
  Tensor* front() const { return tensors_[0]; }
  Tensor* back() const { return tensors_[count_ - 1]; }

 private:
  std::array<Tensor*, 7> tensors_{};
  std::size_t count_ = 0;
};

struct Op {
  const char* name;
  nnpa_function_code function;
  int format;  // of the parameter block
  Few<const zdnn_ztensor> inputs;
  Few<zdnn_ztensor> outputs;
  bool takes_scratch = false;
  void* scratch = nullptr;  // the caller's; null: the library allocates it
  std::uint64_t scratch_bytes = 8192;
  bool last_input_marked = true;  // see check_input()
};

/// Whether the machine has the function and the library may use the format.
zdnn_status check_available(const Op& op);
/// Tensors and descriptors are there at all.
zdnn_status check_present(const Op& op);
/// The response codes that don't depend on the function, and the objections of strict mode.
zdnn_status check_tensors(const Op& op);
/// Allocates a save area where the caller gave none.
zdnn_status take_scratch(const Op& op, Pages& own);
/// Counts the call; a response code, if one was asked for.
zdnn_status start(const Op& op);
/// Poisons the outputs' padding, and marks the first as transformed.
zdnn_status finish(const Op& op, bool out_of_range);

/// `check()` and `respond()` give a status: of the arguments, as the library's prechecks, and the
/// function's own response codes. `compute(range)` writes the outputs.
template <class Check, class Respond, class Compute>
zdnn_status perform(const Op& op, Check check, Respond respond, Compute compute) {
  return guarded(op.name, [&]() -> zdnn_status {
    ZDNN_TWIN_TRY(check_available(op));
    ZDNN_TWIN_TRY(check_present(op));
    ZDNN_TWIN_TRY(check());
    Pages own;
    ZDNN_TWIN_TRY(take_scratch(op, own));
    ZDNN_TWIN_TRY(check_tensors(op));
    ZDNN_TWIN_TRY(respond());
    ZDNN_TWIN_TRY(start(op));
    Range range;
    compute(range);
    return finish(op, range.violated);
  });
}

inline zdnn_status no_response() {
  return ZDNN_OK;
}

inline const zdnn_tensor_desc& desc_of(const zdnn_ztensor* tensor) {
  return *tensor->transformed_desc;
}
bool same_dims(const zdnn_ztensor* a, const zdnn_ztensor* b);
bool has_dims(const zdnn_ztensor* tensor, std::uint32_t dim4, std::uint32_t dim3,
              std::uint32_t dim2, std::uint32_t dim1);

/// Misuse unless that holds.
inline zdnn_status expect(bool holds, zdnn_status otherwise, const char* reason) {
  return holds ? ZDNN_OK : misuse(otherwise, reason);
}

using Tensors = std::initializer_list<const zdnn_ztensor*>;
/// All of type DLFLOAT16 and format 4DFEATURE.
zdnn_status expect_features(Tensors tensors);
/// That, and all of the same dimensions.
zdnn_status expect_alike(Tensors tensors);

}  // namespace zdnn_twin

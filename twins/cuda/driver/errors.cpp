#include <algorithm>
#include <iterator>

#include "cuda/call.h"

namespace cuda_twin {
namespace {

struct ResultRow {
  CUresult code;
  const char* name;
  const char* text;
};
#define CUDA_TWIN_ROW(name, number, text) {name, #name, text},
constexpr ResultRow kResults[] = {CUDA_TWIN_RESULTS(CUDA_TWIN_ROW)};
#undef CUDA_TWIN_ROW

const ResultRow* row_of(CUresult code) {
  const auto* const row = std::find_if(std::begin(kResults), std::end(kResults),
                                       [code](const ResultRow& r) { return r.code == code; });
  return row == std::end(kResults) ? nullptr : row;
}

CUresult answer(CUresult error, const char** text, const char* ResultRow::*member) {
  if (text == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the result is null");
  const ResultRow* const row = row_of(error);
  *text = row == nullptr ? nullptr : row->*member;
  return row == nullptr ? refuse(CUDA_ERROR_INVALID_VALUE, "there is no such error") : CUDA_SUCCESS;
}

}  // namespace

CUresult surface(Context& context) {
  int error = context.error;
  if (error == 0) {
    error = context.late_error;
    if (error == 0) return CUDA_SUCCESS;
    context.error = error;
  }
  const std::lock_guard lock(context.mutex);
  return refuse(static_cast<CUresult>(error), context.fault);
}

void fail_late(Context& context, CUresult code, const std::string& reason) {
  const std::lock_guard lock(context.mutex);
  if (context.late_error != 0) return;
  context.fault = reason;
  context.late_error = static_cast<int>(code);
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** name) {
  return query(__func__, [&] { return answer(error, name, &ResultRow::name); });
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return query(__func__, [&] { return answer(error, text, &ResultRow::text); });
}

}  // extern "C"

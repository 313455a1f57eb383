#include "backends/zdnn/launch.h"

namespace shunt::zdnn {

void Launch::start() {
  outcome_ = Outcome::kOk;
  error_.reset();
}

Stick& Launch::temporary(std::size_t index, const Dims& dims) {
  Stick& stick = temporaries[index];
  stick.set(zdnn(), temporary_memory[index], dims);
  return stick;
}

bool Launch::call(const char* function, std::uint32_t status) {
  if (status == kOk) return true;
  outcome_ = outcome_of(status);
  if (outcome_ == Outcome::kFailed) error_ = error_of(zdnn(), function, status);
  return false;
}

bool Launch::out_of_range() {
  outcome_ = Outcome::kOutOfRange;
  return false;
}

bool Launch::failed(Error error) {
  outcome_ = Outcome::kFailed;
  error_ = std::move(error);
  return false;
}

bool Launch::to_machine(const float* from, Stick& to) {
  to.get()->is_transformed = false;
  return call("zdnn_transform_ztensor", zdnn().transform_ztensor(to.get(), from));
}

bool Launch::to_host(const Stick& from, float* to) {
  return call("zdnn_transform_origtensor", zdnn().transform_origtensor(from.get(), to));
}

bool Launch::binary(const char* name, Binary function, const Stick& a, const Stick& b, Stick& to) {
  return call(name, function(a.get(), b.get(), to.get()));
}

bool Launch::unary(const char* name, Unary function, const Stick& a, Stick& to) {
  return call(name, function(a.get(), to.get()));
}

const Ztensor* Launch::constant(const Dims& dims, float value) {
  std::uint32_t status = kOk;
  const Ztensor* const found = constants_.find(dims, value, status);
  if (found == nullptr) (void)call("zdnn_transform_ztensor", status);
  return found;
}

bool Launch::product(const Stick& a, const Ztensor* b, float c, Stick& to) {
  const Ztensor* const row = constant({1, 1, to.dims().dim1}, c);
  return row != nullptr && product(a, b, row, to);
}

bool Launch::product(const Stick& a, const Ztensor* b, const Ztensor* row, Stick& to) {
  constexpr std::uint32_t kAddition = 0;
  if (a.dims().dim4 == 1) {
    return call("zdnn_matmul_op", zdnn().matmul_op(a.get(), b, row, kAddition, to.get()));
  }
  return call("zdnn_matmul_bcast_op", zdnn().matmul_bcast_op(a.get(), b, row, kAddition, to.get()));
}

bool Launch::affine(const Stick& a, float scale, float bias, Stick& to) {
  const Dims row{1, 1, a.dims().dim1};
  const Ztensor* const factors = constant(row, scale);
  const Ztensor* const added = factors == nullptr ? nullptr : constant(row, bias);
  return added != nullptr &&
         call("zdnn_batchnorm", zdnn().batchnorm(a.get(), factors, added, to.get()));
}

bool Launch::mul_row(const Stick& a, const Stick& row, Stick& to) {
  const Ztensor* const zeros = constant({1, 1, a.dims().dim1}, 0);
  return zeros != nullptr &&
         call("zdnn_batchnorm", zdnn().batchnorm(a.get(), row.get(), zeros, to.get()));
}

bool Launch::add_row(const Stick& a, const Stick& row, Stick& to) {
  const Ztensor* const ones = constant({1, 1, a.dims().dim1}, 1);
  return ones != nullptr &&
         call("zdnn_batchnorm", zdnn().batchnorm(a.get(), ones, row.get(), to.get()));
}

}  // namespace shunt::zdnn

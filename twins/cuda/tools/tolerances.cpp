#include "cuda/tools/tolerances.h"

#include <bit>
#include <cmath>

namespace cuda_twin_record {
namespace {

struct Allowed {
  const char* name;  ///< a part of the code; the first row counts
  Tolerance tolerance;
};
// Twice the error that PTX documents, as both results may have it.
// Sums of matrices: terms * largest product * 2^-22 for the operands of values.cpp; of fp8 2^-13,
// as devices keep about 14 bits. f16 results have two more roundings of 2^-11.
const Allowed kAllowed[] = {
    {"ex2.approx.f32", {0x1p-21, 0x1p-147}},
    {"ex2.approx.ftz.f32", {0x1p-21, 0x1p-126}},
    {"ex2.approx.f16", {0x1p-8, 0x1p-23}},
    {"ex2.approx.ftz.bf16", {0x1p-6, 0x1p-126}},
    {"lg2.approx", {0x1p-21, 0x1p-21}},
    {"sin.approx", {0, 0x1p-13}},
    {"cos.approx", {0, 0x1p-13}},
    {"tanh.approx.f32", {0x1p-10, 0}},
    {"tanh.approx.f16", {0, 0x1p-9}},
    {"tanh.approx.bf16", {0, 0x1p-7}},
    {"rsqrt.approx.f64", {0x1p-51, 0}},
    {"approx.ftz.f64", {0x1p-19, 0}},
    {"rsqrt.approx", {0x1p-21, 0}},
    {"rcp.approx", {0x1p-22, 0x1p-148}},
    {"sqrt.approx", {0x1p-22, 0}},
    {"div.approx", {0x1p-21, 0x1p-147}},
    {"div.full", {0x1p-21, 0x1p-147}},
    {"m16n8k8.row.col.f32.f16", {0, 0x1p-3}},
    {"m16n8k16.row.col.f32.f16", {0, 0x1p-2}},
    {"m16n8k8.row.col.f16.f16", {0x1p-10, 0x1p-3}},
    {"m16n8k16.row.col.f16.f16", {0x1p-10, 0x1p-2}},
    // Of m8n8k4, as the other shapes have rows above.
    {"f32.f16.f16.", {0, 0x1p-4}},
    {"f16.f16.f16.f16", {0x1p-10, 0x1p-4}},
    {"m16n8k8.row.col.f32.bf16", {0, 0x1p15}},
    {"m16n8k16.row.col.f32.bf16", {0, 0x1p16}},
    {"m16n8k4.row.col.f32.tf32", {0, 0x1p14}},
    {"m16n8k8.row.col.f32.tf32", {0, 0x1p15}},
    {"f32.e4m3.e4m3.f32", {0, 0x1p10}},
    {"f32.e4m3.e5m2.f32", {0, 0x1p17}},
    {"f32.e5m2.e4m3.f32", {0, 0x1p17}},
    {"f32.e5m2.e5m2.f32", {0, 0x1p24}},
};

double f16_number(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) return std::nan("");
  return (bits & 0x8000) != 0 ? -size : size;
}
double f32_number(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
double bf16_number(std::uint64_t bits) {
  return f32_number(bits << 16);
}
double f64_number(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

struct Type {
  const char* name;
  unsigned bits, count;  ///< of an element, elements
  double (*number)(std::uint64_t bits);
};
const Type kTypes[] = {
    {"f16", 16, 1, f16_number},     {"f16x2", 16, 2, f16_number}, {"bf16", 16, 1, bf16_number},
    {"bf16x2", 16, 2, bf16_number}, {"f32", 32, 1, f32_number},   {"f64", 64, 1, f64_number},
};

}  // namespace

Tolerance tolerance_of(const std::string& code) {
  for (const Allowed& row : kAllowed) {
    if (code.find(row.name) != std::string::npos) return row.tolerance;
  }
  return {};
}

bool are_within(const Tolerance& tolerance, const std::string& type, std::uint64_t a,
                std::uint64_t b) {
  for (const Type& row : kTypes) {
    if (type != row.name) continue;
    for (unsigned i = 0; i < row.count; ++i) {
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - row.bits);
      const std::uint64_t first = a >> i * row.bits & mask;
      const std::uint64_t second = b >> i * row.bits & mask;
      const double other = row.number(second);
      const double most = tolerance.absolute + tolerance.relative * std::fabs(other);
      // A difference of infinities or NaN is NaN.
      if (first != second && !(std::fabs(row.number(first) - other) <= most)) return false;
    }
    return true;
  }
  return a == b;
}

}  // namespace cuda_twin_record

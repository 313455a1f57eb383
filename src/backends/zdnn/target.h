// The capabilities of a machine and its library: limits, installed functions. The same code serves
// z16 and z17; they differ in these.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/zdnn/options.h"
#include "backends/zdnn/symbols.h"
#include "shunt/error.h"

namespace shunt::zdnn {

/// The features that kernels ask for. A row in the table says which function of the machine it is.
enum class Feature : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kExp,
  kLog,
  kRelu,
  kTanh,
  kSigmoid,
  kSoftmax,
  kMatmul,
  kMatmulShared,      ///< one right matrix for many left ones
  kMatmulTransposed,  ///< right matrices as the transpositions of the given ones
  kBatchnorm,
  kSqrt,
  kInvsqrt,
  kQuantizedMatmul,  ///< of 8-bit weights
};
inline constexpr std::size_t kFeatures = 17;

/// Whether the library that calls itself so is a twin.
inline bool is_version_of_twin(std::string_view version) {
  return version.find("twin") != std::string_view::npos;
}

class Machine {
 public:
  /// Unsupported, in plain words, if there is no accelerator or it lacks something indispensable.
  static Result<std::unique_ptr<Machine>> create(const Symbols& symbols,
                                                 OutOfRange out_of_range = OutOfRange::kSaturate);

  const Symbols& zdnn() const { return symbols_; }
  bool has(Feature feature) const { return missing_[static_cast<std::size_t>(feature)].empty(); }
  /// Why it does not have it, for a person: "zdnn_sqrt needs a z17 (function 34 is not installed)".
  const std::string& why_not(Feature feature) const {
    return missing_[static_cast<std::size_t>(feature)];
  }
  /// The largest index of a dimension, 1 (innermost) to 4.
  std::int64_t max_dim(int dim) const { return max_dim_[static_cast<std::size_t>(dim)]; }
  /// Bytes of the largest tensor in the machine's layout.
  std::uint64_t max_bytes() const { return max_bytes_; }
  /// Whether finite numbers that DLFLOAT16 does not have become the largest one: the user's choice.
  bool saturates() const { return out_of_range_ == OutOfRange::kSaturate; }
  bool is_twin() const { return twin_; }
  /// "z17 (NNPA), libzdnn 1.1.2".
  const std::string& description() const { return description_; }

 private:
  explicit Machine(const Symbols& symbols) : symbols_(symbols) {}

  Symbols symbols_;
  std::array<std::string, kFeatures> missing_;
  std::array<std::int64_t, 5> max_dim_ = {};
  std::uint64_t max_bytes_ = 0;
  OutOfRange out_of_range_ = OutOfRange::kSaturate;
  bool twin_ = false;
  std::string description_;
};

}  // namespace shunt::zdnn

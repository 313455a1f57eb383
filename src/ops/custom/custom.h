/// \file
/// An operation that the user brings along: a function that the CPU calls in every run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// The element type of a C++ type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return DType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kF64;
  } else {
    static_assert(std::is_integral_v<T> && std::is_signed_v<T>,
                  "float, double and integers with a sign; read_row() reads the others");
    constexpr DType kBySize[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    return kBySize[sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
  }
}

/// The elements of a tensor in memory: x(i0, i1, i2, i3), innermost first. Nothing checks that an
/// index is within the sizes.
template <class T>
class Elements {
 public:
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  Elements(Byte* data, const Sizes& sizes, const std::array<std::int64_t, kMaxDims>& strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  std::int64_t size(int dim) const { return sizes_[static_cast<std::size_t>(dim)]; }
  T& operator()(std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0,
                std::int64_t i3 = 0) const {
    return *reinterpret_cast<T*>(data_ + i0 * strides_[0] + i1 * strides_[1] + i2 * strides_[2] +
                                 i3 * strides_[3]);
  }

 private:
  Byte* data_;
  Sizes sizes_;
  std::array<std::int64_t, kMaxDims> strides_;
};

/// A source in a run. Its memory is the plan's, and there until the function returns.
struct CustomSource {
  DType dtype = DType::kF32;
  Sizes sizes = {};                                 ///< in this run
  std::array<std::int64_t, kMaxDims> strides = {};  ///< in bytes, as in Tensor
  const std::byte* data = nullptr;

  /// Invalid if the elements are of another type.
  template <class T>
  Result<Elements<const T>> as() const;
  /// A row of any type as F32; `to` has sizes[0] elements. Invalid if it has not, or if there is no
  /// such row.
  Status read_row(std::span<float> to, std::int64_t i1 = 0, std::int64_t i2 = 0,
                  std::int64_t i3 = 0) const;
};

/// The result in a run, contiguous but for dynamic dimensions below their maximum. The function
/// writes all of it; its previous content is undefined.
struct CustomResult {
  DType dtype = DType::kF32;
  Sizes sizes = {};
  std::array<std::int64_t, kMaxDims> strides = {};
  std::byte* data = nullptr;

  /// Invalid if the elements are of another type.
  template <class T>
  Result<Elements<T>> as() const;
  /// F32 to a row of any type that can be encoded; `from` has sizes[0] elements. Invalid if it has
  /// not, or if there is no such row; Unsupported if the type can't be encoded.
  Status write_row(std::span<const float> from, std::int64_t i1 = 0, std::int64_t i2 = 0,
                   std::int64_t i3 = 0) const;
};

/// The arguments of the function.
struct CustomCall {
  std::span<const CustomSource> sources;
  CustomResult result;
  std::int64_t item = 0;   ///< number of this call
  std::int64_t items = 1;  ///< number of calls in a run
  const std::atomic<bool>* cancel = nullptr;

  /// Source number `i`. Invalid if there is none, or if its elements are of another type.
  template <class T>
  Result<Elements<const T>> source(std::size_t i) const;

  /// Of n things, those that are this call's: each is one call's, and all calls have about as many.
  struct Share {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  /// The share of this call, from `begin` to before `end`.
  Share share(std::int64_t n) const {
    const auto start = [&](std::int64_t i) { return n / items * i + std::min(i, n % items); };
    return {start(item), start(item + 1)};
  }
  /// Whether the run is to stop. A function that takes long should look, and return.
  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

/// An Error that it returns ends the run, and so does anything that it throws.
using CustomFunction = std::function<Status(const CustomCall& call)>;
/// The result's type and shape for sources of these; strides make no difference.
using CustomShapeRule = std::function<Result<Tensor>(std::span<const Tensor> sources)>;

/// Parameters of custom().
struct CustomParams {
  std::string name;                              ///< how messages speak of it
  std::variant<Tensor, CustomShapeRule> result;  ///< its type and shape, or the rule for them
  CustomFunction function;
  std::int64_t items = 1;  ///< calls in a run, from 1 to 2^31 - 1
};

const Op& custom_op();
/// The result of `function` on up to eight sources of any type, shape and strides, in memory of its
/// own. The function runs on the CPU, wherever the sources are made: no other device takes it. Each
/// run calls it params.items times, from several threads at once if that is above 1. Every call
/// writes its own part of the result. This part must not depend on the thread or the time of the
/// call. The function is kept as long as the graph. It must not run or compile a plan on the same
/// device (which is Invalid). The result is contiguous, of the type and shape that params.result
/// says, and the node is named after the function.
Result<Value> custom(GraphBuilder& g, const std::vector<Result<Value>>& sources,
                     CustomParams params);

/// The error for elements of another type than was asked for.
Error wrong_custom_type(DType found, DType wanted);
/// The error for a source that is not there.
Error no_custom_source(std::size_t wanted, std::size_t count);

template <class T>
Result<Elements<const T>> CustomSource::as() const {
  if (dtype != dtype_of<T>()) return wrong_custom_type(dtype, dtype_of<T>());
  return Elements<const T>(data, sizes, strides);
}

template <class T>
Result<Elements<T>> CustomResult::as() const {
  if (dtype != dtype_of<T>()) return wrong_custom_type(dtype, dtype_of<T>());
  return Elements<T>(data, sizes, strides);
}

template <class T>
Result<Elements<const T>> CustomCall::source(std::size_t i) const {
  if (i >= sources.size()) return no_custom_source(i, sources.size());
  return sources[i].as<T>();
}

}  // namespace shunt

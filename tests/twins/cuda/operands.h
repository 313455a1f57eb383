// Operands for tests of instructions, and the comparison of all lanes with expected values.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support.h"

namespace twin_test {

__extension__ typedef __int128 Big;  // wide enough for every product of 64-bit values
__extension__ typedef unsigned __int128 UnsignedBig;

/// The PTX type of a C++ integer.
template <class T>
std::string type_name() {
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(sizeof(T) * 8);
}

/// RandomNumbers that look random; the same ones each time.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

template <class T>
std::vector<T> edges() {
  using U = std::make_unsigned_t<T>;
  const auto least = std::numeric_limits<T>::min();
  const auto most = std::numeric_limits<T>::max();
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           least,
                           most,
                           static_cast<T>(least + 1),
                           static_cast<T>(most - 1),
                           static_cast<T>(U(~U{0})),
                           static_cast<T>(U(~U{1})),
                           static_cast<T>(U(U(~U{0}) / 3)),
                           static_cast<T>(U(U(1) << (sizeof(T) * 8 - 1))),
                           static_cast<T>(U(U(1) << (sizeof(T) * 4))),
                           7,
                           10,
                           100};
  RandomNumbers numbers(sizeof(T));
  for (int i = 0; i < 8; ++i) values.push_back(static_cast<T>(numbers.next()));
  for (int i = 0; i < 4; ++i) values.push_back(static_cast<T>(numbers.next() % 1000));
  return values;
}

/// All values of 16 bits.
template <class T>
std::vector<T> all16() {
  static_assert(sizeof(T) == 2);
  std::vector<T> values;
  for (unsigned i = 0; i < 65536; ++i) values.push_back(static_cast<T>(i));
  return values;
}

/// As many values as `count`, from `values` over and over; `step` shifts the sequence.
template <class T>
std::vector<T> repeated(const std::vector<T>& values, std::size_t count, std::size_t step = 0) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(values[(i + step + i / values.size()) % values.size()]);
  }
  return result;
}

/// Every value of `a` with every one of `b`, as two operands of the same length.
template <class A, class B>
std::pair<std::vector<A>, std::vector<B>> crossed(const std::vector<A>& a,
                                                  const std::vector<B>& b) {
  std::pair<std::vector<A>, std::vector<B>> result;
  for (const A x : a) {
    for (const B y : b) {
      result.first.push_back(x);
      result.second.push_back(y);
    }
  }
  return result;
}

/// Edge values; for 16-bit types all values, with a partner each.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  auto result = crossed(edges<T>(), edges<T>());
  if constexpr (sizeof(T) == 2) {
    const auto all = all16<T>();
    const auto partners = repeated(edges<T>(), all.size());
    result.first.insert(result.first.end(), all.begin(), all.end());
    result.second.insert(result.second.end(), partners.begin(), partners.end());
  }
  return result;
}

/// Runs `code` for all elements of the inputs and compares with expected(a, b, ...).
template <class Out, class Expected, class... In>
void expect_lanes_of(const Isa& isa, const std::string& code, Expected expected,
                     const std::vector<In>&... inputs) {
  const std::vector<Out> results = lanes_of<Out>(isa, code, inputs...);
  std::size_t count = 0;
  for (std::size_t i = 0; i < results.size() && count < 4; ++i) {
    const Out wanted = static_cast<Out>(expected(inputs[i]...));
    if (results[i] == wanted) continue;
    ++count;
    std::string operands;
    ((operands += " " + std::to_string(inputs[i])), ...);
    ADD_FAILURE() << code << " of" << operands << " is " << std::to_string(results[i]) << ", not "
                  << std::to_string(wanted);
  }
}

template <class Out, class Expected, class... In>
void expect_lanes(const std::string& code, Expected expected, const std::vector<In>&... inputs) {
  expect_lanes_of<Out>(Isa{}, code, expected, inputs...);
}

/// Each of these is refused when the module is loaded, with a reason.
inline void expect_refused(std::initializer_list<const char*> codes) {
  for (const char* code : codes) {
    std::string log;
    EXPECT_EQ(compile_error(code, &log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
}
/// Each of these is accepted, but not with this older version or target.
inline void expect_needs(const char* version, const char* target,
                         std::initializer_list<const char*> codes) {
  for (const char* code : codes) {
    std::string log;
    EXPECT_EQ(compile_error(code, &log), CUDA_SUCCESS) << code << ": " << log;
    CUmodule loaded = nullptr;
    using std::uint32_t;
    const std::string text =
        frame<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(code, version, target);
    EXPECT_EQ(load(text, &loaded, &log), CUDA_ERROR_INVALID_PTX) << code << " for " << target;
    if (loaded != nullptr) (void)cuModuleUnload(loaded);
  }
}

/// Calls f with a value of each type.
template <class... T, class F>
void for_types(F f) {
  (f(T{}), ...);
}
template <class F>
void for_integers(F f) {
  for_types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>(
      f);
}

}  // namespace twin_test

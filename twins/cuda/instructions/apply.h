// A function of values, executed for each lane of a warp: apply<f> is the handler of
// "d = f(a, b, ...)". Values of 16 bits and pairs of them are read from lanes of 32 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cuda/instructions/lanes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Two 16-bit values of a packed type.
template <class Half>
struct Pair {
  Half low, high;
};

template <class Value>
using Lane = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;

template <class Value>
struct LaneValue {
  static Value read(Lane<Value> lane) { return static_cast<Value>(lane); }
  static Lane<Value> bits(Value value) {
    return static_cast<Lane<Value>>(static_cast<std::make_unsigned_t<Value>>(value));
  }
};
template <class Value>
requires std::is_floating_point_v<Value>
struct LaneValue<Value> {
  static Value read(Lane<Value> lane) { return std::bit_cast<Value>(lane); }
  static Lane<Value> bits(Value value) { return std::bit_cast<Lane<Value>>(value); }
};
template <class Half>
struct LaneValue<Pair<Half>> {
  static Pair<Half> read(std::uint32_t lane) {
    return {static_cast<Half>(lane), static_cast<Half>(lane >> 16)};
  }
  static std::uint32_t bits(Pair<Half> pair) {
    return LaneValue<Half>::bits(pair.low) | LaneValue<Half>::bits(pair.high) << 16;
  }
};

/// Operand `index` of an op whose operands go on in Op::more.
[[gnu::always_inline]] inline const Arg& argument(const Op& op, std::size_t index) {
  return index < 4 ? op.args[index] : op.more[index - 4];
}

template <auto f, class Signature = decltype(f)>
struct Apply;

template <auto f, class Result, class... Values>
struct Apply<f, Result (*)(Values...)> {
  static Next run(Warp& warp, const Op& op, LaneMask active) {
    with_operands(warp, op, active, std::index_sequence_for<Values...>{});
    return Next::kOn;
  }

 private:
  template <std::size_t... index>
  [[gnu::always_inline]] static void with_operands(Warp& warp, const Op& op, LaneMask active,
                                                   std::index_sequence<index...> /*unused*/) {
    over_lanes(active, lanes_of<Lane<Result>>(warp, op.args[0]),
               lanes_of<Lane<Values>>(warp, argument(op, index + 1))...);
  }
  [[gnu::always_inline]] static void over_lanes(LaneMask active, Lane<Result>* to,
                                                const Lane<Values>*... from) {
    each_lane(to, active, [=](unsigned i) {
      return LaneValue<Result>::bits(f(LaneValue<Values>::read(from[i])...));
    });
  }
};

template <auto f>
inline constexpr Handler apply = &Apply<f>::run;

/// f for both halves of packed operands.
template <auto f, class Half, class... Pairs>
[[gnu::always_inline]] inline Pair<Half> in_halves(Pair<Half> a, Pairs... others) {
  return {f(a.low, others.low...), f(a.high, others.high...)};
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

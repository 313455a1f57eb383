#include "backends/cann/rope_tables.h"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "backends/cann/float_pairs.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

// An angle is a position p times a frequency f, in turns. Only the fraction of turns matters, and
// F32 products must keep it where p is large.
//
// p = p0 + 1024 p1 + 1024^2 p2. The digits are whole numbers of at most 11 bits and a sign.
//
// Whole turns can be dropped from 1024^j f as well, because digits are whole. The rest is fj, at
// most 1/2. The turns are p0 f0 + p1 f1 + p2 f2.
//
// Each fj is a sum a + b. The part a is a multiple of 2^-13 and has 12 bits. Its products with
// digits are exact, and so are their fractions. The part b is at most 2^-14. Its products are at
// most 1/8, and are rounded by at most 2^-28.
constexpr std::int64_t kDigits = 3;
constexpr float kDigit = 1024;
constexpr float kSteps = 8192;

std::string text_of(const RopeParams& params) {
  std::string text;
  params.each([&](const char*, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, float>) {
      text += fmt::format(" {:08x}", std::bit_cast<std::uint32_t>(value));
    } else if constexpr (std::is_enum_v<Value>) {
      text += fmt::format(" {}", static_cast<int>(value));
    } else if constexpr (std::is_same_v<Value, std::array<std::int64_t, 4>>) {
      for (const std::int64_t each : value) text += fmt::format(" {}", each);
    } else {
      text += fmt::format(" {}", value);
    }
  });
  return text;
}

/// The frequency of a pair in turns.
double turns_of(const RopeParams& params, std::int64_t pair) {
  return rope_frequency(params, pair) / (2 * std::numbers::pi);
}

/// Both parts of the frequencies: F32 [half, 1, columns * kDigits], columns first. A column has the
/// pairs that turn by that position; the others are 0 in it.
struct Frequencies {
  View coarse, fine;
};

class Tables {
 public:
  Tables(Calls& calls, const Operands& node)
      : calls_(calls),
        node_(node),
        params_(node.params<RopeParams>()),
        half_(params_.dims / 2),
        tokens_(node.sizes(1)[0]),
        columns_(node.sizes(1)[1]) {}

  /// Turns less the nearest whole number, F32 [half, T].
  View turns() const {
    const Frequencies frequencies = node_.has_source(2) ? divided() : plain();
    const View digits = digits_of_positions();
    const View::Dims sizes = {half_, tokens_, columns_ * kDigits};
    const View products = calls_.temporary(DataType::kFloat, sizes);
    const View other = calls_.temporary(DataType::kFloat, sizes);
    calls_(kMul, frequencies.coarse, digits, products);
    drop_whole(products, other);
    calls_(kMul, frequencies.fine, digits, other);
    calls_(kInplaceAdd, products, other, 1.0F);
    const View sums = calls_.temporary(DataType::kFloat, {half_, tokens_, 1});
    calls_(kReduceSum, products, {products.vendor_dim(2)}, true, DataType::kFloat, sums);
    drop_whole(sums, View(DataType::kFloat, sums.sizes(), other.data()));
    return sums.without(2);
  }

 private:
  void drop_whole(const View& numbers, const View& whole) const {
    calls_(kRound, numbers, whole);
    calls_(kInplaceAdd, numbers, whole, -1.0F);
  }

  /// F32 [1, T, columns * kDigits], columns first.
  View digits_of_positions() const {
    const View::Dims sizes = {tokens_, columns_};
    const View digits = calls_.temporary(DataType::kFloat, {tokens_, columns_, kDigits});
    const auto digit = [&](std::int64_t i) { return digits.sliced(2, i, 1).without(2); };
    const View positions = calls_.contiguous(node_.source(1)).reshaped(sizes);
    // The nearest F32 number of a large position may be some above or below: so may the digit.
    const View upper = calls_.temporary(DataType::kFloat, sizes);
    calls_(kCast, positions, DataType::kFloat, upper);
    calls_(kInplaceMuls, upper, 1 / kDigit);
    calls_(kFloor, upper, upper);
    const View rest = calls_.temporary(DataType::kInt32, sizes);
    calls_(kCast, upper, DataType::kInt32, rest);
    calls_(kSub, positions, rest, static_cast<std::int64_t>(kDigit), rest);
    calls_(kCast, rest, DataType::kFloat, digit(0));
    calls_(kMuls, upper, 1 / kDigit, digit(2));
    calls_(kFloor, digit(2), digit(2));
    calls_(kSub, upper, digit(2), kDigit, digit(1));
    return digits.reshaped({1, tokens_, columns_ * kDigits});
  }

  std::int64_t column_of(std::int64_t pair) const {
    return static_cast<std::int64_t>(rope_position(params_, pair));
  }

  /// F32 [half, 1, columns * kDigits] of a number for a pair and a digit.
  View table(const char* what, const std::function<double(std::int64_t, std::int64_t)>& of) const {
    const auto count = static_cast<std::size_t>(half_ * columns_ * kDigits);
    const View made =
        calls_.constant(what + text_of(params_), count, [&](std::span<float> numbers) {
          for (std::int64_t pair = 0; pair < half_; ++pair) {
            for (std::int64_t digit = 0; digit < kDigits; ++digit) {
              const std::int64_t at = (digit * columns_ + column_of(pair)) * half_ + pair;
              numbers[static_cast<std::size_t>(at)] = static_cast<float>(of(pair, digit));
            }
          }
        });
    return made.reshaped({half_, 1, columns_ * kDigits});
  }

  Frequencies plain() const {
    const auto above_whole = [&](std::int64_t pair, std::int64_t digit) {
      return std::remainder(std::pow(double{kDigit}, digit) * turns_of(params_, pair), 1.0);
    };
    const auto coarse = [&](std::int64_t pair, std::int64_t digit) {
      return std::round(above_whole(pair, digit) * double{kSteps}) / double{kSteps};
    };
    return {table("coarse", coarse), table("fine", [&](std::int64_t pair, std::int64_t digit) {
              return above_whole(pair, digit) - coarse(pair, digit);
            })};
  }

  /// With frequency factors, which are in device memory: the same numbers, from pairs of F32.
  Frequencies divided() const {
    const View factors = calls_.contiguous(node_.source(2)).reshaped({half_, 1});
    const auto row = [&](const char* what, bool rest) {
      const View made = calls_.constant(
          what + text_of(params_), static_cast<std::size_t>(half_), [&](std::span<float> numbers) {
            for (std::int64_t pair = 0; pair < half_; ++pair) {
              const double turns = turns_of(params_, pair);
              const auto nearest = static_cast<float>(turns);
              numbers[static_cast<std::size_t>(pair)] =
                  rest ? static_cast<float>(turns - double{nearest}) : nearest;
            }
          });
      return made.reshaped({half_, 1});
    };
    const FloatPair quotients =
        divide(calls_, {row("turns", false), row("rest of turns", true)}, factors);

    const View powers = calls_.constant("powers of a digit", kDigits, [](std::span<float> numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = std::pow(kDigit, static_cast<float>(i));
    });
    const View by_digit = powers.reshaped({1, kDigits});
    const View::Dims sizes = {half_, kDigits};
    const View fine = calls_.temporary(DataType::kFloat, sizes);
    const View coarse = calls_.temporary(DataType::kFloat, sizes);
    calls_(kMul, quotients.high, by_digit, fine);
    drop_whole(fine, coarse);
    calls_(kMuls, fine, kSteps, coarse);
    calls_(kRound, coarse, coarse);
    calls_(kInplaceMuls, coarse, 1 / kSteps);
    calls_(kInplaceAdd, fine, coarse, -1.0F);
    const View low = calls_.temporary(DataType::kFloat, sizes);
    calls_(kMul, quotients.low, by_digit, low);
    calls_(kInplaceAdd, fine, low, 1.0F);
    return {in_columns(coarse), in_columns(fine)};
  }

  /// From [half, kDigits].
  View in_columns(const View& numbers) const {
    if (columns_ == 1) return numbers.reshaped({half_, 1, kDigits});
    const View own = table("columns", [](std::int64_t, std::int64_t) { return 1; });
    const View made = calls_.temporary(DataType::kFloat, {half_, columns_, kDigits});
    calls_(kMul, numbers.with_dim(1), own.reshaped({half_, columns_, kDigits}), made);
    return made.reshaped({half_, 1, columns_ * kDigits});
  }

  Calls& calls_;
  const Operands& node_;
  const RopeParams& params_;
  std::int64_t half_, tokens_, columns_;
};

}  // namespace

View firsts_of_pairs(const View& rows, const RopeParams& params) {
  return rows.sliced(0, 0, params.dims / 2, params.mode == RopeMode::kNormal ? 2 : 1);
}

View seconds_of_pairs(const View& rows, const RopeParams& params) {
  const std::int64_t half = params.dims / 2;
  return params.mode == RopeMode::kNormal ? rows.sliced(0, 1, half, 2) : rows.sliced(0, half, half);
}

RopeTables rope_tables(Calls& calls, const Operands& node, float direction, RopeSines sines) {
  const auto& params = node.params<RopeParams>();
  const std::int64_t tokens = node.sizes(1)[0];
  const std::string factors = node.has_source(2) ? node.content(2) : "none";
  const std::string key = fmt::format("of the angles at {} by {}, {} {},{}", node.content(1),
                                      factors, direction, static_cast<int>(sines), text_of(params));
  const View::Dims sizes = {params.dims, tokens};
  const auto [cosines, is_new] = calls.shared("cosines " + key, DataType::kFloat, sizes);
  const View made_sines = calls.shared("sines " + key, DataType::kFloat, sizes).first;
  const RopeTables tables = {cosines.reshaped({params.dims, 1, tokens, 1}),
                             made_sines.reshaped({params.dims, 1, tokens, 1})};
  if (!is_new) return tables;
  const View turns = Tables(calls, node).turns();
  const View angles = calls.temporary(DataType::kFloat, sizes);
  const float turn = direction * 2 * std::numbers::pi_v<float>;
  calls(kMuls, turns, sines == RopeSines::kOpposite ? -turn : turn,
        firsts_of_pairs(angles, params));
  calls(kMuls, turns, turn, seconds_of_pairs(angles, params));
  calls(kCos, angles, cosines);
  calls(kSin, angles, made_sines);
  const auto magnitude = static_cast<float>(rope_magnitude(params));
  if (magnitude != 1) {
    calls(kInplaceMuls, cosines, magnitude);
    calls(kInplaceMuls, made_sines, magnitude);
  }
  return tables;
}

}  // namespace shunt::cann

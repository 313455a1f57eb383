#include "backends/cann/sequence_rows.h"

namespace shunt::cann {

namespace {
constexpr DataType kCountType = DataType::kFloat;
}  // namespace

View RowMath::make(View::Dims sizes) {
  return calls_.temporary(kCountType, std::move(sizes));
}

View RowMath::count_up(std::int64_t size, double from) {
  const View y = make({size});
  calls_(kArange, Scalar(from), Scalar(from + static_cast<double>(size)), Scalar(1.0F), y);
  return y;
}

View RowMath::add(const View& a, const View& b, double factor, View::Dims sizes) {
  const View y = make(std::move(sizes));
  calls_(kAdd, a, b, Scalar(factor), y);
  return y;
}

View RowMath::plus(const View& a, double number) {
  const View y = make(a.sizes());
  calls_(kAdds, a, Scalar(number), Scalar(1.0F), y);
  return y;
}

View RowMath::times(const View& a, const View& b) {
  const View y = make(a.sizes());
  calls_(kMul, a, b, y);
  return y;
}

View RowMath::choose(const View& present, double absent, const View& is_present) {
  return plus(times(plus(present, -absent), is_present), absent);
}

View RowMath::below(const View& a, const View& b, View::Dims sizes) {
  const View y = make(std::move(sizes));
  calls_(kLtTensor, a, b, y);
  return y;
}

View RowMath::below(const View& a, double number) {
  const View y = make(a.sizes());
  calls_(kLtScalar, a, Scalar(number), y);
  return y;
}

View RowMath::quotient(const View& a, double divisor) {
  const View y = make(a.sizes());
  calls_(kDivs, a, Scalar(divisor), y);
  const View whole = make(a.sizes());
  calls_(kFloor, y, whole);
  return whole;
}

void RowMath::keep(const View& numbers, std::int64_t count, const View& rows) {
  const View clamped = make({numbers.elements()});
  calls_(kClamp, numbers.reshaped(clamped.sizes()), Scalar(0.0F),
         Scalar(static_cast<double>(count - 1)), clamped);
  calls_(kCast, clamped, DataType::kInt32, rows);
}

View RowMath::rows(const View& numbers, std::int64_t count) {
  const View made = calls_.temporary(DataType::kInt32, {numbers.elements()});
  keep(numbers, count, made);
  return made;
}

View RowMath::look_up(const View& table, const View& number) {
  return select_rows(calls_, table, rows(number, table.size(0)));
}

void select_rows(Calls& calls, const View& from, const View& rows, const View& to) {
  calls(kIndexSelect, from, 0, rows, to);
}

View select_rows(Calls& calls, const View& from, const View& rows) {
  View::Dims sizes = from.sizes();
  sizes.back() = rows.elements();
  const View made = calls.temporary(from.type(), std::move(sizes));
  select_rows(calls, from, rows, made);
  return made;
}

SequenceEnds::SequenceEnds(Calls& calls, const View& given, std::int64_t tokens)
    : calls_(calls), math_(calls), count_(given.elements()) {
  begins_ = math_.make({count_ + 1});
  ends_ = math_.make({count_ + 1});
  calls_.fill(begins_, Scalar(0.0F));
  calls_.fill(ends_, Scalar(0.0F));
  const View all = checked(given, tokens);
  calls_.copy(ends_of_all(), all);
  if (count_ > 1) calls_.copy(begins_.sliced(0, 1, count_ - 1), all.sliced(0, 0, count_ - 1));
}

/// As F32 [S], from 0 to `tokens`.
View SequenceEnds::checked(const View& given, std::int64_t tokens) {
  const View ends = calls_.cast(calls_.contiguous(given).reshaped({count_}), kCountType);
  const View clamped = math_.make({count_});
  calls_(kClamp, ends, Scalar(0.0F), Scalar(static_cast<double>(tokens)), clamped);
  const View is_same = calls_.temporary(DataType::kBool, {count_});
  calls_(kEqTensor, ends, clamped, is_same);
  const View bad = calls_.temporary(DataType::kBool, {count_});
  calls_(kLogicalNot, is_same, bad);
  calls_.check_none(
      bad, "an index is out of range: an end of a sequence is below 0, or beyond the tokens");
  if (count_ == 1) return clamped;
  const View decreases = calls_.temporary(DataType::kBool, {count_ - 1});
  calls_(kLtTensor, ends.sliced(0, 1, count_ - 1), ends.sliced(0, 0, count_ - 1), decreases);
  calls_.check_none(decreases, "an index is out of range: the ends of sequences decrease");
  return clamped;
}

View SequenceEnds::count_up_to(const View& ascending, const View& at) {
  const std::int64_t n = ascending.size(0), m = at.size(0);
  const View is_below =
      math_.below(ascending.reshaped({1, n}), math_.plus(at, 0.5).reshaped({m, 1}), {m, n});
  const View count = math_.make({m});
  calls_(kReduceSum, is_below, {is_below.vendor_dim(1)}, false, kCountType, count);
  return count;
}

View SequenceEnds::of_tokens(std::int64_t tokens) {
  return count_up_to(ends_of_all(), math_.count_up(tokens));
}

}  // namespace shunt::cann

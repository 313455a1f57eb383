// A tensor of DLFLOAT16 cells as rows of numbers. Operations compute with doubles, NaN where a cell
// is NINF, and round once when they write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dlfloat.h"
#include "host_numbers.h"
#include "sticks.h"

namespace zdnn_twin {

/// Whether an element was, or became, no number.
struct Range {
  bool violated = false;
};

class Rows {
 public:
  explicit Rows(const zdnn_ztensor& tensor)
      : desc_(*tensor.transformed_desc),
        sticks_(desc_),
        buffer_(static_cast<std::byte*>(tensor.buffer)) {}

  const zdnn_tensor_desc& desc() const { return desc_; }

  double at(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2, std::uint64_t e1) const {
    const std::uint64_t byte = sticks_.row(e4, e3, e2) + sticks_.within_row(e1);
    return double_from_dlf(load<std::uint16_t>(buffer_, byte));
  }

  /// The elements from `first` on, as many as `out` has room for. Returns the largest magnitude
  /// among them, as a pattern: kNinf if there is one.
  std::uint16_t read(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2, std::span<double> out,
                     std::uint64_t first = 0) const {
    return read_as(sticks_.row(e4, e3, e2), out, first, double_from_dlf);
  }
  /// The same as floats, which hold each of them.
  std::uint16_t read(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2, std::span<float> out,
                     std::uint64_t first = 0) const {
    return read_as(sticks_.row(e4, e3, e2), out, first, float_from_dlf);
  }

  void write(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2, std::span<const double> values,
             Range& range, std::uint64_t first = 0) const {
    const std::uint64_t row = sticks_.row(e4, e3, e2);
    for (std::uint64_t i = 0; i < values.size(); ++i)
      put(row + sticks_.within_row(first + i), values[i], range);
  }

  void put(std::uint64_t e4, std::uint64_t e3, std::uint64_t e2, std::uint64_t e1, double value,
           Range& range) const {
    put(sticks_.row(e4, e3, e2) + sticks_.within_row(e1), value, range);
  }

 private:
  template <class Number>
  std::uint16_t read_as(std::uint64_t row, std::span<Number> out, std::uint64_t first,
                        Number (*number)(std::uint16_t)) const {
    std::uint16_t most = 0;
    for (std::uint64_t done = 0; done < out.size();) {
      const std::uint64_t end =
          std::min<std::uint64_t>(out.size(), done + sticks_.cells_left(first + done));
      const std::byte* cell = buffer_ + row + sticks_.within_row(first + done);
      for (; done < end; ++done, cell += sticks_.step()) {
        const auto pattern = load<std::uint16_t>(cell, 0);
        most = std::max<std::uint16_t>(most, pattern & kDlfMagnitude);
        out[done] = number(pattern);
      }
    }
    return most;
  }

  void put(std::uint64_t byte, double value, Range& range) const {
    const Converted number = dlf_from_double(value);
    std::uint16_t pattern = number.pattern;
    if ((pattern & kDlfMagnitude) == kNinf) {
      range.violated = true;
      // The sign of a NaN depends on the processor.
      if (number.odd == Odd::kNotANumber) pattern = kNinf;
    }
    store(buffer_, byte, pattern);
  }

  zdnn_tensor_desc desc_;
  Sticks sticks_;
  std::byte* buffer_;
};

/// Calls visit(e4, e3, e2) for each row.
template <class Visit>
void for_each_row(const zdnn_tensor_desc& desc, Visit visit) {
  for (std::uint64_t e4 = 0; e4 < desc.dim4; ++e4)
    for (std::uint64_t e3 = 0; e3 < desc.dim3; ++e3)
      for (std::uint64_t e2 = 0; e2 < desc.dim2; ++e2) visit(e4, e3, e2);
}

}  // namespace zdnn_twin

// Rows of values, each with one value for each device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "device/device_set.h"

namespace shunt {

/// All rows are in one array, for loops that run millions of times.
template <class T>
class DeviceTable {
 public:
  DeviceTable(std::size_t rows, std::size_t devices, T value = T())
      : devices_(devices), values_(rows * devices, value) {}

  /// The values of a row, to be indexed by device.
  T* row(std::size_t index) { return values_.data() + index * devices_; }
  const T* row(std::size_t index) const { return values_.data() + index * devices_; }
  T& operator()(std::size_t index, DeviceIndex device) { return row(index)[device]; }
  const T& operator()(std::size_t index, DeviceIndex device) const { return row(index)[device]; }

  void fill(T value) { std::fill(values_.begin(), values_.end(), value); }
  void fill_row(std::size_t index, T value) { std::fill_n(row(index), devices_, value); }

 private:
  std::size_t devices_;
  std::vector<T> values_;
};

}  // namespace shunt

#include "backends/zdnn/weight_sticks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/ceil_div.h"
#include "base/fail.h"

namespace shunt::zdnn {

namespace {

/// Where something has to be cut anyway, pieces of about so many bytes.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;
/// Numbers that are transposed at a time, about.
constexpr std::int64_t kTransposed = std::int64_t{1} << 20;
/// Whole blocks of every type, and whole sticks.
constexpr std::int64_t kUnit = 256;

std::int64_t whole_units(std::int64_t size) {
  return std::max(size / kUnit * kUnit, std::min(size, kUnit));
}

/// Rows that are transposed at a time: whole sticks of them.
std::int64_t rows_at_once(std::int64_t k) {
  return std::max<std::int64_t>(kTransposed / std::max<std::int64_t>(k, 1), kStickElements) /
         kStickElements * kStickElements;
}

}  // namespace

std::int64_t Grid::count_k() const {
  return ceil_div(k, std::max<std::int64_t>(piece_k, 1));
}

std::int64_t Grid::count_n() const {
  return ceil_div(n, std::max<std::int64_t>(piece_n, 1));
}

Dims Grid::dims(std::int64_t i, std::int64_t j) const {
  return {1, std::min(piece_k, k - i * piece_k), std::min(piece_n, n - j * piece_n)};
}

std::uint64_t Grid::bytes() const {
  std::uint64_t sum = 0;
  for (std::int64_t j = 0; j < count_n(); ++j) {
    for (std::int64_t i = 0; i < count_k(); ++i) sum += stick_bytes(dims(i, j));
  }
  return sum;
}

Grid grid_of(const Machine& machine, std::int64_t k, std::int64_t n) {
  const std::int64_t most_k = std::min(machine.max_dim(1), machine.max_dim(2));
  if (k <= most_k && too_large(machine, {1, k, n}).empty()) return {k, n, k, n};
  Grid grid{k, n, std::min(k, whole_units(most_k)), 0};
  const std::int64_t row = ceil_div(grid.piece_k, kPageSticks) * static_cast<std::int64_t>(kPage);
  const std::int64_t most_n =
      std::min<std::int64_t>(kPieceBytes, static_cast<std::int64_t>(machine.max_bytes())) / row *
      kStickElements;
  grid.piece_n = std::min(
      {n, whole_units(machine.max_dim(1)), std::max<std::int64_t>(most_n, kStickElements)});
  return grid;
}

/// For a smaller k, too: k * rows_at_once(k) goes up and down.
std::size_t transpose_bytes(std::int64_t k) {
  return static_cast<std::size_t>(std::max(kTransposed, kStickElements * k) + k) * sizeof(float);
}

std::uint32_t stickify_transposed(const Symbols& zdnn, const HostTensor& from, std::int64_t i2,
                                  std::int64_t i3, std::int64_t row, std::int64_t rows,
                                  std::int64_t begin, std::int64_t k, std::byte* work,
                                  std::byte* to) {
  auto* const scratch = reinterpret_cast<float*>(work);
  float* const transposed = scratch + k;
  std::uint32_t result = kOk;
  for (std::int64_t done = 0; done < rows; done += rows_at_once(k)) {
    const std::int64_t count = std::min(rows_at_once(k), rows - done);
    gather_transposed(from, i2, i3, row + done, count, begin, k, scratch, transposed);
    Stick columns;
    columns.set(zdnn, to + stick_bytes({1, k, done}), {1, k, count});
    const std::uint32_t status = zdnn.transform_ztensor(columns.get(), transposed);
    if (outcome_of(status) == Outcome::kFailed) return status;
    if (status != kOk) result = status;
    // Of finite numbers that are too large the library says nothing.
    const bool fits = std::all_of(transposed, transposed + k * count,
                                  [](float value) { return std::fabs(value) <= kLargest; });
    if (!fits) result = kConvertFailure;
  }
  return result;
}

WeightSticks::WeightSticks(const Machine& machine, const Tensor& tensor, std::byte* memory)
    : machine_(machine),
      tensor_(tensor),
      grid_(grid_of(machine, tensor)),
      plain_bytes_(static_cast<std::size_t>(byte_span(tensor))) {
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      const Dims dims = grid_.dims(i, j);
      pieces_.emplace_back().set(machine.zdnn(), memory, dims);
      memory += stick_bytes(dims);
    }
  }
}

Grid WeightSticks::grid_of(const Machine& machine, const Tensor& tensor) {
  return is_row(tensor) ? zdnn::grid_of(machine, 1, tensor.size(0))
                        : zdnn::grid_of(machine, tensor.size(0), tensor.size(1));
}

/// A row as a matrix of rows of one, which it is once it is transposed.
HostTensor WeightSticks::host(std::byte* data) const {
  if (!is_row(tensor_)) return {data, tensor_.dtype, max_sizes(tensor_.shape), tensor_.strides};
  const std::int64_t element = tensor_.strides[0];
  return {data, tensor_.dtype, {1, tensor_.size(0), 1, 1}, {element, element, 0, 0}};
}

Status WeightSticks::write(std::size_t offset, std::span<const std::byte> from) {
  const std::lock_guard lock(mutex_);
  if (plain_.empty()) {
    std::vector<std::byte> plain(plain_bytes_);
    if (filled_) SHUNT_TRY(restore(plain));
    plain_.swap(plain);  // only now: what can't be restored stays as it is
  }
  std::memcpy(plain_.data() + offset, from.data(), from.size());
  dirty_ = true;
  if (offset + from.size() < plain_bytes_) return ok();
  auto settled = settle_locked();
  if (!settled) return Error(std::move(settled.error()));
  return ok();
}

Status WeightSticks::read(std::size_t offset, std::span<std::byte> to) {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> restored;
  if (plain_.empty()) {
    restored.resize(plain_bytes_);
    SHUNT_TRY(restore(restored));
  }
  const std::vector<std::byte>& bytes = plain_.empty() ? restored : plain_;
  std::memcpy(to.data(), bytes.data() + offset, to.size());
  return ok();
}

Result<bool> WeightSticks::settle() {
  const std::lock_guard lock(mutex_);
  return settle_locked();
}

Result<bool> WeightSticks::settle_locked() {
  if (!dirty_) return filled_ && plain_.empty();
  const HostTensor plain = host(plain_.data());
  std::vector<std::byte> work(transpose_bytes(grid_.piece_k));
  bool in_range = true;
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      const Dims dims = grid_.dims(i, j);
      Stick& to = pieces_[static_cast<std::size_t>(j * grid_.count_k() + i)];
      const std::uint32_t status =
          stickify_transposed(machine_.zdnn(), plain, 0, 0, j * grid_.piece_n, dims.dim1,
                              i * grid_.piece_k, dims.dim2, work.data(), to.buffer());
      if (outcome_of(status) == Outcome::kFailed) {
        return error_of(machine_.zdnn(), "zdnn_transform_ztensor", status);
      }
      in_range &= status == kOk;
      to.get()->is_transformed = true;
    }
  }
  dirty_ = false;
  filled_ = true;
  // Whoever can't have all of it from the pieces computes with what was written.
  if (in_range) std::vector<std::byte>().swap(plain_);
  return in_range;
}

Result<std::vector<float>> WeightSticks::values() {
  const std::lock_guard lock(mutex_);
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor_.shape)));
  if (!plain_.empty()) {
    trait(tensor_.dtype)
        .decode(plain_.data(), values.data(), static_cast<std::int64_t>(values.size()));
    return values;
  }
  SHUNT_TRY(each_row([&](std::int64_t row, std::int64_t first, std::span<const float> part) {
    std::ranges::copy(part, values.begin() + row * grid_.k + first);
  }));
  return values;
}

Status WeightSticks::restore(std::span<std::byte> to) const {
  const DTypeTrait& type = trait(tensor_.dtype);
  const HostTensor plain = host(to.data());
  return each_row([&](std::int64_t row, std::int64_t first, std::span<const float> part) {
    std::byte* const start =
        plain.data + row * plain.strides[1] + first / type.block_elements * plain.strides[0];
    type.encode(part.data(), start, static_cast<std::int64_t>(part.size()));
  });
}

template <class Visit>
Status WeightSticks::each_row(const Visit& visit) const {
  std::vector<float> columns;
  std::vector<float> row(static_cast<std::size_t>(grid_.piece_k));
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      const Stick& from = piece(i, j);
      const auto k = static_cast<std::size_t>(from.dims().dim2);
      const auto n = static_cast<std::size_t>(from.dims().dim1);
      columns.resize(k * n);
      const std::uint32_t status = machine_.zdnn().transform_origtensor(from.get(), columns.data());
      if (status != kOk) return error_of(machine_.zdnn(), "zdnn_transform_origtensor", status);
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t e = 0; e < k; ++e) row[e] = columns[e * n + r];
        visit(j * grid_.piece_n + static_cast<std::int64_t>(r), i * grid_.piece_k,
              std::span<const float>(row).first(k));
      }
    }
  }
  return ok();
}

}  // namespace shunt::zdnn

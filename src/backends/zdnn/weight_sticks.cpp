#include "backends/zdnn/weight_sticks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/zdnn/int8_piece.h"
#include "base/ceil_div.h"
#include "base/fail.h"

namespace shunt::zdnn {

namespace {

/// Where something has to be cut anyway, pieces of about so many bytes.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;
/// Numbers that are transposed at a time, about.
constexpr std::int64_t kTransposed = std::int64_t{1} << 20;
/// 8-bit weights that share a scale, about.
constexpr std::int64_t kSharedScale = std::int64_t{1} << 20;
/// Sums of so many products of two of up to 127 are numbers that DLFLOAT16 has.
constexpr std::int64_t kMostInt8K = std::int64_t{1} << 18;
/// Whole blocks of every type, and whole sticks.
constexpr std::int64_t kUnit = 256;
constexpr float kLargestF16 = 65504;

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

std::uint64_t Grid::piece_bytes(std::int64_t i, std::int64_t j) const {
  return form == WeightForm::kInt8 ? int8_bytes(dims(i, j)) : stick_bytes(dims(i, j));
}

std::uint64_t Grid::bytes() const {
  std::uint64_t sum = 0;
  for (std::int64_t j = 0; j < count_n(); ++j) {
    for (std::int64_t i = 0; i < count_k(); ++i) sum += piece_bytes(i, j);
  }
  return sum;
}

Grid grid_of(const Machine& machine, std::int64_t k, std::int64_t n) {
  const auto most_bytes = static_cast<std::int64_t>(machine.max_bytes());
  constexpr auto kPageBytes = static_cast<std::int64_t>(kPage);
  const std::int64_t most_k =
      std::min({machine.max_dim(1), machine.max_dim(2), most_bytes / kPageBytes * kPageSticks});
  if (k <= most_k && too_large(machine, {1, k, n}).empty()) return {k, n, k, n};
  Grid grid{k, n, std::min(k, whole_units(most_k)), 0};
  const std::int64_t row = ceil_div(grid.piece_k, kPageSticks) * kPageBytes;
  const std::int64_t most_n = std::min(kPieceBytes, most_bytes) / row * kStickElements;
  grid.piece_n = std::min(
      {n, whole_units(machine.max_dim(1)), std::max<std::int64_t>(most_n, kStickElements)});
  return grid;
}

Grid int8_grid_of(const Machine& machine, std::int64_t k, std::int64_t n) {
  const std::int64_t most_k = std::min({machine.max_dim(1), machine.max_dim(2), kMostInt8K});
  Grid grid{k, n, std::min(k, whole_units(most_k)), 0, WeightForm::kInt8};
  const std::int64_t columns =
      ceil_div(kSharedScale, std::max<std::int64_t>(grid.piece_k, 1)) / kStickElements;
  grid.piece_n = std::min(
      {n, whole_units(machine.max_dim(1)), std::max<std::int64_t>(columns, 1) * kStickElements});
  return grid;
}

/// For a smaller k, too: k * rows_at_once(k) goes up and down.
std::size_t transpose_bytes(std::int64_t k) {
  return static_cast<std::size_t>(std::max(kTransposed, kStickElements * k) + k) * sizeof(float);
}

Entered stickify_transposed(const Symbols& zdnn, const HostTensor& from, const MatrixPart& part,
                            std::byte* work, std::byte* to, bool saturate) {
  const std::int64_t k = part.k;
  auto* const scratch = reinterpret_cast<float*>(work);
  float* const transposed = scratch + k;
  Entered entered;
  for (std::int64_t done = 0; done < part.rows; done += rows_at_once(k)) {
    const std::int64_t count = std::min(rows_at_once(k), part.rows - done);
    gather_transposed(from, part.i2, part.i3, part.row + done, count, part.begin, k, scratch,
                      transposed);
    // Of finite numbers that are too large the library says nothing.
    const Range range = range_of({transposed, static_cast<std::size_t>(k * count)}, saturate);
    entered.saturated |= range == Range::kSaturated;
    Stick columns;
    columns.set(zdnn, to + stick_bytes({1, k, done}), {1, k, count});
    const std::uint32_t status = zdnn.transform_ztensor(columns.get(), transposed);
    if (outcome_of(status) == Outcome::kFailed) return {status};
    if (status != kOk) entered.status = status;
    if (range == Range::kBeyond) entered.status = kConvertFailure;
  }
  return entered;
}

namespace {

std::size_t work_bytes(const Grid& grid) {
  return grid.form == WeightForm::kInt8 ? quantize_bytes({1, grid.piece_k, grid.piece_n})
                                        : transpose_bytes(grid.piece_k);
}

}  // namespace

WeightSticks::WeightSticks(const Machine& machine, const Tensor& tensor, WeightForm form,
                           std::byte* memory)
    : machine_(machine),
      tensor_(tensor),
      grid_(grid_of(machine, tensor, form)),
      plain_bytes_(static_cast<std::size_t>(byte_span(tensor))) {
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      Stick& piece = pieces_.emplace_back();
      if (form == WeightForm::kInt8) {
        piece.set_int8(machine.zdnn(), memory, grid_.dims(i, j));
      } else {
        piece.set(machine.zdnn(), memory, grid_.dims(i, j));
      }
      memory += grid_.piece_bytes(i, j);
    }
  }
}

Grid WeightSticks::grid_of(const Machine& machine, const Tensor& tensor, WeightForm form) {
  if (is_row(tensor)) return zdnn::grid_of(machine, 1, tensor.size(0));
  const auto of_matrix = form == WeightForm::kInt8 ? int8_grid_of : zdnn::grid_of;
  return of_matrix(machine, tensor.size(0), tensor.size(1));
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

std::optional<LossyCost> WeightSticks::cost() {
  const std::lock_guard lock(mutex_);
  const bool there = grid_.form == WeightForm::kInt8 && filled_ && plain_.empty();
  return there ? std::optional(cost_) : std::nullopt;
}

std::uint32_t WeightSticks::fill(std::int64_t i, std::int64_t j, std::byte* work) {
  const HostTensor plain = host(plain_.data());
  const Dims dims = grid_.dims(i, j);
  const std::int64_t row = j * grid_.piece_n;
  const std::int64_t begin = i * grid_.piece_k;
  Stick& to = pieces_[static_cast<std::size_t>(j * grid_.count_k() + i)];
  if (grid_.form == WeightForm::kInt8) {
    return quantize_transposed(machine_.zdnn(), plain, row, begin, work, to, cost_);
  }
  const MatrixPart part = {0, 0, row, dims.dim1, begin, dims.dim2};
  const Entered entered =
      stickify_transposed(machine_.zdnn(), plain, part, work, to.buffer(), machine_.saturates());
  to.get()->is_transformed = true;
  saturated_ = saturated_ || entered.saturated;
  return entered.status;
}

Result<bool> WeightSticks::settle_locked() {
  if (!dirty_) return filled_ && plain_.empty();
  std::vector<std::byte> work(work_bytes(grid_));
  cost_ = {};
  saturated_ = false;
  bool in_range = true;
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      const std::uint32_t status = fill(i, j, work.data());
      if (outcome_of(status) == Outcome::kFailed) {
        return error_of(machine_.zdnn(),
                        grid_.form == WeightForm::kInt8 ? "zdnn_transform_quantized_ztensor"
                                                        : "zdnn_transform_ztensor",
                        status);
      }
      in_range &= status == kOk;
    }
  }
  dirty_ = false;
  filled_ = true;
  // Whoever can't have all of it from the pieces computes with what was written.
  if (in_range) std::vector<std::byte>().swap(plain_);
  return in_range;
}

Result<std::vector<float>> WeightSticks::rows(std::int64_t first, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<float> values(static_cast<std::size_t>(count * grid_.k));
  if (!plain_.empty()) {
    const HostTensor plain = host(plain_.data());
    for (std::int64_t r = 0; r < count; ++r) {
      read_floats(plain, plain.row(first + r, 0, 0), 0, grid_.k, values.data() + r * grid_.k);
    }
    return values;
  }
  SHUNT_TRY(each_row(first, count,
                     [&](std::int64_t row, std::int64_t element, std::span<const float> part) {
                       std::ranges::copy(part, values.begin() + (row - first) * grid_.k + element);
                     }));
  return values;
}

Status WeightSticks::restore(std::span<std::byte> to) const {
  const DTypeTrait& type = trait(tensor_.dtype);
  const HostTensor plain = host(to.data());
  // The machine's next number may be one that the type has not, where the type had the last one.
  const float largest = tensor_.dtype == DType::kF16 ? kLargestF16 : kLargest;
  std::vector<float> numbers;
  const auto put = [&](std::int64_t row, std::int64_t first, std::span<const float> part) {
    std::byte* const start =
        plain.data + row * plain.strides[1] + first / type.block_elements * plain.strides[0];
    numbers.assign(part.begin(), part.end());
    for (float& number : numbers) number = std::clamp(number, -largest, largest);
    type.encode(numbers.data(), start, static_cast<std::int64_t>(part.size()));
  };
  return each_row(0, grid_.n, put);
}

std::uint32_t WeightSticks::read_piece(const Stick& from, float* to) const {
  if (grid_.form == WeightForm::kDlfloat16) {
    return machine_.zdnn().transform_origtensor(from.get(), to);
  }
  const Dims& dims = from.dims();
  for (std::int64_t e = 0; e < dims.dim2; ++e) {
    for (std::int64_t r = 0; r < dims.dim1; ++r) *to++ = int8_value(from, e, r);
  }
  return kOk;
}

template <class Visit>
Status WeightSticks::each_row(std::int64_t first, std::int64_t count, const Visit& visit) const {
  if (!filled_) return invalid("a weight is read that nobody has written");
  std::vector<float> columns;
  std::vector<float> row(static_cast<std::size_t>(grid_.piece_k));
  const std::int64_t at_once = rows_at_once(grid_.piece_k);
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    const std::int64_t of_piece = j * grid_.piece_n;
    const std::int64_t end = std::min(first + count - of_piece, grid_.dims(0, j).dim1);
    const std::int64_t begin = std::max<std::int64_t>(first - of_piece, 0);
    for (std::int64_t c = begin / at_once * at_once; c < end; c += at_once) {
      for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
        Stick from;
        piece(i, j).columns(machine_.zdnn(), c, std::min(at_once, grid_.dims(i, j).dim1 - c), from);
        const auto k = static_cast<std::size_t>(from.dims().dim2);
        const auto n = static_cast<std::size_t>(from.dims().dim1);
        columns.resize(k * n);
        const std::uint32_t status = read_piece(from, columns.data());
        if (status != kOk) return error_of(machine_.zdnn(), "zdnn_transform_origtensor", status);
        for (auto r = static_cast<std::size_t>(std::max<std::int64_t>(begin - c, 0));
             r < n && c + static_cast<std::int64_t>(r) < end; ++r) {
          for (std::size_t e = 0; e < k; ++e) row[e] = columns[e * n + r];
          visit(of_piece + c + static_cast<std::int64_t>(r), i * grid_.piece_k,
                std::span<const float>(row).first(k));
        }
      }
    }
  }
  return ok();
}

}  // namespace shunt::zdnn

#include "backends/zdnn/weight_sticks.h"

#include <algorithm>
#include <memory>

#include "backends/zdnn/int8_piece.h"
#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt::zdnn {

namespace {

/// The approximate bytes of a piece, where something has to be cut anyway.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;
/// Numbers that are transposed at a time, about.
constexpr std::int64_t kTransposed = std::int64_t{1} << 20;
/// 8-bit weights that share a scale, about.
constexpr std::int64_t kSharedScale = std::int64_t{1} << 20;
/// Sums of this many products of two of up to 127 are numbers that DLFLOAT16 has.
constexpr std::int64_t kMostInt8K = std::int64_t{1} << 18;
/// Whole blocks of every type, and whole sticks.
constexpr std::int64_t kWeightUnit = 256;
constexpr float kLargestF16 = 65504;

std::int64_t whole_units(std::int64_t size) {
  return std::max(size / kWeightUnit * kWeightUnit, std::min(size, kWeightUnit));
}

/// Rows that are transposed at a time: whole sticks of them.
std::int64_t rows_at_once(std::int64_t k) {
  return std::max<std::int64_t>(kTransposed / std::max<std::int64_t>(k, 1), kStickElements) /
         kStickElements * kStickElements;
}

}  // namespace

std::uint64_t Grid::piece_bytes(std::int64_t i, std::int64_t j) const {
  return form == WeightForm::kInt8 ? int8_bytes(dims(i, j)) : stick_bytes(dims(i, j));
}

std::uint64_t Grid::bytes() const {
  std::uint64_t sum = 0;
  each([&](std::int64_t i, std::int64_t j) { sum += piece_bytes(i, j); });
  return sum;
}

Grid grid_of(const Machine& machine, std::int64_t k, std::int64_t n) {
  const auto most_bytes = static_cast<std::int64_t>(machine.max_bytes());
  constexpr auto kPageBytes = static_cast<std::int64_t>(kPage);
  const std::int64_t most_k =
      std::min({machine.max_dim(1), machine.max_dim(2), most_bytes / kPageBytes * kPageSticks});
  if (k <= most_k && too_large(machine, {1, k, n}).empty()) return {{k, n, k, n}};
  Grid grid{{k, n, std::min(k, whole_units(most_k)), 0}};
  const std::int64_t row = ceil_div(grid.piece_k, kPageSticks) * kPageBytes;
  const std::int64_t most_n = std::min(kPieceBytes, most_bytes) / row * kStickElements;
  grid.piece_n = std::min(
      {n, whole_units(machine.max_dim(1)), std::max<std::int64_t>(most_n, kStickElements)});
  return grid;
}

Grid int8_grid_of(const Machine& machine, std::int64_t k, std::int64_t n) {
  const std::int64_t most_k = std::min({machine.max_dim(1), machine.max_dim(2), kMostInt8K});
  Grid grid{{k, n, std::min(k, whole_units(most_k)), 0}, WeightForm::kInt8};
  const std::int64_t columns =
      ceil_div(kSharedScale, std::max<std::int64_t>(grid.piece_k, 1)) / kStickElements;
  grid.piece_n = std::min(
      {n, whole_units(machine.max_dim(1)), std::max<std::int64_t>(columns, 1) * kStickElements});
  return grid;
}

/// For a smaller k, too: k * rows_at_once(k) goes up and down.
std::size_t transpose_bytes(std::int64_t k, std::int64_t rows) {
  const std::int64_t at_once = std::min(std::max(kTransposed, kStickElements * k), k * rows);
  return static_cast<std::size_t>(at_once + k) * sizeof(float);
}

Entered stickify_transposed(const Symbols& zdnn, const HostTensor& from, std::int64_t matrix,
                            const MatrixPart& part, std::byte* work, std::byte* to, bool saturate) {
  const std::int64_t k = part.elements;
  auto* const scratch = reinterpret_cast<float*>(work);
  float* const transposed = scratch + k;
  Entered entered;
  for (std::int64_t done = 0; done < part.rows; done += rows_at_once(k)) {
    const std::int64_t count = std::min(rows_at_once(k), part.rows - done);
    gather_transposed(from, matrix, {part.element, k, part.row + done, count}, scratch, transposed);
    // The library does not report finite numbers that are too large.
    const NumberRange range =
        range_of({transposed, static_cast<std::size_t>(k * count)}, kLargest, saturate);
    Stick columns;
    columns.set(zdnn, to + stick_bytes({1, k, done}), {1, k, count});
    entered.add(
        {zdnn.transform_ztensor(columns.get(), transposed), range == NumberRange::kSaturated});
    if (outcome_of(entered.status) == Outcome::kFailed) break;
    if (range == NumberRange::kBeyond) entered.status = kConvertFailure;
  }
  return entered;
}

namespace {

std::size_t work_bytes(const Grid& grid) {
  return grid.form == WeightForm::kInt8 ? quantize_bytes({1, grid.piece_k, grid.piece_n})
                                        : transpose_bytes(grid.piece_k, grid.piece_n);
}

}  // namespace

WeightSticks::WeightSticks(const Machine& machine, const Tensor& tensor, WeightForm form,
                           std::byte* memory)
    : StagedWeight(static_cast<std::size_t>(byte_span(tensor))),
      machine_(machine),
      tensor_(tensor),
      grid_(grid_of(machine, tensor, form)) {
  grid_.each([&](std::int64_t i, std::int64_t j) {
    Stick& piece = pieces_.emplace_back();
    if (form == WeightForm::kInt8) {
      piece.set_int8(machine.zdnn(), memory, grid_.dims(i, j));
    } else {
      piece.set(machine.zdnn(), memory, grid_.dims(i, j));
    }
    memory += grid_.piece_bytes(i, j);
  });
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

std::optional<LossyCost> WeightSticks::cost() {
  if (grid_.form != WeightForm::kInt8) return {};
  const auto cost = look([&](std::span<std::byte> plain) -> Result<std::optional<LossyCost>> {
    return plain.empty() ? std::optional(cost_) : std::nullopt;
  });
  return cost ? *cost : std::nullopt;
}

std::uint32_t WeightSticks::fill(std::int64_t i, std::int64_t j, const HostTensor& plain,
                                 std::byte* work) {
  const MatrixPart part = grid_.part(i, j);
  Stick& to = pieces_[grid_.index(i, j)];
  if (grid_.form == WeightForm::kInt8) {
    return quantize_transposed(machine_.zdnn(), plain, part, work, to, cost_);
  }
  const Entered entered =
      stickify_transposed(machine_.zdnn(), plain, 0, part, work, to.buffer(), machine_.saturates());
  to.get()->is_transformed = true;
  saturated_ = saturated_ || entered.saturated;
  return entered.status;
}

Result<bool> WeightSticks::pack(std::span<std::byte> plain) {
  const auto work = std::make_unique_for_overwrite<std::byte[]>(work_bytes(grid_));
  cost_ = {};
  saturated_ = false;
  bool in_range = true;
  for (std::int64_t j = 0; j < grid_.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid_.count_k(); ++i) {
      const std::uint32_t status = fill(i, j, host(plain.data()), work.get());
      if (outcome_of(status) == Outcome::kFailed) {
        return error_of(machine_.zdnn(),
                        grid_.form == WeightForm::kInt8
                            ? name_of<&Symbols::transform_quantized_ztensor>()
                            : name_of<&Symbols::transform_ztensor>(),
                        status);
      }
      in_range &= status == kOk;
    }
  }
  return in_range;
}

Result<std::vector<float>> WeightSticks::rows(std::int64_t first, std::int64_t count) {
  return look([&](std::span<std::byte> plain) -> Result<std::vector<float>> {
    std::vector<float> values(static_cast<std::size_t>(count * grid_.k));
    if (!plain.empty()) {
      gather(host(plain.data()), 0, {0, grid_.k, first, count}, values.data());
      return values;
    }
    SHUNT_TRY(each_row(
        first, count, [&](std::int64_t row, std::int64_t element, std::span<const float> part) {
          std::ranges::copy(part, values.begin() + (row - first) * grid_.k + element);
        }));
    return values;
  });
}

Status WeightSticks::unpack(std::span<std::byte> to) const {
  const HostTensor plain = host(to.data());
  // The machine's next number may be one that the type has not, where the type had the last one.
  const float largest = tensor_.dtype == DType::kF16 ? kLargestF16 : kLargest;
  std::vector<float> numbers;
  const auto put = [&](std::int64_t row, std::int64_t first, std::span<const float> part) {
    numbers.assign(part.begin(), part.end());
    for (float& number : numbers) number = std::clamp(number, -largest, largest);
    write_floats(numbers, plain, row, first);
  };
  return each_row(0, grid_.n, put);
}

Status WeightSticks::read_piece(const Stick& from, float* to) const {
  if (grid_.form == WeightForm::kDlfloat16) {
    const std::uint32_t status = machine_.zdnn().transform_origtensor(from.get(), to);
    if (status == kOk) return ok();
    return error_of(machine_.zdnn(), name_of<&Symbols::transform_origtensor>(), status);
  }
  for (std::int64_t e = 0; e < from.dims().dim2; ++e) {
    for (std::int64_t r = 0; r < from.dims().dim1; ++r) *to++ = int8_value(from, e, r);
  }
  return ok();
}

template <class Visit>
Status WeightSticks::each_row(std::int64_t first, std::int64_t count, const Visit& visit) const {
  const auto read = [&](std::int64_t i, std::int64_t j, std::int64_t begin, std::int64_t n,
                        float* to) {
    Stick from;
    piece(i, j).columns(machine_.zdnn(), begin, n, from);
    return read_piece(from, to);
  };
  return read_transposed(grid_, first, count, rows_at_once(grid_.piece_k), read, visit);
}

}  // namespace shunt::zdnn

#include "model/quantize_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <system_error>
#include <thread>

#include "base/guarded.h"
#include "base/plain_nan.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Calls work(worker) for `workers` workers, each on a thread of its own, as far as the system has
/// threads to give. Nothing may be thrown by it.
template <class Work>
void on_threads(std::size_t workers, const Work& work) {
  std::vector<std::jthread> others;
  others.reserve(workers);
  for (std::size_t i = 1; i < workers; ++i) {
    try {
      others.emplace_back([&work, i] { work(i); });
    } catch (const std::system_error&) {
      break;  // those that are there do it all
    }
  }
  work(0);
}

std::size_t row_bytes(DType dtype, std::int64_t columns) {
  const DTypeTrait& type = trait(dtype);
  return static_cast<std::size_t>(columns / type.block_elements) * type.block_bytes;
}

}  // namespace

RowConverter::RowConverter(const QuantizedTensor& tensor, int threads)
    : tensor_(tensor),
      threads_(static_cast<std::size_t>(std::max(threads, 1))),
      columns_(tensor.to.size(0)),
      rows_(tensor.to.size(1) * tensor.to.size(2) * tensor.to.size(3)),
      from_bytes_(row_bytes(tensor.from->tensor.dtype, columns_)),
      to_bytes_(row_bytes(tensor.to.dtype, columns_)) {
  if (tensor.importance == nullptr) return;
  for (std::int64_t i = 0; i < tensor.importance->matrices(); ++i) {
    weights_.push_back(ImportanceMatrix::weights(*tensor.importance, i));
    // A matrix that met nothing. Some types can't do without weights.
    if (weights_.back().empty()) weights_.back().assign(static_cast<std::size_t>(columns_), 1.0F);
  }
}

std::int64_t RowConverter::piece() const {
  constexpr std::int64_t kElements = std::int64_t{1}
                                     << 20;  // 4 MiB as F32: some tenths of a second
  constexpr std::int64_t kRowsOfThread = 8;
  const auto least = static_cast<std::int64_t>(threads_) * kRowsOfThread;
  return std::min(rows_, std::max(kElements / std::max<std::int64_t>(columns_, 1), least));
}

Status RowConverter::convert_row(std::span<const std::byte> from, std::int64_t row,
                                 std::span<std::byte> to, Room& room, RowError& error) const {
  const DType from_type = tensor_.from->tensor.dtype;
  std::ranges::copy(from, room.bytes.begin());
  convert_byte_order(from_type, tensor_.from->order, room.bytes);
  trait(from_type).decode(room.bytes.data(), room.before.data(), columns_);
  std::span<const float> weights;
  if (!weights_.empty()) {
    const auto rows_of_matrix = tensor_.to.size(1);
    weights = weights_[static_cast<std::size_t>(row / rows_of_matrix)];
  }
  Status encoded = encode_row(tensor_.to.dtype, room.before, weights, to);
  if (!encoded) return std::move(encoded.error()).with_context(fmt::format("row {}", row));
  trait(tensor_.to.dtype).decode(to.data(), room.after.data(), columns_);
  for (std::size_t i = 0; i < room.before.size(); ++i) {
    if (!std::isfinite(room.after[i])) {
      return invalid("row {}: the value at column {} is {}, which {} cannot hold", row, i,
                     plain_nan(room.before[i]), to_string(tensor_.to.dtype));
    }
    const double value = room.before[i];
    const double lost = static_cast<double>(room.after[i]) - value;
    error.error_squares += lost * lost;
    error.squares += value * value;
  }
  convert_byte_order(tensor_.to.dtype, std::endian::little, to);
  return ok();
}

Result<std::span<const std::byte>> RowConverter::convert(std::span<const std::byte> from,
                                                         std::int64_t first, std::int64_t count,
                                                         RowError& error) {
  result_.resize(static_cast<std::size_t>(count) * to_bytes_);
  const auto columns = static_cast<std::size_t>(columns_);
  const std::size_t workers = std::min(threads_, static_cast<std::size_t>(count));
  std::vector<Room> rooms(workers, {std::vector<std::byte>(from_bytes_),
                                    std::vector<float>(columns), std::vector<float>(columns)});
  std::vector<RowError> errors(static_cast<std::size_t>(count));
  std::vector<Status> done(workers);
  std::vector<std::int64_t> failed_at(workers, std::numeric_limits<std::int64_t>::max());
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> failed = false;
  on_threads(workers, [&](std::size_t worker) {
    for (std::int64_t i = next++; i < count && !failed; i = next++) {
      const auto index = static_cast<std::size_t>(i);
      const auto to = std::span(result_).subspan(index * to_bytes_, to_bytes_);
      const auto row = from.subspan(index * from_bytes_, from_bytes_);
      // An exception may not leave the thread.
      done[worker] =
          guarded([&] { return convert_row(row, first + i, to, rooms[worker], errors[index]); });
      if (done[worker]) continue;
      failed_at[worker] = i;
      failed = true;
      return;
    }
  });
  if (failed) {
    const auto earliest = std::ranges::min_element(failed_at) - failed_at.begin();
    return Error(done[static_cast<std::size_t>(earliest)].error());
  }
  for (const RowError& row : errors) {
    error.error_squares += row.error_squares;
    error.squares += row.squares;
  }
  return std::span<const std::byte>(result_);
}

}  // namespace shunt

#include "shunt/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/cpu_topology.h"
#include "base/guarded.h"
#include "gguf/format.h"
#include "gguf/parts_writer.h"
#include "model/quantize_rows.h"
#include "model/quantize_source.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::uint32_t kQuantizationVersion = 2;  // of the blocks' layouts, as the format counts

/// Keys that describe parts of the file that are made anew here.
bool is_replaced(const std::string& key) {
  constexpr std::array kKeys = {std::string_view("general.file_type"),
                                std::string_view("general.quantization_version"),
                                gguf::kAlignmentKey};
  return key.starts_with("split.") || key.starts_with("quantize.imatrix.") ||
         std::ranges::count(kKeys, key) > 0;
}

std::vector<gguf::KeyValue> metadata_of(const gguf::File& file, const QuantizationPlan& plan,
                                        const QuantizeOptions& options) {
  std::vector<gguf::KeyValue> metadata;
  const auto add_number = [&](const char* key, std::uint32_t number) {
    metadata.push_back({key, {gguf::ValueType::kU32, std::uint64_t{number}}});
  };
  const auto add_text = [&](const char* key, const std::string& text) {
    metadata.push_back({key, {gguf::ValueType::kString, text}});
  };
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!is_replaced(entry.key)) metadata.push_back(entry);
  }
  add_number("general.file_type", plan.file_type);
  add_number("general.quantization_version", kQuantizationVersion);
  const ImportanceMatrix* importance = options.importance;
  if (importance == nullptr) return metadata;
  add_text("quantize.imatrix.file", options.importance_file);
  if (!importance->datasets.empty())
    add_text("quantize.imatrix.dataset", importance->datasets.front());
  add_number("quantize.imatrix.entries_count",
             static_cast<std::uint32_t>(importance->tensors.size()));
  add_number("quantize.imatrix.chunks_count", importance->chunk_count);
  return metadata;
}

std::int64_t row_count(const Tensor& tensor) {
  return tensor.size(1) * tensor.size(2) * tensor.size(3);
}

class QuantizedWriter {
 public:
  QuantizedWriter(const gguf::File& file, const QuantizationPlan& plan,
                  const QuantizeOptions& options, const QuantizeProgress& progress,
                  const TensorRows& rows)
      : file_(file), plan_(plan), options_(options), progress_(progress), rows_(rows) {
    threads_ = options.threads > 0 ? options.threads : read_cpu_topology().default_threads();
  }

  Result<QuantizeResult> write(const std::string& path, std::span<const std::string> read) {
    gguf::FileContent content;
    content.metadata = metadata_of(file_, plan_, options_);
    content.alignment = static_cast<std::uint32_t>(file_.alignment());
    for (const QuantizedTensor& tensor : plan_.tensors) {
      const auto bytes = static_cast<std::uint64_t>(byte_span(tensor.to));
      content.tensors.push_back({tensor.from->name, tensor.to, 0, bytes});
      result_.bytes_before += tensor.from->bytes;
      result_.bytes_after += bytes;
    }
    Status written = write_content(path, content, read);
    if (!written && unfit_) return std::move(written.error()).with_context(file_.path());
    if (!written) return Error(std::move(written.error()));
    for (auto& [dtype, summary] : types_) result_.types.push_back(summary);
    std::ranges::sort(result_.types, std::greater(), &TypeSummary::bytes);
    return std::move(result_);
  }

 private:
  /// One file, or parts of one.
  Status write_content(const std::string& path, const gguf::FileContent& content,
                       std::span<const std::string> read) {
    const auto pieces = [&](std::size_t index, const gguf::Writer::Sink& sink) {
      return add(plan_.tensors[index], sink);
    };
    if (!options_.parts) {
      SHUNT_TRY(gguf::check_not_read(path, read));
      SHUNT_ASSIGN(OutputFile out, gguf::write_content(path, content, pieces));
      result_.files = {path};
      return out.commit();
    }
    SHUNT_ASSIGN(result_.files,
                 gguf::write_parts(gguf::prefix_of(path), content, *options_.parts, read, pieces));
    return ok();
  }

  Status add(const QuantizedTensor& tensor, const gguf::Writer::Sink& sink) {
    TypeSummary& summary = types_[tensor.to.dtype];
    summary.dtype = tensor.to.dtype;
    ++summary.tensors;
    summary.bytes += static_cast<std::uint64_t>(byte_span(tensor.to));
    return tensor.is_copied() ? copy(*tensor.from, sink) : convert(tensor, summary, sink);
  }

  Status advance(std::span<const std::byte> bytes, const gguf::Writer::Sink& sink) {
    SHUNT_TRY(sink(bytes));
    done_ += bytes.size();
    return progress_ ? progress_(done_, result_.bytes_after) : ok();
  }

  /// Rows of a tensor, of so many bytes.
  struct Extent {
    std::int64_t rows = 0;
    std::int64_t piece = 0;  ///< rows that are handed over at once
  };
  static Extent extent_of(const Tensor& tensor) {
    constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
    const std::int64_t rows = row_count(tensor);
    const std::int64_t row_bytes = std::max<std::int64_t>(byte_span(tensor) / rows, 1);
    return {rows, std::clamp<std::int64_t>(kMostBytes / row_bytes, 1, rows)};
  }

  Status copy(const gguf::TensorInfo& from, const gguf::Writer::Sink& sink) {
    const Extent extent = extent_of(from.tensor);
    std::vector<std::byte> converted;
    for (std::int64_t first = 0; first < extent.rows; first += extent.piece) {
      SHUNT_ASSIGN(std::span<const std::byte> piece,
                   rows_(from, first, std::min(extent.piece, extent.rows - first)));
      if (from.order != std::endian::little) {
        converted.assign(piece.begin(), piece.end());
        convert_byte_order(from.tensor.dtype, from.order, converted);
        convert_byte_order(from.tensor.dtype, std::endian::little, converted);
        piece = converted;
      }
      SHUNT_TRY(advance(piece, sink));
    }
    return ok();
  }

  Status convert(const QuantizedTensor& tensor, TypeSummary& summary,
                 const gguf::Writer::Sink& sink) {
    RowConverter converter(tensor, threads_);
    RowError lost;
    for (std::int64_t first = 0; first < converter.rows(); first += converter.piece()) {
      const std::int64_t count = std::min(converter.piece(), converter.rows() - first);
      const auto rows = rows_(*tensor.from, first, count);
      const auto bytes = rows ? converter.convert(*rows, first, count, lost) : rows;
      unfit_ = !bytes;
      if (!bytes) return Error(bytes.error());
      SHUNT_TRY(advance(*bytes, sink));
    }
    summary.error_squares += lost.error_squares;
    summary.squares += lost.squares;
    return ok();
  }

  const gguf::File& file_;
  const QuantizationPlan& plan_;
  const QuantizeOptions& options_;
  const QuantizeProgress& progress_;
  const TensorRows& rows_;
  int threads_ = 1;
  std::uint64_t done_ = 0;
  bool unfit_ = false;  // the input failed, not the output
  std::map<DType, TypeSummary> types_;
  QuantizeResult result_;
};

}  // namespace

double TypeSummary::error() const {
  return squares > 0 ? std::sqrt(error_squares / squares) : 0;
}

Result<QuantizeResult> write_quantized(const std::string& path, const gguf::File& file,
                                       const QuantizationPlan& plan, const QuantizeOptions& options,
                                       const QuantizeProgress& progress) {
  const auto rows = [&](const gguf::TensorInfo& info, std::int64_t first,
                        std::int64_t count) -> Result<std::span<const std::byte>> {
    const auto bytes = file.data(info);
    const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(row_count(info.tensor));
    return bytes.subspan(static_cast<std::size_t>(first) * row_bytes,
                         static_cast<std::size_t>(count) * row_bytes);
  };
  return write_quantized_rows(path, file, plan, options, progress, rows, gguf::paths_of(file));
}

Result<QuantizeResult> write_quantized_rows(const std::string& path, const gguf::File& file,
                                            const QuantizationPlan& plan,
                                            const QuantizeOptions& options,
                                            const QuantizeProgress& progress,
                                            const TensorRows& rows,
                                            std::span<const std::string> read) {
  return guarded(
      [&] { return QuantizedWriter(file, plan, options, progress, rows).write(path, read); }, path);
}

}  // namespace shunt

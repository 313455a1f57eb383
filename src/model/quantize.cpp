#include "shunt/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/cpu_topology.h"
#include "base/guarded.h"
#include "gguf/part.h"
#include "gguf/split.h"
#include "model/quantize_rows.h"
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

void add_metadata(gguf::Writer& writer, const gguf::File& file, const QuantizationPlan& plan,
                  const QuantizeOptions& options) {
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!is_replaced(entry.key)) writer.add(entry.key, entry.value);
  }
  writer.add_u32("general.file_type", plan.file_type);
  writer.add_u32("general.quantization_version", kQuantizationVersion);
  const ImportanceMatrix* importance = options.importance;
  if (importance == nullptr) return;
  writer.add_string("quantize.imatrix.file", options.importance_file);
  if (!importance->datasets.empty()) {
    writer.add_string("quantize.imatrix.dataset", importance->datasets.front());
  }
  writer.add_u32("quantize.imatrix.entries_count",
                 static_cast<std::uint32_t>(importance->tensors.size()));
  writer.add_u32("quantize.imatrix.chunks_count", importance->chunk_count);
}

/// Whether two paths lead to the same file. One that is not there is no other's.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

Status check_not_a_part(const std::string& path, const gguf::File& file) {
  std::vector<std::string> parts = {file.path()};
  if (const auto name = gguf::parse_part_name(file.path()); name && file.part_count() > 1) {
    parts.clear();
    for (std::uint32_t i = 0; i < name->count; ++i) {
      parts.push_back(gguf::part_path(name->prefix, i, name->count));
    }
  }
  for (const std::string& part : parts) {
    if (is_same_file(path, part)) return invalid("{} is the file that is read", path);
  }
  return ok();
}

class QuantizedWriter {
 public:
  QuantizedWriter(const gguf::File& file, const QuantizationPlan& plan,
                  const QuantizeOptions& options, const QuantizeProgress& progress)
      : file_(file), plan_(plan), options_(options), progress_(progress) {
    threads_ = options.threads > 0 ? options.threads : read_cpu_topology().default_threads();
  }

  Result<QuantizeResult> write(const std::string& path) {
    SHUNT_TRY(check_not_a_part(path, file_));
    gguf::Writer writer;
    add_metadata(writer, file_, plan_, options_);
    for (const QuantizedTensor& tensor : plan_.tensors) {
      SHUNT_TRY(writer.add_tensor(tensor.from->name, tensor.to));
      result_.bytes_before += tensor.from->bytes;
      result_.bytes_after += static_cast<std::uint64_t>(byte_span(tensor.to));
    }
    const auto pieces = [&](std::size_t index, const gguf::Writer::Sink& sink) {
      return add(plan_.tensors[index], sink);
    };
    Status written =
        writer.write_pieces(path, pieces, static_cast<std::uint32_t>(file_.alignment()));
    if (!written && unfit_) return std::move(written.error()).with_context(file_.path());
    if (!written) return Error(std::move(written.error()));
    for (auto& [dtype, summary] : types_) result_.types.push_back(summary);
    std::ranges::sort(result_.types, std::greater(), &TypeSummary::bytes);
    return std::move(result_);
  }

 private:
  Status add(const QuantizedTensor& tensor, const gguf::Writer::Sink& sink) {
    TypeSummary& summary = types_[tensor.to.dtype];
    summary.dtype = tensor.to.dtype;
    ++summary.tensors;
    summary.bytes += static_cast<std::uint64_t>(byte_span(tensor.to));
    const auto bytes = file_.data(*tensor.from);
    return tensor.is_copied() ? copy(*tensor.from, bytes, sink)
                              : convert(tensor, bytes, summary, sink);
  }

  Status advance(std::span<const std::byte> bytes, const gguf::Writer::Sink& sink) {
    SHUNT_TRY(sink(bytes));
    done_ += bytes.size();
    return progress_ ? progress_(done_, result_.bytes_after) : ok();
  }

  Status copy(const gguf::TensorInfo& from, std::span<const std::byte> bytes,
              const gguf::Writer::Sink& sink) {
    const std::size_t block = trait(from.tensor.dtype).block_bytes;
    const std::size_t most = (std::size_t{16} << 20) / block * block;
    std::vector<std::byte> converted;
    while (!bytes.empty()) {
      std::span<const std::byte> piece = bytes.first(std::min(most, bytes.size()));
      bytes = bytes.subspan(piece.size());
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

  Status convert(const QuantizedTensor& tensor, std::span<const std::byte> from,
                 TypeSummary& summary, const gguf::Writer::Sink& sink) {
    RowConverter rows(tensor, from, threads_);
    RowError lost;
    for (std::int64_t first = 0; first < rows.rows(); first += rows.piece()) {
      const std::int64_t count = std::min(rows.piece(), rows.rows() - first);
      const auto bytes = rows.convert(first, count, lost);
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
  return guarded([&] { return QuantizedWriter(file, plan, options, progress).write(path); }, path);
}

}  // namespace shunt

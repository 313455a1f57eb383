#include "gguf/tensor_list.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "gguf/format.h"
#include "gguf/metadata.h"
#include "gguf/name_index.h"
#include "shunt/gguf.h"

namespace shunt::gguf {
namespace {

Result<Shape> read_shape(Reader& reader) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const auto dims, reader.read<std::uint32_t>("the number of dimensions"));
  if (dims == 0) return bad_at(position, "expected 1 to {} dimensions, found 0", kMaxDims);
  if (dims > kMaxDims) {
    return fail(ErrorCode::kUnsupported, "byte {}: expected 1 to {} dimensions, found {}", position,
                kMaxDims, dims);
  }
  Shape shape;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t at = reader.position();
    SHUNT_ASSIGN(const auto size, reader.read<std::uint64_t>("a dimension"));
    if (size == 0 || size > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return bad_at(at, "expected dimension {} to be 1 to 2^63 - 1, found {}", i, size);
    }
    shape[i] = static_cast<std::int64_t>(size);
  }
  return shape;
}

/// The type with `number`; none if this build lacks it and that does not matter.
Result<std::optional<DType>> find_type(std::uint32_t number, std::size_t position,
                                       const ReadOptions& options) {
  auto type = dtype_from_gguf(number);
  if (type) return *type;
  if (options.metadata_only) return std::nullopt;
  return fail(ErrorCode::kBadFile, "byte {}: {}", position, type.error().message());
}

/// `*name` is set as soon as it is known, for the message of a later error.
Result<std::optional<TensorInfo>> read_entry(Reader& reader, const ReadOptions& options,
                                             std::string_view* name) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(*name, reader.read_string("a tensor's name"));
  if (name->empty()) return bad_at(position, "expected a name, found one without characters");
  if (name->size() > kMaxNameBytes) {
    return bad_at(position, "expected a name of at most {} bytes, found one of {}", kMaxNameBytes,
                  name->size());
  }
  const std::size_t shape_position = reader.position();
  SHUNT_ASSIGN(const Shape shape, read_shape(reader));
  const std::size_t type_position = reader.position();
  SHUNT_ASSIGN(const auto number, reader.read<std::uint32_t>("a tensor's type"));
  SHUNT_ASSIGN(const auto type, find_type(number, type_position, options));
  SHUNT_ASSIGN(const auto offset, reader.read<std::uint64_t>("a tensor's offset"));
  if (!type) return std::nullopt;
  const auto tensor = make_tensor(*type, shape);
  if (!tensor) return bad_at(shape_position, "{}", tensor.error().message());
  const auto bytes = static_cast<std::uint64_t>(byte_span(*tensor));
  return TensorInfo{std::string(*name), *tensor, offset, bytes, 0, reader.order()};
}

Status check_names_differ(const std::vector<std::string_view>& names) {
  const auto twice = NameIndex(names).duplicate();
  if (!twice) return ok();
  return fail(ErrorCode::kBadFile, "{}: the same name as that of tensor {}; names must differ",
              item_name("tensor", twice->second, names.size(), names[twice->second]),
              twice->first + 1);
}

/// Whether the data of `info` are aligned and within the range.
Status check_place(const TensorInfo& info, const DataRange& range) {
  if (info.offset % range.alignment != 0) {
    return fail(ErrorCode::kBadFile,
                "expected an offset that is a multiple of {}, the alignment, found {}",
                range.alignment, info.offset);
  }
  if (info.offset > range.bytes || info.bytes > range.bytes - info.offset) {
    return fail(
        ErrorCode::kBadFile,
        "its {} bytes at offset {} end past the file's data, which are {} bytes from byte {} "
        "on; the file may be cut off",
        info.bytes, info.offset, range.bytes, range.start);
  }
  return ok();
}

Error overlap(const ListedTensor& tensor, const ListedTensor& before, std::uint64_t count) {
  return fail(ErrorCode::kBadFile,
              "{}: byte {}: its {} bytes at offset {} overlap the {} bytes at offset {} of {}",
              item_name("tensor", tensor.index, count, tensor.info.name), tensor.position,
              tensor.info.bytes, tensor.info.offset, before.info.bytes, before.info.offset,
              item_name("tensor", before.index, count, before.info.name));
}

}  // namespace

Result<std::vector<ListedTensor>> read_tensor_list(Reader& reader, std::uint64_t count,
                                                   const ReadOptions& options) {
  std::vector<ListedTensor> tensors;
  std::vector<std::string_view> names;  // also those of tensors left out; they are in the file
  tensors.reserve(std::min(count, kMaxReserved));
  names.reserve(std::min(count, kMaxReserved));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t position = reader.position();
    std::string_view name;
    auto entry = read_entry(reader, options, &name);
    if (!entry) return std::move(entry.error()).with_context(item_name("tensor", i, count, name));
    names.push_back(name);
    if (*entry) tensors.push_back({std::move(**entry), i, position});
  }
  SHUNT_TRY(check_names_differ(names));
  return tensors;
}

Status check_data(std::span<const ListedTensor> tensors, std::uint64_t count,
                  const DataRange& range) {
  std::vector<const ListedTensor*> by_offset;
  by_offset.reserve(tensors.size());
  for (const ListedTensor& tensor : tensors) {
    if (auto placed = check_place(tensor.info, range); !placed) {
      return std::move(placed.error())
          .with_context(fmt::format("{}: byte {}",
                                    item_name("tensor", tensor.index, count, tensor.info.name),
                                    tensor.position));
    }
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, [](const ListedTensor* tensor) {
    return std::pair(tensor->info.offset, tensor->index);
  });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = by_offset[i - 1]->info;
    if (by_offset[i]->info.offset - before.offset < before.bytes) {
      return overlap(*by_offset[i], *by_offset[i - 1], count);
    }
  }
  return ok();
}

}  // namespace shunt::gguf

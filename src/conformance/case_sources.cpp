#include "conformance/case_sources.h"

#include <algorithm>

namespace shunt {

namespace {

constexpr std::array<int, kMaxDims> kInOrder = {0, 1, 2, 3};
constexpr Sizes kWhole = {0, 0, 0, 0};

std::int64_t blocks(const CaseSource& source, std::int64_t elements) {
  return elements / trait(source.dtype).block_elements;
}

}  // namespace

CaseSource source_of(DType dtype, const Sizes& sizes) {
  CaseSource source{.dtype = dtype, .sizes = sizes};
  if (trait(dtype).integer) source = filled(source, Fill::kIndex, -100, 100);
  return source;
}

CaseSource seen_as(DType dtype, const Sizes& sizes, const std::array<int, kMaxDims>& permute,
                   const Sizes& slice) {
  CaseSource source = source_of(dtype, sizes);
  source.permute = permute;
  source.slice = slice;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    source.sizes[static_cast<std::size_t>(permute[i])] = sizes[i] + slice[i];
  }
  return source;
}

CaseSource not_given() {
  return {.given = false};
}

CaseSource filled(CaseSource source, Fill fill, double low, double high) {
  source.fill = fill;
  source.low = low;
  source.high = high;
  return source;
}

CaseSource with_values(CaseSource source, std::vector<double> values) {
  source.fill = Fill::kValues;
  source.values = std::move(values);
  return source;
}

Sizes sizes_of(const CaseSource& source) {
  Sizes sizes = {};
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    sizes[i] = source.sizes[static_cast<std::size_t>(source.permute[i])] - source.slice[i];
  }
  return sizes;
}

Result<Inferred> tensor_of(const CaseSource& source) {
  Shape shape;
  for (std::size_t i = 0; i < kMaxDims; ++i) shape[i] = source.sizes[i];
  SHUNT_ASSIGN(const Tensor whole, make_tensor(source.dtype, shape));
  Inferred seen{whole};
  const Sizes sizes = sizes_of(source);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    seen.tensor.shape[i] = sizes[i];
    seen.tensor.strides[i] = whole.stride(source.permute[i]);
    const std::int64_t steps = i == 0 ? blocks(source, source.slice[i]) : source.slice[i];
    seen.offset += steps * seen.tensor.strides[i];
  }
  return seen;
}

std::string describe_source(const CaseSource& source, std::string_view extra) {
  if (!source.given) return "-";
  Shape shape;
  const Sizes sizes = sizes_of(source);
  for (std::size_t i = 0; i < kMaxDims; ++i) shape[i] = sizes[i];
  std::string text = fmt::format("{} {}", to_string(source.dtype), to_string(shape));
  const auto add_list = [&](std::string_view what, const auto& list) {
    text += fmt::format(" {} [{}, {}, {}, {}]", what, list[0], list[1], list[2], list[3]);
  };
  if (source.permute != kInOrder) add_list("permuted", source.permute);
  if (source.slice != kWhole) add_list("sliced", source.slice);
  if (!extra.empty()) text.append(" ").append(extra);
  return text;
}

std::string describe_sources(std::span<const CaseSource> sources, std::string_view extra) {
  std::string text;
  for (const CaseSource& source : sources) {
    if (!text.empty()) text += ", ";
    text += describe_source(source);
  }
  if (!extra.empty()) text.append(" ").append(extra);
  return text;
}

std::vector<CaseSource> unary_sources(DType dtype) {
  std::vector<CaseSource> sources;
  const auto add = [&](const Sizes& sizes, const std::array<int, kMaxDims>& permute = kInOrder,
                       const Sizes& slice = kWhole) {
    sources.push_back(seen_as(dtype, sizes, permute, slice));
  };
  // For block types, one block replaces one element.
  const std::int64_t block = trait(dtype).block_elements;
  const bool plain = block == 1;
  const std::int64_t row = std::max<std::int64_t>(64, 2 * block);
  add({row, 5, 1, 1});
  add({block, 1, 1, 1});
  add({plain ? 333 : 8 * block, 1, 1, 1});  // one row
  add({plain ? 7 : block, 3, 2, 1});
  add({block, 9, 1, 1});
  add({2 * block, 3, 2, 4});
  add({0, 3, 1, 1});
  add({row, 0, 2, 1});
  add({row, 3, 5, 2}, {0, 2, 1, 3});
  add({row, 2, 3, 5}, {0, 3, 1, 2});
  add({row, 5, 2, 1}, kInOrder, {0, 2, 0, 0});
  add({row, 4, 2, 2}, kInOrder, {block, 1, 1, 0});
  if (plain) {
    add({33, 7, 1, 1}, {1, 0, 2, 3});
    add({5, 3, 4, 2}, {2, 0, 1, 3});
    add({17, 3, 2, 2}, {1, 0, 2, 3}, {3, 1, 0, 1});
    add({16, 3, 2, 2}, {3, 2, 1, 0});
    // Around the widths of vectors, of one row and of a few.
    for (std::int64_t length : {3, 8, 15, 31, 65, 129}) {
      add({length, 1, 1, 1});
      add({length, 3, 1, 1});
    }
  }
  // Every order of the dimensions, every second one sliced. Rows of block types stay innermost.
  std::array<int, kMaxDims> order = kInOrder;
  bool cut = false;
  while (std::next_permutation(order.begin(), order.end())) {
    if (!plain && order[0] != 0) break;
    cut = !cut;
    add({plain ? 6 : block, 5, 3, 2}, order, cut ? Sizes{plain ? 1 : block, 2, 1, 1} : kWhole);
  }
  return sources;
}

void emit_case(const CaseSink& sink, const Params& params, std::vector<CaseSource> sources,
               double max_error, std::string_view extra) {
  std::string name = describe_sources(sources, extra);
  sink({.name = std::move(name),
        .params = params,
        .sources = std::move(sources),
        .max_error = max_error});
}

}  // namespace shunt

#include "backend_support/host_fallback.h"

#include <algorithm>
#include <array>

#include "graph/tensor_values.h"

namespace shunt {

namespace {

/// About how many numbers of a matrix are read at once, and the multiple of rows.
constexpr std::int64_t kReadAtOnce = std::int64_t{1} << 20;
constexpr std::int64_t kRowUnit = 64;

/// y = x * transposed w; blocks of rows of w are read one at a time.
Status multiply_by_rows(const Node& node, const Tensor& w, const RefTensor& x,
                        const FallbackSources& sources, RefTensor& result) {
  const std::int64_t k = w.size(0);
  const std::int64_t n = w.size(1);
  const std::int64_t fit = kReadAtOnce / std::max(k, std::int64_t{1}) / kRowUnit;
  const std::int64_t at_once = std::max(fit, std::int64_t{1}) * kRowUnit;
  for (std::int64_t first = 0; first < n; first += at_once) {
    const std::int64_t count = std::min(at_once, n - first);
    RefTensor rows({k, count, 1, 1});
    SHUNT_ASSIGN(const std::vector<float> floats, sources.rows(first, count));
    std::ranges::copy(floats, rows.data.begin());
    Sizes sizes = result.sizes;
    sizes[0] = count;
    RefTensor part(sizes);
    const std::array<const RefTensor*, 2> both = {&rows, &x};
    node.op->reference(both, node.params, part);
    for (std::size_t row = 0; row * static_cast<std::size_t>(count) < part.data.size(); ++row) {
      std::copy_n(part.data.begin() + static_cast<std::ptrdiff_t>(row) * count, count,
                  result.data.begin() + static_cast<std::ptrdiff_t>(row) * n + first);
    }
  }
  return ok();
}

}  // namespace

Result<RefTensor> compute_on_host(const Graph& graph, NodeId asked, NodeId last,
                                  const DynamicDimValues& dynamic_dims,
                                  const FallbackSources& sources) {
  const Node& node = graph.node(asked);
  const std::size_t count = node.sources.size();
  std::vector<RefTensor> values(count);
  std::vector<const RefTensor*> given(count, nullptr);
  for (std::size_t s = sources.rows ? 1 : 0; s < count; ++s) {
    if (node.sources[s] == kNoNode) continue;
    SHUNT_ASSIGN(values[s], sources.values(s));
    given[s] = &values[s];
  }
  RefTensor result(actual_sizes(node.result, dynamic_dims));
  if (sources.rows) {
    const Tensor& w = graph.node(node.sources[0]).result;
    SHUNT_TRY(multiply_by_rows(node, w, values[1], sources, result));
  } else {
    node.op->reference(given, node.params, result);
  }
  if (asked == last) return result;
  const Node& sum = graph.node(last);
  SHUNT_ASSIGN(const RefTensor added, sources.values(count));
  const std::array<const RefTensor*, 2> both = {&result, &added};
  RefTensor added_up(actual_sizes(sum.result, dynamic_dims));
  sum.op->reference(both, sum.params, added_up);
  return added_up;
}

RefTensor values_of_view(const RefTensor& values, const Tensor& owner, const Node& view,
                         const DynamicDimValues& dynamic_dims) {
  std::vector<std::byte> plain(static_cast<std::size_t>(byte_span(owner)));
  write_tensor(values, owner, plain.data());
  return read_tensor(plain.data() + view.offset, view.result,
                     actual_sizes(view.result, dynamic_dims));
}

}  // namespace shunt

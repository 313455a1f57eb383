#include "backends/cann/kernel.h"

#include <algorithm>
#include <limits>

#include "backends/cann/fractal_memory.h"
#include "backends/cann/weight_memory.h"
#include "shunt/message.h"

namespace shunt::cann {

Sizes Operands::sizes_of(const Tensor& tensor) const {
  return dims_ == nullptr ? max_sizes(tensor.shape) : actual_sizes(tensor, *dims_);
}

std::string Operands::content(std::size_t i) const {
  const NodeId storage = view_.graph().node(sources_[i]).storage;
  const auto before = std::ranges::count_if(writes_, [&](const MemoryWrite& write) {
    return write.storage == storage && write.writer < result_;
  });
  return fmt::format("{}/{}", sources_[i], before);
}

bool Operands::is_empty() const {
  const Sizes sizes = result_sizes();
  return std::ranges::any_of(sizes, [](std::int64_t size) { return size == 0; });
}

View Operands::plain_view(const Tensor& tensor, DevicePointer data) const {
  const Sizes sizes = sizes_of(tensor);
  const DataType type = data_type(tensor.dtype);
  const std::int64_t width = bits_of(type) / 8;
  View::Dims strides;
  for (std::size_t d = 0; d < kMaxDims; ++d) strides.push_back(tensor.strides[d] / width);
  return {type, View::Dims(sizes.begin(), sizes.end()), std::move(strides), data};
}

Support CannKernel::accepts(const NodeView& view, const CannTarget&) const {
  const auto refuse = [](std::string_view what, const Tensor& tensor) {
    return Support::no(Refusal::kType, std::string(what) + " of type " +
                                           std::string(to_string(tensor.dtype)) +
                                           " has no operator of CANN");
  };
  for (std::size_t i = 0; i < view.node().sources.size(); ++i) {
    if (view.has_source(i) && !has_data_type(view.source(i).dtype))
      return refuse(view.node().op->info().sources[i], view.source(i));
  }
  return has_data_type(view.result().dtype) ? Support::yes() : refuse("a result", view.result());
}

namespace {

bool has_bf16(const NodeView& view) {
  bool found = view.result().dtype == DType::kBF16;
  for (std::size_t i = 0; i < view.node().sources.size(); ++i)
    found = found || (view.has_source(i) && view.source(i).dtype == DType::kBF16);
  return found;
}

}  // namespace

Support CannKernel::supports(const NodeView& view, const CannTarget& target) const {
  for (std::size_t i = 0; i < view.node().sources.size(); ++i) {
    if (!view.has_source(i)) continue;
    const bool rearranged = is_rearranged(view, i);
    if (!rearranged && !is_fractal(view, i)) continue;
    if (view.is_view(i) || !(rearranged ? reads_rearranged(view, i) : reads_fractal(view, i))) {
      return Support::no(Refusal::kLayout, fmt::format("it can't read source {} in {} memory", i,
                                                       view.source_memory(i)->name()));
    }
  }
  Support answer = accepts(view, target);
  if (answer && !target.chip->bf16 && needs_bf16() && has_bf16(view))
    return Support::no(Refusal::kType, fmt::format("a {} has no BF16", target.chip->name));
  if (!answer || element_count(view.result().shape) == 0) return answer;
  CallPlan plan;
  Calls calls(*target.context, plan);
  calls.begin(0);
  compute(calls, Operands(view), target);
  if (calls.status()) return answer;
  return Support::no(calls.refusal(), to_text(calls.status().error()));
}

double CannKernel::largest_number(const NodeView&, const CannTarget&) const {
  return std::numeric_limits<double>::infinity();
}

Support expect_types(std::string_view what, DType type, std::span<const DType> known) {
  if (std::ranges::find(known, type) != known.end()) return Support::yes();
  return Support::no(Refusal::kType, "no operator of CANN for " + std::string(what) + " of type " +
                                         std::string(to_string(type)));
}

}  // namespace shunt::cann

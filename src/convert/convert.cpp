#include "shunt/convert.h"

#include <algorithm>
#include <map>

#include "base/guarded.h"
#include "convert/open_folder.h"
#include "model/quantize_types.h"
#include "shunt/message.h"

namespace shunt {

struct FolderConversion::State : OpenedFolder {};

namespace {

/// The number of the type that most bytes have.
std::uint32_t file_type_of(const gguf::File& file) {
  std::map<DType, std::uint64_t> bytes;
  for (const gguf::TensorInfo& info : file.tensors()) bytes[info.tensor.dtype] += info.bytes;
  const auto most =
      std::ranges::max_element(bytes, {}, [](const auto& of_type) { return of_type.second; });
  if (most == bytes.end()) return 0;
  const Mixture* const mixture = find_mixture(to_string(most->first));
  return mixture == nullptr ? 0 : mixture->file_type;
}

}  // namespace

Result<FolderConversion> FolderConversion::open(const std::string& path,
                                                const FolderOptions& options) {
  const auto opened = [&]() -> Result<FolderConversion> {
    SHUNT_ASSIGN(OpenedFolder folder, open_folder(path, options));
    return FolderConversion(std::make_shared<State>(State{std::move(folder)}));
  };
  return guarded(opened, path);
}

const gguf::File& FolderConversion::file() const {
  return state_->file;
}

const std::vector<std::string>& FolderConversion::notes() const {
  return state_->notes;
}

Result<QuantizationPlan> FolderConversion::plan(const QuantizeOptions& options) const {
  if (!options.type.empty() && state_->is_adapter) return invalid("an adapter keeps its types");
  if (!options.type.empty()) return plan_quantization(state_->file, options);
  QuantizationPlan plan;
  plan.file_type = file_type_of(state_->file);
  for (const gguf::TensorInfo& info : state_->file.tensors())
    plan.tensors.push_back({.from = &info, .to = info.tensor});
  return plan;
}

Result<QuantizeResult> FolderConversion::write(const std::string& path,
                                               const QuantizationPlan& plan,
                                               const QuantizeOptions& options,
                                               const QuantizeProgress& progress) const {
  return write_quantized_rows(path, state_->file, plan, options, progress, state_->rows,
                              state_->inputs);
}

}  // namespace shunt

// Decides the type of each tensor.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/guarded.h"
#include "base/regex.h"
#include "model/quantize_types.h"
#include "shunt/message.h"
#include "shunt/quantize.h"

namespace shunt {

namespace {

bool is_matrix(const Tensor& tensor) {
  return tensor.size(1) * tensor.size(2) * tensor.size(3) > 1;
}

class Planner {
 public:
  Planner(const gguf::File& file, const QuantizeOptions& options, const Mixture& mixture)
      : file_(file), options_(options), mixture_(mixture) {}

  Result<QuantizationPlan> run() {
    plan_.type = mixture_.name;
    plan_.file_type = mixture_.file_type;
    SHUNT_TRY(find_roles());
    SHUNT_TRY(find_kept());
    for (const gguf::TensorInfo& info : file_.tensors()) {
      QuantizedTensor tensor{.from = &info, .to = info.tensor};
      SHUNT_ASSIGN(tensor.to, make_tensor(type_for(info), info.tensor.shape));
      if (!tensor.is_copied()) SHUNT_TRY(find_importance(tensor));
      if (!tensor.is_copied() && trait(info.tensor.dtype).quantized) ++made_twice_;
      plan_.tensors.push_back(tensor);
    }
    SHUNT_TRY(check_importance());
    add_notes();
    return std::move(plan_);
  }

 private:
  /// A file of an architecture that is not known, or of none, can be quantised all the same.
  Status find_roles() {
    auto model = read_model(file_, {.may_leave_parts = true});
    if (model) {
      layers_ = (*model)->shape().layers;
      for (const ModelWeight& weight : (*model)->weights()) weights_.emplace(weight.info, weight);
      return ok();
    }
    const ErrorCode code = model.error().code();
    if (code != ErrorCode::kUnsupported && code != ErrorCode::kNotFound) return model.error();
    plan_.notes.push_back(fmt::format("{}; all matrices become {}", model.error().message(),
                                      to_string(mixture_.base)));
    return ok();
  }

  Status find_kept() {
    kept_.assign(file_.tensors().size(), false);
    for (const std::string& pattern : options_.keep) {
      SHUNT_ASSIGN(const Regex regex, Regex::compile(pattern));
      bool any = false;
      for (std::size_t i = 0; i < kept_.size(); ++i) {
        auto matches = regex.matches(file_.tensors()[i].name);
        if (!matches) return std::move(matches.error()).with_context("--keep " + pattern);
        if (*matches) any = kept_[i] = true;
      }
      if (!any) plan_.notes.push_back(fmt::format("--keep {} matches no tensor", pattern));
    }
    return ok();
  }

  DType type_for(const gguf::TensorInfo& info) {
    const DType now = info.tensor.dtype;
    const auto index = static_cast<std::size_t>(&info - file_.tensors().data());
    if (kept_[index] || !is_matrix(info.tensor) || trait(now).integer) return now;
    const auto weight = weights_.find(&info);
    // Routers, convolutions, decays: small, and made for F32.
    if (weight != weights_.end() && weight->second.role == WeightRole::kOther) return now;
    DType wanted = mixture_.base;
    if (weight != weights_.end() && !options_.pure) {
      wanted = mixture_.type_for(weight->second.role, weight->second.layer, layers_);
    }
    const DType fitting = fitting_type(wanted, info.tensor.size(0));
    if (fitting == wanted) return wanted;
    // A tensor of unknown use may have to be as it is.
    const DType result = weight == weights_.end() && !trait(fitting).quantized ? now : fitting;
    ++unfit_[{wanted, result, info.tensor.size(0)}];
    return result;
  }

  Status find_importance(QuantizedTensor& tensor) {
    const DTypeTrait& type = trait(tensor.to.dtype);
    if (type.encode_weighted == nullptr) return ok();
    const std::string& name = tensor.from->name;
    if (options_.importance == nullptr) {
      if (type.needs_weights()) lacking_.push_back(&name);
      return ok();
    }
    const auto found = options_.importance->tensors.find(name);
    if (found == options_.importance->tensors.end()) {
      // A row of an embedding is looked up, and meets no activation.
      const auto weight = weights_.find(tensor.from);
      const bool looked_up =
          weight != weights_.end() && weight->second.role == WeightRole::kEmbedding;
      if (type.needs_weights()) {
        lacking_.push_back(&name);
      } else if (!looked_up) {
        unweighted_.push_back(&name);
      }
      return ok();
    }
    const ColumnSums& sums = found->second;
    const Tensor& from = tensor.from->tensor;
    if (sums.columns != from.size(0) || sums.matrices() != from.size(2) * from.size(3)) {
      return fail(ErrorCode::kBadFile,
                  "{}: tensor {} has sums [{}, {}], of columns and matrices; in {} it is {}",
                  options_.importance_file, name, sums.columns, sums.matrices(), file_.path(),
                  to_string(from));
    }
    tensor.importance = &sums;
    ++weighted_;
    return ok();
  }

  Status check_importance() const {
    if (lacking_.empty()) return ok();
    const std::string which =
        *lacking_.front() +
        (lacking_.size() == 1 ? "" : " and " + counted(lacking_.size() - 1, "more tensor"));
    if (options_.importance == nullptr) {
      return invalid("{} needs an importance matrix (see shunt imatrix), and none is given: {}",
                     mixture_.name, which);
    }
    return invalid(
        "{} needs an importance matrix, but {} lacks {}; another type, or keep them as they are",
        mixture_.name, options_.importance_file, which);
  }

  void add_notes() {
    for (const auto& [what, count] : unfit_) {
      const auto& [wanted, result, columns] = what;
      plan_.notes.push_back(fmt::format("{} of rows of {} elements, not whole blocks of {}: {} {}",
                                        count == 1 ? "a tensor" : fmt::format("{} tensors", count),
                                        columns, to_string(wanted),
                                        count == 1 ? "it is" : "they are", to_string(result)));
    }
    if (!unweighted_.empty()) {
      plan_.notes.push_back(fmt::format(
          "{} has no data for {} of {}, such as {}: their columns have equal importance",
          options_.importance_file, unweighted_.size(),
          counted(unweighted_.size() + weighted_, "tensor"), *unweighted_.front()));
    }
    if (made_twice_ > 0) {
      plan_.notes.push_back(
          fmt::format("{} {} quantised already: errors add up; better begin with F32, F16 or BF16",
                      counted(made_twice_, "tensor"), made_twice_ == 1 ? "is" : "are"));
    }
  }

  const gguf::File& file_;
  const QuantizeOptions& options_;
  const Mixture& mixture_;
  QuantizationPlan plan_;
  std::int64_t layers_ = 0;
  std::map<const gguf::TensorInfo*, ModelWeight> weights_;
  std::vector<bool> kept_;  // by tensor
  /// The number of tensors by requested type, used type and length of rows.
  std::map<std::tuple<DType, DType, std::int64_t>, std::size_t> unfit_;
  std::vector<const std::string*> lacking_;
  std::vector<const std::string*> unweighted_;
  std::size_t weighted_ = 0;
  std::size_t made_twice_ = 0;
};

}  // namespace

std::vector<std::string_view> quantization_names() {
  std::vector<std::string_view> names;
  for (const Mixture& mixture : mixtures()) names.push_back(mixture.name);
  return names;
}

std::optional<std::string_view> find_quantization(std::string_view name) {
  const Mixture* mixture = find_mixture(name);
  return mixture == nullptr ? std::nullopt : std::optional(mixture->name);
}

Result<QuantizationPlan> plan_quantization(const gguf::File& file, const QuantizeOptions& options) {
  const Mixture* mixture = find_mixture(options.type);
  if (mixture == nullptr) {
    return invalid("there is no type \"{}\" to quantize to (available: {})", options.type,
                   fmt::join(quantization_names(), ", "));
  }
  return guarded([&] { return Planner(file, options, *mixture).run(); }, file.path());
}

}  // namespace shunt

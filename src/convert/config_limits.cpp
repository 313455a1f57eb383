#include "convert/config_limits.h"

#include <span>

#include "convert/json_text.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Whether a value is one of some in JSON, separated by "|".
Result<bool> is_allowed(const nlohmann::json& value, std::string_view allowed) {
  while (!allowed.empty()) {
    const std::size_t end = allowed.find('|');
    SHUNT_ASSIGN(const nlohmann::json one,
                 parse_json(allowed.substr(0, end), std::string(allowed)));
    if (value == one) return true;
    allowed = end == std::string_view::npos ? std::string_view() : allowed.substr(end + 1);
  }
  return false;
}

/// Of models of every architecture.
const std::vector<ConfigLimit>& usual_limits() {
  static const std::vector<ConfigLimit> limits = {
      {"quantization_config.quant_method", R"("fp8"|"fbgemm_fp8"|"mxfp4"|"compressed-tensors")"}};
  return limits;
}

/// Of those whose tokens see those before them only.
const std::vector<ConfigLimit>& causal_limits() {
  static const std::vector<ConfigLimit> limits = {{"is_causal", "true"}};
  return limits;
}

Status check_limits(const Config& config, const Published& model,
                    std::span<const ConfigLimit> limits) {
  for (const ConfigLimit& limit : limits) {
    const nlohmann::json* const value = config.find(limit.from);
    if (value == nullptr) continue;
    SHUNT_ASSIGN(const bool allowed, is_allowed(*value, limit.allowed));
    if (allowed) continue;
    std::string expected(limit.allowed);
    for (std::size_t at = 0; (at = expected.find('|', at)) != std::string::npos;)
      expected.replace(at, 1, " or ");
    return fail(ErrorCode::kUnsupported, "{}; {} models have nothing else in Shunt",
                config.wrong(limit.from, expected).message(), model.architecture);
  }
  return ok();
}

}  // namespace

Status check_config_limits(const Config& config, const Published& model) {
  SHUNT_TRY(check_limits(config, model, model.limits));
  SHUNT_TRY(check_limits(config, model, usual_limits()));
  return is_encoder(model) ? ok() : check_limits(config, model, causal_limits());
}

}  // namespace shunt

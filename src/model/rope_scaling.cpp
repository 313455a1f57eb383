#include "model/rope_scaling.h"

#include <cmath>

#include "shunt/message.h"

namespace shunt {

namespace {

std::string rope_key(const char* name) {
  return std::string("rope.") + name;
}

/// The numbers of YaRN (arXiv 2309.00071), but for `factor`, by which it stretches positions.
Status read_yarn(ArchitectureKeys& keys, double factor, RopeParams& rope) {
  SHUNT_ASSIGN(rope.original_context, keys.integer(rope_key("scaling.original_context_length")));
  SHUNT_ASSIGN(rope.ext_factor, keys.finite(rope_key("scaling.yarn_ext_factor"), 1));
  SHUNT_ASSIGN(rope.beta_fast, keys.finite(rope_key("scaling.yarn_beta_fast"), rope.beta_fast));
  SHUNT_ASSIGN(rope.beta_slow, keys.finite(rope_key("scaling.yarn_beta_slow"), rope.beta_slow));
  // A stated factor is the whole one: it replaces the growth by `factor` (transformers'
  // attention_factor).
  SHUNT_ASSIGN(const double whole, keys.number_or(rope_key("scaling.yarn_attn_factor"), 0));
  if (whole == 0) return ok();
  const double growth = yarn_growth(rope);
  const bool valid = std::isfinite(whole) && whole > 0 && std::isfinite(growth) && growth > 0;
  if (!valid) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}, where rope.scaling.factor is {}",
                keys.file().path(), keys.name(rope_key("scaling.yarn_attn_factor")), whole, factor);
  }
  rope.attn_factor = static_cast<float>(whole / growth);
  return ok();
}

}  // namespace

double yarn_growth(const RopeParams& rope) {
  return rope.ext_factor == 0 ? 1 : 1 - 0.1 * std::log(double{rope.freq_scale});
}

Result<bool> states_yarn_factor(ArchitectureKeys& keys) {
  SHUNT_ASSIGN(const double whole, keys.number_or(rope_key("scaling.yarn_attn_factor"), 0));
  return whole != 0;
}

Result<RopeParams> read_rope(ArchitectureKeys& keys, std::int64_t dims, RopeMode mode) {
  const std::string& path = keys.file().path();
  RopeParams rope;
  rope.dims = dims;
  rope.mode = mode;
  SHUNT_ASSIGN(const double freq_base, keys.number_or(rope_key("freq_base"), rope.freq_base));
  // Older files state linear scaling by a key of its own.
  SHUNT_ASSIGN(const double old_factor, keys.number_or(rope_key("scale_linear"), 1));
  SHUNT_ASSIGN(const double factor, keys.number_or(rope_key("scaling.factor"), old_factor));
  SHUNT_ASSIGN(const std::string type,
               keys.string_or(rope_key("scaling.type"), factor == 1 ? "none" : "linear"));
  if (!(freq_base > 0) || !std::isfinite(freq_base)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be above 0", path,
                keys.name(rope_key("freq_base")), freq_base);
  }
  if (!(factor >= 0) || !std::isfinite(factor)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be above 0", path,
                keys.name(rope_key("scaling.factor")), factor);
  }
  rope.freq_base = static_cast<float>(freq_base);
  if (type != "yarn") {
    // They say nothing without YaRN.
    for (const char* of_yarn :
         {"scaling.original_context_length", "scaling.yarn_ext_factor", "scaling.yarn_attn_factor",
          "scaling.yarn_beta_fast", "scaling.yarn_beta_slow"})
      (void)keys.has(rope_key(of_yarn));
  }
  SHUNT_ASSIGN(const float attn_factor, keys.finite(rope_key("scaling.attn_factor"), 1));
  rope.attn_factor = attn_factor == 0 ? 1 : attn_factor;
  if (type == "longrope") return rope;             // the factors of frequencies are tensors
  if (type == "none" || factor == 0) return rope;  // 0 is how some writers say "none"
  rope.freq_scale = static_cast<float>(1 / factor);
  if (type == "linear") return rope;
  if (type == "yarn") {
    SHUNT_TRY(read_yarn(keys, factor, rope));
    return rope;
  }
  return fail(ErrorCode::kUnsupported,
              "{}: {} is \"{}\"; known are none, linear, yarn and longrope", path,
              keys.name(rope_key("scaling.type")), type);
}

}  // namespace shunt

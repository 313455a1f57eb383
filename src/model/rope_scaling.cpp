#include "model/rope_scaling.h"

#include <cmath>

#include "shunt/message.h"

namespace shunt {

Result<RopeParams> read_rope(const gguf::File& file, const std::string& prefix, std::int64_t dims,
                             RopeMode mode) {
  const auto key = [&](const char* name) { return prefix + ".rope." + name; };
  RopeParams rope;
  rope.dims = dims;
  rope.mode = mode;
  SHUNT_ASSIGN(const double freq_base, file.get_number_or(key("freq_base"), rope.freq_base));
  // Older files state linear scaling by a key of its own.
  SHUNT_ASSIGN(const double old_factor, file.get_number_or(key("scale_linear"), 1));
  SHUNT_ASSIGN(const double factor, file.get_number_or(key("scaling.factor"), old_factor));
  SHUNT_ASSIGN(const std::string type,
               file.get_string_or(key("scaling.type"), old_factor == 1 ? "none" : "linear"));
  if (!(freq_base > 0) || !std::isfinite(freq_base)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be above 0", file.path(),
                key("freq_base"), freq_base);
  }
  if (!(factor >= 0) || !std::isfinite(factor)) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be above 0", file.path(),
                key("scaling.factor"), factor);
  }
  rope.freq_base = static_cast<float>(freq_base);
  if (type == "none" || factor == 0) return rope;  // 0 is how some writers say "none"
  rope.freq_scale = static_cast<float>(1 / factor);
  if (type == "linear") return rope;
  if (type == "yarn") {
    SHUNT_ASSIGN(rope.original_context, file.get_integer(key("scaling.original_context_length")));
    SHUNT_ASSIGN(const double attn_factor, file.get_number_or(key("scaling.attn_factor"), 1));
    SHUNT_ASSIGN(const double ext_factor, file.get_number_or(key("scaling.yarn_ext_factor"), 1));
    SHUNT_ASSIGN(const double beta_fast,
                 file.get_number_or(key("scaling.yarn_beta_fast"), rope.beta_fast));
    SHUNT_ASSIGN(const double beta_slow,
                 file.get_number_or(key("scaling.yarn_beta_slow"), rope.beta_slow));
    rope.attn_factor = static_cast<float>(attn_factor);
    rope.ext_factor = static_cast<float>(ext_factor);
    rope.beta_fast = static_cast<float>(beta_fast);
    rope.beta_slow = static_cast<float>(beta_slow);
    return rope;
  }
  return fail(ErrorCode::kUnsupported, "{}: {} is \"{}\"; known are none, linear and yarn",
              file.path(), key("scaling.type"), type);
}

}  // namespace shunt

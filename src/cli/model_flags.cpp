#include "cli/model_flags.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/progress.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
constexpr std::uint64_t kLargeModel = std::uint64_t{1} << 30;  // bytes; takes a while to load
constexpr std::string_view kNoModel =
    "no model is given, and Shunt has none of its own yet. Use --model FILE with a GGUF file of "
    "architecture llama, or make one of random weights to try things out: shunt synth random.gguf";

/// "f32, f16, bf16, q8_0 or q4_0".
std::string cache_types() {
  std::string list = list_types(kCacheTypes);
  std::ranges::transform(list, list.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return list;
}

Status read_cache_type(const std::string& text, DType& type) {
  const auto named = dtype_from_name(text);
  if (!named || std::ranges::find(kCacheTypes, *named) == kCacheTypes.end()) {
    return invalid("\"{}\" is not {}", text, cache_types());
  }
  type = *named;
  return ok();
}

}  // namespace

void ModelFlags::declare(Arguments& arguments) {
  arguments.file("-m,--model", "the model, a GGUF file", model_);
  arguments.number<std::int64_t>("-b,--batch", "tokens of the prompt to compute at once",
                                 session_.batch, 1, kMostTokens);
  arguments.value(
      "--cache-type", "TYPE", "type of the cache: " + cache_types() + " (default f16)",
      [this](const std::string& text) { return read_cache_type(text, session_.cache_type); });
  runtime_.declare(arguments);
  arguments.value("-d,--devices", "LIST", "devices to use, such as cuda0,cpu0 (default all)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  pins_.declare(arguments);
  fallback_.declare(arguments);
  device_error_.declare(arguments);
}

Status ModelFlags::check() {
  if (!model_) return invalid("{}", kNoModel);
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

Result<OpenModel> ModelFlags::open() const {
  OpenModel open;
  SHUNT_ASSIGN(open.registry, Registry::create(options_));
  Progress progress("loading " + *model_, kLargeModel);
  LoadOptions load;
  load.devices = devices_;
  load.session = session_;
  load.fallback = fallback_.policy();
  load.on_device_error = device_error_.policy();
  SHUNT_TRY(pins_.apply(load));
  load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  SHUNT_ASSIGN(open.model, Model::load(*model_, *open.registry, load));
  return open;
}

}  // namespace shunt::cli

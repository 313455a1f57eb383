#include "cli/flags/step_flags.h"

#include <utility>

#include "cli/flags/session_flags.h"
#include "cli/terminal/output.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMaxStepTokens = std::int64_t{1} << 30;

}  // namespace

void StepFlags::declare(Arguments& arguments) {
  arguments.group("Model");
  model_.declare(arguments, "Read the metadata of this GGUF model, not its weights");
  ignore_.declare(arguments);
  lora_.declare(arguments);
  arguments.number<std::int64_t>(
      "-n,--tokens",
      "Place a step of N tokens, at most the context length (default: the batch size)", tokens_, 1,
      kMaxStepTokens);
  arguments.number<std::int64_t>("-c,--ctx",
                                 "Set the context length; 0: that of the model, at most 4096",
                                 session_.context, 0, SessionOptions::kMaxContext);
  declare_session(arguments, session_);
  arguments.group("Devices and placement");
  arguments.value("-d,--devices", "LIST",
                  "Use only these devices, such as cuda0,cpu0 (default: all whose priority is not "
                  "negative)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  pins_.declare(arguments);
  runtime_.declare(arguments);
  arguments.group();
}

Status StepFlags::check() {
  SHUNT_TRY(model_.check());
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

Result<PlacedModel> StepFlags::place() const {
  PlacedModel placed;
  SHUNT_ASSIGN(placed.registry, open_registry(options_));
  PlaceStepOptions options;
  SHUNT_TRY(pins_.apply(options.load));
  options.load.devices = devices_;
  options.load.session = session_;
  options.load.ignore = ignore_.names();
  options.load.adapters = lora_.paths();
  options.tokens = tokens_;
  options.cache_folder = options_.cache_folder;
  options.log = [](std::string_view line) { print_message(line); };
  SHUNT_ASSIGN(placed.step, place_step(model_.path(), *placed.registry, options));
  ignore_.tell();
  return placed;
}

}  // namespace shunt::cli

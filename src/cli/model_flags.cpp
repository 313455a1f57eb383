#include "cli/model_flags.h"

#include "base/fail.h"
#include "cli/progress.h"
#include "cli/session_flags.h"

namespace shunt::cli {
namespace {

constexpr std::uint64_t kLargeModel = std::uint64_t{1} << 30;  // bytes; takes a while to load

}  // namespace

void ModelFlags::declare(Arguments& arguments) {
  model_.declare(arguments, "the model, a GGUF file", when_);
  declare_session(arguments, session_);
  runtime_.declare(arguments);
  arguments.value(devices_names_, "LIST", "devices to use, such as cuda0,cpu0 (default all)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  pins_.declare(arguments);
  fallback_.declare(arguments);
  device_error_.declare(arguments);
}

Status ModelFlags::check() {
  SHUNT_TRY(model_.check());
  return check_others();
}

Status ModelFlags::check_others() {
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

Result<OpenModel> ModelFlags::open() const {
  OpenModel open;
  SHUNT_ASSIGN(open.registry, open_registry(options_));
  Progress progress("loading " + path(), kLargeModel);
  LoadOptions load;
  load.devices = devices_;
  load.session = session_;
  load.fallback = fallback_.policy();
  load.on_device_error = device_error_.policy();
  SHUNT_TRY(pins_.apply(load));
  load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  SHUNT_ASSIGN(open.model, Model::load(path(), *open.registry, load));
  return open;
}

}  // namespace shunt::cli

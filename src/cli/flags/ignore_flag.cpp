#include "cli/flags/ignore_flag.h"

#include <fmt/ranges.h>

#include "cli/terminal/output.h"
#include "shunt/message.h"

namespace shunt::cli {

void IgnoreFlag::declare(Arguments& arguments) {
  arguments.each("--ignore", "NAME",
                 "Load a model although Shunt does not use this tensor or key of its file; the "
                 "results are those of another model. Repeatable",
                 [this](const std::string& name) -> Status {
                   names_.push_back(name);
                   return ok();
                 });
}

void IgnoreFlag::tell() const {
  if (names_.empty()) return;
  print_message(fmt::format("ignored, so this is another model than that of the file: {}",
                            fmt::join(names_, ", ")));
}

}  // namespace shunt::cli

#include "cli/flags/lora_flag.h"

#include "cli/flags/parse_number.h"
#include "shunt/message.h"

namespace shunt::cli {

void LoraFlag::declare(Arguments& arguments) {
  arguments.each("--lora", "FILE[=SCALE]",
                 "Load this LoRA adapter beside the model, and add its changes times SCALE "
                 "(default 1). Repeatable",
                 [this](const std::string& text) -> Status {
                   std::string path = text;
                   float scale = 1;
                   // A name with "=" that no number follows is a name as a whole.
                   if (const std::size_t at = text.rfind('='); at != std::string::npos) {
                     if (const auto number = parse_number<float>(text.substr(at + 1))) {
                       scale = *number;
                       path.resize(at);
                     }
                   }
                   if (path.empty()) return invalid("no file is named");
                   uses_.push_back({.index = paths_.size(), .scale = scale});
                   paths_.push_back(std::move(path));
                   return ok();
                 });
  arguments.files().add_input("--lora", [this] { return paths_; });
}

}  // namespace shunt::cli

#include "cli/flags/lora_flag.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/flags/parse_number.h"
#include "shunt/message.h"

namespace shunt::cli {

namespace {

/// "poems" of "adapters/poems.gguf".
std::string_view short_name(std::string_view path) {
  constexpr std::string_view kExtension = ".gguf";
  path.remove_prefix(path.find_last_of('/') + 1);  // all of it if there is none: npos + 1 is 0
  if (path.ends_with(kExtension)) path.remove_suffix(kExtension.size());
  return path;
}

/// Of a path that no scale was taken from: a text behind "=" was meant as one if there is a file
/// without it, and none with it.
Status check_scale(const std::string& path) {
  const std::size_t at = path.rfind('=');
  std::error_code error;
  if (at == std::string::npos || std::filesystem::exists(path, error)) return ok();
  const std::string file = path.substr(0, at);
  if (!std::filesystem::exists(file, error)) return ok();
  return invalid("\"{}\" is no scale for {}, and there is no file {}", path.substr(at + 1), file,
                 path);
}

}  // namespace

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
                   SHUNT_TRY(check_scale(path));
                   uses_.push_back({.index = paths_.size(), .scale = scale});
                   paths_.push_back(std::move(path));
                   return ok();
                 });
  arguments.files().add_input("--lora", [this] { return paths_; });
}

Result<AdapterUse> LoraFlag::find(std::string_view text) const {
  const auto named = [&](std::string_view name, float scale) -> Result<AdapterUse> {
    if (const auto path = std::ranges::find(paths_, name); path != paths_.end()) {
      return AdapterUse{.index = static_cast<std::size_t>(path - paths_.begin()), .scale = scale};
    }
    std::size_t found = paths_.size();
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (short_name(paths_[i]) != name) continue;
      if (found < paths_.size()) {
        return invalid("\"{}\" is the name of {} and of {}; give the path of one", name,
                       paths_[found], paths_[i]);
      }
      found = i;
    }
    if (found < paths_.size()) return AdapterUse{.index = found, .scale = scale};
    return fail(ErrorCode::kNotFound, "there is no adapter \"{}\"; --lora names {}", text,
                paths_.empty() ? "none" : fmt::format("{}", fmt::join(paths_, ", ")));
  };
  auto whole = named(text, 1);
  const std::size_t at = text.rfind(':');
  if (whole || whole.error().code() != ErrorCode::kNotFound || at == std::string_view::npos)
    return whole;
  const auto scale = parse_number<float>(text.substr(at + 1));
  return scale ? named(text.substr(0, at), *scale) : whole;
}

}  // namespace shunt::cli

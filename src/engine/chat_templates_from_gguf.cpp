#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "shunt/message.h"
#include "shunt/model_chat.h"

namespace shunt {
namespace {

constexpr std::string_view kDefaultKey = "tokenizer.chat_template";
constexpr std::string_view kNamedKey = "tokenizer.chat_template.";
constexpr std::string_view kListKey = "tokenizer.chat_templates";
constexpr std::size_t kMostTemplates = 100;

/// The name of the template that a key has; empty if it has none.
std::string_view template_name(std::string_view key) {
  if (key == kDefaultKey) return kDefaultChatTemplate;
  return key.starts_with(kNamedKey) ? key.substr(kNamedKey.size()) : std::string_view();
}

const NamedChatTemplate* find_in(std::span<const NamedChatTemplate> templates,
                                 std::string_view name) {
  const auto found = std::ranges::find(templates, name, &NamedChatTemplate::name);
  return found == templates.end() ? nullptr : &*found;
}

std::string names_of(std::span<const NamedChatTemplate> templates) {
  std::vector<std::string> names;
  for (const NamedChatTemplate& each : templates) names.push_back(gguf::printable(each.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

Status check_list(const gguf::File& file, std::span<const NamedChatTemplate> templates) {
  if (file.find(kListKey) == nullptr) return ok();
  SHUNT_ASSIGN(const auto list, file.get_array(kListKey, gguf::ValueType::kString));
  for (const std::string& name : list->strings) {
    if (find_in(templates, name) != nullptr) continue;
    return fail(ErrorCode::kBadFile, "{}: {} lists {}, but no key {}NAME has this name",
                file.path(), kListKey, gguf::printable(name), kNamedKey);
  }
  return ok();
}

}  // namespace

Result<std::vector<NamedChatTemplate>> chat_templates_from_gguf(const gguf::File& file) {
  std::vector<NamedChatTemplate> templates;
  for (const gguf::KeyValue& entry : file.metadata()) {
    const std::string_view name = template_name(entry.key);
    if (name.empty()) continue;
    if (find_in(templates, name) != nullptr) {
      return fail(ErrorCode::kBadFile, "{}: there are two chat templates of the name {}",
                  file.path(), gguf::printable(name));
    }
    if (templates.size() == kMostTemplates) {
      return fail(ErrorCode::kBadFile, "{}: there are more than {} chat templates, the limit",
                  file.path(), kMostTemplates);
    }
    SHUNT_ASSIGN(std::string source, file.get_string(entry.key));
    templates.push_back({std::string(name), std::move(source)});
  }
  const auto first = std::ranges::find(templates, kDefaultChatTemplate, &NamedChatTemplate::name);
  if (first != templates.end()) std::rotate(templates.begin(), first, first + 1);
  SHUNT_TRY(check_list(file, templates));
  return templates;
}

Result<NamedChatTemplate> choose_chat_template(std::span<const NamedChatTemplate> templates,
                                               bool has_tools) {
  if (templates.empty()) return fail(ErrorCode::kNotFound, "there is no chat template");
  const NamedChatTemplate* found = has_tools ? find_in(templates, kToolChatTemplate) : nullptr;
  if (found == nullptr) found = find_in(templates, kDefaultChatTemplate);
  if (found == nullptr) {
    return fail(ErrorCode::kNotFound,
                "there is no default chat template; those that are there have the names {}",
                names_of(templates));
  }
  return *found;
}

Result<NamedChatTemplate> find_chat_template(std::span<const NamedChatTemplate> templates,
                                             std::string_view name) {
  if (const NamedChatTemplate* found = find_in(templates, name)) return *found;
  if (templates.empty()) return fail(ErrorCode::kNotFound, "there is no chat template");
  return fail(ErrorCode::kNotFound, "there is no chat template {} (available: {})",
              gguf::printable(name), names_of(templates));
}

}  // namespace shunt

#include "cli/report/chat_template_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/sizes.h"
#include "shunt/chat_template.h"
#include "shunt/model_chat.h"

namespace shunt::cli {
namespace {

/// One line, whatever the file has in it.
std::string reason_of(const Error& error) {
  const std::string& message = error.message();
  return gguf::printable(message, message.size());
}

std::string facts_of(const NamedChatTemplate& each) {
  const auto chat = text::ChatTemplate::create(each.source);
  if (!chat) return fmt::format("can't be used: {}", reason_of(chat.error()));
  return chat->uses("tools") ? "with tools" : "without tools";
}

}  // namespace

std::string chat_templates_text(const gguf::File& file) {
  const auto templates = chat_templates_from_gguf(file);
  const std::string heading = "chat templates\n";
  if (!templates)
    return heading + fmt::format("  can't be used: {}\n", reason_of(templates.error()));
  if (templates->empty()) return {};
  std::size_t width = 0;
  for (const NamedChatTemplate& each : *templates) {
    width = std::max(width, gguf::printable(each.name).size());
  }
  std::string text = heading;
  for (const NamedChatTemplate& each : *templates) {
    text += fmt::format("  {:<{}}  {}, {}\n", gguf::printable(each.name), width,
                        format_bytes(each.source.size()), facts_of(each));
  }
  return text;
}

Json chat_templates_json(const gguf::File& file) {
  const auto templates = chat_templates_from_gguf(file);
  if (!templates) return {{"error", templates.error().message()}};
  Json list = Json::array();
  for (const NamedChatTemplate& each : *templates) {
    Json item = {{"name", each.name}, {"bytes", each.source.size()}};
    const auto chat = text::ChatTemplate::create(each.source);
    if (chat) {
      item["uses_tools"] = chat->uses("tools");
    } else {
      item["error"] = chat.error().message();
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace shunt::cli

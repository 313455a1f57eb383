#include "convert/chat_template_keys.h"

#include <filesystem>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/to_size.h"
#include "convert/config.h"
#include "convert/json_text.h"
#include "shunt/message.h"

namespace shunt {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostTemplateBytes = std::uint64_t{1} << 24;
constexpr std::string_view kDefault = "default";

using Templates = std::map<std::string, std::string>;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<std::string> read_template(const std::string& path) {
  SHUNT_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.size() > kMostTemplateBytes) {
    return fail(ErrorCode::kBadFile, "{}: {} bytes; at most {} are expected", path, file.size(),
                kMostTemplateBytes);
  }
  std::string text(to_size(file.size()), '\0');
  SHUNT_TRY(file.read(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

/// Of a JSON file's chat_template: a text, or a list of names and texts.
Status add_from_json(const std::string& path, Templates& templates) {
  if (!is_there(path)) return ok();
  SHUNT_ASSIGN(const Config config, Config::read(path));
  const nlohmann::json* const found = config.find("chat_template");
  if (found == nullptr) return ok();
  if (found->is_string()) {
    templates.insert_or_assign(std::string(kDefault), found->get<std::string>());
    return ok();
  }
  constexpr const char* kExpected = "a text, or a list of objects with a name and a template";
  if (!found->is_array()) return config.wrong("chat_template", kExpected);
  for (const nlohmann::json& each : *found) {
    const auto name = each.is_object() ? each.find("name") : each.end();
    const auto text = each.is_object() ? each.find("template") : each.end();
    const bool good = each.is_object() && name != each.end() && text != each.end() &&
                      name->is_string() && text->is_string();
    if (!good) return config.wrong("chat_template", kExpected);
    templates.insert_or_assign(name->get<std::string>(), text->get<std::string>());
  }
  return ok();
}

}  // namespace

Status add_chat_templates(const std::string& folder, std::vector<gguf::KeyValue>& keys) {
  Templates templates;
  const fs::path root(folder);
  // Newer folders have a file, which counts more.
  for (const char* const name : {"tokenizer_config.json", "chat_template.json"})
    SHUNT_TRY(add_from_json((root / name).string(), templates));
  if (const fs::path file = root / "chat_template.jinja"; is_there(file)) {
    SHUNT_ASSIGN(templates[std::string(kDefault)], read_template(file.string()));
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "additional_chat_templates", error)) {
    if (entry.path().extension() != ".jinja") continue;
    SHUNT_ASSIGN(templates[entry.path().stem().string()], read_template(entry.path().string()));
  }
  auto names = std::make_shared<gguf::Array>();
  names->type = gguf::ValueType::kString;
  for (const auto& [name, text] : templates) {
    const bool is_default = name == kDefault;
    const std::string key =
        is_default ? "tokenizer.chat_template" : "tokenizer.chat_template." + name;
    keys.push_back({key, {gguf::ValueType::kString, text}});
    if (!is_default) names->strings.push_back(name);
  }
  if (!names->strings.empty()) {
    keys.push_back({"tokenizer.chat_templates",
                    {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(names)}});
  }
  return ok();
}

}  // namespace shunt

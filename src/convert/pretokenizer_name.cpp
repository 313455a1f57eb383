#include "convert/pretokenizer_name.h"

#include <optional>
#include <string_view>
#include <vector>

#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// How a published tokenizer cuts text. Steps are lines: an expression as the file has it, or a
/// word for a step of another kind.
struct KnownPretokenizer {
  std::string_view name;
  std::string_view steps;
  std::optional<bool> nfc;            ///< none: it does not matter
  std::optional<bool> ignore_merges;  ///< none: it does not matter
};

constexpr std::string_view kLlama3Steps =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Steps =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Steps =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4oSteps =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenSteps =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseek3Steps =
    "\\p{N}{1,3}\n"
    "[一-龥぀-ゟ゠-ヿ]+\n"
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseekCoderSteps =
    "[\\r\\n]\n"
    "\\s?\\p{L}+\n"
    "\\s?\\p{P}+\n"
    "[一-龥ࠀ-一가-퟿]+\n"
    "Digits 1";
constexpr std::string_view kSeedCoderSteps =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingSteps =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kFalconSteps =
    "Punctuation Contiguous\n"
    "ByteLevel\n"
    "Digits\n"
    "[0-9][0-9][0-9]";
constexpr std::string_view kBloomSteps = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";

/// The first that fits counts.
constexpr KnownPretokenizer kKnown[] = {
    {"llama-bpe", kLlama3Steps, false, true},
    {"glm4", kLlama3Steps, {}, {}},
    {"qwen2", kQwen2Steps, true, {}},
    {"hunyuan", kQwen2Steps, {}, {}},
    {"qwen35", kQwen35Steps, {}, {}},
    {"gpt-4o", kGpt4oSteps, {}, {}},
    {"tekken", kTekkenSteps, {}, {}},
    {"deepseek-v3", kDeepseek3Steps, {}, {}},
    {"deepseek-coder", kDeepseekCoderSteps, {}, {}},
    {"seed-coder", kSeedCoderSteps, {}, {}},
    {"bailingmoe", kBailingSteps, {}, {}},
    {"falcon", kFalconSteps, {}, {}},
    {"starcoder", "Digits 1\nByteLevel", {}, {}},
    {"bloom", kBloomSteps, {}, {}},
    {"olmo", "ByteLevel", true, {}},
    {"gpt-2", "ByteLevel", {}, {}},
};

std::string text_of(const nlohmann::json& node, const char* member, const char* otherwise) {
  const auto found = node.is_object() ? node.find(member) : node.end();
  return found == node.end() || !found->is_string() ? otherwise : found->get<std::string>();
}

bool flag_of(const nlohmann::json& node, const char* member, bool otherwise) {
  const auto found = node.is_object() ? node.find(member) : node.end();
  return found == node.end() || !found->is_boolean() ? otherwise : found->get<bool>();
}

/// The nodes of a "Sequence", or the node alone. They are not nested in published files.
std::vector<nlohmann::json> nodes_of(const nlohmann::json& node, const char* list) {
  if (!node.is_object()) return {};
  if (text_of(node, "type", "") != "Sequence") return {node};
  const auto found = node.find(list);
  if (found == node.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

/// A step as a line of KnownPretokenizer::steps; empty: it cuts nothing.
std::string step_of(const nlohmann::json& node) {
  std::string type = text_of(node, "type", "a step without a type");
  if (type == "ByteLevel") return flag_of(node, "use_regex", true) ? type : "";
  if (type == "Digits") return flag_of(node, "individual_digits", false) ? "Digits 1" : type;
  if (type == "Punctuation") return type + " " + text_of(node, "behavior", "Isolated");
  if (type != "Split") return type;
  const auto pattern = node.find("pattern");
  if (pattern == node.end()) return type;
  const std::string expression = text_of(*pattern, "Regex", "");
  const bool plain =
      text_of(node, "behavior", "Isolated") == "Isolated" || flag_of(node, "invert", false);
  if (expression.empty()) return "Split " + pattern->dump();
  return plain ? expression : text_of(node, "behavior", "") + " " + expression;
}

bool has_nfc(const nlohmann::json& tokenizer) {
  const auto normalizer = tokenizer.find("normalizer");
  if (normalizer == tokenizer.end()) return false;
  for (const nlohmann::json& node : nodes_of(*normalizer, "normalizers")) {
    if (text_of(node, "type", "") == "NFC") return true;
  }
  return false;
}

Error unknown_steps(const std::string& steps, const std::string& path) {
  std::string shown = steps;
  for (char& c : shown) {
    if (c == '\n') c = ' ';
  }
  return fail(ErrorCode::kUnsupported,
              "{}: pre_tokenizer: Shunt does not know a model that cuts text by {}", path,
              gguf::printable(shown, 300));
}

}  // namespace

Result<std::string> pretokenizer_name(const nlohmann::json& tokenizer, const std::string& path) {
  const auto pre = tokenizer.find("pre_tokenizer");
  std::string steps;
  if (pre != tokenizer.end()) {
    for (const nlohmann::json& node : nodes_of(*pre, "pretokenizers")) {
      const std::string step = step_of(node);
      if (!step.empty()) steps += (steps.empty() ? "" : "\n") + step;
    }
  }
  const bool nfc = has_nfc(tokenizer);
  const auto model = tokenizer.find("model");
  const bool ignores = model != tokenizer.end() && flag_of(*model, "ignore_merges", false);
  for (const KnownPretokenizer& known : kKnown) {
    const bool fits = known.steps == steps && known.nfc.value_or(nfc) == nfc &&
                      known.ignore_merges.value_or(ignores) == ignores;
    if (fits) return std::string(known.name);
  }
  return unknown_steps(steps, path);
}

Result<std::string> pretokenizer_name_of(const std::string& expression, const std::string& path) {
  for (const KnownPretokenizer& known : kKnown) {
    if (known.steps == expression) return std::string(known.name);
  }
  return unknown_steps(expression, path);
}

}  // namespace shunt

#include "shunt/chat_template.h"

#include <algorithm>
#include <array>

#include "shunt/message.h"
#include "text/jinja/json_text.h"
#include "text/jinja/parser.h"
#include "text/jinja/run.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

using jinja::Mapping;
using jinja::Value;

/// A step is at least a few nanoseconds; reading the inputs is not the template's fault.
constexpr std::uint64_t kInputSteps = std::uint64_t{1} << 40;

/// Role names that templates put between parts of a control token, as in "<|" + role + "|>". None
/// of them is a token by itself.
constexpr std::array<std::string_view, 6> kRoles = {"system", "user",      "assistant",
                                                    "tool",   "developer", "function"};

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

/// The message with the origin of a known role changed to the template.
Result<Value> with_trusted_role(const Value& message, jinja::Budget& budget) {
  const Mapping* mapping = message.as_mapping();
  const Value* role = mapping == nullptr ? nullptr : mapping->find("role");
  const jinja::TracedText* text = role == nullptr ? nullptr : role->as_text();
  if (text == nullptr) return message;
  if (std::find(kRoles.begin(), kRoles.end(), text->view()) == kRoles.end()) return message;
  Mapping changed = *mapping;
  changed.set(Value::text("role", false), Value::text(std::string(text->view()), true), budget);
  return jinja::make_mapping(std::move(changed));
}

Result<Value> read_messages(const std::string& json, jinja::Budget& budget) {
  SHUNT_ASSIGN(const Value messages, jinja::from_json(json, budget));
  const jinja::Sequence* sequence = messages.as_sequence();
  if (sequence == nullptr) return invalid("messages are a JSON array");
  std::vector<Value> items;
  items.reserve(sequence->items.size());
  for (const Value& message : sequence->items) {
    SHUNT_ASSIGN(Value item, with_trusted_role(message, budget));
    items.push_back(std::move(item));
  }
  return jinja::make_sequence(std::move(items));
}

/// A variable and its value.
using Variable = std::pair<std::string_view, Value>;

Result<std::vector<Variable>> variables_of(const ChatInputs& inputs) {
  jinja::Budget budget(kInputSteps, ~std::size_t{0});
  const auto token = [](const std::string& text) { return Value::text(text, true); };
  std::vector<Variable> variables;
  const auto add = [&](std::string_view name, Result<Value> value) -> Status {
    if (!value) return std::move(value.error()).with_context(name);
    variables.emplace_back(name, std::move(*value));
    return ok();
  };
  SHUNT_TRY(add("messages", read_messages(inputs.messages, budget)));
  const Value none(jinja::None{});
  SHUNT_TRY(add("tools", inputs.tools.empty() ? Result<Value>(none)
                                              : jinja::from_json(inputs.tools, budget)));
  SHUNT_TRY(add("documents", none));
  SHUNT_TRY(add("add_generation_prompt", Value(inputs.add_generation_prompt)));
  if (!inputs.bos_token.empty()) SHUNT_TRY(add("bos_token", token(inputs.bos_token)));
  if (!inputs.eos_token.empty()) SHUNT_TRY(add("eos_token", token(inputs.eos_token)));
  for (const auto& [name, text] : inputs.tokens) SHUNT_TRY(add(name, token(text)));
  for (const auto& [name, json] : inputs.values) {
    SHUNT_TRY(add(name, jinja::from_json(json, budget)));
  }
  return variables;
}

}  // namespace

struct ChatTemplate::State {
  explicit State(std::string_view text) : source(text) {}

  jinja::Source source;
  jinja::SyntaxTree tree;
};

std::string RenderedChat::text() const {
  std::string result;
  for (const ChatPiece& piece : pieces) result += piece.text;
  return result;
}

Result<ChatTemplate> ChatTemplate::create(std::string_view source) {
  if (!is_valid_utf8(source)) return invalid("the chat template is not valid UTF-8");
  auto state = std::make_shared<State>(source);
  SHUNT_ASSIGN(state->tree, jinja::parse(state->source));
  return ChatTemplate(std::move(state));
}

bool ChatTemplate::uses(std::string_view variable) const {
  const auto& names = state_->tree.names;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

Result<RenderedChat> ChatTemplate::render(const ChatInputs& inputs,
                                          const ChatTemplateLimits& limits) const {
  SHUNT_ASSIGN(const std::vector<Variable> variables, variables_of(inputs));
  jinja::Run run(state_->source,
                 {limits.steps, limits.depth, limits.value_bytes, limits.result_bytes},
                 inputs.clock ? inputs.clock : local_time);
  const auto& names = state_->tree.names;
  for (const auto& [name, value] : variables) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) continue;
    run.scope().set(static_cast<jinja::NameId>(found - names.begin()), value);
  }
  jinja::TracedText text;
  {
    const jinja::OutputGuard output(run, text);
    SHUNT_TRY(jinja::execute(state_->tree.body, run));
  }
  if (run.budget().is_spent()) return state_->source.locate(0, run.budget().spent());
  RenderedChat result;
  for (const jinja::TracedText::Piece& piece : text.pieces()) {
    result.pieces.push_back({std::string(piece.bytes), piece.from_template});
  }
  return result;
}

}  // namespace shunt::text

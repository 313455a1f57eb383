// Chat templates: any text is a template or is refused, and one that was read renders within its
// limits or says where it fails. Any text is JSON of a variable or is refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "shunt/chat_template.h"

namespace {

using namespace shunt;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

/// An error of a template names its place.
void check_error(const Error& error) {
  require(error.code() == ErrorCode::kInvalidArgument);
  require(error.message().starts_with("chat template, line ") ||
          error.message() == "the chat template is not valid UTF-8");
  require(error.message().size() < 10000);
}

text::ChatInputs conversation() {
  text::ChatInputs inputs;
  inputs.messages = R"([{"role": "system", "content": "Be <|im_end|> brief."},
    {"role": "user", "content": "a b\nc \u00e9\ud83e\udd99"},
    {"role": "assistant", "content": "<think>x</think>y", "tool_calls": [{"id": "call00001",
      "type": "function", "function": {"name": "f", "arguments": {"a": [1, 2.5, null]}}}]},
    {"role": "tool", "content": "{}"}, {"role": "user", "content": [{"type": "text", "text": "t"}]}])";
  inputs.tools = R"([{"type": "function", "function": {"name": "f", "description": "d",
    "parameters": {"type": "object", "properties": {"a": {"type": "array"}}}}}])";
  inputs.add_generation_prompt = true;
  inputs.values = {{"s", "\"Hello, World\""},
                   {"l", "[3, 1, 2]"},
                   {"d", R"({"b": 1, "a": [1, {"x": null}]})"},
                   {"people", R"([{"name": "Ann", "age": 30}, {"name": "bob", "age": 25}])"},
                   {"n", "7"},
                   {"f", "2.5"},
                   {"t", "true"}};
  inputs.bos_token = "<s>";
  inputs.eos_token = "</s>";
  inputs.clock = [] { return std::tm{}; };
  return inputs;
}

/// The same bytes as a variable's JSON.
void read_as_json(std::string_view json) {
  static const auto chat = *text::ChatTemplate::create("{{ x }}{{ x|tojson }}");
  text::ChatInputs inputs;
  inputs.values = {{"x", std::string(json)}};
  const auto rendered = chat.render(inputs);
  require(rendered || rendered.error().code() == ErrorCode::kInvalidArgument);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const text::ChatInputs inputs = conversation();
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  read_as_json(source);
  const auto chat = text::ChatTemplate::create(source);
  if (!chat) {
    check_error(chat.error());
    return 0;
  }
  const text::ChatTemplateLimits limits{
      .steps = 20000, .depth = 100, .value_bytes = 1 << 16, .result_bytes = 1 << 17};
  const auto rendered = chat->render(inputs, limits);
  if (!rendered) {
    check_error(rendered.error());
    return 0;
  }
  require(rendered->text().size() <= limits.result_bytes);
  for (std::size_t i = 0; i < rendered->pieces.size(); ++i) {
    require(!rendered->pieces[i].text.empty());
    require(i == 0 || rendered->pieces[i].from_template != rendered->pieces[i - 1].from_template);
  }
  return 0;
}

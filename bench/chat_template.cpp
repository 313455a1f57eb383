// Rendering of a conversation: 50 messages of 200 words. The aim is 1 ms. "turns" prints messages
// as they are; "thinking" walks them backwards, cuts out thoughts and keeps state in a namespace,
// as templates of models that think do. The JSON of the messages is read each time.
#include "shunt/chat_template.h"

#include <benchmark/benchmark.h>

#include <string>

namespace shunt {
namespace {

constexpr const char* kTurns =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";

constexpr const char* kThinking = R"(
{%- set ns = namespace(open=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.open and message.role == "user" and message.content is string and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.open = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and thoughts %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + thoughts.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})";

text::ChatInputs long_conversation() {
  std::string words;
  for (int i = 0; i < 200; ++i) words += "word" + std::to_string(i % 10) + " ";
  text::ChatInputs inputs;
  inputs.add_generation_prompt = true;
  inputs.messages = "[";
  for (int i = 0; i < 25; ++i) {
    inputs.messages += i > 0 ? "," : "";
    inputs.messages += R"({"role": "user", "content": ")" + words + R"("},)" +
                       R"({"role": "assistant", "content": "<think>\na\n</think>\n\n)" + words +
                       R"("})";
  }
  inputs.messages += "]";
  return inputs;
}

void chat_template(benchmark::State& state, const char* source) {
  const auto chat = text::ChatTemplate::create(source);
  if (!chat) return state.SkipWithError(chat.error().message().c_str());
  const text::ChatInputs inputs = long_conversation();
  std::size_t size = 0;
  for (auto _ : state) {
    const auto rendered = chat->render(inputs);
    if (!rendered) return state.SkipWithError(rendered.error().message().c_str());
    size = rendered->text().size();
    benchmark::DoNotOptimize(size);
  }
  state.counters["bytes"] = static_cast<double>(size);
}

void chat_template_reading(benchmark::State& state, const char* source) {
  for (auto _ : state) {
    auto chat = text::ChatTemplate::create(source);
    benchmark::DoNotOptimize(chat);
  }
}

const auto kMicrosecond = benchmark::kMicrosecond;
BENCHMARK_CAPTURE(chat_template, turns, kTurns)->Unit(kMicrosecond);
BENCHMARK_CAPTURE(chat_template, thinking, kThinking)->Unit(kMicrosecond);
BENCHMARK_CAPTURE(chat_template_reading, thinking, kThinking)->Unit(kMicrosecond);

}  // namespace
}  // namespace shunt

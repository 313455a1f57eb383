// Chat templates: origins of text, errors with their places, bounds. Renderings are compared with
// Jinja2 in tests/oracle/chat_templates_test.cpp.
#include "shunt/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::text::text_chat_template_test {
namespace {

constexpr const char* kConversation =
    R"([{"role": "user", "content": "ab c"}, {"role": "pirate", "content": "D<e>\nf", "n": 12}])";

Result<RenderedChat> rendered(std::string_view source, const ChatTemplateLimits& limits = {}) {
  SHUNT_ASSIGN(const ChatTemplate chat, ChatTemplate::create(source));
  ChatInputs inputs;
  inputs.messages = kConversation;
  inputs.bos_token = "<s>";
  inputs.values = {{"name", "\"x,y\""}, {"info", R"({"k": "v"})"}};
  return chat.render(inputs, limits);
}

/// The text with brackets around people's part of it.
std::string with_origins(const RenderedChat& chat) {
  std::string text;
  for (const ChatPiece& piece : chat.pieces) {
    text += piece.from_template ? piece.text : "[" + piece.text + "]";
  }
  return text;
}

TEST(ChatTemplate, KeepsTheOriginOfEachCharacter) {
  struct Case {
    const char* source;
    const char* expected;
  };
  // Brackets stand around people's text.
  const Case cases[] = {
      {"T{{ messages[0].content }}T", "T[ab c]T"},
      {"{{ bos_token + messages[0].content ~ '!' }}", "<s>[ab c]!"},
      {"{{ messages[0].role }} {{ messages[1].role }}", "user [pirate]"},
      {"{{ '<|' + messages[0].role + '|>' }}", "<|user|>"},
      {"{{ messages[0].content|upper }}{{ 'x'|upper }}", "[AB C]X"},
      {"{{ ('<' ~ messages[0].content ~ '>')|title }}", "<[Ab C]>"},
      {"{{ (' ' ~ messages[0].content ~ '> ')|trim }}", "[ab c]>"},
      {"{{ ('-' ~ messages[0].content ~ '+')[1:-2] }}", "[ab ]"},
      {"{{ ('-' ~ messages[0].content ~ '+')[::-1] }}", "+[c ba]-"},
      {"{{ messages[0].content.replace('b', '<|x|>') }}", "[a]<|x|>[ c]"},
      {"{{ '<|x|>'.replace('x', name) }}", "<|[x,y]|>"},
      {"{{ messages[0].content.split(' ')|join('|') }}", "[ab]|[c]"},
      {"{{ name.split(',')[1] }}", "[y]"},
      {"{{ '%s=%5s' % (name, 'k') }}", "[x,y]=    k"},
      {"{{ '{}<{}>'.format(1, name) }}", "1<[x,y]>"},
      {"{{ name|format }}{{ messages[1].n + 1 }}", "[x,y]13"},
      {"{{ messages[1].content|indent(2) }}", "[D<e>]\n  [f]"},
      {"{{ messages[1].content|e }}", "[D&lt;e&gt;\nf]"},
      {"{{ info|tojson }}{{ {'a': 'b'}|tojson }}", "[{\"k\": \"v\"}{\"]a[\": \"]b[\"}]"},
      {"{{ info }}{{ [1]|string|length }}", "[{'k': 'v'}]3"},
      {"{% for c in name %}{{ c }}.{% endfor %}", "[x].[,].[y]."},
      {"{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(name)|upper }}", "<[X,Y]>"},
      {"{% set t %}({{ name }}){% endset %}{{ t|reverse }}", ")[y,x]("},
      {"{% filter replace('t', 'T') %}t{{ name }}t{% endfilter %}", "T[x,y]T"},
      {"{{ messages|map(attribute='content')|first }}{{ name|list|last }}", "[ab cy]"},
      {"{% for k, v in info.items() %}{{ k }}={{ v }}{% endfor %}", "[k]=[v]"},
      {"{{ ('-' ~ messages[0].content)|wordwrap(3, wrapstring='|') }}", "-[ab]|[c]"},
      {"{{ [name, 'k']|pprint }}", "[['x,y', ']k[']]"},
      {"{{ ('(xy.com ' ~ name)|urlize }}",
       "([<a href=\"https://]xy.com[\" rel=\"noopener\">]xy.com[</a>] [x,y]"},
      {"{{ name|center(7) }}|{{ name.zfill(5) }}", "  [x,y]  |00[x,y]"},
  };
  for (const Case& each : cases) {
    const auto chat = rendered(each.source);
    ASSERT_TRUE(chat) << each.source << ": " << chat.error().message();
    EXPECT_EQ(with_origins(*chat), each.expected) << each.source;
  }
}

TEST(ChatTemplate, ErrorsHaveLineColumnAndReason) {
  struct Case {
    const char* source;
    const char* message;
  };
  const Case cases[] = {
      {"a\n  {{ nope.x }}", "chat template, line 2, column 11: \"nope\" is not defined"},
      {"\xC3\xA9 {{ raise_exception('No tools!') }}", "chat template, line 1, column 6: No tools!"},
      {"{% if x %}\n{% endfor %}", "chat template, line 2, column 4: unknown tag \"endfor\""},
      {"\n\n{{ 1 + }}", "chat template, line 3, column 8: unexpected \"}}\""},
      {"{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n{{ m() }}",
       "chat template, line 2, column 6: division by zero"},
      {"{% include 'x' %}",
       "chat template, line 1, column 4: \"include\" is not available: a template has no access "
       "to others"},
      {"{{ name.__class__.x }}",
       "chat template, line 1, column 19: \"__class__\" is not available to templates"},
      {"{{ messages.append(1) }}",
       "chat template, line 1, column 13: \"append\" is not available to templates"},
      {"{{ name|nope }}", "chat template, line 1, column 9: there is no filter \"nope\""},
  };
  for (const Case& each : cases) {
    const auto chat = rendered(each.source);
    ASSERT_FALSE(chat) << each.source;
    EXPECT_EQ(chat.error().message(), each.message) << each.source;
    EXPECT_EQ(chat.error().code(), ErrorCode::kInvalidArgument);
  }
}

/// Python computes all of these; a wrong number would be worse than none.
TEST(ChatTemplate, ArithmeticBeyond64BitsIsAnErrorWithItsPlace) {
  for (const char* expression : {"9223372036854775807 + 1",
                                 "-9223372036854775807 - 2",
                                 "9223372036854775807 * 2",
                                 "2 ** 64",
                                 "10 ** 30 // 3",
                                 "-9223372036854775808 // -1",
                                 "18446744073709551616 + 1",
                                 "1 - 18446744073709551616",
                                 "18446744073709551616 * 0",
                                 "18446744073709551616 / 2",
                                 "18446744073709551616 // 2",
                                 "18446744073709551616 % 7",
                                 "7 % 18446744073709551616",
                                 "18446744073709551616 ** 2",
                                 "2 ** 18446744073709551616",
                                 "'x' * 18446744073709551616",
                                 "0x10000000000000000",
                                 "[18446744073709551615, 1]|sum",
                                 "18446744073709551616 is odd",
                                 "18446744073709551616 is divisibleby 2",
                                 "18446744073709551616|round(-1)",
                                 "18446744073709551616|round(1, 'ceil')",
                                 "'10000000000000000'|int(0, 16)",
                                 "'%d' % 18446744073709551616",
                                 "'%d' % 1e19",
                                 "'{:,}'.format(18446744073709551616)",
                                 "'{:>30}'.format(18446744073709551616)",
                                 "'a'|center(18446744073709551616)",
                                 "range(18446744073709551616)"}) {
    const auto chat = rendered("{# a #}\n{{ " + std::string(expression) + " }}");
    ASSERT_FALSE(chat) << expression << " is " << chat->text();
    const std::string message = chat.error().message();
    EXPECT_TRUE(message.starts_with("chat template, line 2, column ")) << message;
    EXPECT_TRUE(message.ends_with(": integers are limited to 64 bits")) << message;
  }
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(ChatTemplate, HostileTemplatesEnd) {
  struct Case {
    std::string source;
    const char* message;  ///< a part of it
  };
  const std::string grow = "{% set s = 'x' %}" + repeated("{% set s = s + s %}", 60) + "{{ s }}";
  const std::string forever = "{% for i in range(100000) %}{% for j in range(100000) %}x";
  const Case cases[] = {
      {grow, "larger than the limit"},
      {"{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}"
       "{% endfor %}",
       "larger than the limit"},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}"
       "{% endfor %}",
       "larger than the limit"},
      {"{{ 'x' * 10 ** 12 }}", "larger than the limit"},
      {"{{ '%1000000s' % 'x' }}" + repeated("{{ 'x'.center(10 ** 7) }}", 100), "limit"},
      {"{{ 'abc'|replace('', 'y' * 10 ** 6)|replace('y', 'z' * 10 ** 6) }}", "steps"},
      {"{% for i in range(10 ** 9) %}{% endfor %}", "more than 100000 elements"},
      {forever + "{% endfor %}{% endfor %}", "steps"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested more than"},
      {"{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}", "nested more than"},
      {"{{ " + repeated("(", 10000) + "1" + repeated(")", 10000) + " }}", "nested more than"},
      {"{{ " + repeated("[", 10000), "nested more than"},
      {"{{ " + repeated("not ", 10000) + "1 }}", "nested more than"},
      {"{{ " + repeated("-", 10000) + "1 }}", "nested more than"},
      {"{{ 1" + repeated(" + 1", 10000) + " }}", "unexpected"},
      {"{{ x" + repeated(".x", 10000) + " }}", "unexpected"},
      {"{{ x" + repeated("|e", 10000) + " }}", "unexpected"},
      {"{{ 1" + repeated(" if 1 else 1", 10000) + " }}", "nested more than"},
      {repeated("{% if 1 %}", 10000), "nested more than"},
      {"{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}"
       "{% endfor %}",
       "nested more than"},
      // Twice itself, 100 levels deep: small in memory, without an end as text.
      {"{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l }}",
       "steps"},
      {"{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(100) %}"
       "{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
       "steps"},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l|tojson }}",
       "steps"},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l|pprint }}",
       "steps"},
      {"{{ {'k' * 10 ** 6: range(100000)|list}|pprint }}", "larger than the limit"},
      {"{{ ('\\n' * 10 ** 6)|pprint }}", "steps"},
      {"{{ ('-a' * 10 ** 6)|wordwrap(1) }}", "steps"},
      {"{{ ('\\xa0' * 10 ** 6 ~ 'a' * 10 ** 6)|wordwrap(1) }}", "steps"},
      {"{{ ('a ' * 10 ** 6)|wordwrap(1, wrapstring='x' * 100) }}", "larger than the limit"},
      {repeated("{{ ('(' * 10 ** 6 ~ ')' * 10 ** 6)|urlize }}", 1000), "steps"},
      {"{{ ('a ' * 10 ** 5)|urlize(extra_schemes=['ab:'] * 10 ** 5) }}", "steps"},
  };
  for (const Case& each : cases) {
    const auto chat = rendered(each.source);
    ASSERT_FALSE(chat) << each.source.substr(0, 200);
    EXPECT_NE(chat.error().message().find(each.message), std::string::npos)
        << each.source.substr(0, 200) << ": " << chat.error().message();
  }
}

TEST(ChatTemplate, LimitsAreThoseOfTheCaller) {
  const std::string loop = "{% for i in range(100) %}x{% endfor %}";
  EXPECT_TRUE(rendered(loop));
  EXPECT_FALSE(rendered(loop, {.steps = 50}));
  EXPECT_FALSE(rendered(loop, {.result_bytes = 99}));
  EXPECT_TRUE(rendered(loop, {.result_bytes = 100}));
  EXPECT_FALSE(rendered("{{ 'x' * 101 }}", {.value_bytes = 100}));
  const std::string name(100, 'm');
  const std::string macro = "{% macro " + name + "() %}{% endmacro %}";
  EXPECT_TRUE(rendered(macro + "{{ [" + name + "] }}", {.value_bytes = 1000}));
  EXPECT_FALSE(rendered(macro + "{{ [" + name + "] * 10 }}", {.value_bytes = 1000}));
  EXPECT_FALSE(rendered("{{ [[[[1]]]] }}", {.depth = 3}));
}

TEST(ChatTemplate, NamespacesThatHoldThemselvesAreReleased) {
  const auto chat = rendered(
      "{% set a = namespace() %}{% set a.self = a %}{% macro m() %}{{ m }}{% endmacro %}"
      "{% set a.m = m %}{% set a.list = [a, m] %}{{ a.self.self.list|length }}");
  ASSERT_TRUE(chat) << chat.error().message();
  EXPECT_EQ(chat->text(), "2");
}

TEST(ChatTemplate, RejectsInvalidInputs) {
  const auto chat = ChatTemplate::create("{{ messages }}");
  ASSERT_TRUE(chat);
  const auto message = [&](const ChatInputs& inputs) {
    const auto result = chat->render(inputs);
    return result ? std::string("no error") : result.error().message();
  };
  ChatInputs inputs;
  inputs.messages = "[{]";
  EXPECT_EQ(message(inputs), "messages: invalid JSON at byte 3");
  inputs.messages = "{}";
  EXPECT_EQ(message(inputs), "messages: messages are a JSON array");
  inputs.messages = repeated("[", 10000);
  EXPECT_EQ(message(inputs), "messages: JSON is nested more than 100 deep");
  inputs.messages = "[\"\xFF\"]";
  EXPECT_EQ(message(inputs), "messages: invalid JSON: it is not valid UTF-8");
  inputs.messages = "[]";
  inputs.values = {{"enable_thinking", "yes"}};
  EXPECT_EQ(message(inputs).substr(0, 29), "enable_thinking: invalid JSON");
  EXPECT_FALSE(ChatTemplate::create("\xFF"));
}

TEST(ChatTemplate, ReadsJsonAsItsStandardSays) {
  const auto chat = ChatTemplate::create("{{ x }}");
  ASSERT_TRUE(chat);
  const auto shown = [&](const std::string& json) {
    ChatInputs inputs;
    inputs.values = {{"x", json}};
    const auto result = chat->render(inputs);
    return result ? result->text() : "error";
  };
  EXPECT_EQ(shown(R"( { "a" : [ 1 , -2.5e1, 0, -0.0 ] , "b":{} , "a" : [] } )"),
            "{'a': [], 'b': {}}");
  EXPECT_EQ(shown(R"("\"\\\/\b\f\n\r\t\u00e9\ud83e\udd99é")"),
            "\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\xA6\x99\xC3\xA9");
  EXPECT_EQ(shown("[1e-400, 9223372036854775807, -9223372036854775809]"),
            "[0.0, 9223372036854775807, -9223372036854775809]");
  for (const char* wrong : {"",
                            " ",
                            "[",
                            "]",
                            "[1,]",
                            "[,1]",
                            "[1 2]",
                            "{\"a\"}",
                            "{\"a\":}",
                            "{a:1}",
                            "{\"a\":1,}",
                            "01",
                            "+1",
                            "1.",
                            ".5",
                            "1e",
                            "-",
                            "nul",
                            "truE",
                            "\"",
                            "\"\\",
                            "\"\\x\"",
                            "\"\\u12g4\"",
                            "\"\\ud800\"",
                            "\"\\udc00\"",
                            "\"\\ud800\\u0041\"",
                            "\"\n\"",
                            "1e400",
                            "1 1",
                            "'a'",
                            "NaN",
                            "[1}"}) {
    EXPECT_EQ(shown(wrong), "error") << wrong;
  }
  // Integers have the range of doubles.
  const std::string digits(308, '9');
  EXPECT_EQ(shown(digits), digits);
  EXPECT_EQ(shown(digits + "9"), "error");
  for (const char* wrong : {"[1", "{"}) {
    EXPECT_EQ(shown(wrong), "error") << wrong;
  }
}

TEST(ChatTemplate, VariablesAreJsonAndMayReplaceOthers) {
  const auto chat = ChatTemplate::create(
      "{{ tools }} {{ flag is true }} {{ big }} {{ bos_token is defined }} {{ deep.a[1] }}");
  ASSERT_TRUE(chat);
  EXPECT_TRUE(chat->uses("tools"));
  EXPECT_FALSE(chat->uses("messages"));
  ChatInputs inputs;
  inputs.values = {
      {"flag", "true"}, {"big", "123456789012345678901"}, {"deep", R"({"a": [1, 2]})"}};
  const auto result = chat->render(inputs);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->text(), "None True 123456789012345678901 False 2");
}

/// In quadratic time this takes minutes.
TEST(ChatTemplate, TakesLinearTimeForManyNames) {
  std::string source = "{% set ns = namespace() %}";
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "a" + std::to_string(i);
    source += "{% set " + name + " = 1 %}{% set ns." + name + " = 2 %}";
  }
  source += "{{ a99999 }}{{ ns.a99999 }}";
  const auto chat = ChatTemplate::create(source);
  ASSERT_TRUE(chat) << chat.error().message();
  const auto result = chat->render({});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->text(), "12");
}

TEST(ChatTemplate, ThreadsShareATemplate) {
  const auto chat = ChatTemplate::create(
      "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m.content|length %}"
      "{{ m.content|upper }}{% endfor %}{{ ns.n }}");
  ASSERT_TRUE(chat);
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&chat, &result] {
      ChatInputs inputs;
      inputs.messages = kConversation;
      for (int i = 0; i < 50; ++i) {
        const auto text = chat->render(inputs);
        result = text ? text->text() : text.error().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, "AB CD<E>\nF10");
}

}  // namespace
}  // namespace shunt::text::text_chat_template_test

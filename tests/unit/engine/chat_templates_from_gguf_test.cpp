// Which chat templates the metadata of a GGUF file have, and which of them is chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "shunt/model_chat.h"

namespace shunt::engine_chat_templates_from_gguf_test {
namespace {

using testing::HasSubstr;
using Templates = std::vector<NamedChatTemplate>;

Result<Templates> read(const std::function<void(gguf::Writer&)>& fill) {
  gguf::Writer writer;
  fill(writer);
  const std::string path =
      ::testing::TempDir() + "chat_templates_" + std::to_string(::getpid()) + ".gguf";
  SHUNT_TRY(writer.write(path, [](std::size_t) { return std::span<const std::byte>(); }));
  const auto file = gguf::File::open(path);
  std::remove(path.c_str());
  if (!file) return Error(file.error());
  return chat_templates_from_gguf(*file);
}

gguf::Array names(std::vector<std::string> texts) {
  gguf::Array array;
  array.type = gguf::ValueType::kString;
  array.strings = std::move(texts);
  return array;
}

std::string error_of(const std::function<void(gguf::Writer&)>& fill) {
  const auto templates = read(fill);
  if (templates) return "no error";
  EXPECT_EQ(templates.error().code(), ErrorCode::kBadFile);
  return templates.error().message();
}

TEST(ChatTemplatesFromGguf, ReadsAllWithTheDefaultFirst) {
  const auto templates = read([](gguf::Writer& writer) {
    writer.add_string("tokenizer.chat_template.tool_use", "B");
    writer.add_string("tokenizer.chat_template.rag", "C");
    writer.add_string("tokenizer.chat_template", "A");
    writer.add_array("tokenizer.chat_templates", names({"rag", "tool_use"}));
  });
  ASSERT_TRUE(templates) << templates.error().message();
  ASSERT_EQ(templates->size(), 3U);
  EXPECT_EQ((*templates)[0].name, "default");
  EXPECT_EQ((*templates)[0].source, "A");
  EXPECT_EQ((*templates)[1].name, "tool_use");
  EXPECT_EQ((*templates)[1].source, "B");
  EXPECT_EQ((*templates)[2].source, "C");
}

TEST(ChatTemplatesFromGguf, AFileMayHaveNone) {
  const auto templates =
      read([](gguf::Writer& writer) { writer.add_string("tokenizer.chat", "no template"); });
  ASSERT_TRUE(templates) << templates.error().message();
  EXPECT_TRUE(templates->empty());
  const auto chosen = choose_chat_template(*templates, false);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code(), ErrorCode::kNotFound);
}

TEST(ChatTemplatesFromGguf, ReportsWrongKeys) {
  EXPECT_THAT(error_of([](gguf::Writer& writer) { writer.add_u32("tokenizer.chat_template", 1); }),
              HasSubstr("tokenizer.chat_template"));
  EXPECT_THAT(error_of([](gguf::Writer& writer) {
                writer.add_string("tokenizer.chat_template", "A");
                writer.add_array("tokenizer.chat_templates", names({"rag"}));
              }),
              HasSubstr("'rag'"));
  EXPECT_THAT(error_of([](gguf::Writer& writer) { writer.add_u32("tokenizer.chat_templates", 1); }),
              HasSubstr("tokenizer.chat_templates"));
  EXPECT_THAT(error_of([](gguf::Writer& writer) {
                writer.add_string("tokenizer.chat_template", "A");
                writer.add_string("tokenizer.chat_template.default", "B");
              }),
              HasSubstr("two chat templates"));
  EXPECT_THAT(error_of([](gguf::Writer& writer) {
                for (int i = 0; i < 101; ++i) {
                  writer.add_string("tokenizer.chat_template." + std::to_string(i), "A");
                }
              }),
              HasSubstr("more than 100"));
}

const Templates kBoth = {{"default", "A"}, {"tool_use", "B"}};
const Templates kPlain = {{"default", "A"}, {"rag", "C"}};
const Templates kNamed = {{"rag", "C"}, {"tool_use", "B"}};

std::string chosen(const Templates& templates, bool has_tools) {
  const auto found = choose_chat_template(templates, has_tools);
  return found ? found->source : found.error().message();
}

TEST(ChatTemplatesFromGguf, ToolsChooseTheirTemplate) {
  EXPECT_EQ(chosen(kBoth, false), "A");
  EXPECT_EQ(chosen(kBoth, true), "B");
  EXPECT_EQ(chosen(kPlain, true), "A");
  EXPECT_EQ(chosen(kNamed, true), "B");
}

TEST(ChatTemplatesFromGguf, NoTemplateIsGuessed) {
  EXPECT_THAT(chosen(kNamed, false), HasSubstr("'rag', 'tool_use'"));
  EXPECT_THAT(chosen({}, true), HasSubstr("no chat template"));
}

TEST(ChatTemplatesFromGguf, ATemplateIsFoundByItsExactName) {
  const auto found = find_chat_template(kBoth, "tool_use");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "B");
  const auto missing = find_chat_template(kBoth, "tool");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr("'default', 'tool_use'"));
}

}  // namespace
}  // namespace shunt::engine_chat_templates_from_gguf_test

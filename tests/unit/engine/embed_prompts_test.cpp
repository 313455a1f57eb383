#include "shunt/embed_prompts.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace shunt::test::engine_embed_prompts_test {
namespace {

Result<EmbedPrompts> prompts_of(const std::function<void(gguf::Writer&)>& add) {
  gguf::Writer writer;
  writer.add_string("general.architecture", "bert");
  add(writer);
  const std::vector<std::byte> bytes = must(writer.header());
  return read_embed_prompts(must(gguf::File::parse(bytes, "file", {.metadata_only = true})));
}

TEST(EmbedPrompts, HaveNames) {
  const auto prompts = must(prompts_of([](gguf::Writer& writer) {
    writer.add_string("tokenizer.shunt.prompt.query", "query: ");
    writer.add_string("tokenizer.shunt.prompt.document", "");
    writer.add_string("tokenizer.shunt.default_prompt", "query");
  }));
  EXPECT_EQ(must(prompts.text("query")), "query: ");
  EXPECT_EQ(must(prompts.text("document")), "");
  EXPECT_EQ(prompts.usual, "query");
  EXPECT_EQ(prompts.text("doc").error().message(),
            "the model has no prompt \"doc\"; it has document, query");
}

TEST(EmbedPrompts, MayBeMissing) {
  const auto prompts = must(prompts_of([](gguf::Writer&) {}));
  EXPECT_EQ(prompts.usual, "");
  EXPECT_EQ(prompts.text("query").error().message(),
            "the model has no prompt \"query\"; it has none");
}

TEST(EmbedPrompts, BadKeysAreRefused) {
  EXPECT_EQ(prompts_of([](gguf::Writer& writer) {
              writer.add_string("tokenizer.shunt.default_prompt", "query");
            })
                .error()
                .message(),
            "file: tokenizer.shunt.default_prompt is \"query\", but the file has no prompt of this "
            "name");
  EXPECT_FALSE(
      prompts_of([](gguf::Writer& writer) { writer.add_u32("tokenizer.shunt.prompt.query", 1); }));
}

}  // namespace
}  // namespace shunt::test::engine_embed_prompts_test

// Files that are given as models, but are of another kind: the message has the kind and its use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "shunt/engine.h"
#include "support/adapters.h"
#include "support/must.h"
#include "support/run_command.h"
#include "support/session_tokens.h"

namespace shunt::test::file_kinds_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Kind {
  const char* name;
  std::vector<std::pair<std::string, std::string>> keys;
  bool has_tensor;
  const char* words;
};

const std::array kKinds = {
    Kind{"Adapter",
         {{"general.type", "adapter"}, {"general.architecture", "llama"}},
         true,
         "this is no model, but an adapter; load it beside its model: shunt run --model MODEL "
         "--lora FILE"},
    Kind{"Projector",
         {{"general.type", "mmproj"}, {"general.architecture", "clip"}},
         true,
         "this is no model, but a projector of images or sounds"},
    Kind{"OldProjector",
         {{"general.architecture", "clip"}},
         true,
         "this is no model, but a projector of images or sounds"},
    Kind{"ControlVector",
         {{"general.architecture", "controlvector"}},
         true,
         "this is no model, but a control vector"},
    Kind{"ImportanceMatrix",
         {{"general.type", "imatrix"}},
         true,
         "this is no model, but an importance matrix; use it with shunt quantize --imatrix FILE"},
    Kind{
        "Vocabulary",
        {{"general.type", "model"},
         {"general.architecture", "llama"},
         {"tokenizer.ggml.model", "llama"}},
        false,
        "this is no model, but a vocabulary without weights; shunt tokenize --model FILE reads it"},
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class FileKinds : public ::testing::TestWithParam<Kind> {};

TEST_P(FileKinds, AreNamedWhereAModelIsWanted) {
  const TempFolder folder;
  const std::string path = folder.file("other.gguf");
  gguf::Writer writer;
  for (const auto& [key, value] : GetParam().keys) writer.add_string(key, value);
  const std::vector<std::byte> zeros(32 * sizeof(float));
  if (GetParam().has_tensor) must(writer.add_tensor("a", must(make_tensor(DType::kF32, {32}))));
  must(
      writer.write(path, [&](std::size_t) -> Result<std::span<const std::byte>> { return zeros; }));
  const auto registry = must(Registry::create({}));
  const std::array devices = {registry->devices().back()};
  const auto model = Model::load(path, devices);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message(), AllOf(HasSubstr(path), HasSubstr(GetParam().words)));
  for (const char* command : {"run", "explain"}) {
    const RunResult result = run_command({command, "--model", path});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, FileKinds, ::testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shunt::test::file_kinds_test

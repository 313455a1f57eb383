#include "support/stories.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test {
namespace {

const nlohmann::json& expected() {
  static const nlohmann::json json =
      nlohmann::json::parse(read_file(SHUNT_TEST_EXPECTED "/stories.json"));
  return json;
}

}  // namespace

template <class T>
T stories_value(const std::string& name) {
  return expected().at(name).get<T>();
}
template double stories_value(const std::string& name);
template std::string stories_value(const std::string& name);
template std::vector<std::int32_t> stories_value(const std::string& name);

const Stories& stories() {
  static const Stories result = {
      .path = SHUNT_TEST_MODELS "/stories.gguf",
      .prompt = stories_value<std::string>("prompt"),
      .prompt_ids = stories_value<std::vector<std::int32_t>>("prompt_ids"),
      .text = stories_value<std::string>("greedy_text"),
      .ids = stories_value<std::vector<std::int32_t>>("greedy_ids"),
      .logits = expected().at("logits").get<std::vector<double>>(),
  };
  return result;
}

std::string stories_text_path() {
  return SHUNT_TEST_EXPECTED "/stories.txt";
}

Stories stories_260k() {
  const std::string name = "data/models/stories260K";
  Stories result{.path = shared_path(name + ".gguf"),
                 .prompt = "Once upon a time",
                 .prompt_ids = {1, 403, 407, 261, 378},
                 .text = read_file(shared_path(name + ".greedy.txt")),
                 .ids = {},
                 .logits = {}};
  if (result.text.ends_with('\n')) result.text.pop_back();
  std::istringstream ids(read_file(shared_path(name + ".greedy.ids")));
  for (std::int32_t id; ids >> id;) result.ids.push_back(id);
  result.ids.erase(result.ids.begin(),
                   result.ids.begin() + static_cast<std::ptrdiff_t>(result.prompt_ids.size()));
  std::istringstream lines(read_file(shared_path(name + ".logits.txt")));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line);
    std::size_t token = 0;
    double logit = 0;
    if (line.starts_with('#') || !(text >> token >> logit)) continue;
    if (token != result.logits.size()) throw std::runtime_error(name + ".logits.txt: a gap");
    result.logits.push_back(logit);
  }
  return result;
}

F32Stories::F32Stories() : path_(folder_.file("f32.gguf")) {
  const RunResult made = run_command({"quantize", stories().path, path_, "F32"});
  if (made.exit_code != 0) throw std::runtime_error("no F32 stories: " + made.err);
}

}  // namespace shunt::test

// Continues a text: generate [MODEL.gguf [PROMPT]]. Without a file it uses the model that comes
// with Shunt.
#include <shunt/shunt.h>
#include <stdio.h>

using namespace shunt;

static Status run(const char* path, const char* prompt) {
  SHUNT_ASSIGN(Engine engine, Engine::open(path));
  const auto print = [](std::string_view text) {
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
  };
  SHUNT_TRY(engine.generate(prompt, print, {.max_tokens = 32, .sampling = {.temperature = 0}}));
  return ok();
}

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "Once upon a time");
  if (!status) fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}

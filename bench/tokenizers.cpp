// Tokenizing, in bytes of text a second. The aim is 10 MB a second a core for text, and time in
// proportion to size for any bytes: one character, random bytes, control tokens. Vocabularies are
// those in ../shared and those of the oracle (tests/oracle/tokenizers).
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "shunt/vocabulary.h"

namespace shunt {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

/// Words of 2 to 10 letters with the frequencies of a natural language (Zipf's law), with commas,
/// line ends and numbers between.
std::string prose(std::size_t bytes) {
  constexpr std::string_view kLetters = "eeeeeeetttttaaaaaooooiiiinnnnssshhhrrrddlluccmmwfgypbvk";
  constexpr double kWords = 20'000;
  std::minstd_rand random(1);
  std::vector<std::string> words;
  for (int i = 0; i < static_cast<int>(kWords); ++i) {
    std::string word(2 + random() % 9, ' ');
    for (char& c : word) c = kLetters[random() % kLetters.size()];
    words.push_back(word);
  }
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string text;
  while (text.size() < bytes) {
    const double rank = std::pow(kWords, uniform(random)) - 1;
    text += words[static_cast<std::size_t>(rank)];
    const auto kind = random() % 20;
    text += kind == 0 ? ", " : kind == 1 ? ".\n" : kind == 2 ? " 1984 " : " ";
  }
  text.resize(bytes);
  return text;
}

std::string one_character(std::size_t bytes) {
  return std::string(bytes, 'a');
}

std::string random_bytes(std::size_t bytes) {
  std::minstd_rand random(1);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(random() >> 8);
  return text;
}

std::string control_tokens(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "<s></s>[SEP]<|endoftext|>";
  return text;
}

struct Input {
  const char* name;
  std::string (*make)(std::size_t bytes);
  std::size_t bytes;
};
constexpr Input kInputs[] = {
    {"prose", prose, 10 * kMegabyte},
    {"one_character_1MB", one_character, kMegabyte},
    {"one_character_2MB", one_character, 2 * kMegabyte},
    {"random_bytes_1MB", random_bytes, kMegabyte},
    {"random_bytes_2MB", random_bytes, 2 * kMegabyte},
    {"control_tokens_1MB", control_tokens, kMegabyte},
    {"control_tokens_2MB", control_tokens, 2 * kMegabyte},
};

constexpr const char* kVocabularies[] = {
    SHUNT_BENCH_SHARED "/llama-spm.gguf",      SHUNT_BENCH_SHARED "/gpt-2.gguf",
    SHUNT_BENCH_SHARED "/deepseek-coder.gguf", SHUNT_BENCH_SHARED "/bert-bge.gguf",
    SHUNT_BENCH_ORACLE "/unigram.gguf",        SHUNT_BENCH_ORACLE "/gemma4.gguf",
};

Result<text::Tokenizer> open_tokenizer(const char* path) {
  SHUNT_ASSIGN(const auto file, gguf::File::open(path, {.metadata_only = true}));
  SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
  return text::Tokenizer::create(std::move(vocabulary));
}

void tokenize(benchmark::State& state, const char* path, const Input& input) {
  const auto tokenizer = open_tokenizer(path);
  if (!tokenizer) return state.SkipWithError(std::string(tokenizer.error().message()).c_str());
  const std::string text = input.make(input.bytes);
  std::size_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = true});
    if (!ids) return state.SkipWithError(std::string(ids.error().message()).c_str());
    tokens = ids->size();
    benchmark::DoNotOptimize(tokens);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void create_tokenizer(benchmark::State& state, const char* path) {
  for (auto _ : state) {
    auto tokenizer = open_tokenizer(path);
    if (!tokenizer) return state.SkipWithError(std::string(tokenizer.error().message()).c_str());
    benchmark::DoNotOptimize(tokenizer);
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const char* path : kVocabularies) {
    const std::string file(path);
    const std::string name = file.substr(file.rfind('/') + 1);
    for (const Input& input : kInputs) {
      benchmark::RegisterBenchmark(("tokenize/" + name + "/" + input.name).c_str(), tokenize, path,
                                   input)
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark(("create_tokenizer/" + name).c_str(), create_tokenizer, path)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace shunt

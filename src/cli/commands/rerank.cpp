// `shunt rerank`: how well documents answer a query.
#include "shunt/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/text_files.h"
#include "cli/flags/text_lines.h"
#include "cli/report/json.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "shunt/message.h"
#include "shunt/text.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a file of documents
constexpr std::size_t kMostPromptBytes = std::size_t{1} << 20;

class RerankCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "rerank", "score documents for a query",
        "  shunt rerank --model bge-reranker.gguf --query \"a question\" \"a text\" \"another\"\n"
        "  shunt rerank --model bge-reranker.gguf -q \"a question\" --file lines.txt --json\n"
        "  shunt rerank --model qwen3-reranker.gguf -q \"a question\" --file lines.txt"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments);
    arguments.group("Texts");
    arguments.text("-q,--query", "TEXT", "Score the documents for this query", query_);
    arguments.stream_input("-f,--file",
                           "Read documents from this file, a line each; -: standard input", file_);
    arguments.each("DOCUMENT", "", "Score this document. Repeatable",
                   [this](const std::string& text) -> Status {
                     documents_.push_back(text);
                     return ok();
                   });
    arguments.input("--prompt-file",
                    "Of a model that generates text: use the prompt in this file, with {query} and "
                    "{document} in it, instead of that of the model's file",
                    prompt_file_);
    arguments.flag("--qwen3-prompt", qwen3_prompt_,
                   "Use the prompt that Qwen3-Reranker is published with");
    arguments.flag("--json", json_, "Print JSON, a line for each document");
  }

  Status check() override {
    model_.give_embeddings();
    SHUNT_TRY(model_.check());
    if (!query_) return invalid("no query is given; use --query TEXT");
    if (documents_.empty() && !file_)
      return invalid("no document is given; use DOCUMENT or --file FILE");
    if (!documents_.empty() && file_)
      return invalid("documents are given twice: DOCUMENT and --file exclude each other");
    if (prompt_file_ && qwen3_prompt_)
      return invalid(
          "the prompt is given twice: --prompt-file and --qwen3-prompt exclude each "
          "other");
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_TRY(read_documents());
    RerankOptions options;
    SHUNT_ASSIGN(options.prompt, prompt());
    SHUNT_ASSIGN(const OpenModel open, model_.open());
    if (!options.prompt.empty() && open.model->info().is_encoder) {
      return invalid(
          "{}: {} is given, but an encoder reads a query and a document without a prompt",
          model_.path(), prompt_file_ ? "--prompt-file" : "--qwen3-prompt");
    }
    options.batch = model_.session().batch;
    options.adapters = model_.session().adapters;
    auto made = Reranker::create(open.model, options);
    if (!made) return std::move(made.error()).with_context(model_.path());
    interrupt.defer();
    const std::string query = text::sanitize_utf8(*query_).text;
    const auto scores = (*made)->rank(query, documents_, &interrupt.stop());
    if (!scores) return Error(scores.error()).with_context(model_.path());
    output.write(report(*scores));
    return ok();
  }

 private:
  /// Empty: that of the model's file is used.
  Result<std::string> prompt() const {
    if (qwen3_prompt_) return std::string(qwen3_rerank_prompt());
    if (!prompt_file_) return std::string();
    SHUNT_ASSIGN(const std::string bytes, read_whole_file(*prompt_file_, kMostPromptBytes));
    std::string kept = text::sanitize_utf8(bytes).text;
    // Editors and `echo` add the last line end of a file. It is no part of the prompt.
    if (kept.ends_with('\n')) kept.resize(kept.size() - (kept.ends_with("\r\n") ? 2U : 1U));
    if (kept.empty()) return invalid("{}: there is no prompt", *prompt_file_);
    return kept;
  }

  Status read_documents() {
    if (file_) {
      Result<std::string> text = *file_ == "-" ? read_standard_input(kMostBytes, kWaiting)
                                               : read_whole_file(*file_, kMostBytes);
      if (!text) return std::move(text.error());
      documents_ = lines_of(*text);
      if (documents_.empty()) return invalid("{}: there is no line with a document", *file_);
    }
    for (std::string& document : documents_) document = text::sanitize_utf8(document).text;
    return ok();
  }

  /// The best document first; of equal ones, the one that was given first.
  std::string report(const std::vector<float>& scores) const {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    std::string lines;
    for (const std::size_t i : order) {
      lines += json_
                   ? to_text_line({{"index", i}, {"score", scores[i]}, {"document", documents_[i]}})
                   : fmt::format("{:.6f}\t{}\n", scores[i], documents_[i]);
    }
    return lines;
  }

  static constexpr const char* kWaiting = "waiting for documents on standard input";

  ModelFlags model_;
  std::optional<std::string> query_;
  std::vector<std::string> documents_;
  std::optional<std::string> file_;
  std::optional<std::string> prompt_file_;
  bool qwen3_prompt_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rerank_command() {
  return std::make_unique<RerankCommand>();
}

}  // namespace shunt::cli

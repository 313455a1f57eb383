// `shunt merge`: joins the parts of a GGUF file.
#include "cli/commands/commands.h"
#include "cli/report/json.h"
#include "cli/report/sizes.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "shunt/gguf_parts.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

class MergeCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"merge", "join the parts of a GGUF file",
                                          "  shunt merge model-00001-of-00003.gguf model.gguf"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.required_input("FIRST", "Join the parts whose first one is this file", first_);
    arguments.required_output("OUT", "Write the whole file to this one", OutputFormat::kGguf, out_);
    arguments.flag("--json", json_, "Print JSON");
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_TRY(gguf::check_no_other_parts(first_));
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(first_));
    interrupt.defer();
    Progress progress("writing " + out_, kLargeModel);
    const auto show = [&](std::uint64_t done, std::uint64_t total) -> Status {
      if (interrupt.stop()) return fail(ErrorCode::kCancelled, "interrupted");
      progress.show(done, total);
      return ok();
    };
    Status merged = gguf::write_merged(out_, file, show);
    progress.clear();
    if (!merged) return merged;
    SHUNT_ASSIGN(const gguf::File whole, gguf::File::open(out_, {.metadata_only = true}));
    if (json_) {
      output.write(to_text(
          {{"file", out_}, {"parts", file.part_count()}, {"tensors", file.tensors().size()}}));
      return ok();
    }
    output.write(fmt::format("{}: {}, {}, from {}\n", out_,
                             counted(file.tensors().size(), "tensor"),
                             format_bytes(whole.file_bytes()), counted(file.part_count(), "part")));
    return ok();
  }

 private:
  std::string first_;
  std::string out_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge_command() {
  return std::make_unique<MergeCommand>();
}

}  // namespace shunt::cli

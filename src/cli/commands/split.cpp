// `shunt split`: cuts a GGUF file into parts.
#include "cli/commands/commands.h"
#include "cli/flags/part_flags.h"
#include "cli/report/json.h"
#include "cli/report/sizes.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

class SplitCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "split", "cut a GGUF file into parts",
        "  shunt split model.gguf model --size 4GiB\n"
        "  shunt split model.gguf parts/model --tensors 100\n"
        "The first part, model-00001-of-00003.gguf, stands for all of them."};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.required_input("IN", "Cut this GGUF file (the first file of a split model)", in_);
    arguments.required("PREFIX", "Write parts to PREFIX-00001-of-00003.gguf and so on", prefix_);
    arguments.files().add_output("PREFIX", OutputFormat::kGguf,
                                 [this] { return std::vector{prefix_ + "-00001-of-00001.gguf"}; });
    arguments.value("--size", "SIZE",
                    "Write parts of at most this size, such as 4GiB; a larger tensor makes a "
                    "larger part",
                    [this](const std::string& text) -> Status {
                      SHUNT_ASSIGN(limits_.bytes, parse_part_size(text));
                      return ok();
                    });
    arguments.value("--tensors", "N", "Write parts of at most N tensors",
                    [this](const std::string& text) -> Status {
                      SHUNT_ASSIGN(limits_.tensors, parse_number<std::uint64_t>(text, 1));
                      return ok();
                    });
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override {
    if (limits_.bytes == 0 && limits_.tensors == 0)
      return invalid("no size of parts is given; use --size SIZE or --tensors N");
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(in_));
    interrupt.defer();
    Progress progress("writing " + prefix_, kLargeModel);
    const auto show = [&](std::uint64_t done, std::uint64_t total) -> Status {
      if (interrupt.stop()) return fail(ErrorCode::kCancelled, "interrupted");
      progress.show(done, total);
      return ok();
    };
    auto parts = gguf::write_split(prefix_, file, limits_, show);
    progress.clear();
    if (!parts) return Error(std::move(parts.error()));
    if (json_) {
      output.write(to_text({{"files", *parts}, {"tensors", file.tensors().size()}}));
      return ok();
    }
    output.write(fmt::format("{}: {} of {} from {}\n", parts->front(),
                             counted(parts->size(), "part"),
                             counted(file.tensors().size(), "tensor"), in_));
    return ok();
  }

 private:
  std::string in_;
  std::string prefix_;
  gguf::PartLimits limits_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_split_command() {
  return std::make_unique<SplitCommand>();
}

}  // namespace shunt::cli

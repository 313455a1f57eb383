// `shunt verify`: compares a device with a reference device.
#include <algorithm>
#include <cmath>

#include "cli/commands/commands.h"
#include "cli/flags/ignore_flag.h"
#include "cli/flags/lora_flag.h"
#include "cli/flags/model_file.h"
#include "cli/flags/placement_flags.h"
#include "cli/flags/runtime_flags.h"
#include "cli/report/verification.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/wait_notice.h"
#include "shunt/engine.h"
#include "shunt/message.h"
#include "shunt/verify_model.h"

namespace shunt::cli {
namespace {

constexpr std::uint64_t kManyNodes = 10'000;  // fewer show progress only after a second

class VerifyCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "verify", "compare a device with a reference device: each op, and the model's logits",
        "  shunt verify --model model.gguf --device cuda0\n"
        "  shunt verify --model model.gguf --device cuda0 --against cpu0 --threshold 1e-5 --json\n"
        "  shunt verify --model model.gguf --device cuda0 --prompt \"It was\" --top 3\n"
        "  shunt verify --model model.gguf --lora poems.gguf --device cuda0"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments, "Load this GGUF model");
    ignore_.declare(arguments);
    lora_.declare(arguments);
    arguments.text("-d,--device", "NAME", "Verify this device, such as cuda0", device_);
    arguments.value("--against", "NAME", "Compare with this reference device (default cpu0)",
                    [this](const std::string& text) -> Status {
                      against_ = text;
                      return ok();
                    });
    arguments.text("-p,--prompt", "TEXT",
                   "Use this prompt; its last token is a decode step (default: a short text)",
                   prompt_);
    arguments.number<std::int64_t>(
        "-n,--tokens", "Compare the logits of N generated tokens (default 32); 0: only ops",
        tokens_, 0);
    arguments.number("--threshold",
                     "Allow errors (NMSE) up to N (default: by the element types of an op)",
                     verify_.threshold, 0.0);
    declare_transcode(arguments, transcode_);
    declare_weights(arguments, weights_);
    arguments.number<std::size_t>("--top", "Show the N worst results", top_);
    runtime_.declare(arguments);
    arguments.flag("--json", json_, "Print JSON with every op");
  }

  Status check() override {
    if (!device_) return invalid("no device is given; use --device NAME (see shunt devices)");
    SHUNT_TRY(model_.check());
    SHUNT_ASSIGN(options_, runtime_.options());
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const auto registry, open_registry(options_));
    SHUNT_ASSIGN(Device * device, registry->find(*device_));
    SHUNT_ASSIGN(const auto model, load(*registry, against_));
    SHUNT_ASSIGN(const auto prompt, tokens_of(*model));
    interrupt.defer();
    ignore_.tell();
    SHUNT_ASSIGN(Verification found, verify(*model, *device, prompt, interrupt));
    Status compared = ok();
    found.has_no_logits = tokens_ > 0 && model->info().gives_embeddings;
    if (tokens_ > 0 && found.compared() > 0 && !found.has_no_logits)
      compared = compare_logits(found, *registry, model, prompt);
    output.write(json_ ? to_json(found) : to_plain_text(found, top_));
    for (const std::string& remark : remarks(found)) print_message(remark);
    if (found.wrong() > 0) {
      if (!compared) print_message(compared.error().message());
      return fail(ErrorCode::kDevice, "{}", complaint(found));
    }
    if (found.compared() == 0) return fail(ErrorCode::kUnsupported, "{}", nothing_compared(found));
    SHUNT_TRY(compared);
    if (found.logits && !std::isfinite(found.logits->largest)) {
      return fail(ErrorCode::kDevice, "{}: logits of the whole model on {} are not finite",
                  model_.path(), *device_);
    }
    return ok();
  }

 private:
  Result<std::shared_ptr<const Model>> load(const Registry& registry,
                                            const std::string& device) const {
    Progress progress("loading " + model_.path(), kLargeModel);
    LoadOptions load;
    load.devices = {device};
    load.ignore = ignore_.names();
    load.adapters = lora_.paths();
    load.session.adapters = lora_.uses();
    load.placement.transcode = transcode_;
    load.placement.rules_only = true;  // also ops that another device computes faster
    load.weights = weights_;
    load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return Model::load(model_.path(), registry, load);
  }

  Result<std::vector<std::int32_t>> tokens_of(const Model& model) const {
    SHUNT_ASSIGN(auto tokens, model.tokenizer().encode(prompt_.value_or(kPrompt)));
    if (tokens.empty()) return invalid("{}: the prompt has no tokens", model_.path());
    return tokens;
  }

  Result<Verification> verify(const Model& model, Device& device,
                              std::span<const std::int32_t> prompt, Interrupt& interrupt) {
    Progress progress("verifying " + *device_, kManyNodes);
    verify_.cancel = &interrupt.stop();
    verify_.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
    const WaitNotice notice("the device's current operation");
    auto steps = shunt::verify(model, device, prompt, verify_);
    if (!steps) return std::move(steps.error()).with_context(model_.path());
    Verification found{.model = model_.path(), .device = *device_, .against = against_};
    for (VerifiedStep& step : *steps) {
      found.steps.push_back(step.tokens);
      found.tokens.insert(found.tokens.end(), step.checks.size(), step.tokens);
      std::move(step.checks.begin(), step.checks.end(), std::back_inserter(found.checks));
    }
    found.worst_first = worst_first(found.checks);
    return found;
  }

  /// The whole model on the device, and on those of the reference run.
  Status compare_logits(Verification& found, const Registry& registry,
                        const std::shared_ptr<const Model>& reference,
                        std::span<const std::int32_t> prompt) const {
    CompareLogitsOptions options;
    options.tokens = tokens_;
    options.cancel = verify_.cancel;
    SHUNT_ASSIGN(const auto model, load(registry, *device_));
    for (const LedgerRow& row : model->predicted().rows) {
      const bool computes = row.purpose == Purpose::kActivations && row.bytes > 0;
      auto& devices = found.logits_devices;
      if (computes && std::ranges::find(devices, row.device) == devices.end())
        devices.push_back(row.device);
    }
    Progress progress("comparing logits of " + *device_, kManyNodes);
    options.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
    const WaitNotice notice("the device's current operation");
    auto logits = shunt::compare_logits(model, reference, prompt, options);
    if (!logits) return std::move(logits.error()).with_context(model_.path());
    found.logits = *logits;
    return ok();
  }

  static constexpr const char* kPrompt = "Once upon a time, there was a little girl.";

  ModelFile model_;
  IgnoreFlag ignore_;
  LoraFlag lora_;
  std::optional<std::string> device_;
  std::string against_ = "cpu0";
  std::optional<std::string> prompt_;
  std::int64_t tokens_ = 32;
  std::size_t top_ = 10;
  Transcode transcode_ = Transcode::kPrecise;
  WeightMode weights_ = WeightMode::kAuto;
  VerifyModelOptions verify_;
  RuntimeFlags runtime_;
  Options options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() {
  return std::make_unique<VerifyCommand>();
}

}  // namespace shunt::cli

#include "backends/cann/options.h"

#include <algorithm>
#include <array>

#include "device/backend_options.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

struct ProductWord {
  std::string_view word;
  CubeMath math;
};
constexpr std::array kProductWords = {ProductWord{"f32", CubeMath::kKeep},
                                      ProductWord{"hf32", CubeMath::kHf32},
                                      ProductWord{"f16", CubeMath::kF16}};

Status check_matmul(std::string_view text) {
  return check_word(text, {kProductWords[0].word, kProductWords[1].word, kProductWords[2].word});
}

constexpr int kMostGraphs = 256;
constexpr int kMostExecutors = 100000;

Status check_graphs(std::string_view text) {
  return check_whole(text, kMostGraphs);
}

Status check_executors(std::string_view text) {
  if (text == "0" || parse_whole(text, kMostExecutors) > 0) return ok();
  return invalid("\"{}\" is not a whole number from 0 to {}", text, kMostExecutors);
}

Status check_deterministic(std::string_view text) {
  return check_word(text, {"repeat", "on", "off"});
}

Status check_attention(std::string_view text) {
  return check_word(text, {"fused", "composed"});
}

constexpr std::array kOptions = {
    BackendOption{"attention",
                  "attention over caches of F16: fused (one operator in F16, where the chip has "
                  "it), composed",
                  check_attention, "fused"},
    BackendOption{"deterministic",
                  "repeat: the same bits in each run; on: also for a token whatever else a step "
                  "computes; off: neither",
                  check_deterministic, "repeat"},
    BackendOption{"executors",
                  "executors of a step that are kept to be used again where it is not captured: "
                  "0 to 100000",
                  check_executors, "16384"},
    BackendOption{"fuse", "fuse operations where CANN has an operator for several: on, off",
                  check_on_off, "on"},
    BackendOption{"graph", "capture repeated steps as graphs and replay them: on, off",
                  check_on_off, "on"},
    BackendOption{"graphs", "captured graphs that are kept for each stream: 1 to 256", check_graphs,
                  "12"},
    BackendOption{"matmul",
                  "numbers of products of F32: f32, hf32 (12 bits; 910B), f16. On a 310P and a "
                  "310B only f16 runs on the NPU",
                  check_matmul, "f32"},
    BackendOption{
        "nz", "weights of F16 in FRACTAL_NZ, where products of the chip want it (310P): on, off",
        check_on_off, "off"},
    BackendOption{"peers", "copy directly between devices that can: on, off", check_on_off, "on"},
    BackendOption{"pinned", "copy by way of pinned host memory: on, off", check_on_off, "on"},
    BackendOption{"prefill_graph", "capture steps of more than 64 tokens as well: on, off",
                  check_on_off, "off"},
    BackendOption{"timeout",
                  "seconds that a wait for a device may last before the device counts as lost",
                  check_timeout, "600"},
};

}  // namespace

std::span<const BackendOption> option_table() {
  return kOptions;
}

CannOptions parse_options(const Options& options) {
  const auto text = [&](std::string_view name) { return backend_option(options, "cann", name); };
  CannOptions parsed;
  parsed.deterministic = text("deterministic") != "off";
  parsed.executors = static_cast<std::size_t>(parse_whole(text("executors"), kMostExecutors));
  parsed.fuse = text("fuse") == "on";
  // The operators for one token and for many round differently.
  parsed.fuses_attention = text("attention") == "fused" && text("deterministic") != "on";
  parsed.graph = text("graph") == "on";
  parsed.graphs = static_cast<std::size_t>(parse_whole(text("graphs"), kMostGraphs));
  parsed.fractal_weights = text("nz") == "on";
  const std::string_view matmul = text("matmul");
  parsed.f32_products = std::ranges::find(kProductWords, matmul, &ProductWord::word)->math;
  parsed.peers = text("peers") == "on";
  parsed.pinned = text("pinned") == "on";
  parsed.prefill_graph = text("prefill_graph") == "on";
  parsed.timeout = parse_timeout(text("timeout"));
  return parsed;
}

}  // namespace shunt::cann

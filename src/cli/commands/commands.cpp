#include "cli/commands/commands.h"

namespace shunt::cli {

std::span<const MakeCommand> all_commands() {
  // clang-format off
  static constexpr MakeCommand kCommands[] = {
      make_run_command,
      make_devices_command,
      make_explain_command,
      make_place_command,
      make_verify_command,
      make_check_ops_command,
      make_perplexity_command,
      make_embed_command,
      make_rerank_command,
      make_convert_command,
      make_quantize_command,
      make_split_command,
      make_merge_command,
      make_imatrix_command,
      make_inspect_command,
      make_tokenize_command,
      make_chat_template_command,
      make_train_tokenizer_command,
      make_ops_command,
      make_synth_command,
      make_train_command,
      make_bench_model_command,
      make_bench_ops_command,
      make_bench_machine_command,
      make_bench_train_command,
      make_bench_costs_command,
  };
  // clang-format on
  return kCommands;
}

}  // namespace shunt::cli

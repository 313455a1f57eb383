// Every subcommand there is. A new one adds its file, a line here and a line in commands.cpp.
#pragma once

#include <memory>
#include <span>

#include "cli/commands/command.h"

namespace shunt::cli {

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_devices_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_tokenize_command();
std::unique_ptr<Command> make_chat_template_command();
std::unique_ptr<Command> make_train_tokenizer_command();
std::unique_ptr<Command> make_ops_command();
std::unique_ptr<Command> make_synth_command();
std::unique_ptr<Command> make_train_command();
std::unique_ptr<Command> make_bench_model_command();
std::unique_ptr<Command> make_bench_ops_command();
std::unique_ptr<Command> make_bench_machine_command();
std::unique_ptr<Command> make_bench_train_command();
std::unique_ptr<Command> make_bench_costs_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_place_command();
std::unique_ptr<Command> make_perplexity_command();
std::unique_ptr<Command> make_embed_command();
std::unique_ptr<Command> make_rerank_command();
std::unique_ptr<Command> make_verify_command();
std::unique_ptr<Command> make_convert_command();
std::unique_ptr<Command> make_quantize_command();
std::unique_ptr<Command> make_split_command();
std::unique_ptr<Command> make_merge_command();
std::unique_ptr<Command> make_imatrix_command();
std::unique_ptr<Command> make_check_ops_command();

/// All of them, in the order of the overview.
std::span<const MakeCommand> all_commands();

}  // namespace shunt::cli

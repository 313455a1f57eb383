#include "text/end_tokens.h"

#include <algorithm>
#include <unordered_map>

namespace shunt::text {
namespace {

using IdsByText = std::unordered_map<std::string_view, std::int32_t>;

/// A token after which the model waits for somebody else: a person, or the result of a
/// call.
struct EndToken {
  std::string_view text;
  std::string_view only_with = {};  ///< it ends nothing unless the vocabulary has this one
  std::string_view unless = {};     ///< it ends nothing if the vocabulary has this one
};

constexpr EndToken kEndTokens[] = {
    {"</s>"},                         // Llama 2, Mistral
    {"<eos>"},                        // Gemma
    {"<end_of_turn>"},                // Gemma 2 and 3
    {"<turn|>"},                      // Gemma 4
    {"<|tool_response>", "<turn|>"},  // Gemma 4: the result of a call follows
    {"<|endoftext|>"},                // GPT-2, Qwen, Phi
    {"<|im_end|>"},                   // ChatML: Qwen, Hermes, SmolLM, Kimi
    {"<|end_of_text|>"},              // Llama 3, Granite
    {"<|eot_id|>"},                   // Llama 3
    {"<|eom_id|>"},                   // Llama 3: a call
    {"<|eot|>"},                      // Llama 4
    {"<|eom|>"},                      // Llama 4: a call
    {"<|return|>"},                   // gpt-oss
    {"<|call|>"},                     // gpt-oss: a call
    {"<|calls|>"},                    // Solar Open: calls
    {"<|flush|>"},                    // Solar Open
    {"<|end|>", {}, "<|return|>"},    // Phi 3; in gpt-oss another message may follow
    {"<|user|>", "<|observation|>"},  // GLM 4: the turn of a person
    {"<|observation|>"},              // GLM 4: the result of a call
    {"<\xEF\xBD\x9C"
     "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"},  // DeepSeek
    {"<|EOT|>"},                                             // DeepSeek Coder
    {"<|END_OF_TURN_TOKEN|>"},                               // Cohere
    {"<EOS_TOKEN>"},                                         // Cohere
    {"[|endofturn|]"},                                       // EXAONE
    {"<|endofturn|>"},                                       // HyperCLOVA, Trillion
    {"<|stop|>"},            // HyperCLOVA, StableLM: the end of a call
    {"<|eos|>"},             // Hunyuan
    {"<|role_end|>"},        // Ling
    {"[e~["},                // MiniMax M2
    {"<seed:eos>"},          // Seed
    {"<end_of_utterance>"},  // SmolVLM
    {"<|end_of_turn|>"},     // Starling
    {"<|eod|>"},             // Apertus, Yi
    {"<|assistant_end|>"},   // Apertus
    {"<EOT>"},               // CodeLlama
    {"[EOS]"},               // Kimi K2
    {"[EOT]"},               // Kimi K2
};

bool may_end(const Token& token) {
  return token.type == TokenType::kControl ||
         (token.type == TokenType::kUserDefined && is_turn_marker(token.text));
}

}  // namespace

bool is_turn_marker(std::string_view text) {
  return text.starts_with("<|") || text.ends_with("|>");
}

std::vector<std::int32_t> find_end_tokens(const Vocabulary& vocabulary) {
  IdsByText controls;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const Token& token = vocabulary.tokens[i];
    if (!may_end(token)) continue;
    controls.try_emplace(token.text, static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> ids;
  for (const auto& id : {vocabulary.eos, vocabulary.eot, vocabulary.eom}) {
    if (id) ids.push_back(*id);
  }
  for (const EndToken& end : kEndTokens) {
    const auto found = controls.find(end.text);
    const bool applies = (end.only_with.empty() || controls.contains(end.only_with)) &&
                         (end.unless.empty() || !controls.contains(end.unless));
    if (found != controls.end() && applies) ids.push_back(found->second);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace shunt::text

#include "support/engine_run.h"

#include <algorithm>
#include <span>

namespace shunt::test {

SessionOptions small_session(std::int64_t context) {
  SessionOptions options;
  options.context = context;
  options.batch = 8;
  options.cache_type = DType::kF32;
  return options;
}

Result<EngineRun> run_engine(const std::string& path, const std::vector<Device*>& devices,
                             const LoadOptions& options, std::int64_t context, DType cache_type) {
  EngineRun run;
  SHUNT_ASSIGN(run.model, Model::load(path, devices, options));
  SessionOptions session = small_session(context);
  session.cache_type = cache_type;
  SHUNT_ASSIGN(run.session, Session::create(run.model, session));
  const std::vector<std::int32_t> prompt = {1, 20, 30, 40, 50};
  SHUNT_ASSIGN(auto logits, run.session->append(prompt));
  run.logits.assign(logits.begin(), logits.end());
  for (int i = 0; i < 8; ++i) {
    const auto best = std::max_element(logits.begin(), logits.end());
    run.tokens.push_back(static_cast<std::int32_t>(best - logits.begin()));
    SHUNT_ASSIGN(logits, run.session->append(std::span(&run.tokens.back(), 1)));
  }
  return run;
}

}  // namespace shunt::test

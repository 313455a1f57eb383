#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace shunt {

Logger stderr_logger(LogLevel level) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  auto logger =
      std::make_shared<spdlog::logger>("shunt", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("shunt: %v");
  logger->set_level(kLevels[static_cast<int>(level)]);
  return Logger([logger](LogLevel at, const std::string& message) {
    logger->log(kLevels[static_cast<int>(at)], "{}", message);
  });
}

}  // namespace shunt

// Texts of errors and findings: kernel, line, block, thread.
#include <string>
#include <utility>

#include "cuda/machine/grid.h"

namespace cuda_twin {
namespace {

constexpr std::size_t kLongestLine = 120;

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

/// Line `number` of a text, without the blanks around it.
std::string text_of_line(const std::string& text, std::uint32_t number) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < number; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const std::size_t first = text.find_first_not_of(" \t\r", begin);
  if (first == std::string::npos || first >= end) return "";
  const std::size_t last = text.find_last_not_of(" \t\r", end - 1);
  return text.substr(first, std::min(last + 1 - first, kLongestLine));
}

std::string where(const Warp& warp, unsigned lane) {
  const Block& block = *warp.block;
  return "kernel " + block.launch->kernel->function.name + ", " +
         line_text(*block.launch->program, warp.op) + ", block " +
         triple(block.index.x, block.index.y, block.index.z) + ", thread " +
         triple(warp.tid[0][lane], warp.tid[1][lane], warp.tid[2][lane]) + ": ";
}

}  // namespace

std::string line_text(const Program& program, std::uint32_t op) {
  if (op >= program.ops.size()) return "end of the program";
  const std::uint32_t line = program.ops[op].line;
  return "line " + std::to_string(line) + " \"" + text_of_line(program.text, line) + "\"";
}

std::string lanes_text(LaneMask lanes) {
  std::string text;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kLanes && (lanes >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(lane);
    if (last != lane) text += "-" + std::to_string(last);
    lane = last;
  }
  return text;
}

Next fault(Warp& warp, int code, unsigned lane, std::string reason) {
  warp.reschedule = true;
  Block& block = *warp.block;
  if (!block.failed) block.grid->fail(block, code, where(warp, lane % kLanes) + std::move(reason));
  return Next::kSwitch;
}

Next report(Warp& warp, const char* check, unsigned lane, std::string reason) {
  Block& block = *warp.block;
  if (block.failed) return Next::kSwitch;
  if (block.grid->find(block, warp.op, check, where(warp, lane % kLanes) + std::move(reason))) {
    return Next::kOn;
  }
  warp.reschedule = true;
  return Next::kSwitch;
}

}  // namespace cuda_twin

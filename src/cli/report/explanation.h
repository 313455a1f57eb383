// An explanation as text, JSON and HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shunt/explain.h"

namespace shunt::cli {

/// The subject of an explanation.
struct ExplanationTitle {
  std::string model;
  std::int64_t tokens = 0;
  std::int64_t context = 0;
  std::vector<std::string> memory;  ///< the decisions about it, in lines
  std::vector<std::string> times;   ///< where those of each device come from, in lines
  bool measured = false;            ///< times are predicted from measurements, not from estimates
};

/// Where predicted times come from.
std::string_view times_are(const ExplanationTitle& title);

/// Name of device number `device` of an explanation.
inline const std::string& device_name(const Explanation& explanation, int device) {
  return explanation.devices[static_cast<std::size_t>(device)].name;
}

std::string to_plain_text(const ExplanationTitle& title, const Explanation& explanation);
std::string to_json(const ExplanationTitle& title, const Explanation& explanation);
/// One page that needs nothing else: no network, no script. A timeline has a row for each device
/// and a box for each segment. Where times are predicted, it also has a row for each way between
/// two devices, and a box for each copy. Tables hold all that is in the timeline.
std::string to_html(const ExplanationTitle& title, const Explanation& explanation);

/// "5 silu: test0 has no kernel for silu", a line for each kind of operation and reason among those
/// of a segment that fell back.
std::vector<std::string> fallback_lines(const Explanation& explanation,
                                        const ExplainedSegment& segment);
/// "x (add)", or "x (add) to y (mul)".
std::string span_of(const ExplainedSegment& segment);

}  // namespace shunt::cli

#include "cli/report/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/report/json.h"
#include "shunt/version.h"

namespace shunt::cli {
namespace {

constexpr int kProcess = 1;
constexpr std::string_view kHost = "host";

/// A row of the timeline. Its spans are in sequence or nested.
struct Thread {
  std::string name;
  std::vector<const TraceSpan*> spans;  // by their begin, enclosing ones first
};

bool comes_first(const TraceSpan* a, const TraceSpan* b) {
  if (a->times.begin != b->times.begin) return a->times.begin < b->times.begin;
  return a->times.end > b->times.end;
}

/// Whether spans can be drawn in one row. Only spans of the host are nested.
bool fit_together(const std::vector<const TraceSpan*>& spans, bool nested) {
  std::vector<double> open;
  for (const TraceSpan* span : spans) {
    while (!open.empty() && open.back() <= span->times.begin) open.pop_back();
    if (!open.empty() && (!nested || span->times.end > open.back())) return false;
    open.push_back(span->times.end);
  }
  return true;
}

class Writer {
 public:
  explicit Writer(const Trace& trace)
      : actions_(trace.actions()), spans_(trace.spans()), left_out_(trace.left_out()) {
    for (const TraceSpan& span : spans_) {
      start_ = std::min(start_, span.times.begin);
    }
    make_threads();
  }

  std::string write() {
    text_ = "{\"traceEvents\":[\n";
    event({{"ph", "M"}, {"name", "process_name"}, {"args", {{"name", "shunt"}}}}, 0);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      event({{"ph", "M"}, {"name", "thread_name"}, {"args", {{"name", threads_[i].name}}}}, i);
      event({{"ph", "M"}, {"name", "thread_sort_index"}, {"args", {{"sort_index", i}}}}, i);
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      for (const TraceSpan* span : threads_[i].spans) {
        add_span(*span, i);
        if (actions_[span->action].kind != TraceKind::kHost) {
          done_.insert_or_assign({span->action, span->step}, Done{span, i});
        }
      }
    }
    for (const auto& [key, done] : done_) add_arrows(done);
    text_.resize(text_.size() - 2);  // the last comma
    text_ += "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":" +
             line({{"version", version()}, {"spans left out", left_out_}}) + "}\n";
    return std::move(text_);
  }

 private:
  struct Done {
    const TraceSpan* span = nullptr;
    std::size_t thread = 0;
  };

  void make_threads() {
    std::map<std::pair<std::uint32_t, std::string>, std::vector<const TraceSpan*>> streams;
    for (const TraceSpan& span : spans_) {
      const TraceAction& action = actions_[span.action];
      streams[{action.plan, action.stream}].push_back(&span);
    }
    for (auto& [key, spans] : streams) {
      std::sort(spans.begin(), spans.end(), comes_first);
      add_to_thread(key.second, spans);
    }
    std::sort(threads_.begin(), threads_.end(), [](const Thread& a, const Thread& b) {
      if ((a.name == kHost) != (b.name == kHost)) return a.name == kHost;
      return a.name < b.name;
    });
  }

  /// Adds a stream's spans to a row of the same name if none overlap; else makes a row.
  void add_to_thread(const std::string& name, const std::vector<const TraceSpan*>& spans) {
    for (Thread& thread : threads_) {
      if (thread.name != name) continue;
      std::vector<const TraceSpan*> both(thread.spans.size() + spans.size());
      std::merge(thread.spans.begin(), thread.spans.end(), spans.begin(), spans.end(), both.begin(),
                 comes_first);
      if (!fit_together(both, name == kHost)) continue;
      thread.spans = std::move(both);
      return;
    }
    threads_.push_back({name, spans});
  }

  static std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void event(Json json, std::size_t thread) {
    json["pid"] = kProcess;
    json["tid"] = thread + 1;
    text_ += line(json) + ",\n";
  }

  /// Whole nanoseconds, so that consecutive spans stay consecutive when they are rounded.
  std::int64_t nanoseconds(double seconds) const { return std::llround((seconds - start_) * 1e9); }
  static double microseconds(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e3;
  }

  void add_span(const TraceSpan& span, std::size_t thread) {
    const TraceAction& action = actions_[span.action];
    const std::int64_t begin = nanoseconds(span.times.begin);
    Json json = {{"ph", "X"},
                 {"name", action.name},
                 {"cat", to_string(action.kind)},
                 {"ts", microseconds(begin)},
                 {"dur", microseconds(nanoseconds(span.times.end) - begin)}};
    if (action.kind != TraceKind::kHost) {
      Json& args =
          json["args"] = {{"plan", action.plan}, {"step", span.step}, {"segment", action.segment}};
      if (action.kind == TraceKind::kSegment) {
        args["nodes"] = action.nodes;
        args["first"] = action.first;
        args["last"] = action.last;
      } else if (action.kind != TraceKind::kObserve && action.kind != TraceKind::kGather) {
        args["bytes"] = span.bytes;
        if (action.nodes > 1) args["tensors"] = action.nodes;
      }
      if (span.seen_by_host) args["seen_by_host"] = true;
      if (span.times.error > 0) args["error_us"] = span.times.error * 1e6;
    }
    event(std::move(json), thread);
  }

  void add_arrows(const Done& to) {
    for (std::uint32_t after : actions_[to.span->action].after) {
      const auto from = done_.find({after, to.span->step});
      if (from == done_.end()) continue;
      ++arrows_;
      add_arrow_end("s", from->second);
      add_arrow_end("f", to);
    }
  }

  void add_arrow_end(std::string_view phase, const Done& at) {
    Json json = {{"ph", phase},
                 {"name", "data"},
                 {"cat", "data"},
                 {"id", arrows_},
                 {"ts", microseconds(nanoseconds(at.span->times.begin))}};
    if (phase == "f") json["bp"] = "e";
    event(std::move(json), at.thread);
  }

  const std::vector<TraceAction> actions_;
  const std::vector<TraceSpan> spans_;
  const std::uint64_t left_out_;
  double start_ = INFINITY;
  std::vector<Thread> threads_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Done> done_;  // by action and step
  std::uint64_t arrows_ = 0;
  std::string text_;
};

}  // namespace

std::string to_trace_json(const Trace& trace) {
  return Writer(trace).write();
}

}  // namespace shunt::cli

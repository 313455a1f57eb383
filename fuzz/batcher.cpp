// The batcher: requests that come, are read, are cancelled or dropped in any order. Each ends once,
// within its limits, and in the end no row of the cache is taken.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "shunt/batcher.h"
#include "shunt/engine.h"
#include "shunt/registry.h"
#include "shunt/synth.h"

namespace {

using namespace shunt;

constexpr std::int64_t kContext = 300;
constexpr std::int64_t kVocabulary = 300;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

/// Bytes of the input, then zeros.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> data) : data_(data) {}
  bool empty() const { return data_.empty(); }
  std::int64_t next(std::int64_t below = 256) {
    if (data_.empty()) return 0;
    const std::int64_t byte = data_.front();
    data_ = data_.subspan(1);
    return byte % below;
  }

 private:
  std::span<const std::uint8_t> data_;
};

std::shared_ptr<const Model> load_model() {
  Options options;
  options.threads = 1;
  static const std::unique_ptr<Registry> registry = std::move(*Registry::create(options));
  const std::string path = std::filesystem::temp_directory_path() /
                           ("shunt-fuzz-" + std::to_string(std::random_device()()) + ".gguf");
  SynthOptions shape;
  shape.layers = 1;
  shape.width = 32;
  shape.feed_forward = 32;
  shape.vocabulary = kVocabulary;
  require(write_synth_model(path, shape).has_value());
  auto model = Model::load(path, *registry);
  require(model.has_value());
  std::filesystem::remove(path);  // it is mapped
  return *model;
}

struct Request {
  std::int64_t max_tokens = 0;
  std::unique_ptr<BatchStream> stream = {};
  std::int64_t tokens = 0;
  std::optional<BatchResult> end = {};

  void read() {
    while (stream) {
      const auto event = stream->poll();
      if (!event) return;
      require(!end);
      if (event->end) {
        end = event->end;
        require(end->picked_tokens == tokens);
        require(end->reason != BatchEnd::kFailed);
      } else {
        ++tokens;
        require(event->token >= 0 && event->token < kVocabulary);
        require(tokens <= max_tokens);
      }
    }
  }
};

class Run {
 public:
  Run(std::shared_ptr<const Model> model, Bytes bytes) : bytes_(bytes) {
    BatcherOptions options;
    options.session.context = kContext;
    options.session.sequences = 1 + bytes_.next(6);
    options.session.batch = 16 + bytes_.next();
    options.unread_events = static_cast<std::size_t>(1 + bytes_.next(20));
    options.own_thread = false;
    options.clock = [this] { return now_; };
    auto batcher = Batcher::create(std::move(model), options);
    require(batcher.has_value());
    batcher_ = std::move(*batcher);
  }

  void all_operations() {
    while (!bytes_.empty()) operation();
    for (int i = 0; i < 50000; ++i) {
      for (Request& request : requests_) request.read();
      if (!batcher_->step() && is_done()) break;
    }
    for (Request& request : requests_) request.read();
    require(is_done());
    const BatcherStatistics statistics = batcher_->statistics();
    require(statistics.running == 0 && statistics.waiting == 0 && statistics.taken == 0);
  }

 private:
  bool is_done() const {
    return std::ranges::all_of(requests_, [](const Request& request) {
      return request.end.has_value() || !request.stream;
    });
  }

  void operation() {
    switch (bytes_.next(8)) {
      case 0:
      case 1:
        submit();
        break;
      case 2:
        now_ += 0.01 * static_cast<double>(bytes_.next());
        break;
      case 3:
        if (Request* const request = any()) request->read();
        break;
      case 4:
        if (Request* const request = any(); request && request->stream) request->stream->cancel();
        break;
      case 5:
        if (Request* const request = any()) request->stream.reset();
        break;
      default:
        batcher_->step();
        now_ += 0.003;
    }
  }

  Request* any() {
    if (requests_.empty()) return nullptr;
    return &requests_[static_cast<std::size_t>(bytes_.next()) % requests_.size()];
  }

  /// Few different prompts, so that some begin alike.
  void submit() {
    BatchRequest wanted;
    const std::int64_t count = bytes_.next() + bytes_.next(64);
    const std::int64_t kind = bytes_.next(3);
    for (std::int64_t i = 0; i < count; ++i)
      wanted.tokens.push_back(static_cast<std::int32_t>((i * (kind + 1) + i / 100) % kVocabulary));
    wanted.max_tokens = bytes_.next(40);
    wanted.priority = bytes_.next(3) - 1;
    wanted.scope = std::string(static_cast<std::size_t>(bytes_.next(2)), 'a');
    if (bytes_.next(4) == 0) wanted.deadline = 0.01 * static_cast<double>(bytes_.next()) - 0.1;
    wanted.ignore_end = true;
    Request made = {.max_tokens = wanted.max_tokens};
    const bool fits = count > 0 && count <= kContext;
    auto stream = batcher_->submit(std::move(wanted));
    require(stream.has_value() == fits);
    if (!stream) return;
    made.stream = std::move(*stream);
    requests_.push_back(std::move(made));
  }

  Bytes bytes_;
  double now_ = 0;
  std::unique_ptr<Batcher> batcher_;
  std::vector<Request> requests_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const Model> model = load_model();
  Run(model, Bytes({data, std::min<std::size_t>(size, 400)})).all_operations();
  return 0;
}

#include "engine/session/session_plans.h"

#include <algorithm>

#include "base/available_memory.h"
#include "base/to_size.h"
#include "device/device_run.h"
#include "engine/load/session_steps.h"
#include "engine/session/step_inputs.h"
#include "engine/session/window_rows.h"
#include "schedule/place/facts.h"
#include "shunt/message.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

std::string name_of(const Device& device) {
  return std::string(device.name());
}

CacheTensor describe_cache(const StepGraph& step, NodeId cache) {
  const Node& node = step.graph.node(cache);
  CacheTensor made = {node.name, node.result.dtype,
                      bytes_of(node.result) / to_size(node.result.size(1)),
                      std::ranges::count(step.states, cache) > 0};
  for (std::size_t i = 0; i < step.windows.size(); ++i) {
    if (std::ranges::count(step.windows[i].caches, cache) == 0) continue;
    made.window = i;
    made.window_tokens = step.windows[i].window;
  }
  return made;
}

}  // namespace

FitRequest SessionPlans::request(std::vector<StepShape> steps, const MemoryBudget& budget) const {
  FitRequest request;
  request.steps = std::move(steps);
  request.limits = device_limits(model_.devices, model_.memory_margin);
  request.most_streamed = model_.residency.most_streamed;
  request.may_overlap = model_.residency.overlap;
  request.lone_tokens = lone_tokens();
  budget.limit(request);
  return request;
}

/// Notes a refusal of memory, and reports it.
void SessionPlans::note_refusal(const std::string& line) {
  notes_.push_back(line);
  log_line(line);
}

Result<Verdict> SessionPlans::judge(const FitRequest& request, const Fit& fit) const {
  if (model_.placement.fallback.accepts_all() || model_.devices.size() < 2) return Verdict();
  return judge_fit(model_, request, fit, model_.placement.fallback);
}

void SessionPlans::log_line(const std::string& line) const {
  if (model_.placement.fallback.log) model_.placement.fallback.log(line);
}

/// Lines that were reported when the model was loaded, or since, are not repeated.
void SessionPlans::log_line(const Verdict& verdict) {
  if (verdict.fell_back <= fell_back_) return;
  fell_back_ = verdict.fell_back;
  for (const std::string& line : verdict.lines) log_line(line);
}

Status SessionPlans::allocate_caches(const StepGraph& step, const Homes& homes) {
  caches_.assign(step.caches.size(), {});
  cache_bytes_.clear();
  cache_tensors_.clear();
  for (NodeId cache : step.caches) {
    cache_bytes_.push_back(bytes_of(step.graph.node(cache).result));
    cache_tensors_.push_back(describe_cache(step, cache));
  }
  for (const DeviceIndex device : model_.devices.indices()) {
    BufferType& type = model_.devices[device]->memory();
    std::vector<const Tensor*> tensors;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < step.caches.size(); ++i) {
      if (homes.caches[i] != device) continue;
      tensors.push_back(&step.graph.node(step.caches[i]).result);
      who.push_back(i);
    }
    const auto name_device = [&](Error error, std::string_view what) {
      const std::string name = name_of(*model_.devices[device]);
      return std::move(error).with_device(name).with_context(fmt::format("{}: {}", name, what));
    };
    const auto layout = side_by_side(type, tensors);
    if (!layout) return name_device(layout.error(), "the cache");
    auto blocks = allocate_blocks(type, *layout);
    if (!blocks) {
      return name_device(std::move(blocks.error()),
                         fmt::format("{} bytes for the cache", layout->total()));
    }
    for (std::size_t i = 0; i < who.size(); ++i)
      caches_[who[i]] = {(*blocks)[layout->places[i].block].get(), layout->places[i].offset};
    for (auto& block : *blocks) {
      cache_buffers_.push_back(std::move(block));
      cache_devices_.push_back(device);
    }
    for (const std::size_t i : who) {
      if (!cache_tensors_[i].is_state) continue;
      Status filled =
          caches_[i].buffer->fill(caches_[i].offset, cache_tensors_[i].row_bytes, std::byte{0});
      if (!filled) return name_device(std::move(filled.error()), "the slot of zeros");
    }
  }
  return ok();
}

/// A weight where the model has it, or on the CPU if it is to be used from there: then as it is in
/// the file.
Result<Address> SessionPlans::weight_at(const gguf::TensorInfo& info, DeviceIndex home) {
  if (model_.weights.is_on(&info, home)) return model_.weights.at(&info).address;
  if (const Address mapped = model_.mapped_address(info)) return mapped;
  if (const auto known = moved_.find(&info); known != moved_.end()) return known->second.address(0);
  SHUNT_ASSIGN(const Tensor tensor, compact_tensor(info));
  auto blocks = WeightBlocks::allocate(model_.devices.cpu_device().memory(), {{&info, tensor}});
  if (!blocks) {
    const std::string name = name_of(model_.devices.cpu_device());
    return std::move(blocks.error()).with_device(name).with_context(name + ": " + info.name);
  }
  SHUNT_TRY(blocks->fill(model_.file, [](std::uint64_t) {}));
  return moved_.emplace(&info, std::move(*blocks)).first->second.address(0);
}

Result<StepPlan> SessionPlans::compile_step(const StepShape& shape, const Fit& fit) {
  StepPlan made;
  SHUNT_ASSIGN(made.step, model_.build(shape, fit.transcoded));
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& weight : made.step->weights) {
    SHUNT_ASSIGN(const Address at, weight_at(*weight.info, fit.homes.weights.at(weight.info)));
    memory.push_back({weight.leaf, at});
  }
  for (std::size_t i = 0; i < caches_.size(); ++i)
    memory.push_back({made.step->caches[i], caches_[i]});
  SHUNT_ASSIGN(Placement placement,
               model_.place_step(made.step, memory, fit.devices, fit.stream_bytes));
  const std::shared_ptr<const Graph> graph = graph_of(made.step);
  CompileOptions options;
  options.memory = memory;
  const bool overlaps = fit.overlap && shape.tokens > lone_tokens();
  options.steps_in_flight = overlaps ? steps_in_flight(*made.step, *graph, placement) : 1;
  options.trace = options_.trace.get();
  SHUNT_ASSIGN(made.plan, compile(graph, std::move(placement), options));
  SHUNT_TRY(made.plan->set_threads(options_.threads));
  made.granularity = row_granularity(*made.plan, shape.context);
  made.steps_in_flight = *options.steps_in_flight;
  for (const Segment& segment : made.plan->segments()) {
    for (const Transfer& transfer : segment.transfers) {
      const NodeId owner = graph->node(transfer.node).storage;
      made.streams = made.streams || is_weight(graph->node(owner).role);
    }
  }
  pin_sent_caches(made, *graph);
  return made;
}

/// Lets devices pin the caches in host memory that steps send to them. pin_host() is called once
/// for each device and cache.
void SessionPlans::pin_sent_caches(const StepPlan& made, const Graph& graph) {
  RangesByDevice sent;
  for (const Segment& segment : made.plan->segments()) {
    for (const Transfer& transfer : segment.transfers) {
      const auto found = std::ranges::find(made.step->caches, graph.node(transfer.node).storage);
      if (found == made.step->caches.end()) continue;
      const auto cache = to_size(found - made.step->caches.begin());
      std::byte* const start = caches_[cache].buffer->host_data();
      Device& to = device_at(made.plan->placement().devices, transfer.to);
      if (start == nullptr || !sent_caches_.emplace(&to, cache).second) continue;
      sent[&to].emplace_back(start + caches_[cache].offset, cache_bytes_[cache]);
    }
  }
  if (sent.empty()) return;
  pinned_caches_.merge(pin_ranges(sent, model_.devices, {}, available_memory(), "caches", notes_));
}

/// Without it the session works as well.
void SessionPlans::allocate_host(const HostLayout& layout) {
  if (host_ != nullptr || layout.slots == 0) return;
  auto made = HostRows::allocate(model_.devices.cpu_device().memory(), layout);
  if (made) {
    host_ = std::move(*made);
  } else {
    notes_.push_back(
        fmt::format("no host memory for blocks of the KV cache: {}", to_text(made.error())));
  }
}

/// Lets devices pin the rows of their own caches.
void SessionPlans::pin_host() {
  RangesByDevice copied;
  for (std::size_t i = 0; host_ != nullptr && i < caches_.size(); ++i) {
    if (homes_.caches[i] == model_.devices.cpu() || cache_tensors_[i].is_state) continue;
    copied[model_.devices[homes_.caches[i]]].emplace_back(host_->rows_of(i));
  }
  if (copied.empty()) return;
  pinned_host_ =
      pin_ranges(copied, model_.devices, {}, available_memory(), "blocks of the cache", notes_);
}

void SessionPlans::clear() {
  plans_.clear();
  pinned_host_.clear();
  pinned_caches_.clear();
  sent_caches_.clear();
  cache_buffers_.clear();
  cache_devices_.clear();
  caches_.clear();
  moved_.clear();
}

/// Allocates caches and makes these plans on the devices where they fit. There must be none yet.
Status SessionPlans::make_all(std::vector<StepShape> steps) {
  MemoryBudget budget(model_.devices, MemoryBudget::For::kSession);
  const auto homes = model_.weights.homes();
  const auto make = [&](const Fit& fit) -> Status {
    SHUNT_ASSIGN(const auto step, model_.build(steps.front()));
    SHUNT_TRY(allocate_caches(*step, fit.homes));
    for (const StepShape& shape : steps) {
      SHUNT_ASSIGN(StepPlan made, compile_step(shape, fit));
      plans_.emplace(std::pair(shape.tokens, shape.outputs), std::move(made));
    }
    allocate_host(fit.host);  // last: it must not take memory that plans need
    return ok();
  };
  const auto attempt = [&]() -> Status {
    FitRequest request = this->request(steps, budget);
    request.loaded = &homes;
    request.wanted_caches = &model_.residency.caches;
    request.used = model_.residency.used;
    request.host_cache = host_ == nullptr ? options_.host_cache_bytes : 0;
    SHUNT_ASSIGN(Fit fit, fit_model(model_, request));
    SHUNT_ASSIGN(const Verdict verdict, judge(request, fit));
    budget.plan(fit);
    const std::size_t notes_before = notes_.size();
    const std::shared_ptr<HostRows> host_before = host_;
    if (Status made = make(fit); !made) {
      clear();
      host_ = host_before;
      notes_.resize(notes_before);
      return made;
    }
    log_line(verdict);
    notes_.insert(notes_.end(), fit.notes.begin(), fit.notes.end());
    homes_ = std::move(fit.homes);
    pin_host();
    return ok();
  };
  return budget.run(attempt, [this](const std::string& line) { note_refusal(line); });
}

Result<std::unique_ptr<SessionPlans>> SessionPlans::create(const ModelState& model,
                                                           const SessionOptions& options,
                                                           std::shared_ptr<HostRows> host) {
  std::unique_ptr<SessionPlans> plans(new SessionPlans(model, options, std::move(host)));
  SHUNT_TRY(plans->make_all(session_steps(options)));
  return plans;
}

/// Adds a plan to the existing ones.
Result<StepPlan> SessionPlans::make_one(const StepShape& shape) {
  MemoryBudget budget(model_.devices, MemoryBudget::For::kSession);
  const auto attempt = [&]() -> Result<StepPlan> {
    FitRequest request = this->request({shape}, budget);
    request.loaded = &homes_.weights;
    request.caches = &homes_.caches;
    SHUNT_ASSIGN(const Fit fit, fit_model(model_, request));
    SHUNT_ASSIGN(const Verdict verdict, judge(request, fit));
    budget.plan(fit);
    auto made = compile_step(shape, fit);
    if (made) log_line(verdict);
    return made;
  };
  return budget.run(attempt, [this](const std::string& line) { note_refusal(line); });
}

Error SessionPlans::of_cache(Error error, std::size_t cache) const {
  const std::string name = name_of(*model_.devices[homes_.caches[cache]]);
  return std::move(error).with_device(name).with_context(name + ": the cache");
}

bool SessionPlans::caches_are_on(std::span<Device* const> devices) const {
  return std::ranges::all_of(homes_.caches, [&](DeviceIndex home) {
    return std::ranges::count(devices, model_.devices[home]) > 0;
  });
}

Result<std::vector<std::vector<std::byte>>> SessionPlans::read_caches() const {
  std::vector<std::vector<std::byte>> contents;
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    contents.emplace_back(cache_bytes_[i]);
    Status read = caches_[i].buffer->read(caches_[i].offset, contents.back());
    if (!read) return of_cache(std::move(read.error()), i);
  }
  return contents;
}

Address SessionPlans::row_at(std::size_t cache, std::int64_t row) const {
  const Address& start = caches_[cache];
  return {start.buffer, start.offset + to_size(row) * cache_tensors_[cache].row_bytes};
}

Status SessionPlans::make_window_copies(WindowRows& windows) {
  for (std::int64_t i = 0; i < windows.windows(); ++i) {
    while (!windows.pending(i).empty()) {
      SHUNT_TRY(copy_rows(windows.pending(i).front(), to_size(i)));
      windows.mark_copied(i);
    }
  }
  return ok();
}

Status SessionPlans::make_copies(BlockPool& pool, WindowRows* windows) {
  if (windows != nullptr) {
    windows->follow_to_host();
    SHUNT_TRY(make_window_copies(*windows));
  }
  while (!pool.pending().empty()) {
    const BlockCopy next = pool.pending().front();
    SHUNT_TRY(copy_rows(next));
    const bool in_windows = windows != nullptr && next.way == CopyWay::kInCache;
    for (std::int64_t i = 0; in_windows && i < windows->windows(); ++i) {
      const auto rows = windows->copy(i, next);
      SHUNT_TRY(make_window_copies(*windows));  // of the block that gets these rows
      if (!rows) continue;
      SHUNT_TRY(copy_rows(*rows, to_size(i)));
      windows->copied(i, next);
    }
    pool.mark_copied();
  }
  return ok();
}

/// In all caches of a window of StepGraph::windows, or in those of no window.
Status SessionPlans::copy_rows(const BlockCopy& rows, std::optional<std::size_t> window) {
  if (rows.way != CopyWay::kInCache && host_ == nullptr)
    return fail(ErrorCode::kInternal, "there is no host memory for blocks of the cache");
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    if (cache_tensors_[i].is_state || cache_tensors_[i].window != window) continue;
    SHUNT_TRY(copy_rows_of(i, rows));
  }
  return ok();
}

Status SessionPlans::copy_rows_of(std::size_t cache, const BlockCopy& rows) {
  const std::size_t bytes = to_size(rows.rows) * cache_tensors_[cache].row_bytes;
  const std::int64_t from = rows.from * kCacheBlock;
  const std::int64_t to = rows.to * kCacheBlock;
  if (rows.way == CopyWay::kToHost)
    return read_rows(cache, from, host_->rows(cache, rows.to).first(bytes));
  if (rows.way == CopyWay::kFromHost)
    return write_rows(cache, to, host_->rows(cache, rows.from).first(bytes));
  Status copied = copy(row_at(cache, to), row_at(cache, from), bytes);
  if (!copied) return of_cache(std::move(copied.error()), cache);
  return ok();
}

Status SessionPlans::read_rows(std::size_t cache, std::int64_t row, std::span<std::byte> to) const {
  const Address at = row_at(cache, row);
  Status read = at.buffer->read(at.offset, to);
  if (!read) return of_cache(std::move(read.error()), cache);
  return ok();
}

Status SessionPlans::write_rows(std::size_t cache, std::int64_t row,
                                std::span<const std::byte> from) {
  const Address at = row_at(cache, row);
  Status written = at.buffer->write(at.offset, from);
  if (!written) return of_cache(std::move(written.error()), cache);
  return ok();
}

Status SessionPlans::write_caches(std::span<const std::vector<std::byte>> contents) {
  if (contents.size() != caches_.size()) {
    return invalid("a copy of {} for {}", counted(contents.size(), "cache"), caches_.size());
  }
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    if (contents[i].size() == cache_bytes_[i]) continue;
    return invalid("a copy of {} bytes for cache {} of {} bytes", contents[i].size(), i,
                   cache_bytes_[i]);
  }
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    Status written = caches_[i].buffer->write(caches_[i].offset, contents[i]);
    if (!written) return of_cache(std::move(written.error()), i);
  }
  return ok();
}

/// Makes everything again, with one more plan; the content of the caches is kept.
Status SessionPlans::make_again(const StepShape& shape) {
  SHUNT_ASSIGN(const auto contents, read_caches());
  intact_ = false;
  clear();
  notes_.clear();
  std::vector<StepShape> steps = session_steps(options_);
  steps.push_back(shape);
  Status made = make_all(steps);
  if (!made) {  // back to the plans from before
    steps.pop_back();
    SHUNT_TRY(make_all(steps));
  }
  SHUNT_TRY(write_caches(contents));
  intact_ = true;
  return made;
}

StepPlan* SessionPlans::find(std::int64_t tokens, std::int64_t outputs) {
  const auto known = plans_.find({tokens, outputs});
  return known == plans_.end() ? nullptr : &known->second;
}

Result<StepPlan*> SessionPlans::plan_for(std::int64_t tokens, std::int64_t outputs) {
  const auto key = std::pair(tokens, outputs);
  if (StepPlan* const known = find(tokens, outputs)) return known;
  const StepShape shape = step_shape(options_, tokens, outputs);
  auto made = make_one(shape);
  if (made) return &plans_.emplace(key, std::move(*made)).first->second;
  if (made.error().code() != ErrorCode::kOutOfMemory) return Error(made.error());
  SHUNT_TRY(make_again(shape));
  return &plans_.at(key);
}

/// A plan is placed for its largest step. For a few tokens sending weights takes longer than it
/// saves: these have a plan of their own that does not.
bool SessionPlans::uses_plan_for_few(const StepPlan& whole, std::int64_t tokens) const {
  return whole.streams && tokens <= few() && whole.step->token_count.max > few();
}

Result<StepPlan*> SessionPlans::plan_to_append(std::int64_t tokens) {
  const StepShape shape = session_step(options_, tokens);
  SHUNT_ASSIGN(StepPlan * whole, plan_for(shape.tokens, shape.outputs));
  if (!uses_plan_for_few(*whole, tokens)) return whole;
  auto small = plan_for(few(), outputs_of(few()));
  if (small) return small;
  const ErrorCode code = small.error().code();  // no room, or its fallback is denied
  if (code != ErrorCode::kOutOfMemory && code != ErrorCode::kUnsupported) return small;
  if (!intact_) return small;
  return plan_for(shape.tokens, shape.outputs);
}

StepPlan* SessionPlans::find_to_append(std::int64_t tokens) {
  const StepShape shape = session_step(options_, tokens);
  StepPlan* const whole = find(shape.tokens, shape.outputs);
  if (whole == nullptr || !uses_plan_for_few(*whole, tokens)) return whole;
  return find(few(), outputs_of(few()));
}

Ledger SessionPlans::ledger() const {
  Ledger ledger;
  // Rows by device, in the model's order.
  for (const DeviceIndex i : model_.devices.indices()) {
    const std::string name = name_of(*model_.devices[i]);
    for (std::size_t buffer = 0; buffer < cache_buffers_.size(); ++buffer) {
      if (cache_devices_[buffer] == i)
        ledger.add(name, Purpose::kCache, cache_buffers_[buffer]->size());
    }
    for (const auto& [key, plan] : plans_) {
      for (const MemoryUse& use : plan.plan->memory()) {
        const DeviceSpan<Device* const> devices(plan.plan->placement().devices);
        if (devices[use.device] != model_.devices[i]) continue;
        ledger.add(name, Purpose::kActivations, use.activations);
        ledger.add(name, Purpose::kInputs, use.inputs);
        ledger.add(name, Purpose::kStaging, use.staging);
      }
    }
  }
  if (host_ != nullptr)
    ledger.add(name_of(model_.devices.cpu_device()), Purpose::kHostCache, host_->bytes());
  for (const auto& [info, blocks] : moved_)
    ledger.add(name_of(model_.devices.cpu_device()), Purpose::kWeights, blocks.layout.total());
  return ledger;
}

}  // namespace shunt

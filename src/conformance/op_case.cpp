#include "conformance/op_case.h"

#include <algorithm>
#include <cmath>

#include "conformance/case_data.h"
#include "conformance/case_sources.h"
#include "device/device_run.h"
#include "graph/reference.h"
#include "graph/tensor_values.h"
#include "shunt/message.h"
#include "shunt/ops/data.h"
#include "shunt/ops/view.h"

namespace shunt {

namespace {

/// The content of memory before anything is computed, and behind the end of each tensor. It is not
/// a number in every type of float, so that an unwritten element is not right by chance.
constexpr std::byte kUnwritten{0xff};
/// Bytes behind the end of a tensor that a device must leave alone.
constexpr std::size_t kGuard = 64;

}  // namespace

Result<Value> OpCase::add_source(GraphBuilder& g, const CaseSource& source, std::size_t number,
                                 bool written) {
  if (!source.given) return absent();
  const Sizes& s = source.sizes;
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(source.dtype, {s[0], s[1], s[2], s[3]}));
  const std::string name = fmt::format("source {}", number);
  SHUNT_ASSIGN(const Value leaf, written ? g.cache(name, tensor) : g.input(name, tensor));
  leaves_.push_back({leaf.id, source, 1000 + number});
  Result<Value> seen = leaf;
  if (source.permute != CaseSource{}.permute) seen = permute(g, seen, source.permute);
  if (source.slice != CaseSource{}.slice) {
    const Sizes sizes = sizes_of(source);
    seen = view(g, seen, source.slice, {sizes[0], sizes[1], sizes[2], sizes[3]});
  }
  return seen;
}

Result<OpCase> OpCase::create(const Op& op, const Case& each) {
  OpCase made;
  GraphBuilder g;
  std::vector<NodeId> sources;
  for (std::size_t i = 0; i < each.sources.size(); ++i) {
    const bool written = i == 0 && op.info().storage == Storage::kIntoFirst;
    SHUNT_ASSIGN(const Value source, made.add_source(g, each.sources[i], i, written));
    sources.push_back(source.id);
  }
  Result<Value> result = g.apply(op, each.params, std::span<const NodeId>(sources));
  if (op.info().storage == Storage::kView) result = cont(g, result);
  SHUNT_TRY(g.output(result, "result"));
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  made.graph_ = std::make_unique<const Graph>(std::move(graph));
  made.node_ = result->id;
  made.max_error_ = each.max_error;
  return made;
}

NodeId OpCase::compared() const {
  const Node& node = graph_->node(node_);
  return node.writes_storage ? node.storage : node_;
}

RefTensor OpCase::values(NodeId id, const std::byte* data) const {
  const Tensor& tensor = graph_->node(id).result;
  return read_tensor(data, tensor, max_sizes(tensor.shape));
}

Status OpCase::make_data() {
  if (!bytes_.empty()) return ok();
  std::vector<std::vector<std::byte>> bytes(graph_->size());
  std::vector<RefTensor> leaf_values(graph_->size());
  for (const Leaf& leaf : leaves_) {
    bytes[leaf.id] = make_bytes(leaf.source, leaf.seed);
    leaf_values[leaf.id] = values(leaf.id, bytes[leaf.id].data());
  }
  SHUNT_ASSIGN(auto reference, reference_run(*graph_, leaf_values));
  if (graph_->node(node_).writes_storage) before_ = std::move(leaf_values[compared()]);
  reference_ = std::move(reference[compared()]);
  bytes_ = std::move(bytes);
  return ok();
}

Result<ComputedCase> OpCase::compute(Device& device, const std::atomic<bool>* cancel) const {
  BufferType& memory = device.memory();
  std::vector<std::unique_ptr<Buffer>> buffers(graph_->size());  // of those that own memory
  std::vector<Address> addresses(graph_->size());
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    // Views own nothing; the view that is copied is not computed either.
    if (node.storage == id) {
      const std::size_t bytes = std::max(memory.size_of(node.result), bytes_[id].size()) + kGuard;
      SHUNT_ASSIGN(buffers[id], filled_buffer(memory, bytes, kUnwritten, bytes_[id]));
    }
    addresses[id] = {buffers[node.storage].get(), static_cast<std::size_t>(node.offset)};
  }
  SHUNT_ASSIGN(DeviceRun alone, DeviceRun::create(device, *graph_, {&node_, 1}, addresses));
  SHUNT_TRY(alone.run(graph_->max_dynamic_dims(), cancel));

  ComputedCase computed;
  computed.bytes.resize(graph_->size());
  const NodeId written = graph_->node(node_).storage;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    if (buffers[id] == nullptr) continue;
    Buffer& buffer = *buffers[id];
    std::vector<std::byte>& bytes = computed.bytes[id];
    bytes.resize(static_cast<std::size_t>(byte_span(graph_->node(id).result)));
    SHUNT_TRY(buffer.read(0, bytes));
    std::vector<std::byte> guard(kGuard);
    SHUNT_TRY(buffer.read(buffer.size() - kGuard, guard));
    if (std::ranges::count(guard, kUnwritten) != std::ssize(guard)) {
      computed.stray = fmt::format("it writes past the end of {}", graph_->describe(id));
    } else if (id != written && bytes != bytes_[id]) {
      computed.stray = fmt::format("it writes into {}", graph_->describe(id));
    }
  }
  return computed;
}

Result<std::string> OpCase::judge(const ComputedCase& computed, double rounding,
                                  double largest) const {
  if (!computed.stray.empty()) return computed.stray;
  RefTensor expected = reference_;
  for (double& value : expected.data) {
    if (std::isfinite(value)) value = std::clamp(value, -largest, largest);
  }
  // The tensor that is written into is checked as a whole: the data around the window must stay.
  const NodeId seen = compared();
  const RefTensor* before = graph_->node(node_).writes_storage ? &before_ : nullptr;
  const double error = nmse(values(seen, computed.bytes[seen].data()), expected, before);
  if (error <= max_error_ + rounding) return std::string();
  return fmt::format("error {:.3g}, at most {:.3g}", error, max_error_ + rounding);
}

Result<std::shared_ptr<OpCase>> OpCaseStore::get(const Op& op, const Case& each) {
  if (op_ != &op) cases_.clear();
  op_ = &op;
  std::shared_ptr<OpCase>& found = cases_[each.name];
  if (found == nullptr) {
    SHUNT_ASSIGN(OpCase made, OpCase::create(op, each));
    found = std::make_shared<OpCase>(std::move(made));
  }
  return found;
}

}  // namespace shunt

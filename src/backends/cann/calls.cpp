#include "backends/cann/calls.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

std::size_t bytes_of(DataType type, const View::Dims& sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  return static_cast<std::size_t>(ceil_div(elements * bits_of(type), std::int64_t{8}));
}

/// A descriptor's storage starts at a multiple of this.
constexpr std::uintptr_t kBaseAlignment = 32;

}  // namespace

void Calls::begin(NodeId node) {
  node_ = node;
  temporary_ = 0;
}

void Calls::fail(Error error) {
  if (status_) status_ = std::move(error);
}

bool Calls::has_gaps(const std::vector<View>& views) {
  return std::ranges::any_of(views, [](const View& view) { return has_gaps(view); });
}

DevicePointer Calls::take(DevicePointer start, std::size_t& taken, std::size_t& planned,
                          std::size_t bytes) {
  const std::size_t at = taken;
  if (!launches_) {
    taken += bytes;
    planned = std::max(planned, taken);
    return nullptr;
  }
  if (at + bytes <= planned) {
    taken += bytes;
    return start + at;
  }
  // These sizes need more than those that the plan was made with.
  if (memory_.recording != nullptr) memory_.recording->give_up();
  auto more = memory_.reserve->until_end(bytes);
  if (more) return *more;
  fail(std::move(more.error()));
  return nullptr;
}

View Calls::temporary(DataType type, View::Dims sizes) {
  const std::size_t bytes = padded(bytes_of(type, sizes));
  DevicePointer at = take(memory_.temporary, temporary_, plan_.temporary, bytes);
  return {type, std::move(sizes), at};
}

std::pair<View, bool> Calls::shared(const std::string& key, DataType type, View::Dims sizes) {
  const auto known = shared_.find(key);
  if (known != shared_.end()) return {known->second, false};
  const std::size_t bytes = padded(bytes_of(type, sizes));
  View made(type, std::move(sizes), take(memory_.shared, shared_bytes_, plan_.shared, bytes));
  shared_.emplace(key, made);
  return {made, true};
}

View Calls::constant(const std::string& key, std::size_t size,
                     const std::function<void(std::span<float>)>& make) {
  auto known = plan_.constant_at.find(key);
  if (known == plan_.constant_at.end()) {
    if (launches_) {
      fail(shunt::fail(ErrorCode::kInternal, "the constant {} was not planned", key));
      return {DataType::kFloat, {static_cast<std::int64_t>(size)}, nullptr};
    }
    // Each starts at a multiple of kAlignment, and has a tail.
    const std::size_t at = plan_.constants.size();
    plan_.constants.resize(at + padded(size * sizeof(float)) / sizeof(float));
    make(std::span(plan_.constants).subspan(at, size));
    known = plan_.constant_at.emplace(key, at).first;
  }
  DevicePointer at =
      memory_.constants == nullptr ? nullptr : memory_.constants + known->second * sizeof(float);
  return {DataType::kFloat, {static_cast<std::int64_t>(size)}, at};
}

View Calls::cast(const View& from, DataType type) {
  if (from.type() == type) return from;
  const View to = temporary(type, from.sizes());
  (*this)(kCast, from, type, to);
  return to;
}

View Calls::contiguous(const View& from) {
  if (from.is_contiguous()) return from;
  const View to = temporary(from.type(), from.sizes());
  copy(to, from);
  return to;
}

void Calls::copy(const View& to, const View& from) {
  (*this)(kInplaceCopy, to, from);
}

void Calls::fill(const View& to, const Scalar& value) {
  (*this)(kInplaceFillScalar, to, value);
}

View Calls::indices(const View& ids, const std::string& content, std::int64_t count) {
  const std::string key = fmt::format("indices of {} below {}", content, count);
  const auto [clamped, is_new] = shared(key, DataType::kInt32, ids.sizes());
  if (!is_new) return clamped;
  View narrow = contiguous(ids);
  const std::int64_t last = std::max<std::int64_t>(count - 1, 0);
  if (narrow.type() == DataType::kInt64) {
    // Numbers that Int32 does not hold become some that are out of range, too.
    const View near = temporary(DataType::kInt64, ids.sizes());
    (*this)(kClamp, narrow, Scalar(std::int64_t{-1}), Scalar(last + 1), near);
    narrow = cast(near, DataType::kInt32);
  }
  (*this)(kClamp, narrow, Scalar(DataType::kInt32, 0.0),
          Scalar(DataType::kInt32, static_cast<double>(last)), clamped);
  const View same = temporary(DataType::kBool, ids.sizes());
  (*this)(kEqTensor, narrow, clamped, same);
  const View bad = temporary(DataType::kBool, ids.sizes());
  (*this)(kLogicalNot, same, bad);
  check_none(bad, "an index is out of range");
  return clamped;
}

void Calls::check_none(const View& bad, const std::string& text) {
  const FaultText fault = {node_, text};
  auto known = std::ranges::find(plan_.faults, fault);
  if (known == plan_.faults.end()) {
    if (launches_)
      return fail(shunt::fail(ErrorCode::kInternal, "the check \"{}\" was not planned", text));
    known = plan_.faults.insert(plan_.faults.end(), fault);
  }
  const auto number = static_cast<std::size_t>(known - plan_.faults.begin());
  DevicePointer at = memory_.faults == nullptr ? nullptr : memory_.faults + number * kFaultBytes;
  const View counter(DataType::kInt32, {1}, at);
  const View flat = contiguous(bad).reshaped({bad.elements()});
  const View sum = temporary(DataType::kInt32, {1});
  (*this)(kReduceSum, flat, {0}, true, DataType::kInt32, sum);
  (*this)(kInplaceAdd, counter, sum, Scalar(DataType::kInt32, 1.0));
}

Calls::Call::~Call() {
  destroy_descriptors();
}

void Calls::Call::destroy_descriptors() {
  for (const auto& destroy : destroy_) destroy();
  destroy_.clear();
}

bool Calls::Call::is_answered() {
  functions_ = calls_.context_.runtime().op(name_);
  if (functions_.first == nullptr || functions_.second == nullptr) {
    calls_.fail(shunt::fail(ErrorCode::kUnsupported, "the library has no aclnn{}", name_));
    return true;
  }
  if (calls_.launches_) return false;
  if (is_fatal(calls_.chip(), name_, has_int64_)) {
    calls_.fail(shunt::fail(ErrorCode::kUnsupported, "aclnn{} ends the process on a {}", name_,
                            calls_.chip().name));
    return true;
  }
  const auto known = calls_.context_.find_answer(key_);
  if (known) use(*known);
  return known.has_value();
}

void Calls::Call::use(const PhaseAnswer& answer) {
  calls_.plan_.workspace = std::max<std::size_t>(calls_.plan_.workspace, answer.workspace);
  if (answer.status == kSuccess) return;
  calls_.refusal_ = Refusal::kVendorFunction;
  calls_.fail(shunt::fail(ErrorCode::kUnsupported, "{}", answer.text));
}

void Calls::Call::finish(const First& first) {
  const DeviceContext& context = calls_.context_;
  std::optional<DeviceContext::Current> current;
  if (!calls_.launches_) current.emplace(context);
  if (!created_) {
    calls_.refusal_ = Refusal::kMemory;
    return calls_.fail(
        shunt::fail(ErrorCode::kOutOfMemory, "the operands of aclnn{} got no descriptor", name_));
  }
  std::uint64_t workspace = 0;
  ExecutorHandle executor = nullptr;
  const Status32 status = first(functions_.first, &workspace, &executor);
  const std::string function = fmt::format("aclnn{}GetWorkspaceSize", name_);
  if (!calls_.launches_) {
    PhaseAnswer answer = {status, {}, workspace};
    const Status checked = context.check(status, function);
    if (!checked) {
      answer.text = to_text(checked.error());
    } else if (executor != nullptr) {
      (void)context.symbols().destroy_executor(executor);
    }
    destroy_descriptors();
    if (!checked && !is_refusal(status)) {  // of a full machine, or a lost device: it may pass
      calls_.refusal_ = Refusal::kMemory;
      return calls_.fail(checked.error());
    }
    context.keep_answer(key_, answer);
    return use(answer);
  }
  if (status != kSuccess) {
    Status failed = context.check(status, function);
    return calls_.fail(std::move(failed.error()));
  }
  DevicePointer at = calls_.memory_.workspace;
  Recording* recording = calls_.memory_.recording;
  const bool repeats = recording != nullptr && recording->make_repeatable(executor);
  if (workspace > calls_.memory_.workspace_bytes) {
    auto more = calls_.memory_.reserve->at_least(workspace);
    if (!more) {
      (void)context.symbols().destroy_executor(executor);
      return calls_.fail(std::move(more.error()));
    }
    at = *more;
  }
  const Status32 launched =
      functions_.second(workspace == 0 ? nullptr : at, workspace, executor, calls_.stream_);
  if (repeats) recording->add(name_, functions_, at, workspace, executor, std::move(destroy_));
  // A larger reserve has another address.
  if (recording != nullptr && (!repeats || workspace > calls_.memory_.workspace_bytes))
    recording->give_up();
  if (launched == kSuccess) return;
  Status failed = context.check(launched, fmt::format("aclnn{}", name_));
  calls_.fail(std::move(failed.error()));
}

// ---- the operands of a call as text

void Calls::Call::add_text(const View& view) {
  has_int64_ = has_int64_ || view.type() == DataType::kInt64;
  if (calls_.launches_) return;
  fmt::format_to(std::back_inserter(key_), "{}{}", to_text(view.type()),
                 static_cast<int>(view.format()));
  for (std::size_t d = 0; d < view.rank(); ++d)
    fmt::format_to(std::back_inserter(key_), ",{}:{}", view.size(d), view.stride(d));
  key_ += ';';
}
void Calls::Call::add_text(const std::optional<View>& view) {
  if (view) return add_text(*view);
  key_ += "none;";
}
void Calls::Call::add_text(const std::vector<View>& views) {
  for (const View& view : views) add_text(view);
  key_ += "end;";
}
void Calls::Call::add_text(const std::optional<std::vector<View>>& views) {
  if (views) return add_text(*views);
  key_ += "none;";
}
void Calls::Call::add_text(const Scalar& scalar) {
  if (calls_.launches_) return;
  fmt::format_to(std::back_inserter(key_), "{}={};", to_text(scalar.type), scalar.value);
}
void Calls::Call::add_text(const std::optional<Scalar>& scalar) {
  if (scalar) return add_text(*scalar);
  key_ += "none;";
}
void Calls::Call::add_text(const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) add_text(value);
  key_ += "end;";
}
void Calls::Call::add_text(const std::optional<std::vector<std::int64_t>>& values) {
  if (values) return add_text(*values);
  key_ += "none;";
}
void Calls::Call::add_text(const char* text) {
  if (!calls_.launches_) key_.append(text).push_back(';');
}
void Calls::Call::add_text(std::int64_t value) {
  if (!calls_.launches_) fmt::format_to(std::back_inserter(key_), "{};", value);
}
void Calls::Call::add_text(std::int32_t value) {
  add_text(std::int64_t{value});
}
void Calls::Call::add_text(double value) {
  if (!calls_.launches_) fmt::format_to(std::back_inserter(key_), "{};", value);
}
void Calls::Call::add_text(bool value) {
  add_text(std::int64_t{value});
}
void Calls::Call::add_text(DataType value) {
  add_text(static_cast<std::int64_t>(value));
}
void Calls::Call::add_text(CubeMath value) {
  add_text(static_cast<std::int64_t>(value));
}

// ---- descriptors

template <class Handle>
Handle Calls::Call::keep(Handle handle, Status32 (*destroy)(const std::remove_pointer_t<Handle>*)) {
  if (handle == nullptr) {
    created_ = false;
  } else {
    destroy_.push_back([=] { (void)destroy(handle); });
  }
  return handle;
}

TensorHandle Calls::Call::create_tensor(const View& view) {
  // The vendor has the outermost dimension first, and elements from an aligned base.
  std::array<std::int64_t, View::kMostDims> sizes = {}, strides = {};
  const std::size_t rank = view.rank();
  for (std::size_t d = 0; d < rank; ++d) {
    sizes[rank - 1 - d] = view.size(d);
    strides[rank - 1 - d] = view.stride(d);
  }
  const auto address = std::bit_cast<std::uintptr_t>(view.data());
  const std::uintptr_t ahead = address % kBaseAlignment;
  const std::int64_t offset = static_cast<std::int64_t>(ahead) * 8 / bits_of(view.type());
  const std::int64_t storage = std::max<std::int64_t>(offset + extent_of(view), 1);
  return calls_.context_.symbols().create_tensor(
      sizes.data(), rank, view.type(), strides.data(), offset, view.format(), &storage, 1,
      view.data() == nullptr ? nullptr : view.data() - ahead);
}

TensorHandle Calls::Call::create(const View& view) {
  return keep(create_tensor(view), calls_.context_.symbols().destroy_tensor);
}
TensorHandle Calls::Call::create(const std::optional<View>& view) {
  return view ? create(*view) : nullptr;
}

TensorListHandle Calls::Call::create(const std::vector<View>& views) {
  const Symbols& symbols = calls_.context_.symbols();
  std::vector<const AclTensor*> members;
  for (const View& view : views) {
    members.push_back(create_tensor(view));
    created_ = created_ && members.back() != nullptr;
  }
  TensorListHandle list =
      created_ ? symbols.create_tensor_list(members.data(), members.size()) : nullptr;
  if (list == nullptr) {
    for (const AclTensor* member : members) (void)symbols.destroy_tensor(member);
  }
  return keep(list, symbols.destroy_tensor_list);  // which destroys its members
}

TensorListHandle Calls::Call::create(const std::optional<std::vector<View>>& views) {
  return views ? create(*views) : nullptr;
}

ScalarHandle Calls::Call::create(const Scalar& scalar) {
  const Symbols& symbols = calls_.context_.symbols();
  std::array<std::byte, 8> value = {};
  const auto store = [&](auto number) { std::memcpy(value.data(), &number, sizeof number); };
  switch (scalar.type) {
    case DataType::kFloat:
      store(static_cast<float>(scalar.value));
      break;
    case DataType::kDouble:
      store(scalar.value);
      break;
    case DataType::kInt64:
      store(static_cast<std::int64_t>(scalar.value));
      break;
    case DataType::kBool:
      store(static_cast<std::uint8_t>(scalar.value));
      break;
    case DataType::kInt32:
      store(static_cast<std::int32_t>(scalar.value));
      break;
    default:
      return keep(ScalarHandle(), symbols.destroy_scalar);
  }
  return keep(symbols.create_scalar(value.data(), scalar.type), symbols.destroy_scalar);
}
ScalarHandle Calls::Call::create(const std::optional<Scalar>& scalar) {
  return scalar ? create(*scalar) : nullptr;
}

IntArrayHandle Calls::Call::create(const std::vector<std::int64_t>& values) {
  const Symbols& symbols = calls_.context_.symbols();
  return keep(symbols.create_int_array(values.data(), values.size()), symbols.destroy_int_array);
}
IntArrayHandle Calls::Call::create(const std::optional<std::vector<std::int64_t>>& values) {
  return values ? create(*values) : nullptr;
}

}  // namespace shunt::cann

#include "train/parameters.h"

#include <algorithm>
#include <cstring>

#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A tensor of a file, in the byte order of memory.
std::vector<std::byte> read_tensor(const gguf::File& file, const gguf::TensorInfo& info) {
  const std::span<const std::byte> data = file.data(info);
  std::vector<std::byte> bytes(data.begin(), data.end());
  convert_byte_order(info.tensor.dtype, info.order, bytes);
  return bytes;
}

}  // namespace

Result<Parameters> Parameters::create(const gguf::File& file, std::span<const WeightLeaf> leaves,
                                      const Graph& graph, std::span<const Part> parts,
                                      Device& cpu) {
  Parameters made;
  BufferType& memory = cpu.memory();
  std::size_t size = 0;
  for (const WeightLeaf& leaf : leaves) {
    const Node& node = graph.node(leaf.leaf);
    if (node.role == Role::kCache) {
      const auto alignment = static_cast<std::int64_t>(memory.alignment());
      made.list_.push_back({leaf.info, node.result, size});
      size += static_cast<std::size_t>(
          ceil_div(static_cast<std::int64_t>(memory.size_of(node.result)), alignment) * alignment);
      continue;
    }
    SHUNT_ASSIGN(auto buffer, memory.allocate(memory.size_of(node.result)));
    SHUNT_TRY(buffer->write(0, read_tensor(file, *leaf.info)));
    made.fixed_.push_back({leaf.info, std::move(buffer)});
  }
  for (const Part part : parts) {
    SHUNT_ASSIGN(made.buffers_[static_cast<std::size_t>(part)], memory.allocate(size));
    made.clear(part);
  }
  for (const Parameter& parameter : made.list_) {
    const DTypeTrait& type = trait(parameter.info->tensor.dtype);
    const std::vector<std::byte> from = read_tensor(file, *parameter.info);
    std::vector<float> values(parameter.count());
    type.decode(from.data(), values.data(), static_cast<std::int64_t>(values.size()));
    const auto to = made.bytes(parameter, Part::kValue);
    std::memcpy(to.data(), values.data(), to.size());
  }
  return made;
}

const Parameter* Parameters::find(const gguf::TensorInfo* info) const {
  const auto found = std::ranges::find(list_, info, &Parameter::info);
  return found == list_.end() ? nullptr : &*found;
}

std::span<std::byte> Parameters::bytes(const Parameter& parameter, Part part) {
  return {buffer(part)->host_data() + parameter.offset, parameter.count() * sizeof(float)};
}
std::span<const std::byte> Parameters::bytes(const Parameter& parameter, Part part) const {
  return {buffer(part)->host_data() + parameter.offset, parameter.count() * sizeof(float)};
}

void Parameters::clear(Part part) {
  std::memset(buffer(part)->host_data(), 0, buffer(part)->size());
}

std::vector<LeafMemory> Parameters::leaf_memory(std::span<const WeightLeaf> leaves) const {
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& leaf : leaves) {
    if (const Parameter* parameter = find(leaf.info)) {
      memory.push_back({leaf.leaf, address(*parameter, Part::kValue)});
      continue;
    }
    const auto fixed = std::ranges::find(fixed_, leaf.info, &Fixed::info);
    memory.push_back({leaf.leaf, {fixed->buffer.get(), 0}});
  }
  return memory;
}

}  // namespace shunt

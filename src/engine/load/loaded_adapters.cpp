#include "engine/load/loaded_adapters.h"

#include "gguf/with_memory.h"
#include "shunt/ledger.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kMostAdapters = 1024;

}  // namespace

std::vector<AdapterInfo> LoadedAdapters::infos() const {
  std::vector<AdapterInfo> all;
  all.reserve(files.size());
  for (const AdapterFile& adapter : files) all.push_back(adapter.info);
  return all;
}

std::optional<std::string> LoadedAdapters::note() const {
  if (stacks == nullptr) return std::nullopt;
  std::uint64_t ranks = 0;
  for (const AdapterFile& adapter : files) ranks += static_cast<std::uint64_t>(adapter.info.rank);
  return fmt::format("{} with {} in all, {} of host memory", counted(files.size(), "adapter"),
                     counted(ranks, "rank"), size_text(bytes()));
}

Result<LoadedAdapters> load_adapters(std::span<const std::string> paths, gguf::File& file,
                                     ModelDefinition& definition) {
  LoadedAdapters made;
  if (paths.empty()) return made;
  if (paths.size() > kMostAdapters)
    return invalid("{} adapters; there may be up to {}", paths.size(), kMostAdapters);
  SHUNT_ASSIGN(const std::string architecture, file.get_string("general.architecture"));
  for (const std::string& path : paths) {
    SHUNT_ASSIGN(AdapterFile adapter, AdapterFile::open(path, architecture));
    made.files.push_back(std::move(adapter));
  }
  const auto part = static_cast<std::uint32_t>(file.part_count());
  SHUNT_ASSIGN(made.stacks, definition.adapt(made.files, part));
  file = gguf::with_memory(file, made.stacks->bytes());
  return made;
}

}  // namespace shunt

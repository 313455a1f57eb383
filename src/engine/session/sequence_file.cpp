#include "engine/session/sequence_file.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"
#include "engine/session/step_inputs.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

SavedCache saved_form(const CacheTensor& cache) {
  const SavedKind kind = cache.is_state ? SavedKind::kState
                         : cache.window ? SavedKind::kWindow
                                        : SavedKind::kRows;
  return {cache.name, kind, cache.dtype, cache.row_bytes, cache.window_tokens};
}

std::string describe(const SavedCache& cache) {
  if (cache.kind == SavedKind::kWindow) {
    return fmt::format("{} ({} of {} of {}, {} bytes each)", gguf::printable(cache.name),
                       to_string(cache.kind), cache.window, to_string(cache.dtype),
                       cache.row_bytes);
  }
  return fmt::format("{} ({} of {}, {} bytes each)", gguf::printable(cache.name),
                     to_string(cache.kind), to_string(cache.dtype), cache.row_bytes);
}

std::vector<SavedCache> saved_forms(std::span<const CacheTensor> caches) {
  std::vector<SavedCache> all;
  for (const CacheTensor& cache : caches) all.push_back(saved_form(cache));
  return all;
}

/// Errors of the system have the path already.
Error with_path(Error error, const std::string& path) {
  if (error.code() == ErrorCode::kIo) return error;
  return std::move(error).with_context(path);
}

}  // namespace

Status save_sequence(const SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                     std::int64_t sequence, std::uint64_t model, const std::string& path) {
  const std::span<const std::int32_t> tokens = pool.tokens(sequence);
  const std::span<const std::int64_t> blocks = pool.blocks(sequence);
  const std::span<const CacheTensor> caches = plans.cache_tensors();
  // Rows after that would be computed again.
  const std::int64_t cached = layers.position(sequence);
  const SavedSequence header = {model, cached, {tokens.begin(), tokens.end()}, saved_forms(caches)};
  SHUNT_ASSIGN(SavedSequenceWriter file, SavedSequenceWriter::create(path, header));
  std::vector<std::byte> rows;
  const auto add = [&](std::size_t cache, std::int64_t row, std::int64_t count) -> Status {
    rows.resize(to_size(count) * caches[cache].row_bytes);
    SHUNT_TRY(plans.read_rows(cache, row, rows));
    convert_byte_order(caches[cache].dtype, std::endian::little, rows);
    return file.add(rows);
  };
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (caches[i].is_state) {
      if (cached > 0) SHUNT_TRY(add(i, layers.states()->slot(sequence), 1));
      continue;
    }
    for (std::int64_t first = first_saved_row(header, header.caches[i]); first < cached;
         first += kCacheBlock) {
      std::int64_t block = blocks[to_size(first / kCacheBlock)];
      if (const auto& window = caches[i].window)
        block = layers.windows()->find(static_cast<std::int64_t>(*window), block);
      SHUNT_TRY(add(i, block * kCacheBlock, std::min(cached - first, kCacheBlock)));
    }
  }
  return file.commit();
}

Result<SequenceFile> SequenceFile::open(const std::string& path) {
  SHUNT_ASSIGN(InputFile opened, InputFile::open(path));
  SequenceFile file(path, std::move(opened));
  auto header = read_header(file.bytes());
  if (!header) return with_path(header.error(), path);
  file.header_ = std::move(*header);
  return file;
}

SavedBytes SequenceFile::bytes() const {
  return {file_.size(),
          [this](std::uint64_t offset, std::span<std::byte> to) { return file_.read(offset, to); }};
}

Status SequenceFile::check_model(std::uint64_t model, std::int64_t vocabulary) const {
  const SavedSequence& saved = header_.sequence;
  if (saved.model != model) {
    return invalid(
        "{}: it was saved with another model, other adapters or other scales: its fingerprint is "
        "{:016x}, that of the model and its adapters {:016x}",
        path_, saved.model, model);
  }
  if (saved.tokens.empty()) return ok();
  const Status known = check_tokens(saved.tokens, vocabulary);
  if (known) return ok();
  return fail(ErrorCode::kBadFile, "{}: {}", path_, known.error().message());
}

Status SequenceFile::check_caches(const SessionPlans& plans) const {
  const std::span<const SavedCache> saved = header_.sequence.caches;
  const std::span<const CacheTensor> caches = plans.cache_tensors();
  if (saved.size() != caches.size()) {
    return invalid("{}: it has the rows of {}, but the session has {}", path_,
                   counted(saved.size(), "cache"), caches.size());
  }
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const SavedCache own = saved_form(caches[i]);
    if (saved[i] == own) continue;
    return invalid("{}: it was saved with another kind of session: its cache {} is {}, not {}",
                   path_, i, describe(saved[i]), describe(own));
  }
  return ok();
}

Error SequenceFile::context_is_full(const BlockPool& pool) const {
  return invalid("{}: its {} do not fit: the context holds {}, {} of them taken by others", path_,
                 counted(header_.sequence.tokens.size(), "token"), pool.context(), pool.taken());
}

/// Writes rows of the caches of a window, or of those without.
Status SequenceFile::write_rows(SessionPlans& plans, std::optional<std::size_t> window,
                                std::span<const MissingRows> missing) const {
  std::vector<std::byte> bytes;
  std::uint64_t start = header_.data;  // of the cache in the file
  for (std::size_t i = 0; i < header_.sequence.caches.size(); ++i) {
    const SavedCache& cache = header_.sequence.caches[i];
    const CacheTensor& tensor = plans.cache_tensors()[i];
    const bool has_rows = !tensor.is_state && tensor.window == window;
    const std::int64_t first = first_saved_row(header_.sequence, cache);
    for (const MissingRows& rows : has_rows ? missing : std::span<const MissingRows>()) {
      bytes.resize(to_size(rows.count) * cache.row_bytes);
      SHUNT_TRY(file_.read(start + to_size(rows.token - first) * cache.row_bytes, bytes));
      convert_byte_order(cache.dtype, std::endian::little, bytes);
      SHUNT_TRY(plans.write_rows(i, rows.block * kCacheBlock + rows.first, bytes));
    }
    start += data_bytes(header_.sequence, cache);
  }
  return ok();
}

Status SequenceFile::write_windows(SessionPlans& plans, WindowRows& windows,
                                   std::int64_t sequence) const {
  SHUNT_ASSIGN(const auto missing, windows.restore(sequence, header_.sequence.cached));
  SHUNT_TRY(plans.make_window_copies(windows));  // of blocks that get these rows
  for (std::size_t i = 0; i < missing.size(); ++i) SHUNT_TRY(write_rows(plans, i, missing[i]));
  return ok();
}

Status SequenceFile::write_states(SessionPlans& plans, std::int64_t slot) const {
  std::vector<std::byte> bytes;
  std::uint64_t start = header_.data;
  for (std::size_t i = 0; i < header_.sequence.caches.size(); ++i) {
    const SavedCache& cache = header_.sequence.caches[i];
    if (cache.kind == SavedKind::kState) {
      bytes.resize(cache.row_bytes);
      SHUNT_TRY(file_.read(start, bytes));
      convert_byte_order(cache.dtype, std::endian::little, bytes);
      SHUNT_TRY(plans.write_rows(i, slot, bytes));
    }
    start += data_bytes(header_.sequence, cache);
  }
  return ok();
}

Status SequenceFile::restore(SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                             std::int64_t sequence) const {
  SHUNT_TRY(check_caches(plans));
  const Status intact = check_data(bytes(), header_);
  if (!intact) return with_path(intact.error(), path_);
  // After an error or an exception, when the pool has gone back.
  struct Undo {
    WindowRows* windows;
    bool needed = true;
    ~Undo() {
      if (needed && windows != nullptr) windows->abandon();
    }
  } undo{layers.windows()};
  Status replaced = replace(plans, pool, layers, sequence);
  undo.needed = !replaced;
  return replaced;
}

Status SequenceFile::replace(SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                             std::int64_t sequence) const {
  const SavedSequence& saved = header_.sequence;
  StateSlots* const states = layers.states();
  SequenceReplacement replacement(pool, sequence);
  if (!replacement.set_tokens(saved.tokens, saved.cached)) return context_is_full(pool);
  SHUNT_TRY(plans.make_copies(pool, layers.windows()));
  SHUNT_TRY(write_rows(plans, {}, replacement.missing()));
  if (layers.windows() != nullptr) SHUNT_TRY(write_windows(plans, *layers.windows(), sequence));
  const auto commit = [&] {
    replacement.commit();
    if (layers.windows() != nullptr) layers.windows()->finish(sequence);
  };
  if (states == nullptr) {
    commit();
    return ok();
  }
  // After an error or an exception its former states may be overwritten.
  struct Undo {
    StateSlots& states;
    std::int64_t sequence;
    bool needed = false;
    ~Undo() {
      if (!needed) return;
      states.abandon();
      states.reset(sequence);
    }
  } undo{*states, sequence};
  if (saved.cached > 0) {
    const SlotPair slots = states->begin(sequence, saved.cached, {});
    undo.needed = true;
    SHUNT_TRY(write_states(plans, slots.target));
  }
  undo.needed = false;
  commit();
  if (saved.cached > 0) {
    states->finish(sequence);
  } else {
    states->reset(sequence);
  }
  return ok();
}

}  // namespace shunt

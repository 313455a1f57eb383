// A file as its architecture reads it: numbers, weights by role, and the graph of a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/gguf.h"
#include "shunt/graph.h"
#include "shunt/message.h"
#include "shunt/pooling.h"

namespace shunt {

struct AdapterFile;
class AdapterStacks;
enum class WeightSlot : std::uint8_t;

/// Rows of a block of the KV cache: sequences get rows in blocks.
inline constexpr std::int64_t kCacheBlock = 64;

/// Entries of the block tables of a step of `sequences`, at most, for a cache of `rows` rows.
/// Sequences may share blocks, so that their tables have more entries than there are blocks.
constexpr std::int64_t most_table_entries(std::int64_t rows, std::int64_t sequences) {
  constexpr std::int64_t kMore = std::int64_t{1} << 16;
  const std::int64_t blocks = (rows + kCacheBlock - 1) / kCacheBlock;
  return sequences <= 1 + kMore / blocks ? blocks * sequences : blocks + kMore;
}

/// The number of slots of each state. Besides one for each sequence and checkpoint there are two:
/// one of zeros, and a spare one for a step to write.
constexpr std::int64_t state_slots_for(std::int64_t sequences, std::int64_t checkpoints) {
  return 2 + sequences + checkpoints;
}

/// The limits of a step; memory is planned for them.
struct StepShape {
  std::int64_t tokens = 1;   ///< computed at once
  std::int64_t outputs = 1;  ///< whose logits are computed
  std::int64_t context = 1;  ///< rows of the cache
  DType cache_type = DType::kF16;
  std::int64_t sequences = 1;      ///< that the tokens are of
  std::int64_t state_slots = 2;    ///< of each state
  std::int64_t table_entries = 0;  ///< of all block tables; 0: most_table_entries()
  /// Of the session: caches of windows have room for them. 0 sequences: these caches have `context`
  /// rows.
  std::int64_t window_sequences = 0;
  std::int64_t window_batch = 1;  ///< tokens of its largest step
  std::int64_t adapter_uses = 1;  ///< adapters of a sequence, at most
  std::int64_t entries() const {
    return table_entries > 0 ? table_entries : most_table_entries(context, sequences);
  }
  bool operator==(const StepShape&) const = default;
};

/// The first block whose rows a token at `position` sees in a window of that many tokens, or the
/// one that begins with it.
constexpr std::int64_t first_window_block(std::int64_t position, std::int64_t window) {
  const std::int64_t first = position - window + 1;
  return first < 0 ? 0 : first / kCacheBlock;
}

/// The most blocks with the rows that a token sees of those before it in a window.
constexpr std::int64_t window_blocks(std::int64_t window) {
  const std::int64_t after_first = window > 2 ? window - 2 : 0;  // rows
  return (after_first + kCacheBlock - 1) / kCacheBlock + 1;
}

/// Rows of the cache of a layer in which a token sees the last `window` tokens, with itself. Each
/// sequence has room for the blocks of its position, and of another one to go back to. The largest
/// step has room for new blocks. At most the rows of other caches.
constexpr std::int64_t window_rows(const StepShape& step, std::int64_t window) {
  if (step.window_sequences == 0 || window >= step.context) return step.context;
  const std::int64_t sequences = step.window_sequences;
  const std::int64_t begun = sequences < step.window_batch ? sequences : step.window_batch;
  const std::int64_t new_blocks = (step.window_batch + (kCacheBlock - 1) * begun) / kCacheBlock;
  const std::int64_t rows = (2 * sequences * window_blocks(window) + new_blocks) * kCacheBlock;
  return rows < step.context ? rows : step.context;
}

/// A leaf of the graph with the data of a tensor of the file.
struct WeightLeaf {
  NodeId leaf = 0;
  const gguf::TensorInfo* info = nullptr;
  std::int64_t layer = -1;  ///< the layer that it belongs to; -1: none
  /// The tensor of the file that `info` is a part of, and whose strides it has; null: `info` itself
  /// is that tensor.
  const gguf::TensorInfo* part_of = nullptr;

  const gguf::TensorInfo& file_tensor() const { return part_of == nullptr ? *info : *part_of; }
};

/// A leaf that is a part of a split weight or cache.
struct PartLeaf {
  NodeId leaf = 0;
  std::size_t part = 0;
  std::string whole = {};  ///< the name of the weight or cache that it is a part of
};

/// The caches of the layers in which a token sees only the last tokens. Their inputs are those of
/// StepGraph with the same names, for other rows.
struct WindowCaches {
  std::int64_t window = 0;  ///< tokens that a token sees, itself among them
  Dim row_count;
  Value cache_rows;   ///< I64 [token_count]
  Value row_numbers;  ///< I32 [row_count], or none
  /// I32 [block_count]: has an entry where StepGraph::block_table has one. Those of blocks before
  /// the windows of all tokens are 0, and are not read.
  Value block_table;
  std::vector<NodeId> caches;  ///< of StepGraph::caches
};

/// Those tokens of a step that use adapters, or those of the outputs. The others have the results
/// of the model's own weights. They are copied, but not multiplied.
struct AdaptedColumns {
  Dim count;      ///< dynamic
  Value columns;  ///< I32 [count]: their numbers among tokens or outputs
  Value ids;      ///< I32 [StepShape::adapter_uses, count]: the adapters of each
  Value scales;   ///< F32 [1, StepShape::adapter_uses, count]: of these; 0 if there are fewer
  /// F32 [AdapterStacks::ranks(), count]: the scale of each adapter, in all rows of the adapter.
  /// None if no matrices are side by side.
  Value row_scales;
};

/// The graph of a step, with the leaves to fill.
struct StepGraph {
  Graph graph;
  Dim token_count;  ///< dynamic dimensions: how many of each there are in a run
  Dim output_count;
  Dim row_count;  ///< rows of the cache, from the first on, among which are those that are read
  Dim sequence_count;
  Dim block_count;    ///< entries of the block table
  Value tokens;       ///< I32 [token_count]: ids
  Value positions;    ///< I32 [token_count]
  Value cache_rows;   ///< I64 [token_count]: the cache row each token is kept in
  Value row_numbers;  ///< I32 [row_count]: 0, 1, 2 and so on; none if no cache is decoded
  /// I32 [3, sequence_count]: the end of a sequence's tokens, its keys, its first entry in the
  /// block table. See paged_attention().
  Value sequences;
  Value block_table;  ///< I32 [block_count]
  /// I32 [sequence_count]: the slot of the states that a sequence's tokens continue from. None if
  /// the model has no states.
  Value state_sources;
  /// I64 [sequence_count]: the slot that its new states are written to. It may be the source of any
  /// sequence of the step, so a graph reads the states of all sequences before it writes one.
  Value state_targets;
  // Without leaves if the model has no adapters.
  AdaptedColumns adapted_tokens;
  AdaptedColumns adapted_outputs;
  Value adapted_ids;              ///< I32 [adapted_tokens.count]: the ids of these tokens
  std::int64_t adapter_uses = 1;  ///< StepShape::adapter_uses
  std::int64_t adapter_rank = 0;  ///< AdapterStacks::rank()
  /// I32 [token_count]: types of tokens. None if the model has fewer than two.
  Value token_types;
  Value output_ids;  ///< I32 [output_count]: numbers of the tokens whose logits are computed
  Value logits;      ///< F32 [ModelShape::outputs, output_count]; embeddings if they are wanted
  std::vector<WeightLeaf> weights;
  std::vector<NodeId> caches;  ///< those with a row for each token, and states
  /// Those of the caches that are states: [size, StepShape::state_slots]. A state has a fixed size,
  /// however many tokens it is of. A slot is a column; one of zeros is the state before any token.
  std::vector<NodeId> states;
  std::vector<WindowCaches> windows;  ///< one for each of ModelShape::windows
  std::vector<PartLeaf> parts;        ///< of the weights and caches; none if the model is not split
};

/// The sizes of a training step.
struct LossShape {
  std::int64_t context = 1;  ///< tokens of a row
  std::int64_t rows = 1;     ///< that know nothing of each other
};

/// The loss of some rows of tokens. Weights are leaves of role kCache and type F32, so that they
/// can be trained, but for those that never are (role kWeight, of their file's type).
struct LossGraph {
  Value tokens;     ///< I32 [context * rows]: ids, one row after the other
  Value positions;  ///< I32 [context * rows]
  /// F16 [context, context, 1, rows]: 0 where a token (dimension 1) may look, else minus infinity.
  Value mask;
  /// F32 [vocabulary, context * rows]: weights of the tokens that should come next; the loss is the
  /// mean over all tokens of weight * -ln(probability).
  Value labels;
  Value loss;  ///< F32 [1]
  std::vector<WeightLeaf> weights;
};

/// A classifier that makes scores of a text's embedding: a matrix with a function, if the file has
/// it, a norm, and a matrix with a row for each score.
struct ClassifierHead {
  std::vector<std::string> labels;  ///< of the scores; empty texts if the file has no names
  bool gelu = false;                ///< the first matrix's function; else tanh
  float norm_eps = 0;
};

/// The sizes of a model that every architecture has.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;
  std::int64_t state_bytes = 0;  ///< of a sequence's states, whatever its length; 0: it has none
  /// In some layers a token sees only the last tokens: the different numbers of them, with the
  /// token itself. Their caches have window_rows().
  std::vector<std::int64_t> windows = {};
  std::int64_t outputs = 0;  ///< numbers of a result: logits, or elements of an embedding
  bool gives_embeddings = false;
  bool is_encoder = false;  ///< tokens see those after them
  std::optional<EmbeddingPooling> pooling = {};
  std::optional<ClassifierHead> head = {};
  bool plain_logits = true;  ///< products of output and embedding, without scale and cap
};

/// The role of a weight in a model, as far as it matters for the precision that the weight needs.
enum class WeightRole : std::uint8_t {
  kOther,      ///< norms, biases and all others
  kEmbedding,  ///< a row a token
  kOutput,     ///< makes the logits; an embedding that does that, too
  kQuery,      ///< attention's
  kKey,
  kValue,
  kMix,   ///< combines attention's heads
  kGate,  ///< the feed-forward part's
  kUp,
  kDown,
};

/// A weight of a file that its architecture knows.
struct ModelWeight {
  const gguf::TensorInfo* info = nullptr;
  WeightRole role = WeightRole::kOther;
  std::int64_t layer = -1;  ///< -1: none
};

/// A matrix or vector, and the dimension along which it is split.
struct SplitWeight {
  const gguf::TensorInfo* info = nullptr;
  std::size_t dim = 0;
};

/// Weights that are split at the same places, so that a device computes with its parts alone.
struct SplitGroup {
  std::string name;        ///< "layer 0, attention"
  std::string units_name;  ///< "heads of keys and values"
  /// Pieces of equal size that must stay whole: each weight has as many, along its dimension.
  std::int64_t units = 1;
  std::vector<SplitWeight> weights;
};

/// A file read by its architecture. Const: may be used from many threads.
class ModelDefinition {
 public:
  ModelDefinition() = default;
  ModelDefinition(const ModelDefinition&) = delete;
  ModelDefinition& operator=(const ModelDefinition&) = delete;
  virtual ~ModelDefinition() = default;
  virtual const ModelShape& shape() const = 0;
  virtual Result<StepGraph> build(const StepShape& step) const = 0;
  /// Adds the nodes that training needs to a graph.
  virtual Result<LossGraph> build_loss(GraphBuilder& g, const LossShape& shape) const = 0;
  /// A weight that belongs to no layer; null: the file lacks it.
  virtual const gguf::TensorInfo* model_weight(WeightSlot) const { return nullptr; }
  /// Every weight that the file has of those that the architecture knows.
  virtual std::vector<ModelWeight> weights() const = 0;
  /// Whether a tensor that it does not use belongs to a part that need not be computed: layers that
  /// predict further tokens.
  virtual bool may_leave(std::string_view) const { return false; }
  /// The whole names of the keys ARCHITECTURE.* that it has read.
  virtual const std::set<std::string>& keys() const = 0;
  /// The same model with two leaves and two descriptions of the one tensor that is embedding and
  /// output (tied), so that each can be on its own device. Null: the file has two, or it is done.
  virtual std::shared_ptr<const ModelDefinition> with_output_apart() const = 0;
  /// From now on results are embeddings instead of logits. Unsupported if it can't.
  virtual Status give_embeddings() {
    return fail(ErrorCode::kUnsupported, "a model of this architecture gives no embeddings");
  }
  /// From now on steps have the adapters of these files. `part`: the part of the model's file that
  /// their matrices are going to be. Errors name the adapter's file and tensor. Unsupported if the
  /// architecture can't.
  virtual Result<std::shared_ptr<const AdapterStacks>> adapt(std::span<const AdapterFile>,
                                                             std::uint32_t) {
    return fail(ErrorCode::kUnsupported, "a model of this architecture takes no adapters");
  }
  /// The weights that can be split among devices. None: the architecture can't be split.
  virtual std::vector<SplitGroup> split_groups() const { return {}; }
};

/// One architecture: its name in general.architecture, and how its files are read.
struct Architecture {
  std::string_view name;
  Result<std::unique_ptr<ModelDefinition>> (*read)(const gguf::File& file);
};

/// The architectures of the library.
std::span<const Architecture> architectures();

/// How a file is read.
struct ReadModel {
  std::span<const Architecture* const> more = {};  ///< architectures beside those of the library
  std::span<const std::string> ignored = {};       ///< check_unused_parts()
  bool can_ignore = false;                         ///< the caller has a way to ignore parts
  bool embeddings = false;                         ///< results are embeddings instead of logits
  bool may_leave_parts = false;                    ///< it is not checked whether all parts are used
};

/// Reads a file by the architecture that its general.architecture names: one of the library, else
/// one of `more`. Unsupported, listing those known, for another, and for a file with parts that the
/// model would not use.
Result<std::unique_ptr<ModelDefinition>> read_model(const gguf::File& file,
                                                    const ReadModel& how = {});

}  // namespace shunt

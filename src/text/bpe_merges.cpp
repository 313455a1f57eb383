// learn_merges(): pairs are counted once, and then only where a merge changes a word.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "text/bpe_train.h"

namespace shunt::text {
namespace {

using SymbolId = std::int32_t;

/// The symbols that merges have made so far; the first 256 are the bytes.
class Symbols {
 public:
  Symbols() {
    for (int byte = 0; byte < 256; ++byte) intern(std::string(1, static_cast<char>(byte)));
  }
  SymbolId intern(std::string bytes) {
    const auto [found, is_new] = ids_.try_emplace(bytes, static_cast<SymbolId>(bytes_.size()));
    if (is_new) bytes_.push_back(std::move(bytes));
    return found->second;
  }
  const std::string& bytes(SymbolId symbol) const {
    return bytes_[static_cast<std::size_t>(symbol)];
  }
  std::size_t merged() const { return bytes_.size() - 256; }

 private:
  std::vector<std::string> bytes_;
  std::unordered_map<std::string, SymbolId> ids_;
};

struct Pair {
  SymbolId left = 0;
  SymbolId right = 0;
  std::uint64_t key() const {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct Word {
  std::vector<SymbolId> symbols;
  std::uint64_t count = 0;
};

class Learner {
 public:
  Learner(std::span<const WordCount> words) : candidates_(Later{symbols_}) {
    for (const WordCount& word : words) {
      Word& added = words_.emplace_back();
      added.count = word.count;
      for (const char byte : word.bytes) added.symbols.push_back(static_cast<unsigned char>(byte));
    }
    for (std::size_t i = 0; i < words_.size(); ++i) add_pairs(i, [](Pair) { return true; });
    for (const auto& [key, uses] : uses_) propose(uses);
  }

  std::vector<LearnedMerge> learn(std::size_t tokens) {
    std::vector<LearnedMerge> merges;
    while (symbols_.merged() < tokens && !candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      Uses& uses = uses_.at(best.pair.key());
      if (uses.count != best.count) {
        // Merges took some of it since; those that were added have been proposed already.
        if (uses.count < best.count) propose(uses);
        continue;
      }
      merges.emplace_back(symbols_.bytes(best.pair.left), symbols_.bytes(best.pair.right));
      merge(best.pair);
    }
    return merges;
  }

 private:
  /// Where a pair is. Words that had it once may still be named, also twice.
  struct Uses {
    Pair pair;
    std::uint64_t count = 0;
    std::vector<std::size_t> words;
  };
  struct Candidate {
    std::uint64_t count = 0;
    Pair pair;
  };
  struct Later {
    const Symbols& symbols;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.count != b.count) return a.count < b.count;
      const int left = symbols.bytes(a.pair.left).compare(symbols.bytes(b.pair.left));
      if (left != 0) return left > 0;
      return symbols.bytes(a.pair.right).compare(symbols.bytes(b.pair.right)) > 0;
    }
  };

  void propose(const Uses& uses) {
    if (uses.count >= 2) candidates_.push({uses.count, uses.pair});
  }

  /// Counts the pairs of a word, and notes the word with those that `is_new` there.
  template <class IsNew>
  void add_pairs(std::size_t index, IsNew is_new) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.symbols.size(); ++i) {
      const Pair pair = {word.symbols[i - 1], word.symbols[i]};
      Uses& uses = uses_[pair.key()];
      uses.pair = pair;
      uses.count += word.count;
      // Once, however often the word has it.
      const bool named = !uses.words.empty() && uses.words.back() == index;
      if (is_new(pair) && !named) uses.words.push_back(index);
    }
  }

  void remove_pairs(std::size_t index) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.symbols.size(); ++i) {
      uses_.at(Pair{word.symbols[i - 1], word.symbols[i]}.key()).count -= word.count;
    }
  }

  /// False if the word does not have the pair any more.
  static bool has(const Word& word, Pair pair) {
    for (std::size_t i = 1; i < word.symbols.size(); ++i) {
      if (Pair{word.symbols[i - 1], word.symbols[i]} == pair) return true;
    }
    return false;
  }

  static void replace(std::vector<SymbolId>& symbols, Pair pair, SymbolId merged) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool found = i + 1 < symbols.size() && Pair{symbols[i], symbols[i + 1]} == pair;
      symbols[kept++] = found ? merged : symbols[i];
      if (found) ++i;
    }
    symbols.resize(kept);
  }

  void merge(Pair pair) {
    const SymbolId merged = symbols_.intern(symbols_.bytes(pair.left) + symbols_.bytes(pair.right));
    const std::vector<std::size_t> words = std::move(uses_.at(pair.key()).words);
    std::vector<std::uint64_t> touched;
    for (const std::size_t index : words) {
      if (!has(words_[index], pair)) continue;
      remove_pairs(index);
      replace(words_[index].symbols, pair, merged);
      add_pairs(index, [&](Pair added) {
        const bool is_new = added.left == merged || added.right == merged;
        if (is_new) touched.push_back(added.key());
        return is_new;
      });
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const std::uint64_t key : touched) propose(uses_.at(key));
  }

  Symbols symbols_;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Uses> uses_;  ///< by key of the pair
  std::priority_queue<Candidate, std::vector<Candidate>, Later> candidates_;
};

}  // namespace

std::vector<LearnedMerge> learn_merges(std::span<const WordCount> words, std::size_t tokens) {
  return Learner(words).learn(tokens);
}

}  // namespace shunt::text

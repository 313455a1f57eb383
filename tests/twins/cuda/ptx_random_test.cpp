// Random programs with divergent branches and loops, against an interpreter on the host: registers
// that share storage must not lose a value that a lane reads later.
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "support.h"

namespace ptx_random_test {
namespace {

constexpr unsigned kNarrow = 40, kWide = 12, kThreads = 64;

/// The registers of one thread.
struct State {
  std::uint32_t x[kNarrow] = {};
  std::uint64_t y[kWide] = {};
};

struct Node;
using Body = std::vector<std::unique_ptr<Node>>;

/// A statement: its text, and its effect on one thread.
struct Node {
  virtual ~Node() = default;
  virtual void write(std::ostream& text, unsigned& labels) const = 0;
  virtual void run(State& state) const = 0;
};

void write_all(const Body& body, std::ostream& text, unsigned& labels) {
  for (const auto& node : body) node->write(text, labels);
}
void run_all(const Body& body, State& state) {
  for (const auto& node : body) node->run(state);
}

enum class Kind { kAdd, kXor, kMad, kWideMad, kSplit, kJoin, kSelect };

struct Statement : Node {
  Kind kind = Kind::kAdd;
  unsigned to = 0, to_high = 0, a = 0, b = 0, c = 0;
  bool guarded = false;
  unsigned left = 0, right = 0;  ///< of the guard: x[left] < x[right]

  void write(std::ostream& text, unsigned&) const override {
    if (guarded || kind == Kind::kSelect) {
      text << "setp.lt.u32 %q, %x" << left << ", %x" << right << ";\n";
    }
    if (guarded) text << "@%q ";
    const auto x = [](unsigned i) { return "%x" + std::to_string(i); };
    const auto y = [](unsigned i) { return "%y" + std::to_string(i); };
    switch (kind) {
      case Kind::kAdd:
        text << "add.u32 " << x(to) << ", " << x(a) << ", " << x(b);
        break;
      case Kind::kXor:
        text << "xor.b32 " << x(to) << ", " << x(a) << ", " << x(b);
        break;
      case Kind::kMad:
        text << "mad.lo.u32 " << x(to) << ", " << x(a) << ", " << x(b) << ", " << x(c);
        break;
      case Kind::kWideMad:
        text << "mad.wide.u32 " << y(to) << ", " << x(a) << ", " << x(b) << ", " << y(c);
        break;
      case Kind::kSplit:
        text << "mov.b64 {" << x(to) << ", " << x(to_high) << "}, " << y(c);
        break;
      case Kind::kJoin:
        text << "mov.b64 " << y(to) << ", {" << x(a) << ", " << x(b) << "}";
        break;
      case Kind::kSelect:
        text << "selp.b32 " << x(to) << ", " << x(a) << ", " << x(b) << ", %q";
        break;
    }
    text << ";\n";
  }

  void run(State& s) const override {
    const bool holds = s.x[left] < s.x[right];
    if (guarded && !holds) return;
    switch (kind) {
      case Kind::kAdd:
        s.x[to] = s.x[a] + s.x[b];
        break;
      case Kind::kXor:
        s.x[to] = s.x[a] ^ s.x[b];
        break;
      case Kind::kMad:
        s.x[to] = s.x[a] * s.x[b] + s.x[c];
        break;
      case Kind::kWideMad:
        s.y[to] = std::uint64_t{s.x[a]} * s.x[b] + s.y[c];
        break;
      case Kind::kSplit: {
        const std::uint64_t value = s.y[c];
        s.x[to] = static_cast<std::uint32_t>(value);
        s.x[to_high] = static_cast<std::uint32_t>(value >> 32);
        break;
      }
      case Kind::kJoin:
        s.y[to] = std::uint64_t{s.x[b]} << 32 | s.x[a];
        break;
      case Kind::kSelect:
        s.x[to] = holds ? s.x[a] : s.x[b];
        break;
    }
  }
};

struct Choice : Node {
  unsigned left = 0, right = 0;
  Body yes, no;

  void write(std::ostream& text, unsigned& labels) const override {
    const unsigned label = labels++;
    text << "setp.lt.u32 %q, %x" << left << ", %x" << right << ";\n@!%q bra ELSE" << label << ";\n";
    write_all(yes, text, labels);
    text << "bra END" << label << ";\nELSE" << label << ":\n";
    write_all(no, text, labels);
    text << "END" << label << ":\n";
  }
  void run(State& state) const override {
    run_all(state.x[left] < state.x[right] ? yes : no, state);
  }
};

/// Repeats 0 to 3 times, by the low bits of a register.
struct Loop : Node {
  unsigned times = 0;
  Body body;

  void write(std::ostream& text, unsigned& labels) const override {
    const unsigned label = labels++;
    text << "{ .reg .b32 %count; .reg .pred %done;\nand.b32 %count, %x" << times << ", 3;\nHEAD"
         << label << ":\nsetp.eq.u32 %done, %count, 0;\n@%done bra OUT" << label << ";\n";
    write_all(body, text, labels);
    text << "sub.u32 %count, %count, 1;\nbra HEAD" << label << ";\nOUT" << label << ":\n}\n";
  }
  void run(State& state) const override {
    for (std::uint32_t i = state.x[times] & 3; i > 0; --i) run_all(body, state);
  }
};

/// Reads only registers that are written on every path.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    for (unsigned i = 0; i < 6; ++i) known_.narrow.insert(i);
    known_.wide.insert(0);
  }

  Body body(unsigned statements, unsigned depth) {
    Body result;
    for (unsigned i = 0; i < statements; ++i) result.push_back(node(depth));
    return result;
  }
  const std::set<unsigned>& narrow() const { return known_.narrow; }
  const std::set<unsigned>& wide() const { return known_.wide; }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  unsigned any(const std::set<unsigned>& set) {
    auto at = set.begin();
    std::advance(at, below(static_cast<unsigned>(set.size())));
    return *at;
  }
  unsigned x() { return any(known_.narrow); }

  std::unique_ptr<Node> node(unsigned depth) {
    const unsigned what = below(12);
    if (what == 0 && depth > 0) return choice(depth);
    if (what == 1 && depth > 0) return loop(depth);
    // From here on a register is not read until it is written again.
    if (what == 2 && known_.narrow.size() > 5) known_.narrow.erase(x());
    if (what == 3 && known_.wide.size() > 1) known_.wide.erase(any(known_.wide));
    return statement();
  }

  std::unique_ptr<Node> statement() {
    auto result = std::make_unique<Statement>();
    Statement& s = *result;
    s.kind = static_cast<Kind>(below(7));
    s.a = x();
    s.b = x();
    s.c = s.kind == Kind::kMad ? x() : any(known_.wide);
    s.left = x();
    s.right = x();
    s.guarded = s.kind != Kind::kSelect && below(4) == 0;
    const bool wide = s.kind == Kind::kWideMad || s.kind == Kind::kJoin;
    s.to = below(wide ? kWide : kNarrow);
    s.to_high = (s.to + 1 + below(kNarrow - 1)) % kNarrow;
    if (s.guarded) return result;
    (wide ? known_.wide : known_.narrow).insert(s.to);
    if (s.kind == Kind::kSplit) known_.narrow.insert(s.to_high);
    return result;
  }

  /// Registers that both branches set. If they are too few, registers from before the branches,
  /// too.
  static std::set<unsigned> both(const std::set<unsigned>& a, const std::set<unsigned>& b,
                                 const std::set<unsigned>& before) {
    std::set<unsigned> result;
    for (const unsigned i : a) {
      if (b.count(i) != 0) result.insert(i);
    }
    for (const unsigned i : before) {
      if (result.size() < 5) result.insert(i);
    }
    return result;
  }

  std::unique_ptr<Node> choice(unsigned depth) {
    auto result = std::make_unique<Choice>();
    result->left = x();
    result->right = x();
    const Known before = known_;
    result->yes = body(1 + below(6), depth - 1);
    const Known after_yes = std::exchange(known_, before);
    result->no = body(below(6), depth - 1);
    known_.narrow = both(known_.narrow, after_yes.narrow, before.narrow);
    known_.wide = both(known_.wide, after_yes.wide, before.wide);
    return result;
  }

  std::unique_ptr<Node> loop(unsigned depth) {
    auto result = std::make_unique<Loop>();
    result->times = x();
    const Known before = known_;
    result->body = body(1 + below(8), depth - 1);
    known_ = before;
    return result;
  }

  std::mt19937 random_;
  struct Known {
    std::set<unsigned> narrow, wide;
  };
  Known known_;  ///< written on every path to here
};

State initial(std::uint32_t thread) {
  State state;
  for (std::uint32_t i = 0; i < 6; ++i) state.x[i] = (thread + 3) * (2654435761u + i * 40503u);
  state.y[0] = std::uint64_t{state.x[1]} << 32 | state.x[2];
  return state;
}

std::uint32_t digest(const State& state, const Generator& generator) {
  std::uint32_t sum = 0;
  for (const unsigned i : generator.narrow()) sum = sum * 31 + state.x[i];
  for (const unsigned i : generator.wide()) {
    sum = sum * 31 + static_cast<std::uint32_t>(state.y[i]);
    sum = sum * 31 + static_cast<std::uint32_t>(state.y[i] >> 32);
  }
  return sum;
}

std::string text_of(const Body& body, const Generator& generator) {
  std::ostringstream text;
  text << ".visible .entry k(.param .u64 out) {\n.reg .b32 %x<" << kNarrow << ">;\n.reg .b64 %y<"
       << kWide << ">;\n.reg .b32 %t, %sum, %low, %high;\n.reg .b64 %at;\n.reg .pred %q;\n"
       << "mov.u32 %t, %tid.x;\nadd.u32 %t, %t, 3;\n";
  for (std::uint32_t i = 0; i < 6; ++i) {
    text << "mul.lo.u32 %x" << i << ", %t, " << 2654435761u + i * 40503u << ";\n";
  }
  text << "mov.b64 %y0, {%x2, %x1};\n";
  unsigned labels = 0;
  write_all(body, text, labels);
  text << "mov.u32 %sum, 0;\n";
  for (const unsigned i : generator.narrow()) text << "mad.lo.u32 %sum, %sum, 31, %x" << i << ";\n";
  for (const unsigned i : generator.wide()) {
    text << "mov.b64 {%low, %high}, %y" << i << ";\nmad.lo.u32 %sum, %sum, 31, %low;\n"
         << "mad.lo.u32 %sum, %sum, 31, %high;\n";
  }
  text << "ld.param.u64 %at, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %at, %t, 4, %at;\n"
       << "st.global.u32 [%at], %sum;\nret;\n}\n";
  return twin_test::module(text.str());
}

void check(unsigned seed) {
  Generator generator(seed);
  const Body body = generator.body(40, 3);
  const std::string text = text_of(body, generator);
  auto out = twin_test::Buffer<std::uint32_t>::unwritten(kThreads);
  std::string log;
  const CUresult code = twin_test::launch(text, "k", 1, kThreads, {&out.address}, 0, &log);
  ASSERT_EQ(code, CUDA_SUCCESS) << log << cuda_twin_last_fault() << "\n" << text;
  const std::vector<std::uint32_t> results = out.read();
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    State state = initial(thread);
    run_all(body, state);
    ASSERT_EQ(results[thread], digest(state, generator))
        << "seed " << seed << " thread " << thread << "\n"
        << text;
  }
}

TEST(PtxRandom, DivergentProgramsGiveTheHostsValues) {
  const twin_test::Gpu gpu;
  for (unsigned seed = 1; seed <= 300 && !::testing::Test::HasFatalFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace ptx_random_test

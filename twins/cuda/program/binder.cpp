// Modifiers, requirements and output of a binder; operands are in operands.cpp.
#include "cuda/program/binder.h"

#include <algorithm>

#include "cuda/program/builder.h"

namespace cuda_twin {

Binder::Binder(Builder& builder, const ptx::Instruction& instruction)
    : builder_(builder),
      instruction_(instruction),
      left_(instruction.modifiers.begin(), instruction.modifiers.end()) {
  if (instruction.guarded) builder_.reads(builder_.register_arg(instruction.guard));
}

std::string_view Binder::next() const {
  return left_.empty() ? std::string_view{} : left_.front();
}

bool Binder::take(std::string_view modifier) {
  const auto at = std::find(left_.begin(), left_.end(), modifier);
  if (at == left_.end()) return false;
  left_.erase(at);
  return true;
}

bool Binder::take_first(std::string_view modifier) {
  return !left_.empty() && left_.front() == modifier && take(modifier);
}

std::optional<std::size_t> Binder::take_one_of(std::span<const std::string_view> choices) {
  for (const std::string_view modifier : left_) {
    const auto found = std::find(choices.begin(), choices.end(), modifier);
    if (found == choices.end()) continue;
    take(modifier);
    return static_cast<std::size_t>(found - choices.begin());
  }
  return std::nullopt;
}

std::optional<std::size_t> Binder::take_one_of(std::initializer_list<std::string_view> choices) {
  return take_one_of(std::span<const std::string_view>(choices.begin(), choices.size()));
}

std::optional<std::size_t> Binder::take_first_of(std::initializer_list<std::string_view> choices) {
  const bool first = std::find(choices.begin(), choices.end(), next()) != choices.end();
  return first ? take_one_of(choices) : std::nullopt;
}

ptx::Type Binder::take_type(std::initializer_list<ptx::Type> allowed) {
  const auto at = std::find_if(left_.begin(), left_.end(), [](std::string_view modifier) {
    return ptx::type_named(modifier).has_value();
  });
  if (at == left_.end()) {
    fail(left_.empty() ? "needs a type" : "." + ptx::shown(left_.back()) + " is no type");
    return ptx::Type::kNone;
  }
  const ptx::Type type = *ptx::type_named(*at);
  const bool found = std::find(allowed.begin(), allowed.end(), type) != allowed.end();
  if (allowed.size() != 0 && !found) {
    fail("has no type ." + std::string(*at));
    return ptx::Type::kNone;
  }
  left_.erase(at);
  return type;
}

bool Binder::need(ptx::Version version, int sm) {
  const ptx::Module& module = builder_.module();
  if (module.version < version) {
    return fail("needs .version " + std::to_string(version.major) + "." +
                std::to_string(version.minor) + " or later");
  }
  return module.target.sm >= sm || fail("needs .target sm_" + std::to_string(sm) + " or later");
}

bool Binder::need_specific_target() {
  return builder_.module().target.suffix != '\0' || fail("needs a .target with the suffix a or f");
}

bool Binder::branch_target(const std::string& label) {
  return builder_.branch_to(label) || fail(ptx::shown(label) + " is no label of this function");
}

const ptx::TargetList* Binder::target_list(const std::string& name) const {
  return builder_.target_list(name);
}

Op& Binder::emit(Handler run, OpKind kind, std::initializer_list<Arg> args) {
  Op op;
  op.run = run;
  op.kind = kind;
  op.line = instruction_.line;
  if (instruction_.guarded) {
    op.guard = builder_.register_arg(instruction_.guard).offset;
    op.guard_flip = instruction_.guard_negated;
  }
  std::size_t count = 0;
  for (const Arg& arg : args) {
    if (count < std::size(op.args)) op.args[count++] = arg;
  }
  return builder_.emit(op);
}

void Binder::more(Op& op, std::span<const Arg> args) {
  builder_.more(op, args.data(), args.size());
}
void Binder::keep(std::shared_ptr<CallSite> site) {
  builder_.keep(std::move(site));
}
void Binder::own(std::shared_ptr<const void> object) {
  builder_.own(std::move(object));
}

void Binder::reads(const Arg& arg) {
  builder_.reads(arg);
}
void Binder::writes(const Arg& arg) {
  builder_.writes(arg, !instruction_.guarded);
}

bool Binder::fail(std::string reason) {
  if (failed()) return false;
  std::string name = ptx::shown(instruction_.name);
  for (const std::string& modifier : instruction_.modifiers) {
    if (name.size() > 80) break;
    name += "." + modifier.substr(0, 40);
  }
  return builder_.fail(instruction_.line, name + ": " + std::move(reason));
}

bool Binder::failed() const {
  return builder_.failed();
}

bool Binder::finish() {
  if (failed()) return false;
  return left_.empty() || fail("." + ptx::shown(next()) + " has no place here");
}

}  // namespace cuda_twin

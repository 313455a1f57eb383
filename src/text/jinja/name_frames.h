// Which names a block assigns before anything else gives them a value there. Jinja decides from the
// text of a template that such a name has no value until then, although a variable of the
// conversation may have the same name:
//
//     {% for message in messages %}{{ tools }}{% endfor %}{% set tools = none %}
//
// prints nothing for "tools", since the template itself assigns to it later on that level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "text/jinja/syntax.h"

namespace shunt::text::jinja {

/// The uses of names in a template, in the order in which Jinja looks at them. A frame is a block
/// with variables of its own.
class NameFrames {
 public:
  NameFrames() { begin(); }  // of the whole template

  /// A frame inside the current one. It becomes the current one.
  void begin();
  /// Ends the frame. `body` gets a statement in front that hides names, if it may need one.
  void end(Body& body);

  /// Goes back to the frame around the current one, and on with this one.
  std::size_t pause();
  void resume(std::size_t frame);

  void load(NameId name) { add(Use::Kind::kLoad, name); }
  void store(NameId name) { add(Use::Kind::kStore, name); }
  /// A parameter of the frame, or the target of its loop.
  void declare(NameId name) { add(Use::Kind::kParameter, name); }

  /// An "if" with three branches: 0 of "if", 1 of all "elif", 2 of "else". It begins with the
  /// first.
  void begin_choice();
  void begin_branch(std::size_t number);
  void end_choice();

  /// Fills in the statements that end() made. Once all frames have ended.
  void resolve();

 private:
  struct Use {
    enum class Kind : std::uint8_t { kLoad, kStore, kParameter, kChoice };
    Kind kind;
    NameId name = 0;                         ///< of all but a choice
    std::vector<std::vector<Use>> branches;  ///< of a choice
  };
  using Uses = std::vector<Use>;
  struct Frame {
    std::size_t around = 0;
    Uses uses;
    bool assigns = false;
    HiddenNames* hidden = nullptr;  ///< if it assigns
  };
  class Names;

  void add(Use::Kind kind, NameId name);
  static void walk(const Uses& uses, Names& names);

  std::deque<Frame> frames_;       ///< a frame is behind the one around it
  std::vector<std::size_t> open_;  ///< frames, the innermost one last
  std::vector<Uses*> lists_;       ///< of these frames, and of the branches in them
};

}  // namespace shunt::text::jinja

// Integer arithmetic: the table of its opcodes.
#include "cuda/instructions/integer.h"

#include <algorithm>
#include <string_view>

#include "cuda/instructions/forms.h"
#include "cuda/instructions/opcodes.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

bool has_modifier(const ptx::Instruction& instruction, std::string_view name) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), name) !=
         instruction.modifiers.end();
}
bool sets_carry(const ptx::Instruction& instruction) {
  return is_integer_form(instruction) && has_modifier(instruction, "cc");
}

constexpr Opcode kInteger[] = {
    {"add", {1, 0}, 0, bind_add_cc, sets_carry},
    {"add", {1, 0}, 0, bind_integer_add, is_integer_form},
    {"addc", {1, 2}, 0, bind_addc},
    {"sub", {1, 0}, 0, bind_sub_cc, sets_carry},
    {"sub", {1, 0}, 0, bind_integer_sub, is_integer_form},
    {"subc", {1, 2}, 0, bind_subc},
    {"mul", {1, 0}, 0, bind_integer_mul, is_integer_form},
    {"mad", {1, 0}, 0, bind_mad_cc, sets_carry},
    {"mad", {1, 0}, 0, bind_integer_mad, is_integer_form},
    {"madc", {3, 0}, 20, bind_madc},
    {"mul24", {1, 0}, 0, bind_mul24},
    {"mad24", {1, 0}, 0, bind_mad24},
    {"sad", {1, 0}, 0, bind_integer_sad},
    {"div", {1, 0}, 0, bind_integer_div, is_integer_form},
    {"rem", {1, 0}, 0, bind_integer_rem},
    {"neg", {1, 0}, 0, bind_integer_neg, is_integer_form},
    {"abs", {1, 0}, 0, bind_integer_abs, is_integer_form},
    {"min", {1, 0}, 0, bind_integer_min, is_integer_form},
    {"max", {1, 0}, 0, bind_integer_max, is_integer_form},
    {"dp4a", {5, 0}, 61, bind_dp4a},
    {"dp2a", {5, 0}, 61, bind_dp2a},
};

}  // namespace

std::span<const Opcode> integer_opcodes() {
  return kInteger;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL

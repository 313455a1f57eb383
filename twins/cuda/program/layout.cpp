#include "cuda/program/layout.h"

#include <algorithm>
#include <map>

#include "cuda/program/reach.h"

namespace cuda_twin {

namespace {

constexpr std::uint64_t kStaticShared = 48 * 1024;    ///< of a kernel, without dynamic memory
constexpr std::uint64_t kConstantBytes = 64 * 1024;   ///< of a module
constexpr std::uint64_t kStackFrame = 512 * 1024;     ///< of a thread
constexpr std::uint64_t kParameterBytes = 4352;       ///< of a kernel
constexpr std::uint64_t kManyParameterBytes = 32764;  ///< from PTX 8.1 and sm_70 on

std::uint64_t align(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// Variables one after the other.
struct Area {
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  std::uint64_t bytes = 0;
  std::uint64_t take(const ptx::Variable& variable) {
    const std::uint64_t offset = align(bytes, std::max<std::uint64_t>(variable.alignment, 1));
    bytes = std::min(offset + variable.bytes, kMost);
    return offset;
  }
};

}  // namespace

class LayoutMaker {
 public:
  LayoutMaker(const ptx::Module& module, Program& program, const AddressOf& address_of)
      : module_(module), program_(program), address_of_(address_of), reach_(reach_of(module)) {}

  std::variant<Layout, ptx::SyntaxError> make() {
    layout_.functions_.resize(module_.functions.size());
    layout_.dynamic_bases_.resize(module_.functions.size());
    const bool good = module_variables() && functions() && shared() && local();
    if (!good) return std::move(error_);
    return std::move(layout_);
  }

 private:
  bool fail(ptx::Line line, std::string reason) {
    error_ = {line, std::move(reason), false};
    return false;
  }

  bool module_variables() {
    Area constants;
    for (const ptx::Variable& variable : module_.variables) {
      Place place{variable.space, 0, variable.bytes};
      if (variable.space == ptx::Space::kShared) {
        place.dynamic = variable.is_extern;
        if (place.dynamic) dynamic_alignment_ = std::max(dynamic_alignment_, variable.alignment);
      } else {
        const auto address = address_of_ ? address_of_(variable.name) : std::nullopt;
        place.undefined = !address;
        place.offset = address.value_or(0);
      }
      if (variable.space == ptx::Space::kConst && !variable.is_extern) constants.take(variable);
      if (constants.bytes > kConstantBytes) {
        return fail(variable.line, "the module uses too much constant memory (" +
                                       std::to_string(constants.bytes) + " bytes, " +
                                       std::to_string(kConstantBytes) + " at most)");
      }
      layout_.module_.emplace(variable.name, place);
    }
    return true;
  }

  bool functions() {
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
      const ptx::Function& function = module_.functions[i];
      FunctionInfo info;
      info.name = function.name;
      info.is_kernel = function.is_kernel;
      info.is_defined = !function.is_declaration;
      Area frame;
      if (function.is_kernel && info.is_defined && !kernel(function, i)) return false;
      if (!function.is_kernel) {
        info.results = slots(function.results, frame, i);
        info.parameters = slots(function.parameters, frame, i);
      }
      for (const ptx::Variable& variable : function.variables) {
        const bool local =
            variable.space == ptx::Space::kLocal || variable.space == ptx::Space::kParam;
        if (!local) continue;
        Place place{ptx::Space::kLocal, frame.take(variable), variable.bytes};
        place.parameter = variable.space == ptx::Space::kParam;
        layout_.functions_[i].emplace(variable.name, place);
        if (frame.bytes > kStackFrame) return frame_too_large(function);
      }
      info.local_bytes = align(frame.bytes, 16);
      if (info.local_bytes > kStackFrame) return frame_too_large(function);
      program_.functions.push_back(std::move(info));
    }
    return true;
  }

  bool frame_too_large(const ptx::Function& function) {
    return fail(function.line, "the stack frame of " + ptx::shown(function.name) + " exceeds " +
                                   std::to_string(kStackFrame) + " bytes");
  }

  std::vector<FunctionInfo::Slot> slots(const std::vector<ptx::Variable>& list, Area& frame,
                                        std::uint32_t index) {
    std::vector<FunctionInfo::Slot> result;
    for (const ptx::Variable& variable : list) {
      FunctionInfo::Slot slot;
      slot.bytes = variable.bytes;
      if (variable.space == ptx::Space::kParam) {
        slot.offset = frame.take(variable);
        Place place{ptx::Space::kLocal, slot.offset, variable.bytes};
        place.parameter = true;
        layout_.functions_[index].emplace(variable.name, place);
        result.push_back(slot);
        continue;
      }
      // The places of its registers are known when the function is bound, their sizes before.
      const bool predicate = variable.type == ptx::Type::kPred;
      const unsigned bytes = predicate ? 0 : std::max(ptx::bits_of(variable.type) / 8, 4U);
      slot.reg = {predicate ? Bank::kPredicates : Bank::kRegisters, false,
                  static_cast<std::uint16_t>(bytes), 0};
      result.insert(result.end(), variable.vector, slot);
    }
    return result;
  }

  bool kernel(const ptx::Function& function, std::uint32_t index) {
    KernelInfo info;
    Area area;
    for (const ptx::Variable& variable : function.parameters) {
      const std::uint64_t offset = area.take(variable);
      info.parameters.push_back({offset, variable.bytes});
      Place place{ptx::Space::kParam, offset, variable.bytes};
      place.parameter = true;
      layout_.functions_[index].emplace(variable.name, place);
      if (area.bytes > parameter_limit()) {
        return fail(variable.line, "the parameters of " + ptx::shown(function.name) + " exceed " +
                                       std::to_string(parameter_limit()) + " bytes");
      }
    }
    info.parameter_bytes = area.bytes;
    info.dynamic_alignment = dynamic_alignment_;
    std::copy(std::begin(function.required_threads), std::end(function.required_threads),
              std::begin(info.required_threads));
    std::copy(std::begin(function.cluster), std::end(function.cluster), std::begin(info.cluster));
    info.max_threads = max_threads(function);
    kernels_.emplace(index, program_.kernels.size());
    program_.kernels.push_back(std::move(info));
    return true;
  }

  std::uint64_t parameter_limit() const {
    const bool many = module_.version >= ptx::Version{8, 1} && module_.target.sm >= 70;
    return many ? kManyParameterBytes : kParameterBytes;
  }

  static std::uint32_t max_threads(const ptx::Function& function) {
    constexpr std::uint64_t kMost = 1024;
    const auto& given =
        function.required_threads[0] != 0 ? function.required_threads : function.max_threads;
    if (given[0] == 0) return kMost;
    std::uint64_t product = given[0];
    product = std::min(product * given[1], kMost);
    product = std::min(product * given[2], kMost);
    return static_cast<std::uint32_t>(product);
  }

  /// First the variables that several kernels reach, then those of each kernel.
  bool shared() {
    Area common;
    std::vector<Area> areas(program_.kernels.size());
    const auto area_of = [&](std::uint32_t owner) -> Area* {
      if (owner == Reach::kMany) return &common;
      const auto found = kernels_.find(owner);
      return found == kernels_.end() ? nullptr : &areas[found->second];
    };
    place_shared(area_of, true);
    for (const auto& [index, kernel] : kernels_) {
      if (reach_.uses_common[index]) areas[kernel].bytes = common.bytes;
    }
    place_shared(area_of, false);
    for (const auto& [index, kernel] : kernels_) {
      const std::uint64_t bytes = areas[kernel].bytes;
      program_.kernels[kernel].static_shared = bytes;
      if (bytes <= kStaticShared) continue;
      return fail(module_.functions[index].line,
                  "kernel " + ptx::shown(module_.functions[index].name) +
                      " uses too much shared memory (" + std::to_string(bytes) + " bytes, " +
                      std::to_string(kStaticShared) + " at most)");
    }
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
      const auto found = kernels_.find(reach_.owner[i]);
      if (found == kernels_.end()) continue;
      layout_.dynamic_bases_[i] = align(areas[found->second].bytes, dynamic_alignment_);
    }
    return true;
  }

  template <class AreaOf>
  void place_shared(const AreaOf& area_of, bool common) {
    for (const ptx::Variable& variable : module_.variables) {
      if (variable.space != ptx::Space::kShared || variable.is_extern) continue;
      const std::uint32_t owner = reach_.variable_owner[variable.name];
      Area* area = area_of(owner);
      if (area == nullptr || (owner == Reach::kMany) != common) continue;
      layout_.module_[variable.name].offset = area->take(variable);
    }
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
      const std::uint32_t owner = reach_.owner[i];
      for (const ptx::Variable& variable : module_.functions[i].variables) {
        if (variable.space != ptx::Space::kShared) continue;
        Place place{ptx::Space::kShared, 0, variable.bytes};
        Area* area = area_of(owner);
        if (area != nullptr && (owner == Reach::kMany) != common) continue;
        if (variable.is_extern) {
          place.dynamic = true;
        } else if (area != nullptr) {
          place.offset = area->take(variable);
        }
        layout_.functions_[i].emplace(variable.name, place);
      }
    }
  }

  /// The deepest chain of calls. A recursion counts once here, and grows at run time.
  bool local() {
    const std::size_t count = reach_.callees.size();
    std::vector<std::uint64_t> deepest(count, 0);
    std::vector<std::uint8_t> state(count, 0);  // 1: open, 2: done
    std::vector<bool> recursive(count, false);
    struct Step {
      std::uint32_t index;
      std::size_t callee;
    };
    std::vector<Step> path;
    for (std::uint32_t start = 0; start < count; ++start) {
      if (state[start] != 0) continue;
      state[start] = 1;
      path.push_back({start, 0});
      while (!path.empty()) {
        Step& step = path.back();
        const auto& callees = reach_.callees[step.index];
        if (step.callee < callees.size()) {
          const std::uint32_t callee = callees[step.callee++];
          if (state[callee] == 1) recursive[step.index] = true;
          if (state[callee] == 0) {
            state[callee] = 1;
            path.push_back({callee, 0});
          }
          continue;
        }
        finish(step.index, callees, deepest, state, recursive);
        path.pop_back();
      }
    }
    for (const auto& [index, kernel] : kernels_) {
      program_.kernels[kernel].local_bytes = deepest[index];
      program_.kernels[kernel].is_recursive = recursive[index];
      if (deepest[index] > kStackFrame) return frame_too_large(module_.functions[index]);
    }
    return true;
  }

  void finish(std::uint32_t index, const std::vector<std::uint32_t>& callees,
              std::vector<std::uint64_t>& deepest, std::vector<std::uint8_t>& state,
              std::vector<bool>& recursive) const {
    std::uint64_t below = 0;
    for (const std::uint32_t callee : callees) {
      if (state[callee] == 2) below = std::max(below, deepest[callee]);
      if (recursive[callee]) recursive[index] = true;
    }
    const bool real = index < program_.functions.size();
    const std::uint64_t own = real ? program_.functions[index].local_bytes : 0;
    deepest[index] = std::min(own + below, std::uint64_t{1} << 40);
    state[index] = 2;
  }

  const ptx::Module& module_;
  Program& program_;
  const AddressOf& address_of_;
  Reach reach_;
  Layout layout_;
  std::map<std::uint32_t, std::size_t> kernels_;  ///< place in Program::kernels
  std::uint64_t dynamic_alignment_ = 16;
  ptx::SyntaxError error_;
};

std::variant<Layout, ptx::SyntaxError> Layout::make(const ptx::Module& module, Program& program,
                                                    const AddressOf& address_of) {
  return LayoutMaker(module, program, address_of).make();
}

const Place* Layout::find(std::uint32_t index, const std::string& name) const {
  const auto own = functions_[index].find(name);
  if (own != functions_[index].end()) return &own->second;
  const auto found = module_.find(name);
  return found == module_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> Layout::dynamic_base(std::uint32_t index) const {
  return dynamic_bases_[index];
}

}  // namespace cuda_twin

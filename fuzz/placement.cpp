// Placement files and files of costs: any text is read or refused. A file that was read says the
// same when it is written and read again.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/ops.h"
#include "shunt/registry.h"

namespace {

using namespace shunt;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

/// y = silu(w x), placed on the CPU, which is all there is.
class World {
 public:
  World() {
    auto registry = Registry::create(Options());
    require(registry.has_value());
    registry_ = std::move(*registry);
    auto devices = registry_->select({});
    require(devices.has_value());
    devices_ = *devices;
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 48}));
    require(g.output(silu(g, matmul(g, w, x)), "y").has_value());
    auto graph = std::move(g).build();
    require(graph.has_value());
    graph_ = std::move(*graph);
  }

  void read_placement_file(const std::string& text) const {
    const auto file = read_placement(text, "fuzz");
    if (!file) return;
    require(compare_placements(*file, *file).empty());
    const auto placed = place_by_file(*file, graph_, devices_);
    if (!placed) return;
    const auto again = read_placement(write_placement(graph_, *placed), "again");
    require(again.has_value());
    require(place_by_file(*again, graph_, devices_).has_value());
  }

  void read_costs(const std::string& text) const {
    const auto costs = CostModel::parse(text, "fuzz");
    if (!costs) return;
    const auto again = CostModel::parse(costs->to_text(), "again");
    require(again.has_value());
    require(again->ops().size() == costs->ops().size());
    require(again->copies().size() == costs->copies().size());
    PlaceOptions options;
    options.costs = &*costs;
    const auto placed = place(graph_, devices_, options);
    require(placed.has_value());
    require(std::isfinite(placed->predicted_seconds) && placed->predicted_seconds >= 0);
  }

 private:
  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
  Graph graph_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World world;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    world.read_placement_file(text);
  } else {
    world.read_costs(text);
  }
  return 0;
}

// A device made by a test: of a library that differs a little from the twin.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "backends/zdnn/device.h"
#include "backends/zdnn/support.h"
#include "base/dynamic_library.h"

namespace shunt::test {

class ZdnnOwnDeviceTest : public ZdnnTest {
 protected:
  void SetUp() override {
    ZdnnTest::SetUp();
    if (IsSkipped()) return;
    library_.emplace(std::move(*DynamicLibrary::open(twin_->path())));
  }

  /// The functions of the library, but one; the names that are asked for are remembered.
  Result<zdnn::Symbols> symbols(std::string_view without = {}) {
    return bind_symbols<zdnn::Symbols>(
        zdnn::symbol_rows(),
        [&](const char* name) {
          asked_.emplace(name);
          return name == without ? nullptr : library_->find(name);
        },
        "version 1.0 has");
  }
  /// From now on zdnn() is the device of such a library.
  void use(const zdnn::Symbols& symbols) {
    auto machine = zdnn::Machine::create(symbols);
    ASSERT_TRUE(machine) << machine.error().message();
    device_ = std::make_unique<zdnn::ZdnnDevice>(std::move(*machine));
    devices_.front() = device_.get();
  }

  std::set<std::string> asked_;
  std::optional<DynamicLibrary> library_;
  std::unique_ptr<zdnn::ZdnnDevice> device_;
};

}  // namespace shunt::test

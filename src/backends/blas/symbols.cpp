#include "backends/blas/symbols.h"

#include <array>
#include <filesystem>

#include "backend_support/symbol_table.h"

namespace shunt::blas {
namespace {

constexpr std::array kNames = {"libopenblas.so.0", "libblas.so.3"};
constexpr std::array kFiles = {LibraryFile{kNames}};
/// OpenBLAS starts threads when it is loaded, and must not be unloaded while they exist.
constexpr VendorRuntime kRuntime = {
    .backend = "blas", .description = "a BLAS library", .files = kFiles, .stays_loaded = true};

constexpr std::array kSymbols = {
    symbol<&Symbols::sgemm>("cblas_sgemm"),
    symbol<&Symbols::set_num_threads>("openblas_set_num_threads", "OpenBLAS"),
    symbol<&Symbols::end_threads>("blas_thread_shutdown_", "OpenBLAS"),
    symbol<&Symbols::get_config>("openblas_get_config", "OpenBLAS"),
};

enum Cblas { kRowMajor = 101, kNotTransposed = 111, kTransposed = 112 };  // orders, transposes

}  // namespace

Library::Library(std::shared_ptr<VendorLibrary> runtime, const Symbols& symbols)
    : runtime_(std::move(runtime)), symbols_(symbols) {
  const std::string file = std::filesystem::path(runtime_->paths().front()).filename().string();
  description_ =
      symbols_.get_config == nullptr ? file : fmt::format("{} ({})", file, symbols_.get_config());
  if (description_.find("USE_OPENMP") != std::string::npos) {
    note_ = fmt::format("{} uses OpenMP: its threads can be limited for one caller only", file);
  } else if (runtime_->was_loaded_before()) {
    note_ = fmt::format("this process had loaded {} already: its number of threads is not changed",
                        file);
  } else if (symbols_.set_num_threads == nullptr) {
    note_ = fmt::format("{} has no openblas_set_num_threads: its threads can't be limited", file);
  } else {
    runtime_->set_up_once([this] {
      symbols_.set_num_threads(1);  // those of the CPU call it, each for products of its own
      // Its own threads spin at first, on the CPU device's cores.
      if (symbols_.end_threads != nullptr) symbols_.end_threads();
    });
  }
  if (!note_.empty()) note_ += ", and it computes one product at a time";
}

Result<std::unique_ptr<Library>> Library::open(const Options& options) {
  SHUNT_ASSIGN(auto runtime, VendorLibrary::open(kRuntime, options));
  auto symbols = bind_symbols<Symbols>(
      kSymbols, [&](const char* name) { return runtime->find(name); }, "every CBLAS has");
  const std::string& path = runtime->paths().front();
  if (!symbols) return std::move(symbols.error()).with_context(path);
  const std::string_view config = symbols->get_config == nullptr ? "" : symbols->get_config();
  if (config.find("USE64BITINT") != std::string_view::npos) {
    return fail(ErrorCode::kUnsupported, "{}: its sizes have 64 bits ({})", path, config);
  }
  return std::unique_ptr<Library>(new Library(std::move(runtime), *symbols));
}

void Library::multiply(const FloatMatrix& w, const FloatMatrix& x, const Sizes& sizes,
                       bool k_is_row, bool add, float* y, std::int64_t stride) const {
  std::unique_lock lock(runtime_->one_at_a_time(), std::defer_lock);
  if (!note_.empty()) lock.lock();
  const auto [m, n, k] = sizes;
  // Row by row y is n x m: the product of x, n x k, and w, k x m.
  symbols_.sgemm(kRowMajor, x.transposed == k_is_row ? kNotTransposed : kTransposed,
                 w.transposed == k_is_row ? kTransposed : kNotTransposed, static_cast<int>(n),
                 static_cast<int>(m), static_cast<int>(k), 1.0F, x.data, x.stride, w.data, w.stride,
                 add ? 1.0F : 0.0F, y, static_cast<int>(stride));
}

}  // namespace shunt::blas

#include "conformance/case_windows.h"

#include "conformance/case_sources.h"

namespace shunt {

void window_cases(const WindowSink& sink, DType type) {
  struct Size {
    Sizes x;
    Window window;
  };
  const std::array kSizes = {
      Size{{1, 1, 1, 1}, {}},
      Size{{7, 5, 3, 2}, {}},
      Size{{9, 7, 3, 1}, {.kernel = {3, 3}, .pad = {1, 1}}},
      Size{{8, 8, 4, 2}, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}},
      Size{{17, 13, 3, 1}, {.kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}}},
      Size{{12, 9, 2, 1}, {.kernel = {3, 2}, .stride = {1, 3}, .pad = {2, 0}, .dilation = {2, 3}}},
      Size{{5, 1, 2, 3}, {.kernel = {5, 1}}},
      Size{{1, 6, 2, 1}, {.kernel = {1, 4}, .pad = {0, 3}}},
      Size{{10, 4, 1, 1}, {.kernel = {2, 2}, .stride = {2, 2}}},
      Size{{6, 6, 2, 1}, {.kernel = {2, 2}, .stride = {4, 4}}},
      Size{{40, 3, 5, 1}, {.kernel = {4, 3}, .pad = {1, 1}}},
      Size{{14, 14, 16, 1}, {.kernel = {1, 1}, .stride = {2, 2}}},
      Size{{4, 4, 2, 0}, {.kernel = {2, 2}}},
  };
  for (const Size& size : kSizes) sink(source_of(type, size.x), size.window);
  const Window window = {.kernel = {3, 3}, .stride = {1, 2}, .pad = {1, 1}};
  sink(seen_as(type, {8, 6, 3, 2}, {1, 2, 0, 3}), window);  // channels innermost
  sink(seen_as(type, {8, 6, 3, 2}, {1, 0, 2, 3}), window);
  sink(seen_as(type, {8, 6, 3, 2}, {0, 1, 3, 2}), window);
  sink(seen_as(type, {8, 6, 3, 2}, {0, 1, 2, 3}, {2, 1, 1, 1}), window);
  sink(seen_as(type, {8, 6, 3, 2}, {3, 2, 1, 0}, {1, 0, 2, 0}), window);
}

void window_3d_cases(const Window3dSink& sink, DType type) {
  struct Size {
    Sizes x;
    std::int64_t channels;
    WindowOf<3> window;
  };
  const std::array kSizes = {
      Size{{1, 1, 1, 1}, 1, {}},
      Size{{7, 5, 3, 6}, 3, {}},
      Size{{6, 5, 4, 2}, 2, {.kernel = {3, 3, 3}, .pad = {1, 1, 1}}},
      Size{{6, 5, 4, 6}, 3, {.kernel = {3, 3, 3}, .stride = {2, 2, 2}, .pad = {1, 1, 1}}},
      Size{{9, 8, 7, 2},
           1,
           {.kernel = {3, 2, 4}, .stride = {1, 3, 2}, .pad = {2, 0, 4}, .dilation = {2, 3, 1}}},
      Size{{5, 1, 3, 4}, 2, {.kernel = {5, 1, 1}}},
      Size{{1, 6, 2, 3}, 3, {.kernel = {1, 4, 1}, .pad = {0, 3, 0}}},
      Size{{3, 2, 9, 2}, 2, {.kernel = {1, 1, 3}, .dilation = {1, 1, 4}}},
      Size{{10, 4, 6, 2}, 1, {.kernel = {2, 2, 2}, .stride = {2, 2, 2}}},
      Size{{6, 6, 6, 2}, 2, {.kernel = {2, 2, 1}, .stride = {4, 4, 5}}},
      Size{{20, 3, 3, 5}, 5, {.kernel = {4, 3, 2}, .pad = {1, 1, 1}}},
      Size{{4, 4, 2, 0}, 2, {.kernel = {2, 2, 2}}},
  };
  for (const Size& size : kSizes) sink(source_of(type, size.x), size.channels, size.window);
  const WindowOf<3> window = {.kernel = {3, 2, 2}, .stride = {1, 2, 1}, .pad = {1, 1, 0}};
  sink(seen_as(type, {7, 6, 3, 4}, {1, 2, 3, 0}), 2, window);  // channels innermost
  sink(seen_as(type, {7, 6, 3, 4}, {1, 0, 2, 3}), 2, window);
  sink(seen_as(type, {7, 6, 3, 4}, {0, 1, 3, 2}), 4, window);
  sink(seen_as(type, {7, 6, 3, 4}, {0, 1, 2, 3}, {2, 1, 1, 1}), 2, window);
  sink(seen_as(type, {7, 6, 3, 4}, {3, 2, 1, 0}, {1, 0, 2, 0}), 1, window);
}

}  // namespace shunt

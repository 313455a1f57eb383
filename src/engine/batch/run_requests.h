// Requests whose steps the caller's thread makes.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/batch/batch_engine.h"

namespace shunt {

/// Makes steps until all streams of the engine have ended, and hands over their events as they
/// come. `stream` counts from 0. Ends at the first error of `take`.
Status run_requests(BatchEngine& engine, std::span<const std::unique_ptr<BatchStream>> streams,
                    const std::function<Status(std::size_t stream, const BatchEvent& event)>& take);

/// The options of an engine whose caller waits for nothing but the end.
BatcherOptions options_without_interval(int threads = 0);

/// The error of a request that failed, or was cancelled.
Status status_of(const BatchResult& result);

}  // namespace shunt

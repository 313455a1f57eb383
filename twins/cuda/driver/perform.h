// The execution of work, on the thread of a stream or of a graph.
#pragma once

#include "cuda/driver/state.h"

namespace cuda_twin {

/// perform() for a stream's thread: nothing is executed after an error of the context, events are
/// recorded all the same, and an error becomes the context's.
void perform_in_turn(Context& context, const Work& work, std::uint64_t number);

CUresult perform_kernel(Context& context, const KernelWork& work, std::uint64_t number);
CUresult perform_copy(Context& context, const CopyWork& work, std::uint64_t number);
CUresult perform_fill(Context& context, const FillWork& work, std::uint64_t number);
CUresult perform_record(const RecordWork& work);
CUresult perform_wait(Context& context, const WaitWork& work);
CUresult perform_write_value(Context& context, const WriteValueWork& work, std::uint64_t number);
CUresult perform_wait_value(Context& context, const WaitValueWork& work);

/// Registered memory that the host has unmapped since is no memory of devices any more.
/// driver/host_memory.cpp
void forget_unmapped_host_memory();

/// Reports the reason of an error of work: the context keeps it.
CUresult fail_work(Context& context, CUresult code, const std::string& reason);

}  // namespace cuda_twin

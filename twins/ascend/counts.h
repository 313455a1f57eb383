// Counts of events and of calls, and the ledger of objects alive, for ascend_twin.h.
#pragma once

#include <cstdint>

#include "ascend/include/ascend_twin.h"

namespace ascend_twin {

void count(ascend_twin_counter counter, std::uint64_t amount = 1);
/// `function` is a literal: its address outlives the call.
void count_call(const char* function);
void reset_counts();

/// The ledger. Every constructor of an object that a program owns adds, its destructor takes off.
void add_live(ascend_twin_live which, std::uint64_t amount = 1);
void drop_live(ascend_twin_live which, std::uint64_t amount = 1);
std::uint64_t live(ascend_twin_live which);

/// A member of such an object: one in the ledger while it exists.
template <ascend_twin_live kWhich>
class InLedger {
 public:
  InLedger() { add_live(kWhich); }
  ~InLedger() { drop_live(kWhich); }
  InLedger(const InLedger&) = delete;
  InLedger& operator=(const InLedger&) = delete;
};

}  // namespace ascend_twin

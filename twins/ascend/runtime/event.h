// Events in streams: records, and who waits for them.
#pragma once

#include <cstdint>
#include <memory>

#include "ascend/runtime/event_state.h"
#include "ascend/runtime/stream.h"

namespace ascend_twin {

/// Submits a record; a later wait waits for its number.
Status record_event(const std::shared_ptr<Event>& event, Stream& stream);
/// Submits a wait for the last record so far; nothing if there is none. An event of "old mode" is
/// waited for before its first record, too.
Status wait_in_stream(const std::shared_ptr<Event>& event, Stream& stream);
/// Submits the end of an earlier record.
Status reset_in_stream(const std::shared_ptr<Event>& event, Stream& stream);
/// Blocks until this record is reached, and hurries its stream. False when the time is over.
bool wait_for_record(Event& event, std::uint64_t record, std::int64_t milliseconds = -1);
/// The work before the record is not held back.
void hurry_record(Event& event, std::uint64_t record);
/// The live event of a handle; 100000 for null, 107017 if there is none, 107003 for another
/// context.
Status event_of(aclrtEvent handle, std::shared_ptr<Event>* event);
/// The same of any context: streams wait across devices.
Status any_event_of(aclrtEvent handle, std::shared_ptr<Event>* event);
/// 107028, and the capture is invalid, if the event's last record was captured.
Status check_event_not_captured(Event& event);
/// One of the device's events: 207007 if there is none left, or as FAIL_RESOURCE asks.
Status take_event_resource(Event& event);
void give_event_resource(Event& event);

}  // namespace ascend_twin

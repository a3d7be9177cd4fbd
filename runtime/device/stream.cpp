#include "lockstep/runtime/device/stream.h"

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

Event::Event(const LogicalDevice& gpu) : event_(gpu_platform().make_event(gpu)), gpu_(gpu) {}

void Event::record(const Stream& stream) {
  if (contracts::checked()) clock_ = contracts::clock_of(stream);
  event_->record(stream);
  recorded_ = stream.kind;
}

void Event::synchronize() const {
  event_->synchronize();
  if (contracts::checked()) contracts::reached(gpu_, clock_);
}

void Stream::wait(const Event& event) const {
  if (*this == Stream{event.gpu_, event.recorded_}) return;
  event.event_->make_wait(*this);
  if (gpu == event.gpu_ && contracts::checked()) contracts::put_after(*this, event.clock_);
}

}  // namespace lockstep

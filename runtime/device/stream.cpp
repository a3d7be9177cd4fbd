#include "lockstep/runtime/device/stream.h"

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {

Event::Event(const LogicalDevice& gpu) : event_(gpu_platform().make_event(gpu)), recorded_{gpu} {}

void Event::record(const Stream& stream) {
  if (contracts::checked()) clock_ = contracts::clock_of(stream);
  event_->record(stream);
  recorded_ = stream;
}

void Event::synchronize() const {
  event_->synchronize();
  if (contracts::checked()) contracts::reached(recorded_.gpu, clock_);
}

void Stream::wait(const Event& event) const {
  if (*this == event.recorded_) return;
  event.event_->make_wait(*this);
  if (gpu == event.recorded_.gpu && contracts::checked()) contracts::put_after(*this, event.clock_);
}

}  // namespace lockstep

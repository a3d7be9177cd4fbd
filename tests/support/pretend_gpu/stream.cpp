#include <utility>

#include <support/pretend_gpu/stream.h>

namespace lockstep::test {

void PretendGpuStream::enqueue(std::function<void()> work) {
  bool at_once = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    at_once = hurries_;
  }
  if (at_once) finish(given());
}

void PretendGpuStream::hurry(bool on) {
  const std::lock_guard lock(mutex_);
  hurries_ = on;
}

std::size_t PretendGpuStream::given() const {
  const std::lock_guard lock(mutex_);
  return done_ + waiting_.size();
}

std::size_t PretendGpuStream::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void PretendGpuStream::finish(std::size_t count) {
  const std::lock_guard turn(turn_);
  while (done() < count) {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex_);
      work = waiting_.front();  // it counts as given until it is done
    }
    work();
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    ++done_;
  }
}

}  // namespace lockstep::test

#include <lockstep/runtime/thread/rendezvous.h>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

Rendezvous::Rendezvous(int members) : members_(members), arrived_(static_cast<std::size_t>(members), false) {
  require(members >= 1, "a rendezvous needs at least one member, got {}", members);
}

void Rendezvous::arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (aborted_) throw_aborted();
  require<BrokenInvariant>(!arrived_.at(member), "replica {} arrived twice at {}", member, place);
  arrived_[member] = true;
  if (++count_ == members_) {
    arrived_.assign(arrived_.size(), false);
    count_ = 0;
    ++round_;
    changed_.notify_all();
    return;
  }
  const std::uint64_t round = round_;
  const bool done = changed_.wait_for(lock, timeout, [&] { return round_ != round || aborted_; });
  if (round_ != round) return;
  if (!done) {
    aborted_ = true;
    reason_ = fmt::format("{} waited {} ms for replica(s) {}", place, timeout.count(), missing());
    changed_.notify_all();
    fail<Timeout>("{}", reason_);
  }
  throw_aborted();
}

void Rendezvous::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!aborted_) reason_ = reason;
  aborted_ = true;
  changed_.notify_all();
}

void Rendezvous::reset() {
  const std::lock_guard lock(mutex_);
  arrived_.assign(arrived_.size(), false);
  count_ = 0;
  aborted_ = false;
  reason_.clear();
}

std::string Rendezvous::missing() const {
  std::vector<int> late;
  for (int member = 0; member < members_; ++member)
    if (!arrived_[member]) late.push_back(member);
  return fmt::format("{}", fmt::join(late, ", "));
}

void Rendezvous::throw_aborted() const { fail<Aborted>("released because of: {}", reason_); }

}  // namespace lockstep

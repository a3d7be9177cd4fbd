#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/rendezvous.h>

namespace lockstep {

Rendezvous::Rendezvous(int members)
    : members_(members),
      arrived_(static_cast<std::size_t>(std::max(0, members)), false),
      finished_(static_cast<std::size_t>(std::max(0, members)), false) {
  require(members >= 1, "a rendezvous needs at least one member, got {}", members);
}

void Rendezvous::arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (release_ != Release::none) throw_released();
  require<BrokenInvariant>(!arrived_.at(member), "replica {} arrived twice at {}", member, place);
  if (count_ > 0 && std::string_view(place) != place_) release_apart(member, place);
  arrived_[member] = true;
  place_ = place;
  if (++count_ == members_) {
    arrived_.assign(arrived_.size(), false);
    count_ = 0;
    ++round_;
    changed_.notify_all();
    return;
  }
  const std::uint64_t round = round_;
  release_if_finished(place);
  const bool done = changed_.wait_for(lock, timeout, [&] { return round_ != round || release_ != Release::none; });
  if (round_ != round) return;
  if (!done) {
    release_ = Release::aborted;
    reason_ = fmt::format("{} waited {} ms for replica(s) {}", place, timeout.count(), missing());
    changed_.notify_all();
    fail<Timeout>("{}", reason_);
  }
  throw_released();
}

void Rendezvous::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (release_ == Release::none) {
    release_ = Release::aborted;
    reason_ = reason;
  }
  changed_.notify_all();
}

void Rendezvous::finish(int member) {
  const std::lock_guard lock(mutex_);
  finished_.at(member) = true;
  if (count_ > 0) release_if_finished(place_);
}

void Rendezvous::release_if_finished(const char* place) {
  if (release_ != Release::none || std::none_of(finished_.begin(), finished_.end(), [](bool f) { return f; })) return;
  release_ = Release::mismatch;
  reason_ = fmt::format("{} needs all replicas, but replica(s) {} ended the step without it", place, missing());
  changed_.notify_all();
}

void Rendezvous::release_apart(int member, const char* place) {
  release_ = Release::mismatch;
  reason_ = fmt::format("replica {} is at {} while others wait at {}", member, place, place_);
  changed_.notify_all();
  throw_released();
}

void Rendezvous::reset() {
  const std::lock_guard lock(mutex_);
  arrived_.assign(arrived_.size(), false);
  finished_.assign(finished_.size(), false);
  count_ = 0;
  release_ = Release::none;
  reason_.clear();
}

std::string Rendezvous::missing() const {
  const bool some_finished = std::any_of(finished_.begin(), finished_.end(), [](bool f) { return f; });
  std::vector<int> late;
  for (int member = 0; member < members_; ++member)
    if (some_finished ? finished_[member] : !arrived_[member]) late.push_back(member);
  return fmt::format("{}", fmt::join(late, ", "));
}

void Rendezvous::throw_released() const {
  if (release_ == Release::mismatch) fail<LogicError>("{}", reason_);
  fail<Aborted>("released because of: {}", reason_);
}

}  // namespace lockstep

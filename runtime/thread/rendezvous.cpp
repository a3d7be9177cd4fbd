#include "lockstep/runtime/thread/rendezvous.h"

#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {
namespace {

constexpr std::uint32_t released_bit = 1;
constexpr std::uint32_t one_round = 2;

bool is_released(std::uint32_t round) { return (round & released_bit) != 0; }
bool is_same_round(std::uint32_t a, std::uint32_t b) { return (a | released_bit) == (b | released_bit); }

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// All existing Rendezvous objects.
struct Registry {
  std::mutex mutex;
  std::vector<const Rendezvous*> all;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void Rendezvous::Member::enter(State next) {
  const std::lock_guard lock(mutex);
  state = next;
  since = Clock::now();
}

Rendezvous::State Rendezvous::Member::current() const {
  const std::lock_guard lock(mutex);
  return state;
}

std::string Rendezvous::Member::text(Clock::time_point now) const {
  const std::lock_guard lock(mutex);
  const double for_s = std::max(0.0, seconds(now - since));
  switch (state) {
    case State::running:
      return place.empty() ? fmt::format("running for {:.1f} s", for_s)
                           : fmt::format("running for {:.1f} s since {}", for_s, place);
    case State::waiting:
      return fmt::format("waiting in {} for {:.1f} s", place, for_s);
    case State::ended:
      return fmt::format("ended {:.1f} s ago", for_s);
    case State::idle:
      break;
  }
  return "idle";
}

Rendezvous::Rendezvous(int members) : round_(members), members_(static_cast<std::size_t>(std::max(0, members))) {
  require(members >= 1, "a rendezvous needs at least one member, got {}", members);
  const std::lock_guard lock(registry().mutex);
  registry().all.push_back(this);
}

Rendezvous::~Rendezvous() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().all, this);
}

void Rendezvous::begin(int member) { at(member).enter(State::running); }

void Rendezvous::arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout) {
  const WaitTimer timer;
  Member& own = at(member);
  const std::uint32_t round = round_.load();
  if (is_released(round)) throw_released();
  {
    const std::lock_guard lock(own.mutex);
    require<BrokenInvariant>(own.state != State::waiting, "replica {} arrived twice at {}", member, place);
    own.state = State::waiting;
    own.since = timer.start();
    own.place = place;
  }
  const struct Leave {  // also if an exception is thrown
    Member& member;
    ~Leave() { member.enter(State::running); }
  } leave{own};
  check_place(member, place);
  if (++count_ == members()) return complete(round);
  if (finished_ > 0) release_for_finished(round);
  if (!round_.wait_while(round, timer.start() + timeout)) time_out(place, round, timeout);
  if (is_same_round(round_.load(), round)) throw_released();
}

/// Throws if this member has arrived at another place than the round's first member. Reads the first member's `place`
/// without its mutex: that member wrote it before it set first_, and writes it again only after this member has been
/// counted, too, or after a reset.
void Rendezvous::check_place(int member, const char* place) {
  int first = -1;
  if (first_.compare_exchange_strong(first, member)) return;
  const std::string& others = at(first).place;
  if (others == place) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_released(round_.load())) {
      release_ = Release::mismatch;
      reason_ = fmt::format("replica {} is at {} while others wait at {}", member, place, others);
      round_.set_bits(released_bit);
    }
  }
  throw_released();
}

void Rendezvous::complete(std::uint32_t round) {
  count_ = 0;  // before the others begin the next round
  first_ = -1;
  if (!round_.exchange(round, round + one_round)) throw_released();
}

/// Throws Timeout, unless the round has been completed or released in the meantime.
void Rendezvous::time_out(const char* place, std::uint32_t round, std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  std::string reason =
      fmt::format("{} waited {} ms for replica(s) {}; {}", place, timeout.count(), missing(), states());
  if (!round_.exchange(round, round | released_bit)) return;
  release_ = Release::aborted;
  reason_ = std::move(reason);
  fail<Timeout>("{}", reason_);
}

void Rendezvous::abort(int member, std::string reason) {
  const std::lock_guard lock(mutex_);
  at(member).enter(State::ended);
  if (is_released(round_.load())) return;
  release_ = Release::aborted;
  reason_ = std::move(reason);
  round_.set_bits(released_bit);
}

// finish and arrive_and_wait both first count themselves and then read the other's count, so that at least one of them
// sees the other.
void Rendezvous::finish(int member) {
  at(member).enter(State::ended);
  const std::uint32_t round = round_.load();  // no round completes without this member
  ++finished_;
  if (count_ > 0) release_for_finished(round);
}

/// Does nothing if the round has been completed or released in the meantime: the finished member may have been in it.
void Rendezvous::release_for_finished(std::uint32_t round) {
  const std::lock_guard lock(mutex_);
  if (is_released(round) || !round_.exchange(round, round | released_bit)) return;
  release_ = Release::mismatch;
  reason_ =
      fmt::format("{} needs all replicas, but replica(s) {} ended the step without it", at(first_).place, missing());
}

void Rendezvous::reset() {
  for (Member& member : members_) {
    const std::lock_guard lock(member.mutex);
    member.state = State::idle;
    member.place.clear();
  }
  count_ = 0;
  first_ = -1;
  finished_ = 0;
  round_.clear_bits(released_bit);
}

std::string Rendezvous::states() const {
  const Clock::time_point now = Clock::now();
  std::vector<std::string> texts;
  for (const Member& member : members_) texts.push_back(fmt::format("replica {}: {}", texts.size(), member.text(now)));
  return fmt::format("{}", fmt::join(texts, "; "));
}

bool Rendezvous::busy() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.current() != State::idle; });
}

std::string Rendezvous::missing() const {
  std::vector<std::size_t> late;
  for (std::size_t member = 0; member < members_.size(); ++member) {
    const State state = members_[member].current();
    if (finished_ > 0 ? state == State::ended : state != State::waiting) late.push_back(member);
  }
  return fmt::format("{}", fmt::join(late, ", "));
}

void Rendezvous::throw_released() const {
  const std::lock_guard lock(mutex_);
  if (release_ == Release::mismatch) fail<LogicError>("{}", reason_);
  fail<Aborted>("released because of: {}", reason_);
}

std::string states_of_all_replicas() {
  const std::lock_guard lock(registry().mutex);
  std::string all;
  for (const Rendezvous* rendezvous : registry().all)
    if (rendezvous->busy()) all += rendezvous->states() + "\n";
  return all;
}

}  // namespace lockstep

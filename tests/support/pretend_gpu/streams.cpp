#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <utility>

#include <support/pretend_gpu/streams.h>

namespace lockstep::test {
namespace {

std::atomic<unsigned> streams_made = 0;

}  // namespace

Stream::Stream(int device) : device_(device), random_(++streams_made), thread_([this] { work(); }) {}

Stream::~Stream() {
  await(given());
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

std::size_t Stream::give(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  if (idle_) has_work_.notify_one();
  return ++progress_.given;
}

void Stream::give_wait(std::function<void()> wait) {
  give(std::move(wait));
  const std::lock_guard lock(mutex_);
  ++progress_.waits;
}

StreamProgress Stream::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

bool Stream::has_done(std::size_t count) const { return progress().done >= count; }

void Stream::want(std::size_t count) {
  const std::lock_guard lock(mutex_);
  wanted_ = std::max(wanted_, count);
  urgent_ = true;
  has_work_.notify_one();
}

void Stream::await(std::size_t count) {
  Lock lock(mutex_);
  wanted_ = std::max(wanted_, count);
  ++waiters_;
  while (progress_.done < count) {
    has_progress_.wait(lock, [&] { return !running_ || progress_.done >= count; });
    run(lock, count);
  }
  --waiters_;
}

bool Stream::may_run() const {
  return !running_ && !waiting_.empty() && (!machine().defers_work() || progress_.done < wanted_);
}

void Stream::run(Lock& lock, std::size_t count) {
  while (progress_.done < count && may_run()) {
    std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    const bool late = random_() % 8 == 0;  // so that a missing wait shows
    running_ = true;
    lock.unlock();
    if (late) std::this_thread::sleep_for(std::chrono::microseconds(200));
    next();
    next = nullptr;  // may destroy another stream, which waits for its work
    lock.lock();
    running_ = false;
    ++progress_.done;
    if (waiters_ > 0) has_progress_.notify_all();
  }
  if (idle_ && may_run()) has_work_.notify_one();
}

void Stream::work() {
  Lock lock(mutex_);
  while (!stopping_) {
    idle_ = true;
    has_work_.wait(lock, [&] { return stopping_ || urgent_ || may_run(); });
    idle_ = false;
    // Mostly a thread soon waits for the work and does it, which saves switching between threads. Sometimes begins at
    // once, so that a missing wait shows.
    std::size_t seen;
    do {
      seen = progress_.given;
      if (random_() % 8 != 0)
        has_work_.wait_for(lock, std::chrono::milliseconds(1), [&] { return stopping_ || urgent_; });
      urgent_ = false;
      run(lock, seen);
    } while (!stopping_ && progress_.given > seen);
  }
}

PretendCudaMachine& machine() {
  static auto& all = *new PretendCudaMachine;
  return all;
}

void PretendCudaMachine::start(int gpus, PretendCudaMemory memory) {
  memory_ = std::move(memory);
  gpus_ = gpus;
}

void PretendCudaMachine::finish(cudaStream_t handle) {
  const std::shared_ptr<Stream> of = stream(handle);
  of->await(of->given());
}

bool PretendCudaMachine::captures(cudaStream_t handle) { return stream(handle)->captured.has_value(); }

void PretendCudaMachine::note(cudaStream_t handle, std::function<void()> work) {
  stream(handle)->captured.value().push_back(std::move(work));
}

StreamProgress PretendCudaMachine::progress(cudaStream_t handle) { return stream(handle)->progress(); }

void PretendCudaMachine::defer_work(bool on) {
  defers_work_ = on;
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, stream] : streams_) stream->want(0);
}

std::vector<PretendCollective> PretendCudaMachine::take_collectives() {
  const std::lock_guard lock(mutex_);
  return std::exchange(collectives_, {});
}

void PretendCudaMachine::note_collective(PretendCollective collective) {
  const std::lock_guard lock(mutex_);
  collectives_.push_back(std::move(collective));
}

void PretendCudaMachine::note_kernel(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  ++submissions_.kernels[kernel];
}

void PretendCudaMachine::note_copy(Submissions::Copies Submissions::*direction, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Submissions::Copies& copies = submissions_.*direction;
  ++copies.count;
  copies.bytes += static_cast<std::int64_t>(bytes);
}

void PretendCudaMachine::note(std::int64_t Submissions::*kind) {
  const std::lock_guard lock(mutex_);
  ++(submissions_.*kind);
}

Submissions PretendCudaMachine::take_submissions() {
  const std::lock_guard lock(mutex_);
  return std::exchange(submissions_, {});
}

void PretendCudaMachine::set_peers(std::vector<std::vector<int>> peers) {
  const std::lock_guard lock(mutex_);
  peers_ = std::move(peers);
}

bool PretendCudaMachine::reaches(int device, int peer) {
  const std::lock_guard lock(mutex_);
  if (peers_.empty()) return device != peer;
  const std::vector<int>& reached = peers_.at(static_cast<std::size_t>(device));
  return std::find(reached.begin(), reached.end(), peer) != reached.end();
}

void PretendCudaMachine::corrupt_copies(int from, int to, bool on) {
  const std::lock_guard lock(mutex_);
  if (on)
    corrupted_.insert({from, to});
  else
    corrupted_.erase({from, to});
}

bool PretendCudaMachine::corrupts(int from, int to) {
  const std::lock_guard lock(mutex_);
  return corrupted_.contains({from, to});
}

void PretendCudaMachine::fail(const std::string& function, int call, cudaError_t error) {
  const std::lock_guard lock(mutex_);
  failures_[function] = {.call = calls_[function] + call, .error = error};
}

void PretendCudaMachine::fail_work(int device, std::int64_t first) {
  const std::lock_guard lock(mutex_);
  work_to_failure_[device] = first;
}

bool PretendCudaMachine::takes_work(cudaStream_t handle) {
  const int device = stream(handle)->device();
  const std::lock_guard lock(mutex_);
  const auto left = work_to_failure_.find(device);
  return left == work_to_failure_.end() || left->second == 0 || --left->second > 0;
}

void PretendCudaMachine::fail_from_now_on(cudaError_t error) {
  const std::lock_guard lock(mutex_);
  lasting_failure_ = error;
}

std::int64_t PretendCudaMachine::calls(const std::string& function) {
  const std::lock_guard lock(mutex_);
  return calls_[function];
}

cudaError_t PretendCudaMachine::enter(const char* function) {
  const std::lock_guard lock(mutex_);
  const std::int64_t call = ++calls_[function];
  if (lasting_failure_ != cudaSuccess) return lasting_failure_;
  const auto failure = failures_.find(function);
  return failure != failures_.end() && failure->second.call == call ? failure->second.error : cudaSuccess;
}

cudaStream_t PretendCudaMachine::add(std::shared_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  const auto handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_[handle] = std::move(stream);
  return handle;
}

std::shared_ptr<Stream> PretendCudaMachine::stream(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

void PretendCudaMachine::remove(cudaStream_t handle) {
  std::shared_ptr<Stream> last;  // destroyed after the lock: it may wait for its work
  const std::lock_guard lock(mutex_);
  last = std::move(streams_[handle]);
  streams_.erase(handle);
}

void PretendCudaMachine::add_piece(const void* address, std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  pieces_[static_cast<const std::byte*>(address)] = {.bytes = bytes, .device = device};
}

std::size_t PretendCudaMachine::remove_piece(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(static_cast<const std::byte*>(address));
  if (found == pieces_.end()) return 0;
  const std::size_t bytes = found->second.bytes;
  pieces_.erase(found);
  return bytes;
}

bool PretendCudaMachine::in_piece(const void* address, std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  const auto* const first = static_cast<const std::byte*>(address);
  const auto after = pieces_.upper_bound(first);
  if (after == pieces_.begin()) return false;
  const auto& [begin, piece] = *std::prev(after);
  return piece.device == device && first + bytes <= begin + piece.bytes;
}

}  // namespace lockstep::test

lockstep::test::PretendCuda* lockstep_pretend_cuda() { return &lockstep::test::machine(); }

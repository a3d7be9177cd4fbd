#include "lockstep/strategy/collective/nccl/cuda/communicators.h"

#include <algorithm>
#include <condition_variable>
#include <span>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds polling_interval{200};
constexpr std::chrono::hours longest_timeout{24 * 365};  // a time point that many later can still be told

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

/// Collectives between its construction and `end` are enqueued as one.
class NcclGroup {
 public:
  NcclGroup() { check_nccl(ncclGroupStart(), "ncclGroupStart"); }
  ~NcclGroup() {
    if (open_) ncclGroupEnd();
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  void end() {
    open_ = false;
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  bool open_ = true;
};

/// Says since when a call is under way, for as long as it is.
class CallTime {
 public:
  explicit CallTime(std::atomic<std::chrono::steady_clock::rep>& since) : since_(since) {
    since_ = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  ~CallTime() { since_ = 0; }
  CallTime(const CallTime&) = delete;
  CallTime& operator=(const CallTime&) = delete;

 private:
  std::atomic<std::chrono::steady_clock::rep>& since_;
};

}  // namespace

void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess || status == ncclInProgress) [[likely]]
    return;
  fail<DeviceError>("{} failed: {}; {}", call, ncclGetErrorString(status), ncclGetLastError(nullptr));
}

NcclCommunicators::NcclCommunicators(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout,
                                     Cluster* cluster)
    : timeout_(std::min<std::chrono::milliseconds>(timeout, longest_timeout)), cluster_(cluster) {
  for (const LogicalDevice& device : gpus) members_.push_back(std::make_unique<Member>(gpu(device)));
  try {
    make_all();
    for (const auto& member : members_) settle(*member, "connecting the GPUs");
  } catch (...) {
    abort_all("they could not be made", false);
    throw;
  }
  watchdog_ = std::jthread([this](const std::stop_token& stop) { watch_all(stop); });
}

NcclCommunicators::~NcclCommunicators() {
  watchdog_ = {};
  finish_all();
}

void NcclCommunicators::make_all() {
  ncclUniqueId id{};
  if (!cluster_ || cluster_->is_chief()) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (cluster_) cluster_->broadcast("the connecting of GPUs", std::as_writable_bytes(std::span(&id, 1)));
  const int own = static_cast<int>(members_.size());
  const int all = cluster_ ? own * cluster_->size() : own;
  const int first = cluster_ ? own * cluster_->rank() : 0;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // nobody is held by a call that cannot end
  NcclGroup group;
  for (int replica = 0; replica < own; ++replica) {
    Member& member = *members_[static_cast<std::size_t>(replica)];
    member.gpu.make_current();
    check_nccl(ncclCommInitRankConfig(&member.communicator, all, id, first + replica, &config),
               "ncclCommInitRankConfig");
  }
  group.end();
}

void NcclCommunicators::settle(const Member& member, const char* what) const {
  const Clock::time_point end = Clock::now() + timeout_;
  for (;;) {
    ncclResult_t state = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(member.communicator, &state), "ncclCommGetAsyncError");
    check_nccl(state, what);
    if (state == ncclSuccess) return;
    require<DeviceError>(!aborting_, "NCCL's communicators are being aborted during {}", what);
    require<Timeout>(Clock::now() < end, "NCCL on {}: {} took longer than {} s; `lockstep doctor` looks for reasons",
                     member.gpu.device().name(), what, seconds(timeout_));
    std::this_thread::yield();
  }
}

void NcclCommunicators::run(int replica, const char* what,
                            const std::function<void(ncclComm_t, cudaStream_t)>& enqueue) {
  Member& member = *members_[static_cast<std::size_t>(replica)];
  const std::lock_guard lock(member.mutex);
  const CallTime call(member.called_since);
  require<DeviceError>(member.aborted.empty(), "NCCL's communicators were aborted: {}", member.aborted);
  member.gpu.make_current();
  NcclGroup group;
  enqueue(member.communicator, member.gpu.stream());
  group.end();
  settle(member, what);
  watch(member, what);
}

void NcclCommunicators::watch(Member& member, const char* what) {
  if (member.spare.empty()) member.spare.push_back(std::make_unique<CudaEvent>(member.gpu));
  std::unique_ptr<CudaEvent> end = std::move(member.spare.back());
  member.spare.pop_back();
  end->record(member.gpu);
  member.under_way.push_back({std::move(end), what, Clock::now()});
}

void NcclCommunicators::watch_all(const std::stop_token& stop) {
  std::mutex waiting;
  std::condition_variable_any tick;
  while (!stop.stop_requested()) {
    if (const std::string failure = cluster_ ? cluster_->failure() : ""; !failure.empty())
      return abort_all(failure, true);
    for (const auto& member : members_) {
      const std::string trouble = trouble_of(*member);
      if (!trouble.empty()) return abort_all(trouble, true);
    }
    std::unique_lock lock(waiting);
    tick.wait_for(lock, stop, polling_interval, [] { return false; });
  }
}

std::string NcclCommunicators::trouble_of(Member& member) const {
  const std::string where = member.gpu.device().name();
  const std::unique_lock lock(member.mutex, std::try_to_lock);
  if (!lock) {  // a call holds it, perhaps one that never ends
    const Clock::rep since = member.called_since;
    if (since == 0 || Clock::now() - Clock::time_point(Clock::duration(since)) < timeout_) return {};
    return fmt::format("a call of NCCL's for {} did not end within {} s", where, seconds(timeout_));
  }
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(member.communicator, &state);
  if (asked != ncclSuccess) state = asked;
  if (state != ncclSuccess && state != ncclInProgress) return fmt::format("{}: {}", where, ncclGetErrorString(state));
  while (!member.under_way.empty()) {
    Watched& oldest = member.under_way.front();
    const cudaError_t status = oldest.end->state();
    if (status == cudaErrorNotReady) {
      if (Clock::now() - oldest.since < timeout_) return {};
      return fmt::format("{} on {} did not end within {} s", oldest.what, where, seconds(timeout_));
    }
    if (status != cudaSuccess) return fmt::format("{}: {}", where, cudaGetErrorString(status));
    member.spare.push_back(std::move(oldest.end));
    member.under_way.pop_front();
  }
  return {};
}

void NcclCommunicators::abort_all(const std::string& reason, bool results_lost) {
  aborting_ = true;
  for (const auto& member : members_) {
    const std::lock_guard lock(member->mutex);
    member->aborted = reason;
    if (member->communicator == nullptr) continue;
    if (results_lost) member->gpu.set_error(fmt::format("NCCL's communicators were aborted: {}", reason));
    ncclCommAbort(std::exchange(member->communicator, nullptr));
  }
}

void NcclCommunicators::finish_all() noexcept {
  try {
    for (const auto& member : members_)
      if (member->communicator != nullptr) check_nccl(ncclCommFinalize(member->communicator), "ncclCommFinalize");
    for (const auto& member : members_) {
      if (member->communicator == nullptr) continue;
      settle(*member, "ending");
      check_nccl(ncclCommDestroy(std::exchange(member->communicator, nullptr)), "ncclCommDestroy");
    }
  } catch (const std::exception& error) {
    log_warning("NCCL's communicators are aborted, as they do not end: {}", error.what());
    abort_all("they did not end", false);
  }
}

}  // namespace lockstep

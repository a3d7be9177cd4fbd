#include "lockstep/strategy/comm/nccl/cuda/communicators.h"

#include <condition_variable>
#include <span>
#include <utility>

#include <dlfcn.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/nccl/nccl_host.h>

namespace lockstep {
namespace {

/// Throws DeviceError unless `status` is success or, with a non-blocking communicator, in progress.
void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess || status == ncclInProgress) [[likely]]
    return;
  fail<DeviceError>("{} failed: {}; {}", call, ncclGetErrorString(status), ncclGetLastError(nullptr));
}

constexpr std::chrono::milliseconds polling_interval{200};
constexpr std::chrono::seconds revocation_limit{5};  // a revocation usually takes milliseconds

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

/// An NCCL group, which enqueues the collectives between construction and `end` together.
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

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    default:
      fail<BrokenInvariant>("NCCL is given {} values", name(dtype));
  }
}

ncclRedOp_t operation_of(GpuPart::Kind kind, int ranks) {
  switch (kind) {
    case GpuPart::Kind::sum:
      return ncclSum;
    case GpuPart::Kind::mean:
      return ranks == 1 ? ncclSum : ncclAvg;  // NCCL 2.28's mean over one rank leaves out some of the last elements
    case GpuPart::Kind::product:
      return ncclProd;
    default:
      fail<BrokenInvariant>("NCCL has no reduction for parts of kind {}", static_cast<int>(kind));
  }
}

void enqueue_part(const GpuPart& part, int ranks, ncclComm_t communicator, cudaStream_t stream) {
  const ncclDataType_t type = type_of(part.dtype);
  if (part.kind == GpuPart::Kind::gather)
    return check_nccl(ncclAllGather(part.from, part.to, part.elements, type, communicator, stream), "ncclAllGather");
  check_nccl(
      ncclAllReduce(part.from, part.to, part.elements, type, operation_of(part.kind, ranks), communicator, stream),
      "ncclAllReduce");
}

/// Asks NCCL to stop all running operations of the communicator, without waiting. Does nothing before NCCL 2.28.7,
/// which has the same soname but not the function.
void revoke(ncclComm_t communicator) {
  static auto* const function =
      reinterpret_cast<ncclResult_t (*)(ncclComm_t, int)>(dlsym(RTLD_DEFAULT, "ncclCommRevoke"));
  if (function != nullptr) function(communicator, 0);
}

/// Waits until the revocation ends or fails, at most revocation_limit.
void await_revocation(ncclComm_t communicator) {
  const auto end = std::chrono::steady_clock::now() + revocation_limit;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress && std::chrono::steady_clock::now() < end) {
    if (ncclCommGetAsyncError(communicator, &state) != ncclSuccess) return;
    std::this_thread::yield();
  }
}

}  // namespace

NcclComms::NcclComms(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout, Cluster* cluster)
    : timeout_(timeout), cluster_(cluster) {
  for (const LogicalDevice& device : gpus) members_.push_back(std::make_unique<Member>(gpu(device)));
  // Discards errors of an earlier strategy's communicators that no thread has received.
  for (const auto& member : members_) member->gpu.set_error({});
  try {
    make_all();
    const Clock::time_point end = Clock::now() + timeout_;
    for (const auto& member : members_) settle(*member, "connecting the GPUs", end);
  } catch (...) {
    abort_all("they could not be made", false);
    throw;
  }
  watchdog_ = std::jthread([this](const std::stop_token& stop) { watch_all(stop); });
}

NcclComms::~NcclComms() {
  watchdog_ = {};
  finish_all();
}

void NcclComms::make_all() {
  ncclUniqueId id{};
  if (!cluster_ || cluster_->is_chief()) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (cluster_) cluster_->broadcast("the connecting of GPUs", std::as_writable_bytes(std::span(&id, 1)));
  const int own = static_cast<int>(members_.size());
  ranks_ = cluster_ ? own * cluster_->size() : own;
  const int first = cluster_ ? own * cluster_->rank() : 0;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // a call that never ends must not block its thread
  NcclGroup group;
  for (int replica = 0; replica < own; ++replica) {
    Member& member = *members_[static_cast<std::size_t>(replica)];
    member.gpu.make_current();
    check_nccl(ncclCommInitRankConfig(&member.communicator, ranks_, id, first + replica, &config),
               "ncclCommInitRankConfig");
  }
  group.end();
}

void NcclComms::settle(Member& member, const char* what, Clock::time_point end) const {
  for (;;) {
    ncclResult_t state = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(member.communicator, &state), "ncclCommGetAsyncError");
    check_nccl(state, what);
    if (state == ncclSuccess) {
      member.unfinished = nullptr;
      return;
    }
    require<DeviceError>(!aborting_, "NCCL's communicators are being aborted during {}", what);
    require<Timeout>(Clock::now() < end, "NCCL on {}: {} took longer than {} s; `lockstep doctor` looks for reasons",
                     member.gpu.device().name(), what, seconds(timeout_));
    std::this_thread::yield();
  }
}

void NcclComms::enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) {
  const Clock::time_point end = Clock::now() + timeout_;
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& member : members_) {
    locks.emplace_back(member->mutex);
    require<DeviceError>(member->aborted.empty(), "NCCL's communicators were aborted: {}", member->aborted);
    require<DeviceError>(member->unfinished == nullptr, "NCCL's communicators are being aborted: {} on {} failed",
                         member->unfinished, member->gpu.device().name());
  }
  for (const auto& member : members_) member->unfinished = what;
  NcclGroup group;  // NCCL requires a group if one thread enqueues for several GPUs
  for (std::size_t replica = 0; replica < members_.size(); ++replica) {
    const Member& member = *members_[replica];
    member.gpu.make_current();
    for (const GpuPart& part : parts[replica])
      enqueue_part(part, ranks_, member.communicator, member.gpu.stream(StreamKind::communication));
  }
  group.end();
  for (const auto& member : members_) settle(*member, what, end);
  for (const auto& member : members_) watch(*member, what);
}

void NcclComms::watch(Member& member, const char* what) {
  if (member.spare.empty()) member.spare.push_back(std::make_unique<CudaEvent>(member.gpu));
  std::unique_ptr<CudaEvent> end = std::move(member.spare.back());
  member.spare.pop_back();
  end->record({member.gpu.device(), StreamKind::communication});
  member.under_way.push_back({std::move(end), what, Clock::now()});
}

void NcclComms::watch_all(const std::stop_token& stop) {
  std::mutex waiting;
  std::condition_variable_any tick;
  while (!stop.stop_requested()) {
    if (const std::string failure = failure_of_cluster(); !failure.empty()) return abort_all(failure, true);
    for (const auto& member : members_) {
      const std::string trouble = trouble_of(*member);
      if (!trouble.empty()) return abort_all(trouble, true);
    }
    std::unique_lock lock(waiting);
    tick.wait_for(lock, stop, polling_interval, [] { return false; });
  }
}

std::string NcclComms::failure_of_cluster() {
  const std::lock_guard lock(cluster_mutex_);
  return cluster_ ? cluster_->failure() : std::string();
}

void NcclComms::abandon() {
  is_abandoned_ = true;
  const std::lock_guard lock(cluster_mutex_);
  cluster_ = nullptr;
}

std::string NcclComms::trouble_of(Member& member) const {
  const std::string where = member.gpu.device().name();
  const std::unique_lock lock(member.mutex, std::try_to_lock);
  if (!lock) return {};                           // a call holds it, which observes the timeout itself
  if (member.communicator == nullptr) return {};  // already aborted
  if (member.unfinished != nullptr) return fmt::format("NCCL did not complete {} on {}", member.unfinished, where);
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(member.communicator, &state);
  if (asked != ncclSuccess) state = asked;
  if (state != ncclSuccess && state != ncclInProgress) return fmt::format("{}: {}", where, ncclGetErrorString(state));
  while (!member.under_way.empty()) {
    Watched& oldest = member.under_way.front();
    const cudaError_t chosen = cudaSetDevice(member.gpu.ordinal());
    const cudaError_t status = chosen == cudaSuccess ? oldest.end->state() : chosen;
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

void NcclComms::abort_all(const std::string& reason, bool results_lost) {
  aborting_ = true;
  // ncclCommAbort waits for the GPU's stream. A collective on it may wait for a GPU whose communicator has not been
  // aborted yet, so all communicators are revoked first, except those with an unfinished call: NCCL 2.28.9 frees the
  // call's group job when they are revoked, and uses it again when they are aborted.
  for (const auto& member : members_) {
    const std::lock_guard lock(member->mutex);
    member->aborted = reason;
    if (member->communicator == nullptr || !results_lost) continue;
    if (!is_abandoned_) member->gpu.set_error(fmt::format("NCCL's communicators were aborted: {}", reason));
    if (member->unfinished == nullptr) revoke(member->communicator);
  }
  for (const auto& member : members_) {
    const std::lock_guard lock(member->mutex);
    if (member->communicator == nullptr) continue;
    if (results_lost && member->unfinished == nullptr) await_revocation(member->communicator);
    ncclCommAbort(std::exchange(member->communicator, nullptr));
  }
}

void NcclComms::finish_all() noexcept {
  for (const auto& member : members_)
    if (member->unfinished != nullptr)
      return abort_all(fmt::format("NCCL did not complete {}", member->unfinished), true);
  try {
    for (const auto& member : members_)
      if (member->communicator != nullptr) check_nccl(ncclCommFinalize(member->communicator), "ncclCommFinalize");
    const Clock::time_point end = Clock::now() + timeout_;
    for (const auto& member : members_) {
      if (member->communicator == nullptr) continue;
      settle(*member, "ending", end);
      check_nccl(ncclCommDestroy(std::exchange(member->communicator, nullptr)), "ncclCommDestroy");
    }
  } catch (const std::exception& error) {
    log_warning("NCCL's communicators are aborted, as they do not end: {}", error.what());
    abort_all("they did not end", false);
  }
}

std::unique_ptr<GpuCommunicators> make_gpu_communicators(const std::vector<LogicalDevice>& gpus,
                                                         std::chrono::milliseconds timeout, Cluster* cluster) {
  static std::once_flag examined;
  if (gpus.size() > 1)
    std::call_once(examined, [&] {
      for (const NcclObstacle& obstacle : find_obstacles(examine_nccl_host(), gpus.size()))
        log_warning("NCCL between {} GPUs, {}: {}; {}", gpus.size(), obstacle.subject, obstacle.text, obstacle.remedy);
    });
  return std::make_unique<NcclComms>(gpus, timeout, cluster);
}

}  // namespace lockstep

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nccl.h>
#include <support/pretend_gpu/streams.h>

#include <lockstep/runtime/core/bfloat16.h>

// NCCL with non-blocking communicators: another thread carries out each call after the call has returned.

namespace lockstep::test {

/// One rank's part of a collective.
struct Operation {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  std::optional<ncclRedOp_t> op{};  ///< none: a gather

  bool fits(const Operation& other) const { return count == other.count && type == other.type && op == other.op; }
};

/// The communicators that were made with one id.
struct Clique {
  explicit Clique(int ranks) : ranks(ranks) {}

  struct Collective {
    std::map<int, Operation> came;  ///< parts of the ranks that have reached it, by rank
    bool done = false;
    bool wanted = false;                                                   ///< one of its parts has begun
    std::vector<std::pair<std::shared_ptr<Stream>, std::size_t>> parts{};  ///< streams and numbers of their pieces
  };

  const int ranks;
  std::mutex mutex;  ///< guards the members below
  std::condition_variable changed;
  std::set<int> joined;
  std::map<std::size_t, Collective> collectives;  ///< by their number
  bool mismatched = false;
};

namespace {

/// Combines in rank order; a mean divides first, and bf16 is rounded after each addition.
template <class T, class A>
void combine_as(const std::map<int, Operation>& parts) {
  const Operation& first = parts.begin()->second;
  const A factor = first.op == ncclAvg ? A(1) / static_cast<A>(parts.size()) : A(1);
  std::vector<T> values;
  for (const auto& [rank, part] : parts) {
    const T* const from = static_cast<const T*>(part.from);
    for (std::size_t i = 0; i < part.count; ++i) {
      const A own = static_cast<A>(from[i]) * factor;
      if (!part.op || rank == parts.begin()->first)
        values.push_back(static_cast<T>(own));
      else
        values[i] =
            static_cast<T>(part.op == ncclProd ? static_cast<A>(values[i]) * own : static_cast<A>(values[i]) + own);
    }
  }
  // Like NCCL 2.28.9, which cuts its blocks' shares to whole accesses: one rank's mean leaves out the last elements.
  if (first.op == ncclAvg && parts.size() == 1) values.resize(values.size() / 4 * 4);
  for (const auto& [rank, part] : parts)
    std::memmove(part.to, first.op && machine().nccl_is_false() ? part.from : values.data(), values.size() * sizeof(T));
}

void combine(const std::map<int, Operation>& parts) {
  switch (parts.begin()->second.type) {
    case ncclFloat32:
      return combine_as<float, float>(parts);
    case ncclBfloat16:
      return combine_as<bfloat16, float>(parts);
    case ncclInt32:
      return combine_as<std::int32_t, std::int32_t>(parts);
    default:
      return combine_as<std::int64_t, std::int64_t>(parts);
  }
}

}  // namespace
}  // namespace lockstep::test

using namespace lockstep::test;

/// The type behind NCCL's ncclComm_t.
struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  std::atomic<ncclResult_t> state = ncclInProgress;
  std::size_t collectives = 0;                                       ///< number of collectives so far
  std::atomic<bool> ended = false;                                   ///< revoked or aborted
  std::set<std::pair<std::shared_ptr<Stream>, std::size_t>> work{};  ///< streams and numbers of its pieces in them
  std::jthread launcher{};                                           ///< carries out the last call
};

namespace {

/// The calls of a thread between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  std::vector<ncclComm*> made;
  std::map<ncclComm*, std::vector<std::pair<Operation, cudaStream_t>>> given;
};
thread_local Group group;

std::mutex cliques_mutex;
std::map<std::string, std::shared_ptr<Clique>> cliques;

void join_clique(ncclComm& comm) {
  Clique& clique = *comm.clique;
  std::unique_lock lock(clique.mutex);
  clique.joined.insert(comm.rank);
  clique.changed.notify_all();
  while ((static_cast<int>(clique.joined.size()) < clique.ranks || machine().nccl_stalls()) && !comm.ended)
    clique.changed.wait_for(lock, std::chrono::milliseconds(1));
  comm.state = comm.ended ? ncclInternalError : ncclSuccess;
}

const char* name_of(const Operation& operation) {
  if (!operation.op) return "gather";
  return operation.op == ncclSum ? "sum" : operation.op == ncclAvg ? "mean" : "product";
}

/// Once one part of a collective has begun, has the other parts' streams run theirs, too (Stream::want).
void want_all(Clique& clique, std::size_t number) {
  std::unique_lock lock(clique.mutex);
  Clique::Collective& collective = clique.collectives[number];
  collective.wanted = true;
  const auto parts = collective.parts;
  lock.unlock();
  for (const auto& [stream, count] : parts) stream->want(count);
}

/// Runs one rank's part in its stream: waits for the other ranks, like a kernel of NCCL.
void take_part(ncclComm& comm, const Operation& own, std::size_t number) {
  Clique& clique = *comm.clique;
  want_all(clique, number);
  std::unique_lock lock(clique.mutex);
  while (machine().nccl_stalls() && !comm.ended) clique.changed.wait_for(lock, std::chrono::milliseconds(1));
  Clique::Collective& collective = clique.collectives[number];
  collective.came[comm.rank] = own;
  if (!own.fits(collective.came.begin()->second)) clique.mismatched = true;  // NCCL would hang, or worse
  if (static_cast<int>(collective.came.size()) == clique.ranks && !clique.mismatched && !comm.ended) {
    machine().memory().access([&] { combine(collective.came); });
    collective.done = true;
    collective.parts.clear();
    clique.changed.notify_all();
  }
  while (!collective.done && !comm.ended) clique.changed.wait_for(lock, std::chrono::milliseconds(1));
}

void add_part(Clique& clique, std::size_t number, const std::shared_ptr<Stream>& stream, std::size_t piece) {
  std::unique_lock lock(clique.mutex);
  Clique::Collective& collective = clique.collectives[number];
  if (!collective.done) collective.parts.emplace_back(stream, piece);
  const bool wanted = collective.wanted;
  lock.unlock();
  if (wanted) stream->want(piece);
}

/// Adds the operations to their streams after the call has returned, like a non-blocking communicator.
void launch(ncclComm& comm, std::vector<std::pair<Operation, cudaStream_t>> operations) {
  comm.state = ncclInProgress;
  comm.launcher = std::jthread([&comm, operations = std::move(operations)] {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    while (machine().nccl_calls_stall() && !comm.ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (comm.ended) {
      comm.state = ncclInternalError;
      return;
    }
    for (const auto& [operation, handle] : operations) {
      const std::shared_ptr<Stream> stream = machine().stream(handle);
      const bool fits = stream && stream->device() == comm.device && !stream->captured &&
                        machine().memory().contains(operation.from) && machine().memory().contains(operation.to);
      if (!fits) {
        comm.state = ncclInvalidArgument;
        return;
      }
      const std::size_t number = comm.collectives++;
      const std::size_t piece =
          stream->give([&comm, operation = operation, number] { take_part(comm, operation, number); });
      comm.work.insert({stream, piece});
      add_part(*comm.clique, number, stream, piece);
    }
    comm.state = ncclSuccess;
  });
}

/// Waits until all work of the communicator is done.
void await_work(ncclComm& comm) {
  if (comm.launcher.joinable()) comm.launcher.join();
  for (const auto& [stream, count] : comm.work) stream->await(count);
  comm.work.clear();
}

ncclResult_t give(ncclComm* comm, const Operation& operation, cudaStream_t stream) {
  if (comm->state == ncclInProgress) return ncclInvalidUsage;  // the previous call is unfinished
  if (group.depth == 0) return ncclInvalidUsage;               // lockstep makes all its calls in groups
  group.given[comm].emplace_back(operation, stream);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> ids = 0;
  machine().enter("ncclGetUniqueId");
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "%d", ++ids);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  machine().enter("ncclCommInitRankConfig");
  if (config->blocking != 0 || group.depth == 0) return ncclInvalidUsage;
  auto* const comm = new ncclComm;
  {
    const std::lock_guard lock(cliques_mutex);
    std::shared_ptr<Clique>& clique = cliques[id.internal];
    if (!clique) clique = std::make_shared<Clique>(ranks);
    comm->clique = clique;
  }
  comm->rank = rank;
  cudaGetDevice(&comm->device);
  group.made.push_back(*made = comm);
  return ncclInProgress;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  machine().enter("ncclGroupEnd");
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, {});
  for (ncclComm* const comm : ended.made) comm->launcher = std::jthread([comm] { join_clique(*comm); });
  for (const auto& [comm, operations] : ended.given) {
    if (comm->rank == 0)
      for (const auto& [operation, stream] : operations)
        machine().note_collective({.elements = operation.count, .operation = name_of(operation)});
    launch(*comm, operations);
  }
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = machine().nccl_is_broken() ? ncclRemoteError : comm->state.load();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  machine().enter("ncclAllReduce");
  return give(comm, {from, to, count, type, op}, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  machine().enter("ncclAllGather");
  return give(comm, {from, to, count, type, {}}, stream);
}

extern "C" ncclResult_t ncclCommRevoke(ncclComm_t comm, int) {
  machine().enter("ncclCommRevoke");
  comm->ended = true;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  machine().enter("ncclCommAbort");
  comm->ended = true;
  await_work(*comm);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  machine().enter("ncclCommFinalize");
  comm->state = ncclInProgress;
  if (comm->launcher.joinable()) comm->launcher.join();
  comm->launcher = std::jthread([comm] {
    for (const auto& [stream, count] : comm->work) stream->await(count);
    comm->state = ncclSuccess;
  });
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  machine().enter("ncclCommDestroy");
  await_work(*comm);
  delete comm;
  return ncclSuccess;
}

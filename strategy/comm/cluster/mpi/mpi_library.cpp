#include "lockstep/strategy/comm/cluster/mpi/mpi_library.h"

#include <cstdlib>
#include <thread>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail<DeviceError>("{} failed: {}", call, std::string_view(text, static_cast<std::size_t>(length)));
}

std::shared_ptr<MpiLibrary> MpiLibrary::instance() {
  // Shared with clusters in other static objects, which may outlive this variable.
  static const std::shared_ptr<MpiLibrary> library(new MpiLibrary());
  return library;
}

MpiLibrary::MpiLibrary() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  int provided = MPI_THREAD_SINGLE;
  if (initialized) {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    // When a worker on another machine dies, Open MPI's TCP transport asks mpirun for help texts, which mpirun is too
    // busy to send. The thread would hang, and this worker would never report which worker died.
    ::setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    finish_ = true;
  }
  require<Unsupported>(provided >= MPI_THREAD_SERIALIZED,
                       "lockstep calls MPI from a thread of its own, which this MPI does not allow: initialize it with "
                       "MPI_Init_thread and MPI_THREAD_SERIALIZED, or leave that to lockstep");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &processes_), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
}

template <class Start>
void MpiLibrary::complete(const char* call, const Start& start, std::chrono::milliseconds timeout) {
  if (pending_ == MPI_REQUEST_NULL) {
    const std::lock_guard lock(mutex_);
    check_mpi(start(), call);
  }
  // The mutex is free between polls, so that other clusters make progress while this one waits for all processes.
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (int done = 0; !done; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    {
      const std::lock_guard lock(mutex_);
      check_mpi(MPI_Test(&pending_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    require<Timeout>(done || std::chrono::steady_clock::now() <= end,
                     "not all of {} workers made the strategy within {:.1f} s: all of them run the same program",
                     processes_, std::chrono::duration<double>(timeout).count());
  }
}

MPI_Comm MpiLibrary::communicator(int key, std::chrono::milliseconds timeout) {
  const std::lock_guard alone(one_call_);
  // MPI_Comm_split blocks until all processes call it. There are two barriers, so that if a process times out at the
  // first one, later processes time out at the second one instead of blocking in MPI_Comm_split.
  for (; barriers_ < 2; ++barriers_)
    complete(
        "MPI_Ibarrier", [&] { return MPI_Ibarrier(MPI_COMM_WORLD, &pending_); }, timeout);
  if (ordered_ == MPI_COMM_NULL) {
    const std::lock_guard lock(mutex_);
    check_mpi(MPI_Comm_split(MPI_COMM_WORLD, 0, key, &ordered_), "MPI_Comm_split");
    check_mpi(MPI_Comm_set_errhandler(ordered_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");  // copies inherit it
  }
  complete(
      "MPI_Comm_idup", [&] { return MPI_Comm_idup(ordered_, &copy_, &pending_); }, timeout);
  return copy_;
}

MpiLibrary::~MpiLibrary() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finish_ || finalized || pending_ != MPI_REQUEST_NULL) return;
  if (ordered_ != MPI_COMM_NULL) MPI_Comm_free(&ordered_);
  MPI_Finalize();
}

}  // namespace lockstep

#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace lockstep {

/// Calls MPI_Init_thread and MPI_Finalize for this process, unless the program has initialized MPI itself.
class MpiLibrary {
 public:
  /// The only instance. The first call waits, without a limit, until all processes have initialized MPI. Throws
  /// Unsupported when MPI does not allow calls from several threads, one at a time.
  static std::shared_ptr<MpiLibrary> instance();
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// A new communicator of all processes, which all of them must request. Ranks are in the order of `key`; only the key
  /// of the first call counts. Throws Timeout if not all processes request it within `timeout`; the next call then
  /// continues to wait for them.
  MPI_Comm communicator(int key, std::chrono::milliseconds timeout);
  ///@{
  /// Number of processes, and the rank of this one, in MPI_COMM_WORLD.
  int processes() const { return processes_; }
  int rank() const { return rank_; }
  ///@}
  /// Lock it while calling MPI.
  std::mutex& mutex() { return mutex_; }
  /// Skips MPI_Finalize, which would wait forever for a worker that does not reach it.
  void leave_unfinished() { finish_ = false; }

 private:
  MpiLibrary();
  /// Waits until all processes have joined the collective that `start` starts as pending_, or that an earlier call has
  /// started. Throws the same errors as communicator().
  template <class Start>
  void complete(const char* call, const Start& start, std::chrono::milliseconds timeout);

  std::mutex mutex_;
  bool finish_ = false;
  int processes_ = 1;
  int rank_ = 0;

  std::mutex one_call_;                     ///< held by communicator(); protects the following members
  MPI_Request pending_ = MPI_REQUEST_NULL;  ///< a collective that not all processes have joined
  int barriers_ = 0;                        ///< number of barriers that all processes have completed
  MPI_Comm ordered_ = MPI_COMM_NULL;        ///< communicator() returns copies of it
  MPI_Comm copy_ = MPI_COMM_NULL;
};

/// Throws DeviceError naming the call unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

}  // namespace lockstep

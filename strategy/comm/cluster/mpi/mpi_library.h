#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace lockstep {

/// Calls MPI_Init_thread and MPI_Finalize for this process, unless the program has called MPI_Init_thread itself.
class MpiLibrary {
 public:
  /// The only instance. Throws Unsupported when MPI does not allow calls from several threads, one at a time.
  static std::shared_ptr<MpiLibrary> instance();
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// A new communicator of all processes, which all of them must request. Ranks are in the order of `key`; only the key
  /// of the first call counts, which blocks until all processes make it. Later calls throw Timeout if not all processes
  /// make them within `timeout`.
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

  std::mutex mutex_;
  bool finish_ = false;
  int processes_ = 1;
  int rank_ = 0;
  MPI_Comm ordered_ = MPI_COMM_NULL;  ///< communicator() returns copies of it
};

/// Throws DeviceError naming the call unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

}  // namespace lockstep

#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace lockstep {

/// The MPI library in this process. If the program has not initialized MPI, calls MPI_Init_thread and MPI_Finalize.
class MpiLibrary {
 public:
  /// The only instance. The first call waits, without a time limit, until all processes have initialized MPI. Throws
  /// Unsupported if MPI provides less than MPI_THREAD_SERIALIZED.
  static std::shared_ptr<MpiLibrary> instance();
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// Returns a new communicator of all processes, which the caller must free. All processes must make this call. Ranks
  /// are in the order of `key`; only the key of the first call counts. Waits for all processes in up to three
  /// operations (two barriers in the first call, then a copy of the communicator). Throws Timeout if any of these
  /// operations takes longer than `timeout`; a later call resumes waiting for the same operation. Throws DeviceError if
  /// a call of MPI fails. If a call on MPI_COMM_WORLD fails, MPI by default ends the process instead; a program that
  /// sets MPI_ERRORS_RETURN prevents this.
  MPI_Comm communicator(int key, std::chrono::milliseconds timeout);
  ///@{
  /// Number of processes, and the rank of this process, in MPI_COMM_WORLD.
  int processes() const { return processes_; }
  int rank() const { return rank_; }
  ///@}
  /// Lock it while calling MPI.
  std::mutex& mutex() { return mutex_; }
  /// Makes the destructor skip MPI_Finalize, which would wait forever for a worker that does not call it.
  void leave_unfinished() { finish_ = false; }

 private:
  MpiLibrary();
  /// If no collective is pending, calls `start`, which starts one as pending_. Then waits until the pending collective
  /// is complete. Throws the same errors as communicator().
  template <class Start>
  void complete(const char* call, const Start& start, std::chrono::milliseconds timeout);

  std::mutex mutex_;
  bool finish_ = false;
  int processes_ = 1;
  int rank_ = 0;

  std::mutex one_call_;                     ///< held by communicator(); protects the following members
  MPI_Request pending_ = MPI_REQUEST_NULL;  ///< the collective that is not complete, if any
  int barriers_ = 0;                        ///< number of barriers that this process has completed, at most 2
  MPI_Comm ordered_ = MPI_COMM_NULL;        ///< communicator() returns copies of it
  MPI_Comm copy_ = MPI_COMM_NULL;
};

/// Throws DeviceError naming the call unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

}  // namespace lockstep

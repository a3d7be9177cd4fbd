#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace lockstep {

/// MPI in this process, from MPI_Init_thread to MPI_Finalize; in a program that has called the first itself, neither.
class MpiLibrary {
 public:
  /// The one there is. Throws Unsupported when MPI does not allow calls from several threads, one at a time.
  static std::shared_ptr<MpiLibrary> instance();
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// A communicator of its own for each caller: of all processes, whose ranks are in the order of `key`, which counts
  /// at the first call. All processes call it. Throws Timeout when they do not.
  MPI_Comm communicator(int key, std::chrono::milliseconds timeout);
  ///@{
  /// How many processes there are, and which one this is.
  int processes() const { return processes_; }
  int rank() const { return rank_; }
  ///@}
  /// Held by the thread that calls MPI.
  std::mutex& mutex() { return mutex_; }
  /// Some worker will not reach MPI_Finalize, which would wait for it.
  void leave_unfinished() { finish_ = false; }

 private:
  MpiLibrary();

  std::mutex mutex_;
  bool finish_ = false;
  int processes_ = 1;
  int rank_ = 0;
  MPI_Comm ordered_ = MPI_COMM_NULL;  ///< what others are copies of
};

/// Throws DeviceError naming the call unless it succeeded.
void check_mpi(int status, const char* call);

}  // namespace lockstep

// For worker programs under the thread sanitizer, which does not see MPI's reads and writes, as MPI is not built with
// it. These functions replace MPI's own and report to the sanitizer that a message's memory is read or written, both in
// the call that starts the message and in the call that finds it done. MPI may access the memory at any time between
// the two.

#include <cstddef>
#include <map>

#include <mpi.h>

// Functions of the sanitizer's runtime, which its headers do not declare.
extern "C" void __tsan_read_range(void* memory, unsigned long bytes);
extern "C" void __tsan_write_range(void* memory, unsigned long bytes);

namespace {

struct Message {
  void* memory;
  unsigned long bytes;
  void (*access)(void* memory, unsigned long bytes);
};

/// The messages that have been started and not been found done. Has no lock: lockstep must call MPI from one thread at
/// a time, and the sanitizer reports it if it does not. Never destroyed, since clusters may end after main.
std::map<MPI_Request, Message>& under_way() {
  static auto* const messages = new std::map<MPI_Request, Message>();
  return *messages;
}

unsigned long bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<unsigned long>(count) * static_cast<unsigned long>(size);
}

int started(int status, MPI_Request request, const Message& message) {
  if (status != MPI_SUCCESS || message.bytes == 0) return status;
  message.access(message.memory, message.bytes);
  // Short messages, which are done at once, may all have the same request.
  int ended = 0;
  PMPI_Request_get_status(request, &ended, MPI_STATUS_IGNORE);
  under_way().erase(request);
  if (!ended) under_way().emplace(request, message);
  return status;
}

}  // namespace

int MPI_Isend(const void* memory, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int status = PMPI_Isend(memory, count, type, target, tag, comm, request);
  return started(status, *request, {const_cast<void*>(memory), bytes_of(count, type), __tsan_read_range});
}

int MPI_Irecv(void* memory, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  const int status = PMPI_Irecv(memory, count, type, source, tag, comm, request);
  return started(status, *request, {memory, bytes_of(count, type), __tsan_write_range});
}

int MPI_Mrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const int result = PMPI_Mrecv(memory, count, type, message, status);
  __tsan_write_range(memory, bytes_of(count, type));
  return result;
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const MPI_Request tested = *request;
  const int result = PMPI_Test(request, done, status);
  const auto found = under_way().find(tested);
  if (result == MPI_SUCCESS && *done && found != under_way().end()) {
    const Message message = found->second;
    under_way().erase(found);
    message.access(message.memory, message.bytes);
  }
  return result;
}

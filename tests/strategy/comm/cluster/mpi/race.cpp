// Two workers with a race: while their memory is sent, or received into, a thread of the program writes there. The
// thread sanitizer must report it, although MPI does the sending and receiving: see support/mpi_accesses.cpp.

#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>

int main(int, char** arguments) {
  const std::shared_ptr<lockstep::Cluster> cluster = lockstep::join_cluster();
  if (!cluster) return std::puts("start this program with mpirun");
  std::vector<std::byte> sent(1 << 20);
  std::vector<std::byte> received(sent.size());
  std::byte& raced = std::string_view(arguments[1]) == "sent" ? sent[500'000] : received[500'000];
  std::thread other([&] { raced = std::byte{1}; });
  const std::vector<std::span<const std::byte>> to(2, sent);
  const std::vector<std::span<std::byte>> from(2, received);
  cluster->exchange("the race", to, from);
  other.join();
}

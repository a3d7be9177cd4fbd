#include "lockstep/strategy/comm/cluster/mpi/mpi_operation.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <lockstep/strategy/comm/cluster/mpi/mpi_library.h>

namespace lockstep {
namespace {

// Kinds of messages; MpiCluster uses the tags below first_tag.
constexpr int gather_kind = 0;
constexpr int exchange_kind = 1;
constexpr int first_tag = 10;
constexpr int kinds = 2;

/// Less than the 64 KiB up to which Open MPI sends a message over TCP at once. For a larger message, it waits for the
/// receiver's permission, which would queue behind all data in the other direction and so halve the throughput of a
/// link that is used in both directions.
constexpr std::size_t piece_bytes = 60000;
constexpr std::size_t pieces_at_a_time = 32;

std::string join_text(std::string_view place, std::string_view own) {
  const auto length = static_cast<std::uint32_t>(place.size());
  std::string message(sizeof(length), '\0');
  std::memcpy(message.data(), &length, sizeof(length));
  return message.append(place).append(own);
}

std::pair<std::string, std::string> split_text(const std::string& message) {
  std::uint32_t length = 0;
  std::memcpy(&length, message.data(), sizeof(length));
  return {message.substr(sizeof(length), length), message.substr(sizeof(length) + length)};
}

/// Tests each request separately, which sets finished requests to MPI_REQUEST_NULL.
void test_each(auto& requests) {
  for (MPI_Request& request : requests) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
}

}  // namespace

MPI_Request start_send(std::span<const std::byte> bytes, int worker, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, worker, tag, comm, &request),
            "MPI_Isend");
  // If the connection to a dead process breaks during a send, Open MPI 4.1 must poll its sockets before the next send
  // to that process. Otherwise it adds an event to libevent twice and never returns from a later call. Without other
  // connections, it polls in every eighth call only.
  int done = 0;
  for (int calls = 0; calls < 8 && !done; ++calls) check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return request;
}

void keep_for_sends(std::shared_ptr<const void> memory) {
  static auto* const kept = new std::vector<std::shared_ptr<const void>>();  // not destroyed before MPI's last call
  kept->push_back(std::move(memory));
}

std::string receive_text(MPI_Message message, const MPI_Status& status) {
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  check_mpi(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return text;
}

int MpiOperation::tag(int kind) const { return first_tag + static_cast<int>(channel_) * kinds + kind; }

MpiGather::MpiGather(const MpiPeers& peers, std::string_view place, std::string_view own, Channel channel)
    : MpiOperation(peers, place, channel),
      message_(std::make_shared<const std::string>(join_text(place, own))),
      sends_(static_cast<std::size_t>(peers.size), MPI_REQUEST_NULL),
      arrived_(static_cast<std::size_t>(peers.size)) {}

void MpiGather::start() {
  for (int worker = 0; worker < peers().size; ++worker) {
    if (worker == peers().rank) continue;
    sends_[static_cast<std::size_t>(worker)] =
        start_send(std::as_bytes(std::span(*message_)), worker, tag(gather_kind), peers().comm);
  }
  arrived_[static_cast<std::size_t>(peers().rank)] = *message_;
}

bool MpiGather::advance() {
  for (int worker = 0; worker < peers().size; ++worker) {
    if (arrived_[static_cast<std::size_t>(worker)]) continue;
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(worker, tag(gather_kind), peers().comm, &found, &message, &status), "MPI_Improbe");
    if (found) arrived_[static_cast<std::size_t>(worker)] = receive_text(message, status);
  }
  test_each(sends_);
  return awaited().empty();
}

std::vector<int> MpiGather::awaited() const {
  std::vector<int> workers;
  for (std::size_t worker = 0; worker < arrived_.size(); ++worker)
    if (!arrived_[worker] || sends_[worker] != MPI_REQUEST_NULL) workers.push_back(static_cast<int>(worker));
  return workers;
}

void MpiGather::cancel() {
  const bool sent = std::ranges::all_of(sends_, [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
  if (!sent) keep_for_sends(message_);
}

std::vector<std::string> MpiGather::places() const {
  std::vector<std::string> places;
  for (const auto& message : arrived_) places.push_back(split_text(message.value()).first);
  return places;
}

std::vector<std::string> MpiGather::texts() const {
  std::vector<std::string> texts;
  for (const auto& message : arrived_) texts.push_back(split_text(message.value()).second);
  return texts;
}

MpiExchange::MpiExchange(const MpiPeers& peers, std::string_view place, std::span<const std::span<const std::byte>> to,
                         std::span<const std::span<std::byte>> from, Channel channel)
    : MpiOperation(peers, place, channel) {
  // Each worker begins with its neighbor, so that the workers do not all send to the same worker first.
  for (int step = 1; step < peers.size; ++step) {
    const int target = (peers.rank + step) % peers.size;
    const int source = (peers.rank + peers.size - step) % peers.size;
    sends_.push_back({.peer = target, .left = to[static_cast<std::size_t>(target)]});
    receives_.push_back({.peer = source, .left = from[static_cast<std::size_t>(source)]});
  }
}

template <class Byte, class Post>
bool MpiExchange::move_on(std::vector<Stream<Byte>>& streams, const Post& post) {
  bool all = true;
  for (Stream<Byte>& stream : streams) {
    test_each(stream.under_way);
    pieces_done_ += std::erase(stream.under_way, MPI_REQUEST_NULL);
    while (!stream.left.empty() && stream.under_way.size() < pieces_at_a_time) {
      const std::span<Byte> piece = stream.left.first(std::min(piece_bytes, stream.left.size()));
      stream.left = stream.left.subspan(piece.size());
      post(piece, stream.peer, stream.under_way.emplace_back());
    }
    all = all && stream.under_way.empty();
  }
  return all;
}

bool MpiExchange::advance() {
  const bool received = move_on(receives_, [&](std::span<std::byte> piece, int source, MPI_Request& request) {
    check_mpi(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, source, tag(exchange_kind),
                        peers().comm, &request),
              "MPI_Irecv");
  });
  const bool sent = move_on(sends_, [&](std::span<const std::byte> piece, int target, MPI_Request& request) {
    request = start_send(piece, target, tag(exchange_kind), peers().comm);
  });
  return received && sent;
}

std::vector<int> MpiExchange::awaited() const {
  std::set<int> workers;
  for (const auto& stream : receives_)
    if (!stream.under_way.empty()) workers.insert(stream.peer);
  for (const auto& stream : sends_)
    if (!stream.under_way.empty()) workers.insert(stream.peer);
  return {workers.begin(), workers.end()};
}

void MpiExchange::cancel() {
  for (auto& stream : receives_)
    for (MPI_Request& request : stream.under_way) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

}  // namespace lockstep

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// The workers that exchange messages.
struct MpiPeers {
  MPI_Comm comm = MPI_COMM_NULL;  ///< its ranks are the workers' numbers
  int size = 0;                   ///< number of workers
  int rank = 0;                   ///< number of this worker
};

/// A collective between workers. After its construction only the MPI thread uses it until it is done.
class MpiOperation {
 public:
  /// Makes no MPI calls.
  MpiOperation(const MpiPeers& peers, std::string_view place, Channel channel)
      : peers_(peers), place_(place), channel_(channel) {}
  virtual ~MpiOperation() = default;
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;

  /// Posts the first messages.
  virtual void start() = 0;
  /// Advances without blocking. Returns true when the operation is complete.
  virtual bool advance() = 0;
  /// Workers whose messages to or from this worker are not complete. Empty once the operation is complete.
  virtual std::vector<int> awaited() const = 0;
  /// Ends the operation early, after a failure of the cluster.
  virtual void cancel() = 0;
  /// Number of messages completed so far; 0 if the operation does not count them.
  virtual std::size_t progress() const { return 0; }

  ///@{
  /// The place and channel of the operation; see Cluster.
  const std::string& place() const { return place_; }
  Channel channel() const { return channel_; }
  ///@}

  std::optional<std::chrono::steady_clock::time_point> started{};  ///< when start() was called
  bool done = false;                                               ///< whether advance() has returned true

 protected:
  /// The workers with which the operation exchanges messages.
  const MpiPeers& peers() const { return peers_; }
  /// MPI tag of a kind of message in this channel.
  int tag(int kind) const;

 private:
  MpiPeers peers_;
  std::string place_;
  Channel channel_;
};

/// Sends a text from each worker to every other one.
class MpiGather final : public MpiOperation {
 public:
  /// `own` is this worker's text.
  MpiGather(const MpiPeers& peers, std::string_view place, std::string_view own, Channel channel);

  void start() override;
  bool advance() override;
  std::vector<int> awaited() const override;
  /// Keeps the text for sends that are not complete.
  void cancel() override;

  ///@{
  /// Each worker's place and text, in worker order. Precondition: the operation is complete.
  std::vector<std::string> places() const;
  std::vector<std::string> texts() const;
  ///@}

 private:
  std::shared_ptr<const std::string> message_;
  std::vector<MPI_Request> sends_;                   ///< by worker
  std::vector<std::optional<std::string>> arrived_;  ///< by worker
};

/// Sends memory from each worker to every other one, in pieces. At most 32 pieces at a time are in transit to each
/// worker and from each.
class MpiExchange final : public MpiOperation {
 public:
  /// Sends `to[w]` to worker w and receives `from[w]` from it. The memory must outlive this.
  MpiExchange(const MpiPeers& peers, std::string_view place, std::span<const std::span<const std::byte>> to,
              std::span<const std::span<std::byte>> from, Channel channel);

  void start() override {}
  bool advance() override;
  std::vector<int> awaited() const override;
  /// Cancels receives, so that late messages do not write to the caller's memory. MPI may still read the memory of
  /// sends that are not complete.
  void cancel() override;
  std::size_t progress() const override { return pieces_done_; }

 private:
  /// The memory that is sent to or received from one worker.
  template <class Byte>
  struct Stream {
    int peer = 0;
    std::span<Byte> left{};               ///< bytes that no message has been posted for
    std::deque<MPI_Request> under_way{};  ///< posted messages, in order
  };
  /// Removes completed messages and posts new ones. Returns whether all are complete.
  template <class Byte, class Post>
  bool move_on(std::vector<Stream<Byte>>& streams, const Post& post);

  std::vector<Stream<const std::byte>> sends_{};
  std::vector<Stream<std::byte>> receives_{};
  std::size_t pieces_done_ = 0;
};

/// Starts to send `bytes`, which must not change until the returned request is complete. Returns MPI_REQUEST_NULL if
/// the send is already complete.
MPI_Request start_send(std::span<const std::byte> bytes, int worker, int tag, MPI_Comm comm);

/// Keeps memory that MPI may still read, because a send from it has not completed, until the process ends. MPI cannot
/// cancel sends. Call it with MpiLibrary::mutex() locked.
void keep_for_sends(std::shared_ptr<const void> memory);

/// Receives the text of a message that MPI_Improbe has found.
std::string receive_text(MPI_Message message, const MPI_Status& status);

}  // namespace lockstep

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {

/// The workers, and this one's number.
struct MpiPeers {
  MPI_Comm comm = MPI_COMM_NULL;  ///< whose ranks the numbers are
  int size = 0;                   ///< how many there are
  int rank = 0;                   ///< of this one
};

/// What workers do together and wait for. A caller makes it; from then until it is done only the thread of MPI uses it.
class MpiOperation {
 public:
  /// Calls nothing of MPI's.
  MpiOperation(const MpiPeers& peers, std::string_view place, Channel channel)
      : peers_(peers), place_(place), channel_(channel) {}
  virtual ~MpiOperation() = default;
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;

  /// Posts the messages.
  virtual void start() = 0;
  /// Moves on; true at the end.
  virtual bool advance() = 0;
  /// The workers that it waits for: that have something to send yet, or to receive. Empty once it is done.
  virtual std::vector<int> awaited() const = 0;
  /// Takes its memory away from messages that may yet come.
  virtual void cancel() {}
  /// How often something has come or gone since it began.
  virtual std::size_t progress() const { return 0; }

  ///@{
  /// What it is part of.
  const std::string& place() const { return place_; }
  Channel channel() const { return channel_; }
  ///@}

  std::optional<std::chrono::steady_clock::time_point> started{};  ///< when it began
  bool done = false;                                               ///< whether advance() has reached the end

 protected:
  /// Whom its messages go to.
  const MpiPeers& peers() const { return peers_; }
  /// The tag of a kind of messages in this channel.
  int tag(int kind) const;

 private:
  MpiPeers peers_;
  std::string place_;
  Channel channel_;
};

/// A text from each worker to each other one.
class MpiGather final : public MpiOperation {
 public:
  /// `own` is this worker's.
  MpiGather(const MpiPeers& peers, std::string_view place, std::string_view own, Channel channel);

  void start() override;
  bool advance() override;
  std::vector<int> awaited() const override;

  ///@{
  /// Of each worker: where it is, and its text. Once it is done.
  std::vector<std::string> places() const;
  std::vector<std::string> texts() const;
  ///@}

 private:
  std::string message_;
  std::vector<MPI_Request> sends_;                   ///< by worker
  std::vector<std::optional<std::string>> arrived_;  ///< by worker
};

/// Memory from each worker to each other one. Goes in pieces, some at a time to each and from each.
class MpiExchange final : public MpiOperation {
 public:
  /// By worker: what it is sent, and where its own goes. Both outlive this.
  MpiExchange(const MpiPeers& peers, std::string_view place, std::span<const std::span<const std::byte>> to,
              std::span<const std::span<std::byte>> from, Channel channel);

  void start() override {}
  bool advance() override;
  std::vector<int> awaited() const override;
  void cancel() override;
  std::size_t progress() const override { return pieces_done_; }

 private:
  /// What one worker is sent, or sends.
  template <class Byte>
  struct Stream {
    int peer = 0;
    std::span<Byte> left{};               ///< no message has been posted for yet
    std::deque<MPI_Request> under_way{};  ///< in order
  };
  /// Takes what has ended out, and posts what there is room for. Whether all has ended.
  template <class Byte, class Post>
  bool move_on(std::vector<Stream<Byte>>& streams, const Post& post);

  std::vector<Stream<const std::byte>> sends_{};
  std::vector<Stream<std::byte>> receives_{};
  std::size_t pieces_done_ = 0;
};

/// The text of a message that a matched probe has found.
std::string receive_text(MPI_Message message, const MPI_Status& status);

}  // namespace lockstep

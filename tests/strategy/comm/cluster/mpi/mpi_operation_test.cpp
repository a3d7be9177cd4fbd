#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/strategy/comm/cluster/mpi/mpi_library.h>
#include <lockstep/strategy/comm/cluster/mpi/mpi_operation.h>

// Messages between two workers started by mpirun, without the thread that otherwise drives progress.

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr auto limit = std::chrono::seconds(60);

// The first test: the first call differs from later ones.
TEST(MpiLibrary, ACallThatTheOthersDoNotMakeTimesOutAndTheNextOneContinues) {
  const std::shared_ptr<MpiLibrary> library = MpiLibrary::instance();
  const int rank = library->rank();
  const auto time_out = [&](int caller) {
    if (rank == caller) {
      EXPECT_THAT([&] { library->communicator(rank, std::chrono::milliseconds(200)); },
                  ThrowsMessage<Timeout>(HasSubstr("not all of 2 workers made the strategy within 0.2 s")));
    }
    MPI_Sendrecv(nullptr, 0, MPI_CHAR, 1 - rank, 0, nullptr, 0, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);  // waits for the other worker
  };
  const auto expect_all_join = [&] {
    MPI_Comm all = library->communicator(rank, limit);
    int rank_in_all = -1;
    MPI_Comm_rank(all, &rank_in_all);
    EXPECT_EQ(rank_in_all, rank);
    MPI_Comm_free(&all);
  };
  time_out(0);
  time_out(1);  // without worker 0, which has made its call but does not wait any longer
  expect_all_join();
  time_out(0);
  expect_all_join();
}

class MpiOperations : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(library_->processes(), 2) << "start this program with mpirun"; }

  void TearDown() override { MPI_Comm_free(&peers_.comm); }

  /// Whether the condition became true in time.
  static bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  /// Whether both workers reached the barrier.
  bool reach_barrier() {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(peers_.comm, &request), "MPI_Ibarrier");
    return until([&] {
      int done = 0;
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
  }

  const std::shared_ptr<MpiLibrary> library_ = MpiLibrary::instance();
  MpiPeers peers_{.comm = library_->communicator(0, limit), .size = library_->processes(), .rank = library_->rank()};
  const int other_ = 1 - peers_.rank;
};

TEST_F(MpiOperations, AGatherWaitsForThoseThatHaveNotTakenItsText) {
  const std::string large(8 << 20, 'x');  // MPI sends so large a message only once its receiver requests it
  MpiGather gather(peers_, "here", peers_.rank == 0 ? large : "small", Channel::steps);
  gather.start();
  EXPECT_TRUE(reach_barrier());
  if (peers_.rank == 0) {
    for (int turn = 0; turn < 1000; ++turn) ASSERT_FALSE(gather.advance());
    EXPECT_THAT(gather.awaited(), ElementsAre(other_));
  }
  EXPECT_TRUE(reach_barrier());
  EXPECT_TRUE(until([&] { return gather.advance(); }));
  EXPECT_THAT(gather.awaited(), IsEmpty());
  EXPECT_THAT(gather.texts(), ElementsAre(large, "small"));
}

TEST_F(MpiOperations, AGatherThatIsCancelledKeepsItsTextForItsReceiver) {
  const std::string large(8 << 20, 'x');
  if (peers_.rank == 0) {
    MpiGather gather(peers_, "here", large, Channel::steps);
    gather.start();
    gather.cancel();
  } else {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Mprobe(0, MPI_ANY_TAG, peers_.comm, &message, &status), "MPI_Mprobe");
    EXPECT_TRUE(receive_text(message, status).ends_with(large));
  }
  EXPECT_TRUE(reach_barrier());
}

}  // namespace
}  // namespace lockstep

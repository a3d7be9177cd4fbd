#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/strategy/comm/cluster/mpi/mpi_library.h>
#include <lockstep/strategy/comm/cluster/mpi/mpi_operation.h>

// The messages of two workers that mpirun has started, without the thread that moves them on otherwise.

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto limit = std::chrono::seconds(60);

class MpiOperations : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(library_->processes(), 2) << "start this program with mpirun"; }

  void TearDown() override { MPI_Comm_free(&peers_.comm); }

  /// Whether it came true in time.
  static bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  /// Whether both workers came here.
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
  const std::string large(8 << 20, 'x');  // no MPI sends that before its receiver asks for it
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

}  // namespace
}  // namespace lockstep

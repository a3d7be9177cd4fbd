#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/copy.h>
#include <lockstep/runtime/memory/uploads.h>

namespace lockstep {
namespace {

using contracts::MemoryRange;
using contracts::Owner;
using testing::HasSubstr;
using testing::IsEmpty;

const LogicalDevice gpu{DeviceKind::gpu, 50};
const LogicalDevice other_gpu{DeviceKind::gpu, 51};

class Contracts : public testing::Test {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override {
    end();
    contracts::finished(gpu);
  }
  void begin() { contracts::begin_block(this, gpu, block_.data(), block_.size()); }
  void end() { contracts::end_block(this, block_.data()); }

  /// Returns the error; empty if there is none.
  static std::string check(const MemoryRange& range, StreamKind stream = StreamKind::compute,
                           Owner owner = Owner::own_gpu, const LogicalDevice& of = gpu) {
    try {
      contracts::check("a kernel", {of, stream}, {range}, owner);
      return "";
    } catch (const BrokenInvariant& error) {
      return error.what();
    }
  }
  /// Makes `later` wait for an event recorded in `earlier` now.
  static void order(StreamKind earlier, StreamKind later) {
    contracts::put_after({gpu, later}, contracts::clock_of({gpu, earlier}));
  }

  alignas(64) std::array<std::byte, 256> block_{};
  const MemoryRange all_{block_.data(), block_.size()};
  const MemoryRange first_{block_.data(), 100};
  const MemoryRange second_{block_.data() + 100, 156};
};

TEST_F(Contracts, WhatLiesWithinABlockIsTaken) {
  EXPECT_THAT(check({block_.data(), 256, 64}), IsEmpty());
  EXPECT_THAT(check({block_.data() + 16, 240, 16}), IsEmpty());
  EXPECT_THAT(check({nullptr, 0}), IsEmpty()) << "nothing";
}

TEST_F(Contracts, ATooSmallBlockIsNamed) {
  const void* const begin = block_.data() + 200;
  EXPECT_EQ(check({begin, 60}),
            fmt::format("a kernel on GPU:50 is given 60 bytes at {}, in a block of 256 bytes of GPU:50, of which 4 are "
                        "behind its end",
                        begin));
}

TEST_F(Contracts, AnAddressThatIsNotAlignedIsNamed) {
  EXPECT_THAT(check({block_.data() + 4, 16, 16}), HasSubstr("of 256 bytes of GPU:50, not aligned to 16"));
}

TEST_F(Contracts, ABlockThatIsNotLiveIsNamed) {
  end();
  EXPECT_THAT(check(first_), HasSubstr("100 bytes at 0x"));
  EXPECT_THAT(check(first_), HasSubstr(", where no block is live"));
  begin();
  EXPECT_THAT(check(first_), IsEmpty());
}

TEST_F(Contracts, ABlockOfAnotherGpuIsNamedUnlessItMayBe) {
  EXPECT_THAT(check(first_, StreamKind::compute, Owner::own_gpu, other_gpu),
              HasSubstr("a kernel on GPU:51 is given 100 bytes at 0x"));
  EXPECT_THAT(check(first_, StreamKind::compute, Owner::own_gpu, other_gpu),
              HasSubstr("in a block of 256 bytes of GPU:50, not its own"));
  EXPECT_THAT(check(first_, StreamKind::compute, Owner::any_gpu, other_gpu), IsEmpty());
}

TEST_F(Contracts, ABlockWithinAnothersIsThatOthers) {
  contracts::begin_block(nullptr, other_gpu, first_.begin, first_.bytes);
  EXPECT_THAT(check(all_), IsEmpty());
  contracts::end_block(nullptr, first_.begin);
  EXPECT_THAT(check(all_), IsEmpty());
}

TEST_F(Contracts, ABlockIsTheComputeStreamsUntilAnotherWaitsForAnEvent) {
  for (const StreamKind stream : {StreamKind::communication, StreamKind::input}) {
    EXPECT_THAT(check(first_, stream),
                HasSubstr("stream, which waits for no event after the use by its compute stream"));
    order(StreamKind::compute, stream);
    EXPECT_THAT(check(first_, stream), IsEmpty());
    order(stream, StreamKind::compute);
  }
}

TEST_F(Contracts, WhatIsComputedThereAfterTheEventIsNotOrdered) {
  const contracts::Clock computed = contracts::clock_of({gpu});
  EXPECT_THAT(check(first_), IsEmpty());
  contracts::put_after({gpu, StreamKind::communication}, computed);
  EXPECT_THAT(check(second_, StreamKind::communication), IsEmpty());
  EXPECT_THAT(check(all_, StreamKind::communication), HasSubstr("in its communication stream"));
}

TEST_F(Contracts, ComputingWaitsForAnEventOfAnotherStream) {
  order(StreamKind::compute, StreamKind::input);
  EXPECT_THAT(check(first_, StreamKind::input), IsEmpty());
  EXPECT_THAT(check(second_), IsEmpty()) << "not touched by the input stream";
  EXPECT_THAT(check(all_),
              HasSubstr("in its compute stream, which waits for no event after the use by its input stream"));
  order(StreamKind::input, StreamKind::compute);
  EXPECT_THAT(check(all_), IsEmpty());
}

TEST_F(Contracts, WhatTheHostHasWaitedForIsBeforeAll) {
  order(StreamKind::compute, StreamKind::input);
  EXPECT_THAT(check(first_, StreamKind::input), IsEmpty());
  contracts::reached(gpu, contracts::clock_of({gpu, StreamKind::input}));
  EXPECT_THAT(check(first_), IsEmpty());
  EXPECT_THAT(check(first_, StreamKind::communication), Not(IsEmpty()));
  contracts::finished(gpu);
  EXPECT_THAT(check(first_, StreamKind::communication), IsEmpty());
}

TEST_F(Contracts, OrderIsPassedOnFromStreamToStream) {
  order(StreamKind::compute, StreamKind::input);
  EXPECT_THAT(check(first_, StreamKind::input), IsEmpty());
  order(StreamKind::input, StreamKind::communication);
  EXPECT_THAT(check(first_, StreamKind::communication), IsEmpty());
  order(StreamKind::communication, StreamKind::compute);
  EXPECT_THAT(check(all_), IsEmpty());
}

TEST_F(Contracts, ABlockThatIsGivenBackWhileAStreamUsesItIsNotYetTheNextOnes) {
  order(StreamKind::compute, StreamKind::input);
  EXPECT_THAT(check(first_, StreamKind::input), IsEmpty());
  end();
  begin();
  EXPECT_THAT(check(second_), IsEmpty());
  EXPECT_THAT(check(first_), HasSubstr("waits for no event after the use by its input stream"));
  order(StreamKind::input, StreamKind::compute);
  EXPECT_THAT(check(first_), IsEmpty());
}

/// Checks that the runtime itself makes.
class CheckedMemory : public testing::Test {
 protected:
  std::shared_ptr<Buffer> block(std::size_t bytes) const { return allocator_->allocate(bytes); }

  const std::shared_ptr<CachingAllocator> allocator_ =
      std::make_shared<CachingAllocator>(gpu, gpu_platform().memory(gpu));
  const std::array<char, 2048> here_{};
};

TEST_F(CheckedMemory, CopiesKeepWithinBlocksThatAreLive) {
  auto there = block(1024);
  void* const memory = there->data();
  EXPECT_NO_THROW(copy_bytes(memory, gpu, here_.data(), {}, 1024));
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { copy_bytes(memory, gpu, here_.data(), {}, 1025); }),
              HasSubstr("a copy on GPU:50 is given 1025 bytes"));
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { clear_bytes(memory, other_gpu, 1); }),
              HasSubstr("clear_bytes on GPU:51 is given 1 bytes"));
  there.reset();
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { clear_bytes(memory, gpu, 1024); }), HasSubstr("no block is live"));
}

TEST_F(CheckedMemory, UploadsKeepWithinBlocksAndAreThereAfterTheirEvent) {
  Uploads uploads(gpu);
  const auto there = block(1024);
  const auto begin = [&](std::size_t bytes) {
    const Upload upload{there->data(), here_.data(), bytes};
    return uploads.begin(std::span(&upload, 1));
  };
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { begin(1025); }), HasSubstr("an upload on GPU:50"));
  const auto arrived = begin(1024);
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { clear_bytes(there->data(), gpu, 1024); }),
              HasSubstr("waits for no event after the use by its input stream"));
  Stream{gpu}.wait(*arrived);
  EXPECT_NO_THROW(clear_bytes(there->data(), gpu, 1024));
}

}  // namespace
}  // namespace lockstep

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

TEST(Error, RequireThrowsOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "never"));
  EXPECT_THAT([] { require<Unsupported>(false, "no {} on {}", "conv", 7); },
              testing::ThrowsMessage<Unsupported>("no conv on 7"));
}

TEST(Error, IsInvalidArgumentUnlessSaidOtherwise) {
  EXPECT_THROW(require(false, "x"), InvalidArgument);
  EXPECT_THROW(fail("x"), InvalidArgument);
  EXPECT_THROW(fail<Timeout>("x"), Timeout);
}

TEST(Error, KnowsThePlaceThatFoundIt) {
  const unsigned line = __LINE__ + 2;
  try {
    fail<InputError>("broken");
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line(), line);
    EXPECT_TRUE(std::string(error.where().file_name()).ends_with("error_test.cpp"));
  }
}

TEST(Error, KeepsItsTypeWhenContextIsAdded) {
  const auto with_context = [] {
    try {
      fail<OutOfMemory>("no memory");
    } catch (Error& error) {
      error.add_context("conv2d");
      error.add_context("replica 1");
      error.add_context("replica 1");  // to an exception object that is rethrown
      throw;
    }
  };
  EXPECT_THAT(with_context, testing::ThrowsMessage<OutOfMemory>("replica 1: conv2d: no memory"));
}

TEST(Error, OfADeviceNamesTheOpOnce) {
  const auto in_op = [](const auto& compute) {
    try {
      compute();
    } catch (Error& error) {
      rethrow_from("conv2d", error);
    }
  };
  EXPECT_THAT([&] { in_op([] { fail<DeviceError>("no GPU"); }); },
              testing::ThrowsMessage<DeviceError>("conv2d: no GPU"));
  EXPECT_THAT([&] { in_op([&] { in_op([] { fail<OutOfMemory>("no memory"); }); }); },
              testing::ThrowsMessage<OutOfMemory>("conv2d: no memory"));
  EXPECT_THAT([&] { in_op([] { fail<Unsupported>("conv2d_transpose: no"); }); },
              testing::ThrowsMessage<Unsupported>("conv2d: conv2d_transpose: no"));
  EXPECT_THAT([&] { in_op([] { fail("conv2d takes f32"); }); },
              testing::ThrowsMessage<InvalidArgument>("conv2d takes f32"));
}

TEST(Error, IsOneLineWhateverItQuotes) {
  const auto quoting = [] {
    try {
      fail<InputError>("no layer '{}'", "a\nb\r\x1b[2J\x7f");
    } catch (Error& error) {
      error.add_context("model\n.h5");
      throw;
    }
  };
  EXPECT_THAT(quoting, testing::ThrowsMessage<InputError>("model\\n.h5: no layer 'a\\nb\\x0d\\x1b[2J\\x7f'"));
}

}  // namespace
}  // namespace lockstep

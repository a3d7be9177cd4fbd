#pragma once

#include <gmock/gmock.h>
#include <support/errors.h>

/// Expects `statement` to throw `E` with a message that contains `text`.
#define EXPECT_ERROR(E, text, statement) \
  EXPECT_THAT(::lockstep::test::error_of<E>([&] { statement; }), ::testing::HasSubstr(text))

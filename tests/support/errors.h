#pragma once

#include <string>

#include <gtest/gtest.h>

namespace lockstep::test {

/// The message of the error of type E that `action` throws; fails the test if it throws nothing or another type.
template <class E, class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace lockstep::test

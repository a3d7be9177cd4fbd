#include "lockstep/runtime/data/element_error.h"

#include <source_location>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::detail {
namespace {

[[noreturn]] void throw_around_it(std::string message) {
  std::throw_with_nested(InputError(std::move(message), std::source_location::current()));
}

}  // namespace

std::exception_ptr with_context(std::string_view context) noexcept {
  try {
    try {
      throw;
    } catch (Error& error) {
      error.add_context(std::string(context));
      throw;
    } catch (const std::exception& error) {
      throw_around_it(fmt::format("{}: {}", context, error.what()));
    } catch (...) {
      throw_around_it(fmt::format("{}: an exception of unknown type", context));
    }
  } catch (...) {
    return std::current_exception();
  }
}

std::exception_ptr with_element(std::string_view stage, std::int64_t number) noexcept {
  try {
    return with_context(fmt::format("{}, element {}", stage, number));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace lockstep::detail

#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>

// Stores values that differ from call to call, such as keys of random numbers, so that a function passed to
// recompute_grad gets the same ones when a tape calls it again.

namespace lockstep {

/// Nesting depth of the calling thread's repeated calls of functions passed to recompute_grad; 0 outside such calls.
int recomputing_depth();
/// Whether the calling thread is in a repeated call of a function passed to recompute_grad.
inline bool is_recomputing() { return recomputing_depth() > 0; }

/// The values stored for a function passed to recompute_grad, in the order in which its first call requested them.
using RepeatedValues = std::vector<std::shared_ptr<std::any>>;

/// The place of a value in a RepeatedValuesScope.
struct RepeatedSlot {
  std::shared_ptr<std::any> value;  ///< empty until the first call has made it
  bool again;                       ///< whether this is a repeated call of the function
};
/// The place of the next value in each open scope of the calling thread, the outermost scope first. Throws LogicError
/// if a repeated call of a function requests more values than its first call.
std::vector<RepeatedSlot> next_repeated_slots();
/// Calls `make` as if no RepeatedValuesScope were open.
std::any made_outside(const std::function<std::any()>& make);

/// Lasts while the calling thread calls a function passed to recompute_grad. Scopes nest.
class RepeatedValuesScope {
 public:
  /// `again`: whether the call is a repeated one. The first call appends its values to `values`, repeated calls read
  /// them.
  RepeatedValuesScope(RepeatedValues& values, bool again);
  ~RepeatedValuesScope();
  RepeatedValuesScope(const RepeatedValuesScope&) = delete;
  RepeatedValuesScope& operator=(const RepeatedValuesScope&) = delete;

 private:
  friend std::vector<RepeatedSlot> next_repeated_slots();
  friend int recomputing_depth();

  RepeatedValues& values_;
  bool again_;
  std::size_t given_ = 0;
};

/// Returns the function to use in place of `make`, whose results differ from call to call. In the first call of a
/// function passed to recompute_grad, returns a function that calls `make` and stores the result. In a repeated call,
/// returns a function that returns the result stored last, and throws LogicError if that result is not a T. The
/// returned function may outlive these calls, as in GpuCapture::each_time. Elsewhere, returns `make`.
template <class T>
std::function<T()> repeated_function(std::function<T()> make) {
  for (const RepeatedSlot& slot : next_repeated_slots()) {
    if (slot.again)
      make = [value = slot.value] {
        const T* const drawn = std::any_cast<T>(value.get());
        require<LogicError>(drawn != nullptr,
                            "a function of recompute_grad drew a number or state of another kind when it was called "
                            "again: it must do the same each time");
        return *drawn;
      };
    else
      make = [value = slot.value, make = std::move(make)] {
        *value = made_outside(make);
        return std::any_cast<T>(*value);
      };
  }
  return make;
}

/// Returns make(). In a repeated call of a function passed to recompute_grad, instead returns the value that the
/// corresponding call of `repeated` returned in the first call.
template <class Make>
auto repeated(Make make) {
  return repeated_function(std::function<std::invoke_result_t<Make>()>(std::move(make)))();
}

}  // namespace lockstep

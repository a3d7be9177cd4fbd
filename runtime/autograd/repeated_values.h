#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>

// Values that differ from call to call, such as keys of random numbers, in functions that tapes call again
// (recompute_grad).

namespace lockstep {

/// How many functions of recompute_grad, each called in the one before it, the calling thread calls again.
int recomputing_depth();
/// Whether the calling thread calls a function of recompute_grad again.
inline bool is_recomputing() { return recomputing_depth() > 0; }

/// The values of a function of recompute_grad, in the order in which its first call asked for them.
using RepeatedValues = std::vector<std::shared_ptr<std::any>>;

/// The place of a value in a RepeatedValuesScope.
struct RepeatedSlot {
  std::shared_ptr<std::any> value;  ///< empty until the first call has made it
  bool again;                       ///< whether the function is called again
};
/// The place of the next value in each open scope of the calling thread, the outermost scope first. Throws LogicError
/// if a function that is called again asks for more values than in its first call.
std::vector<RepeatedSlot> next_repeated_slots();
/// Calls `make` as if no scope were open.
std::any made_outside(const std::function<std::any()>& make);

/// A call of a function of recompute_grad on the calling thread. Calls nest.
class RepeatedValuesScope {
 public:
  /// `again`: the call gets `values`; otherwise it is the first call, which adds its values to them.
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

/// A function for use in place of `make`, whose results differ. If a function of recompute_grad is called again, it
/// returns the latest result of the function that the first call got. It may also be called later, by
/// GpuCapture::each_time.
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

/// make() or, if a function of recompute_grad is called again, what it returned in the first call.
template <class Make>
auto repeated(Make make) {
  return repeated_function(std::function<std::invoke_result_t<Make>()>(std::move(make)))();
}

}  // namespace lockstep

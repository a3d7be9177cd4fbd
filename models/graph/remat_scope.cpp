#include "lockstep/models/graph/remat_scope.h"

#include <atomic>

namespace lockstep {
namespace {

thread_local std::uint64_t outermost_remat_scope = 0;

std::uint64_t next_remat_scope() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

RematScope::RematScope() : number_(next_remat_scope()), outermost_(outermost_remat_scope == 0) {
  if (outermost_) outermost_remat_scope = number_;
}

RematScope::~RematScope() {
  if (outermost_) outermost_remat_scope = 0;
}

std::uint64_t RematScope::current() { return outermost_remat_scope; }

}  // namespace lockstep

#include "lockstep/models/data/token_ids.h"

#include <lockstep/runtime/core/error.h>

namespace lockstep {

std::vector<std::int64_t> token_ids(const Tensor& ids, std::int64_t size) {
  require(ids.defined() && ids.rank() == 1 && (ids.dtype() == DType::i32 || ids.dtype() == DType::i64),
          "ids to decode must be i32 or i64 of shape (n), got {}", ids);
  std::vector<std::int64_t> values = ids.to_vector<std::int64_t>();
  for (const std::int64_t id : values)
    require(id >= 0 && id < size, "id {} is not in the vocabulary, which has the ids 0 to {}", id, size - 1);
  return values;
}

}  // namespace lockstep

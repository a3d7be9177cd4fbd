#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/random/random.h>

// The calls of random ops of random_interop.py.

namespace lockstep {

using NextKey = std::function<RandomKey()>;

inline std::map<std::string, std::function<Tensor(const NextKey& next_key)>> random_ops() {
  constexpr std::int64_t draws = 100'000;
  constexpr float never = -std::numeric_limits<float>::infinity();
  const Tensor logits = Tensor::from(std::vector<float>{0, 1, -1, 0.5, 2, 0, never, 0}, {2, 4});
  return {{"normal", [](const NextKey& key) { return normal({draws}, 1, 0.5, key); }},
          {"truncated_normal", [](const NextKey& key) { return truncated_normal({draws}, 1, 0.5, key); }},
          {"uniform", [](const NextKey& key) { return uniform({draws}, -2, 1, key); }},
          {"randint", [](const NextKey& key) { return randint({draws}, 3, 20, key); }},
          {"binomial", [](const NextKey& key) { return binomial({draws}, 5, 0.25, key); }},
          {"categorical", [=](const NextKey& key) { return categorical(logits, draws / 2, key); }},
          {"shuffle", [](const NextKey& key) { return shuffle(arange(draws), key); }},
          {"dropout", [](const NextKey& key) { return dropout(Tensor::full({draws}, 1), 0.25F, key); }}};
}

}  // namespace lockstep

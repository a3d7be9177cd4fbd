#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

// Names that the snippets on the reference's pages use for the reader's own code. Snippets are compiled but not run, so
// that nothing here needs a definition.

namespace snippets {

using namespace lockstep;

extern MirroredStrategy strategy;
extern Model model;
extern SGD optimizer;
extern SparseCategoricalCrossentropy cross_entropy;
extern Tensor x, y, value, queries, keys, query, key, bias, mask, a, b, indices, labels, rows, segments, places, values,
    weight;
extern std::int64_t n;
extern Dataset train, test;
extern DistributedBatch batch;
extern Layer shared_lstm;
extern Symbol tweet, sequence, memory, marks, ids, readings;
extern Estimator::InputFunction input_fn, eval_input_fn;
extern int epochs;

Model make_model();
Example prepare(const Example& example);
void train_step(const DistributedBatch& batch);

}  // namespace snippets

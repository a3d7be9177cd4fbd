#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/strategies/verify.h>

// Tables trained with sparse gradients of the rows that steps look up, compared with tables trained with dense
// gradients.

namespace lockstep {
namespace {

using test::this_replica;

struct Case {
  std::string name;
  std::function<Optimizer()> make;
};

class TableTraining : public testing::TestWithParam<std::tuple<int, Case>> {
 protected:
  const int replicas_ = std::get<0>(GetParam());
  const MirroredStrategy strategy_ = test::mirrored(replicas_);

  std::vector<Variable> make_variables() const {
    const auto inside = strategy_.scope();
    return {test::variable_of("table", test::random_tensor({11, 4}, 1)),
            test::variable_of("kernel", test::random_tensor({4}, 2))};
  }

  /// Ids of replica r in step `step`: some occur twice, and the last replica has none in odd steps.
  Tensor loss(const std::vector<Variable>& variables, int step) const {
    const std::int64_t count = step % 2 == 1 && this_replica() == replicas_ - 1 ? 0 : 6;
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back((i * i + this_replica() + step) % 11);
    const Tensor rows = embedding_lookup(variables[0].value(), Tensor::from(ids, {count}));
    return sum(square(rows * variables[1].value()));
  }
};

TEST_P(TableTraining, ByRowsIsTrainingByDenseGradientsToTheBit) {
  const std::vector<Variable> by_rows = make_variables();
  const std::vector<Variable> by_dense = make_variables();
  const Optimizer of_rows = std::get<1>(GetParam()).make();
  const Optimizer of_dense = std::get<1>(GetParam()).make();
  for (int step = 0; step < 6; ++step) {
    strategy_.run([&] {
      GradientTape tape;
      const Tensor rows_loss = loss(by_rows, step);
      of_rows.minimize(tape, rows_loss, by_rows);
    });
    strategy_.run([&] {
      GradientTape tape;
      const Tensor dense_loss = loss(by_dense, step);
      of_dense.apply_gradients(tape.gradient(dense_loss, std::vector{by_dense[0].value(), by_dense[1].value()}),
                               by_dense);
    });
    verify_mirrored(by_rows);
  }
  for (std::size_t i = 0; i < by_rows.size(); ++i) test::expect_same_bits(by_rows[i].value(), by_dense[i].value());
}

INSTANTIATE_TEST_SUITE_P(
    Of, TableTraining,
    testing::Combine(testing::ValuesIn(test::replica_counts),
                     testing::Values(Case{"SGD", [] { return SGD({.learning_rate = 0.1}); }},
                                     Case{"Momentum", [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }},
                                     Case{"Decay", [] { return SGD({.learning_rate = 0.1}, {.weight_decay = 0.1}); }},
                                     Case{"Accumulating",
                                          [] {
                                            return SGD({.learning_rate = 0.1}, {.gradient_accumulation_steps = 2});
                                          }},
                                     Case{"Adam", [] { return Adam({.learning_rate = 0.1}); }},
                                     Case{"Lion", [] { return Lion({.learning_rate = 0.1}); }})),
    [](const auto& info) { return std::get<1>(info.param).name + std::to_string(std::get<0>(info.param)); });

// semantics 14.7: SGD with learning rate 1 on a table of 4 rows, {0: 1, 1: 2} on one replica and {1: 1, 2: 2} on the
// other.
TEST(SparseGradients, OfTheContractsExample) {
  const MirroredStrategy strategy = test::mirrored(2);
  const Variable table = strategy.scope([] { return test::variable_of("table", Tensor::zeros({4, 1})); });
  const SGD optimizer({.learning_rate = 1});
  strategy.run([&] {
    const std::int64_t first = this_replica();
    const IndexedSlices rows{Tensor::from(std::vector<float>{1, 2}, {2, 1}),
                             Tensor::from(std::vector<std::int64_t>{first, first + 1}, {2}),
                             {4, 1}};
    optimizer.apply_gradients(std::vector<DenseOrSparse>{rows}, {table});
  });
  for (const Tensor& copy : table.state().copies())
    EXPECT_EQ(copy.to_vector<float>(), (std::vector<float>{-1, -3, -2, 0}));
}

}  // namespace
}  // namespace lockstep

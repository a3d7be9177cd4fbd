#include "rows.h"

namespace lockstep::test {
namespace {

Variable variable(const std::string& name) {
  return Variable({.name = name, .shape = {2}, .initializer = [](const Tensor& out) { copy(zeros({2}), out); }});
}

/// Applies these gradients to variables with two elements.
void apply(const std::vector<Tensor>& gradients, std::size_t variables = 1) {
  std::vector<Variable> all;
  for (std::size_t i = 0; i < variables; ++i) all.push_back(variable("v" + std::to_string(i)));
  SGD().apply_gradients(gradients, all);
}

Rows option_rows() {
  return {
      misuse<InvalidArgument>("SGD", "a negative learning rate", {"got -1"}, [] { SGD({.learning_rate = -1}); }),
      misuse<InvalidArgument>("SGD", "a learning rate that is no number", {"got nan"},
                              [] { SGD({.learning_rate = std::nan("")}); }),
      misuse<InvalidArgument>("SGD", "a momentum above 1", {"SGD", "[0, 1]", "got 1.5"},
                              [] { SGD({.momentum = 1.5}); }),
      misuse<InvalidArgument>("SGD", "a schedule that is null", {"null"},
                              [] { SGD({.learning_rate = LearningRateSchedule()}); }),
      misuse<InvalidArgument>("Adam", "a beta_1 of 1", {"Adam", "[0, 1)"}, [] { Adam({.beta_1 = 1}); }),
      misuse<InvalidArgument>("Adam", "an epsilon of 0", {"Adam", "got 0"}, [] { Adam({.epsilon = 0}); }),
      misuse<InvalidArgument>("SGD", "two ways of clipping", {"global_clipnorm", "got 1, 1 and 0"},
                              [] { SGD({}, {.clipvalue = 1, .clipnorm = 1}); }),
      misuse<InvalidArgument>("SGD", "updates of no steps", {"gradient_accumulation_steps"},
                              [] { SGD({}, {.gradient_accumulation_steps = 0}); }),
      misuse<InvalidArgument>("CosineDecay", "no steps", {"CosineDecay", "decay_steps", "got 0"},
                              [] { CosineDecay({.decay_steps = 0}); }),
      misuse<InvalidArgument>("AdamW", "a beta_1 of 1", {"[0, 1)", "got 1 and 0.999"}, [] { AdamW({.beta_1 = 1}); }),
      misuse<InvalidArgument>("AdamW", "a negative weight decay", {"got -1"}, [] { AdamW({.weight_decay = -1}); }),
      misuse<InvalidArgument>("AdamW", "two weight decays", {"AdamW", "weight_decay", "0.1"},
                              [] { AdamW({}, {.weight_decay = 0.1}); }),
      misuse<InvalidArgument>("RMSprop", "a rho of 1", {"RMSprop", "[0, 1)", "got 1"}, [] { RMSprop({.rho = 1}); }),
      misuse<InvalidArgument>("RMSprop", "an epsilon of 0", {"RMSprop", "got 0"}, [] { RMSprop({.epsilon = 0}); }),
      misuse<InvalidArgument>("Adagrad", "a negative start", {"Adagrad", "-1"},
                              [] { Adagrad({.initial_accumulator_value = -1}); }),
      misuse<InvalidArgument>("Lamb", "a beta_2 of 1", {"Lamb", "[0, 1)", "got 0.9 and 1"},
                              [] { Lamb({.beta_2 = 1}); }),
      misuse<InvalidArgument>("Lion", "a beta_1 of 0", {"Lion", "(0, 1]", "got 0"}, [] { Lion({.beta_1 = 0}); }),
      misuse<InvalidArgument>("Nadam", "a beta_1 of 1", {"Nadam", "[0, 1)", "got 1 and 0.999"},
                              [] { Nadam({.beta_1 = 1}); }),
      misuse<InvalidArgument>("Muon", "a broken regular expression", {"exclude_layers", "(", "regular expression"},
                              [] { Muon({.exclude_layers = {"("}}); }),
      misuse<InvalidArgument>("Adamax", "a beta_2 of 1", {"Adamax", "[0, 1)", "got 0.9 and 1"},
                              [] { Adamax({.beta_2 = 1}); }),
      misuse<InvalidArgument>("Adadelta", "a rho of 1", {"Adadelta", "[0, 1)", "got 1"}, [] { Adadelta({.rho = 1}); }),
      misuse<InvalidArgument>("Ftrl", "a negative beta", {"Ftrl", "beta", "got -1"}, [] { Ftrl({.beta = -1}); }),
      misuse<InvalidArgument>("SGD", "a negative norm to clip to", {"got 0, 0 and -1"},
                              [] { SGD({}, {.global_clipnorm = -1}); }),
      misuse<InvalidArgument>("SGD", "an ema_momentum above 1", {"ema_momentum", "[0, 1]", "got 2"},
                              [] { SGD({}, {.use_ema = true, .ema_momentum = 2}); }),
      misuse<InvalidArgument>("ExponentialDecay", "no steps", {"ExponentialDecay", "decay_steps", "got 0"},
                              [] { ExponentialDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("InverseTimeDecay", "no steps", {"InverseTimeDecay", "decay_steps", "got 0"},
                              [] { InverseTimeDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("PolynomialDecay", "no steps", {"PolynomialDecay", "decay_steps", "got 0"},
                              [] { PolynomialDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("CosineDecayRestarts", "periods that become shorter",
                              {"CosineDecayRestarts", "t_mul", "0.5"},
                              [] { CosineDecayRestarts({.first_decay_steps = 1, .t_mul = 0.5}); }),
      misuse<InvalidArgument>("PiecewiseConstantDecay", "too few values", {"PiecewiseConstantDecay", "got 1"},
                              [] {
                                PiecewiseConstantDecay({1, 2}, {1});
                              }),
      misuse<InvalidArgument>("PiecewiseConstantDecay", "boundaries out of order", {"PiecewiseConstantDecay"},
                              [] {
                                PiecewiseConstantDecay({2, 1}, {1, 2, 3});
                              }),
  };
}

Rows moved_from_optimizer_rows() {
  return {
      misuse<LogicError>("Optimizer::apply_gradients", "moved from", {"no value"},
                         [] { moved_from(SGD()).apply_gradients(std::vector{zeros({2})}, {variable("v")}); }),
      misuse<LogicError>("Optimizer::learning_rate", "moved from", {"no value"},
                         [] { (void)moved_from(SGD()).learning_rate(); }),
      misuse<LogicError>("Optimizer::state", "moved from", {"no value"}, [] { (void)moved_from(SGD()).state(); }),
      misuse<LogicError>("Optimizer::apply_gradients", "a variable that was moved from", {"no value"},
                         [] { SGD().apply_gradients(std::vector{zeros({2})}, {moved_from(variable("v"))}); }),
  };
}

}  // namespace

Rows optimizer_rows() {
  const Rows rows{
      misuse<InvalidArgument>("Optimizer::apply_gradients", "more gradients than variables",
                              {"2 gradients", "1 variables"},
                              [] {
                                apply({zeros({2}), zeros({2})});
                              }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "fewer gradients than variables",
                              {"1 gradients", "2 variables"}, [] { apply({zeros({2})}, 2); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "another shape", {"'v0'", "f32 (2)", "f32 (3)"},
                              [] { apply({zeros({3})}); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "another dtype", {"'v0'", "f32 (2)", "i64 (2)"},
                              [] { apply({zeros({2}, DType::i64)}); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "no gradient at all", {"1 variables"},
                              [] { apply({Tensor()}); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "no variables", {"no trainable variables"},
                              [] { apply({}, 0); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "other variables than in the first step", {"1 variables"},
                              [] {
                                const SGD sgd;
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("a")});
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("b")});
                              }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "one variable twice", {"'v'"},
                              [] {
                                const Variable v = variable("v");
                                SGD().apply_gradients(std::vector{zeros({2}), zeros({2})}, {v, v});
                              }),
      misuse<LogicError>("Optimizer::apply_gradients", "in a scope, outside run()", {"run()"},
                         [] {
                           const MirroredStrategy strategy({"CPU:0", "CPU:1"});
                           const auto inside = strategy.scope();
                           SGD().apply_gradients(std::vector{zeros({2})}, {variable("v")});
                         }),
      misuse<InvalidArgument>("Optimizer::build", "no variables", {"no trainable variables"}, [] { SGD().build({}); }),
      misuse<InvalidArgument>("Optimizer::build", "other variables than in the first step", {"1 variables"},
                              [] {
                                const SGD sgd;
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("a")});
                                sgd.build({variable("b")});
                              }),
      misuse<LogicError>("Optimizer::build", "in a scope, outside run()", {"run()"},
                         [] {
                           const MirroredStrategy strategy({"CPU:0", "CPU:1"});
                           const auto inside = strategy.scope();
                           SGD().build({variable("v")});
                         }),
      misuse<LogicError>("Optimizer::minimize", "a loss that was not recorded", {"depends on no variable"},
                         [] {
                           GradientTape tape;
                           SGD().minimize(tape, zeros({}), {variable("v")});
                         }),
      misuse<LogicError>("Optimizer::minimize", "an undefined loss", {"depends on no variable"},
                         [] {
                           GradientTape tape;
                           SGD().minimize(tape, Tensor(), {variable("v")});
                         }),
      misuse<InvalidArgument>("Optimizer::set_learning_rate", "a negative one", {"got -1"},
                              [] { SGD().set_learning_rate(-1); }),
      misuse<LogicError>("Optimizer::set_learning_rate", "in a replica", {"run()"},
                         [] {
                           const SGD sgd;
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([&] { sgd.set_learning_rate(1); });
                         }),
      misuse<InvalidArgument>("Optimizer::load_state", "a negative number of steps", {"-1"},
                              [] { SGD().load_state({.steps = -1, .learning_rate = 1}); }),
      misuse<InvalidArgument>("Optimizer::load_state", "another optimizer's state, found in the next step",
                              {"0 values"},
                              [] {
                                const SGD sgd;
                                sgd.load_state({.steps = 1, .learning_rate = 1, .slots = {{"momentum", {zeros({2})}}}});
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("v")});
                              }),
  };
  return joined({rows, option_rows(), moved_from_optimizer_rows()});
}

Rows loss_rows() {
  return {
      misuse<InvalidArgument>("SparseCategoricalCrossentropy", "a label that is no class", {"label 3", "[0, 3)"},
                              [] {
                                SparseCategoricalCrossentropy()(Tensor::full({1}, 3, DType::i64), zeros({1, 3}));
                              }),
      misuse<InvalidArgument>("CategoricalCrossentropy", "targets of another shape", {"categorical_crossentropy"},
                              [] {
                                CategoricalCrossentropy()(zeros({1, 2}), zeros({1, 3}));
                              }),
      misuse<InvalidArgument>("CategoricalCrossentropy", "a label_smoothing above 1",
                              {"label_smoothing", "[0, 1]", "got 2"},
                              [] { CategoricalCrossentropy({.label_smoothing = 2}); }),
      misuse<InvalidArgument>("MeanSquaredError", "targets of another size", {"targets"},
                              [] {
                                MeanSquaredError()(zeros({2, 1}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("MeanSquaredError", "undefined targets",
                              {"mean_squared_error", "got an undefined tensor"},
                              [] {
                                MeanSquaredError()(Tensor(), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("MeanSquaredError", "undefined predictions", {"mean_squared_error"},
                              [] {
                                MeanSquaredError()(zeros({2, 3}), Tensor());
                              }),
      misuse<InvalidArgument>("BinaryCrossentropy", "a number", {"binary_crossentropy", "f32 ()"},
                              [] { BinaryCrossentropy()(zeros({}), zeros({})); }),
      misuse<LogicError>("Loss::operator()", "no function", {"'own'"},
                         [] { Loss("own", nullptr)(zeros({1}), zeros({1})); }),
      misuse<LogicError>("Loss::operator()", "moved from", {"''"},
                         [] {
                           moved_from<Loss>(MeanSquaredError())(zeros({1, 1}), zeros({1, 1}));
                         }),
      misuse<InvalidArgument>("compute_average_loss", "weights of another shape", {"(3)"},
                              [] { compute_average_loss(zeros({3}), {.sample_weight = zeros({2})}); }),
      misuse<InvalidArgument>("Metric::update", "predictions without examples", {"axis"},
                              [] { Mean().update({}, zeros({})); }),
      misuse<InvalidArgument>("Metric::update", "undefined targets", {"(n, classes)"},
                              [] {
                                Accuracy().update({}, zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("Metric::update", "more targets than predictions", {"(n, classes)"},
                              [] {
                                SparseCategoricalAccuracy().update(zeros({3}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("Metric::update", "weights of another number of examples", {"f32 (3)"},
                              [] { Mean().update({}, zeros({4}), zeros({3})); }),
      misuse<LogicError>("Metric::update", "no rule", {"'own'"}, [] { Metric("own", {}).update({}, zeros({1})); }),
      misuse<LogicError>("Metric::result", "moved from", {"''"},
                         [] {
                           (void)moved_from<Metric>(Mean()).result({1, 1});
                         }),
      misuse<InvalidArgument>("TopKCategoricalAccuracy", "a k of 0", {"got 0"}, [] { TopKCategoricalAccuracy(0); }),
      misuse<LogicError>("MetricTracker::result", "in a replica", {"result()", "'mean'"},
                         [] {
                           const MirroredStrategy strategy({"CPU:0", "CPU:1"});
                           const MetricTracker tracker(Mean(), strategy);
                           strategy.run([&] { (void)tracker.result(); });
                         }),
      misuse<InvalidArgument>("Precision", "a threshold above 1", {"[0, 1]", "got 2"}, [] { Precision(2); }),
      misuse<InvalidArgument>("Recall", "a negative threshold", {"[0, 1]", "got -1"}, [] { Recall(-1); }),
      misuse<InvalidArgument>("AUC", "one threshold", {"AUC", "got 1"}, [] { AUC({.num_thresholds = 1}); }),
      misuse<InvalidArgument>("SparseTopKCategoricalAccuracy", "a k of 0", {"got 0"},
                              [] { SparseTopKCategoricalAccuracy(0); }),
      misuse<InvalidArgument>("TruePositives", "a threshold above 1", {"[0, 1]", "got 2"}, [] { TruePositives(2); }),
      misuse<InvalidArgument>("F1Score", "several classes without an average", {"2 classes", "macro"},
                              [] {
                                F1Score().update(zeros({3, 2}), zeros({3, 2}));
                              }),
      misuse<InvalidArgument>("MeanIoU", "no classes", {"got 0"}, [] { MeanIoU({.num_classes = 0}); }),
      misuse<InvalidArgument>("IoU", "a target that is no class", {"class 2", "2 classes"},
                              [] { IoU({.num_classes = 2, .target_class_ids = {2}}); }),
      misuse<InvalidArgument>("R2Score", "predictions without outputs", {"(n, outputs)", "f32 (3)"},
                              [] { R2Score().update(zeros({3}), zeros({3})); }),
      misuse<InvalidArgument>("CosineSimilarity", "the axis of the examples", {"axis 0"},
                              [] {
                                CosineSimilarity(0)(zeros({3, 2}), zeros({3, 2}));
                              }),
      misuse<InvalidArgument>("CategoricalFocalCrossentropy", "alphas of other classes", {"(n, ..., 2)", "f32 (1, 3)"},
                              [] {
                                CategoricalFocalCrossentropy({.alpha = {1, 2}})(zeros({1, 3}), zeros({1, 3}));
                              }),
      misuse<InvalidArgument>("Huber", "a delta of 0", {"Huber", "got 0"}, [] { Huber(0); }),
      misuse<InvalidArgument>("MeanAbsoluteError", "targets of another size", {"mean_absolute_error"},
                              [] {
                                MeanAbsoluteError()(zeros({2}), zeros({3, 1}));
                              }),
      misuse<InvalidArgument>("Metric::update", "more targets than positives were predicted", {"one shape"},
                              [] { Precision().update(zeros({3}), zeros({2})); }),
      misuse<InvalidArgument>("Metric::update", "one-hot targets of other classes", {"(n, classes)"},
                              [] {
                                CategoricalAccuracy().update(zeros({2, 2}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>(
          "Metric::update", "a label that is no class", {"label 3"},
          [] {
            SparseTopKCategoricalAccuracy(1).update(Tensor::full({1}, 3, DType::i64), zeros({1, 3}));
          }),
      misuse<InvalidArgument>("Metric::update", "predictions that were moved from", {"got an undefined tensor"},
                              [] { Mean().update({}, moved_from(zeros({2}))); }),
      misuse<LogicError>("MeanMetricWrapper", "no function", {"no function"},
                         [] { MeanMetricWrapper("own", nullptr).update({}, zeros({2})); }),
  };
}

Rows callback_rows() {
  return {
      misuse<InvalidArgument>("ReduceLROnPlateau", "a factor of 1", {"ReduceLROnPlateau", "got 1"},
                              [] { ReduceLROnPlateau({.factor = 1}); }),
      misuse<InvalidArgument>("ModelCheckpoint", "another ending", {"ModelCheckpoint", "weights.h5", "m.pt"},
                              [] { ModelCheckpoint("m.pt"); }),
      misuse<InvalidArgument>("ModelCheckpoint", "saving after 0 steps", {"ModelCheckpoint", "save_freq", "got 0"},
                              [] { ModelCheckpoint("a.weights.h5", {.save_freq = 0}); }),
      misuse<InvalidArgument>("BackupAndRestore", "no folder", {"BackupAndRestore"}, [] { BackupAndRestore(""); }),
      misuse<InvalidArgument>("TensorBoard", "a negative frequency", {"got -1"},
                              [] { TensorBoard({.histogram_freq = -1}); }),
      misuse<InvalidArgument>("LearningRateScheduler", "no function", {"LearningRateScheduler"},
                              [] { LearningRateScheduler(nullptr); }),
      misuse<InvalidArgument>("poly_decay", "no epochs", {"poly_decay", "got 0"}, [] { poly_decay(1, 0); }),
      misuse<InputError>("CSVLogger", "a folder that is not there", {"/none/log.csv"},
                         [] {
                           const Symbol input = Input({4});
                           Model model(input, Dense({.units = 3})(input));
                           CSVLogger("/none/log.csv").on_train_begin(model);
                         }),
  };
}

}  // namespace lockstep::test

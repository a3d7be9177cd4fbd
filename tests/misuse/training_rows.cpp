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
      misuse<InvalidArgument>("SGD", "a negative learning rate",
                              "a learning rate must be finite and not negative, got -1",
                              [] { SGD({.learning_rate = -1}); }),
      misuse<InvalidArgument>("SGD", "a learning rate that is no number",
                              "a learning rate must be finite and not negative, got nan",
                              [] { SGD({.learning_rate = std::nan("")}); }),
      misuse<InvalidArgument>("SGD", "a momentum above 1", "the momentum of SGD must lie in [0, 1], got 1.5",
                              [] { SGD({.momentum = 1.5}); }),
      misuse<InvalidArgument>("SGD", "a schedule that is null", "given a schedule that is null",
                              [] { SGD({.learning_rate = LearningRateSchedule()}); }),
      misuse<InvalidArgument>("Adam", "a beta_1 of 1", "the betas of Adam must lie in [0, 1)",
                              [] { Adam({.beta_1 = 1}); }),
      misuse<InvalidArgument>("Adam", "an epsilon of 0", "the epsilon of Adam must be positive, got 0",
                              [] { Adam({.epsilon = 0}); }),
      misuse<InvalidArgument>(
          "SGD", "two ways of clipping",
          "at most one of clipvalue, clipnorm and global_clipnorm can be set, and above 0; got 1, 1 and 0",
          [] { SGD({}, {.clipvalue = 1, .clipnorm = 1}); }),
      misuse<InvalidArgument>("SGD", "updates of no steps", "gradient_accumulation_steps",
                              [] { SGD({}, {.gradient_accumulation_steps = 0}); }),
      misuse<InvalidArgument>("CosineDecay", "no steps", "CosineDecay needs decay_steps of at least 1, got 0",
                              [] { CosineDecay({.decay_steps = 0}); }),
      misuse<InvalidArgument>("AdamW", "a beta_1 of 1", "the betas of Adam must lie in [0, 1), got 1 and 0.999",
                              [] { AdamW({.beta_1 = 1}); }),
      misuse<InvalidArgument>("AdamW", "a negative weight decay", "the weight decay must not be negative, got -1",
                              [] { AdamW({.weight_decay = -1}); }),
      misuse<InvalidArgument>("AdamW", "two weight decays",
                              "AdamW has a weight_decay of its own, 0.004: set that one, not 0.1 for all optimizers",
                              [] { AdamW({}, {.weight_decay = 0.1}); }),
      misuse<InvalidArgument>("RMSprop", "a rho of 1", "the rho of RMSprop must lie in [0, 1), got 1",
                              [] { RMSprop({.rho = 1}); }),
      misuse<InvalidArgument>("RMSprop", "an epsilon of 0", "the epsilon of RMSprop must be positive, got 0",
                              [] { RMSprop({.epsilon = 0}); }),
      misuse<InvalidArgument>("Adagrad", "a negative start", "the accumulators of Adagrad cannot start at -1, below 0",
                              [] { Adagrad({.initial_accumulator_value = -1}); }),
      misuse<InvalidArgument>("Lamb", "a beta_2 of 1", "the betas of Lamb must lie in [0, 1), got 0.9 and 1",
                              [] { Lamb({.beta_2 = 1}); }),
      misuse<InvalidArgument>("SGD", "a negative norm to clip to", "can be set, and above 0; got 0, 0 and -1",
                              [] { SGD({}, {.global_clipnorm = -1}); }),
      misuse<InvalidArgument>("SGD", "an ema_momentum above 1", "ema_momentum must lie in [0, 1], got 2",
                              [] { SGD({}, {.use_ema = true, .ema_momentum = 2}); }),
      misuse<InvalidArgument>("ExponentialDecay", "no steps", "ExponentialDecay needs decay_steps of at least 1, got 0",
                              [] { ExponentialDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("InverseTimeDecay", "no steps", "InverseTimeDecay needs decay_steps of at least 1, got 0",
                              [] { InverseTimeDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("PolynomialDecay", "no steps", "PolynomialDecay needs decay_steps of at least 1, got 0",
                              [] { PolynomialDecay({.initial_learning_rate = 1}); }),
      misuse<InvalidArgument>("CosineDecayRestarts", "periods that become shorter",
                              "the periods of CosineDecayRestarts cannot become shorter: t_mul is 0.5",
                              [] { CosineDecayRestarts({.first_decay_steps = 1, .t_mul = 0.5}); }),
      misuse<InvalidArgument>("PiecewiseConstantDecay", "too few values",
                              "PiecewiseConstantDecay needs one value more than its 2 boundaries, got 1",
                              [] {
                                PiecewiseConstantDecay({1, 2}, {1});
                              }),
      misuse<InvalidArgument>("PiecewiseConstantDecay", "boundaries out of order",
                              "the boundaries of PiecewiseConstantDecay must increase",
                              [] {
                                PiecewiseConstantDecay({2, 1}, {1, 2, 3});
                              }),
  };
}

Rows moved_from_optimizer_rows() {
  const char* const says = "this optimizer has no value";
  return {
      misuse<LogicError>("Optimizer::apply_gradients", "moved from", says,
                         [] { moved_from(SGD()).apply_gradients(std::vector{zeros({2})}, {variable("v")}); }),
      misuse<LogicError>("Optimizer::learning_rate", "moved from", says,
                         [] { (void)moved_from(SGD()).learning_rate(); }),
      misuse<LogicError>("Optimizer::state", "moved from", says, [] { (void)moved_from(SGD()).state(); }),
      misuse<LogicError>("Optimizer::apply_gradients", "a variable that was moved from", "this variable has no value",
                         [] { SGD().apply_gradients(std::vector{zeros({2})}, {moved_from(variable("v"))}); }),
  };
}

}  // namespace

Rows optimizer_rows() {
  const Rows rows{
      misuse<InvalidArgument>("Optimizer::apply_gradients", "more gradients than variables",
                              "2 gradients were given for 1 variables",
                              [] {
                                apply({zeros({2}), zeros({2})});
                              }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "fewer gradients than variables",
                              "1 gradients were given for 2 variables", [] { apply({zeros({2})}, 2); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "another shape",
                              "gradient 0, of 'v0', must be f32 (2), got f32 (3) on CPU:0",
                              [] { apply({zeros({3})}); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "another dtype",
                              "gradient 0, of 'v0', must be f32 (2), got i64 (2) on CPU:0",
                              [] { apply({zeros({2}, DType::i64)}); }),
      misuse<InvalidArgument>(
          "Optimizer::apply_gradients", "no gradient at all",
          "no gradients provided: on no replica does the loss depend on any of the 1 variables to optimize",
          [] { apply({Tensor()}); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "no variables",
                              "there are no trainable variables to optimize", [] { apply({}, 0); }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "other variables than in the first step",
                              "an optimizer belongs to the 1 variables of its first step, in their order",
                              [] {
                                const SGD sgd;
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("a")});
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("b")});
                              }),
      misuse<InvalidArgument>("Optimizer::apply_gradients", "one variable twice", "variable 'v' is given twice",
                              [] {
                                const Variable v = variable("v");
                                SGD().apply_gradients(std::vector{zeros({2}), zeros({2})}, {v, v});
                              }),
      misuse<LogicError>(
          "Optimizer::apply_gradients", "in a scope, outside run()",
          "there is no replica here: this is the strategy's scope; call it inside the function given to run()",
          [] {
            const MirroredStrategy strategy({"CPU:0", "CPU:1"});
            const auto inside = strategy.scope();
            SGD().apply_gradients(std::vector{zeros({2})}, {variable("v")});
          }),
      misuse<InvalidArgument>("Optimizer::build", "no variables", "there are no trainable variables to optimize",
                              [] { SGD().build({}); }),
      misuse<InvalidArgument>("Optimizer::build", "other variables than in the first step",
                              "an optimizer belongs to the 1 variables of its first step, in their order",
                              [] {
                                const SGD sgd;
                                sgd.apply_gradients(std::vector{zeros({2})}, {variable("a")});
                                sgd.build({variable("b")});
                              }),
      misuse<LogicError>("Optimizer::build", "in a scope, outside run()",
                         "there is no replica here: this is the strategy's scope; call it inside the function given to "
                         "run()",
                         [] {
                           const MirroredStrategy strategy({"CPU:0", "CPU:1"});
                           const auto inside = strategy.scope();
                           SGD().build({variable("v")});
                         }),
      misuse<LogicError>("Optimizer::minimize", "a loss that was not recorded",
                         "the target depends on no variable that trains",
                         [] {
                           GradientTape tape;
                           SGD().minimize(tape, zeros({}), {variable("v")});
                         }),
      misuse<LogicError>("Optimizer::minimize", "an undefined loss", "the target depends on no variable that trains",
                         [] {
                           GradientTape tape;
                           SGD().minimize(tape, Tensor(), {variable("v")});
                         }),
      misuse<InvalidArgument>("Optimizer::set_learning_rate", "a negative one",
                              "a learning rate must be finite and not negative, got -1",
                              [] { SGD().set_learning_rate(-1); }),
      misuse<LogicError>("Optimizer::set_learning_rate", "in a replica",
                         "the learning rate was set inside a replica; do it outside run(), for all of them",
                         [] {
                           const SGD sgd;
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([&] { sgd.set_learning_rate(1); });
                         }),
      misuse<InvalidArgument>("Optimizer::load_state", "a negative number of steps",
                              "an optimizer cannot have done -1 steps",
                              [] { SGD().load_state({.steps = -1, .learning_rate = 1}); }),
      misuse<InvalidArgument>("Optimizer::load_state", "another optimizer's state, found in the next step",
                              "this optimizer keeps 0 values of each parameter, the state to load 1 or of other names",
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
      misuse<InvalidArgument>("SparseCategoricalCrossentropy", "a label that is no class",
                              "label 3 in row 0 is outside [0, 3)",
                              [] {
                                SparseCategoricalCrossentropy()(Tensor::full({1}, 3, DType::i64), zeros({1, 3}));
                              }),
      misuse<InvalidArgument>("CategoricalCrossentropy", "targets of another shape",
                              "categorical_crossentropy takes targets of the predictions' size, got f32 (1",
                              [] {
                                CategoricalCrossentropy()(zeros({1, 2}), zeros({1, 3}));
                              }),
      misuse<InvalidArgument>("CategoricalCrossentropy", "a label_smoothing above 1",
                              "label_smoothing lies in [0, 1], got 2",
                              [] { CategoricalCrossentropy({.label_smoothing = 2}); }),
      misuse<InvalidArgument>("MeanSquaredError", "targets of another size", "targets of the predictions' size",
                              [] {
                                MeanSquaredError()(zeros({2, 1}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>(
          "MeanSquaredError", "undefined targets",
          "mean_squared_error takes targets of the predictions' size, got an undefined tensor for f32 (2",
          [] {
            MeanSquaredError()(Tensor(), zeros({2, 3}));
          }),
      misuse<InvalidArgument>("MeanSquaredError", "undefined predictions",
                              "mean_squared_error takes targets of the predictions' size, got f32 (2",
                              [] {
                                MeanSquaredError()(zeros({2, 3}), Tensor());
                              }),
      misuse<InvalidArgument>("BinaryCrossentropy", "a number",
                              "binary_crossentropy takes predictions (n, ..., k), got f32 () on CPU:0",
                              [] { BinaryCrossentropy()(zeros({}), zeros({})); }),
      misuse<LogicError>("Loss::operator()", "no function",
                         "the loss 'own' has no function: none was given, or it was moved from",
                         [] { Loss("own", nullptr)(zeros({1}), zeros({1})); }),
      misuse<LogicError>("Loss::operator()", "moved from",
                         "the loss '' has no function: none was given, or it was moved from",
                         [] {
                           moved_from<Loss>(MeanSquaredError())(zeros({1, 1}), zeros({1, 1}));
                         }),
      misuse<InvalidArgument>("compute_average_loss", "weights of another shape", "weights of the losses' shape (3)",
                              [] { compute_average_loss(zeros({3}), {.sample_weight = zeros({2})}); }),
      misuse<InvalidArgument>("Metric::update", "predictions without examples", "needs predictions with an axis",
                              [] { Mean().update({}, zeros({})); }),
      misuse<InvalidArgument>("Metric::update", "undefined targets",
                              "accuracy compares labels (n) or (n, 1) with predictions (n, classes)",
                              [] {
                                Accuracy().update({}, zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("Metric::update", "more targets than predictions",
                              "accuracy compares labels (n) or (n, 1) with predictions (n, classes)",
                              [] {
                                SparseCategoricalAccuracy().update(zeros({3}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("Metric::update", "weights of another number of examples",
                              "4 examples need as many sample weights, got f32 (3) on CPU:0",
                              [] { Mean().update({}, zeros({4}), zeros({3})); }),
      misuse<LogicError>("Metric::update", "no rule",
                         "the metric 'own' has no rule: none was given, or it was moved from",
                         [] { Metric("own", {}).update({}, zeros({1})); }),
      misuse<LogicError>("Metric::result", "moved from",
                         "the metric '' has no rule: none was given, or it was moved from",
                         [] {
                           (void)moved_from<Metric>(Mean()).result({1, 1});
                         }),
      misuse<InvalidArgument>("TopKCategoricalAccuracy", "a k of 0", "top-k accuracy needs k >= 1, got 0",
                              [] { TopKCategoricalAccuracy(0); }),
      misuse<LogicError>("MetricTracker::result", "in a replica",
                         "result() of 'mean' in a replica; it is that of all replicas",
                         [] {
                           const MirroredStrategy strategy({"CPU:0", "CPU:1"});
                           const MetricTracker tracker(Mean(), strategy);
                           strategy.run([&] { (void)tracker.result(); });
                         }),
      misuse<InvalidArgument>("Precision", "a threshold above 1", "a threshold lies in [0, 1], got 2",
                              [] { Precision(2); }),
      misuse<InvalidArgument>("Recall", "a negative threshold", "a threshold lies in [0, 1], got -1",
                              [] { Recall(-1); }),
      misuse<InvalidArgument>("AUC", "one threshold", "AUC needs at least 2 thresholds, got 1",
                              [] { AUC({.num_thresholds = 1}); }),
      misuse<InvalidArgument>("SparseTopKCategoricalAccuracy", "a k of 0", "top-k accuracy needs k >= 1, got 0",
                              [] { SparseTopKCategoricalAccuracy(0); }),
      misuse<InvalidArgument>("Huber", "a delta of 0", "Huber needs a delta above 0, got 0", [] { Huber(0); }),
      misuse<InvalidArgument>("MeanAbsoluteError", "targets of another size",
                              "mean_absolute_error takes targets of the predictions' size",
                              [] {
                                MeanAbsoluteError()(zeros({2}), zeros({3, 1}));
                              }),
      misuse<InvalidArgument>("Metric::update", "more targets than positives were predicted",
                              "positives are counted in targets and predictions of one size",
                              [] { Precision().update(zeros({3}), zeros({2})); }),
      misuse<InvalidArgument>("Metric::update", "one-hot targets of other classes",
                              "categorical accuracy compares one-hot targets and predictions of one shape (n, classes)",
                              [] {
                                CategoricalAccuracy().update(zeros({2, 2}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>(
          "Metric::update", "a label that is no class", "label 3 is not one of 3 classes",
          [] {
            SparseTopKCategoricalAccuracy(1).update(Tensor::full({1}, 3, DType::i64), zeros({1, 3}));
          }),
      misuse<InvalidArgument>("Metric::update", "predictions that were moved from",
                              "mean needs predictions with an axis of examples, got an undefined tensor",
                              [] { Mean().update({}, moved_from(zeros({2}))); }),
      misuse<LogicError>("MeanMetricWrapper", "no function", "the metric has no function: none was given",
                         [] { MeanMetricWrapper("own", nullptr).update({}, zeros({2})); }),
  };
}

Rows callback_rows() {
  return {
      misuse<InvalidArgument>("ReduceLROnPlateau", "a factor of 1", "ReduceLROnPlateau needs a factor below 1, got 1",
                              [] { ReduceLROnPlateau({.factor = 1}); }),
      misuse<InvalidArgument>(
          "ModelCheckpoint", "another ending",
          "ModelCheckpoint saves weights: the name must end in .weights.h5 or .safetensors, got m.h5",
          [] { ModelCheckpoint("m.h5"); }),
      misuse<InvalidArgument>("ModelCheckpoint", "saving after 0 steps",
                              "ModelCheckpoint needs a save_freq of at least 1, got 0",
                              [] { ModelCheckpoint("a.weights.h5", {.save_freq = 0}); }),
      misuse<InvalidArgument>("BackupAndRestore", "no folder", "BackupAndRestore needs a folder",
                              [] { BackupAndRestore(""); }),
      misuse<InvalidArgument>("TensorBoard", "a negative frequency", "must not be negative, got -1",
                              [] { TensorBoard({.histogram_freq = -1}); }),
      misuse<InvalidArgument>("LearningRateScheduler", "no function", "LearningRateScheduler needs a function",
                              [] { LearningRateScheduler(nullptr); }),
      misuse<InvalidArgument>("poly_decay", "no epochs", "poly_decay needs at least 1 epoch, got 0",
                              [] { poly_decay(1, 0); }),
      misuse<InputError>("CSVLogger", "a folder that is not there", "/none/log.csv: cannot be written",
                         [] {
                           const Symbol input = Input({4});
                           Model model(input, Dense({.units = 3})(input));
                           CSVLogger("/none/log.csv").on_train_begin(model);
                         }),
  };
}

}  // namespace lockstep::test

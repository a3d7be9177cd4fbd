// The lockstep side of files_interop.py, which runs this program and compares the results.
//   files_driver save MODEL FILE FOLDER     makes and randomizes a model, saves it, writes its predictions
//   files_driver open FILE FOLDER           opens a model, writes its predictions
//   files_driver weights MODEL WEIGHTS FILE makes a model with these weights, saves it, and its weights again
//   files_driver again FILE TIMES           opens a model and saves it in the same file, TIMES times; prints names
//   files_driver start OPTIMIZER FILE FOLDER makes, compiles and trains a model, saves it
//   files_driver train_on FILE FOLDER       opens a model, trains it, saves it in the same file, prints the loss
//   files_driver fine_tune FILE FOLDER      opens a model, trains it as it is frozen, then thawed; prints both losses
//   files_driver added_loss WEIGHTS FOLDER  trains a model with these weights and a layer that adds to the loss; prints
//                                           the losses of fit and of evaluate, saves the weights in the same file
//   files_driver train_step WEIGHTS TEACHER FOLDER trains a model with these weights, by a train_step that distills a
//                                           teacher with those weights; prints loss and norm of the gradient of each
//                                           step, saves the weights in the same file
//   files_driver gradients FILE FOLDER      opens a model, prints its mean squared error in training, and writes its
//                                           results and, as if they were the weights, FOLDER/gradients.weights.h5
//   files_driver draws FILE FOLDER          opens a model, writes the factors that dropout draws in its first training
//                                           step, for each line of FOLDER/draws, to FOLDER/draw_0, ...
//   files_driver curve FILE FOLDER REPLICAS RATE EPOCHS
//                                           opens a model, trains it with SGD on batches of 8 rows, prints the loss of
//                                           each step
//   files_driver operations                 prints the names of the operations that files may have
//   files_driver evaluate FILE FOLDER       opens a model, prints the names and values of its loss and metrics
// FOLDER has input_0, input_1, ... and, for training, target (for gradients and curve target_0, ...) and, for evaluate,
// weights; output_0, ... are written to it: rows of little-endian f32 without a header.

#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <support/custom_classes.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/operation.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/metrics/keras_metrics.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adafactor.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/models/zoo/gpt.h>
#include <lockstep/models/zoo/unet.h>
#include <lockstep/models/zoo/vit.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/variable_gradient.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

#include "layers_models.h"
#include "randomize.h"

namespace lockstep {
namespace {

/// Convolutions with batch normalization, regularizers, constraints and initializers.
Model convolutions() {
  const Symbol pictures = Input({8, 8, 3}, "pictures");
  Symbol x = Conv2D({.filters = 4,
                     .kernel_size = {3, 2},
                     .strides = {2, 1},
                     .padding = Padding::same,
                     .activation = Activation::relu,
                     .kernel_initializer = variance_scaling({.scale = 2, .mode = FanMode::fan_out}),
                     .bias_initializer = constant(0.5),
                     .kernel_regularizer = L2(0.25),
                     .bias_regularizer = L1L2(0.5, 0.125),
                     .kernel_constraint = MaxNorm(3, {0, 1, 2}),
                     .bias_constraint = NonNeg(),
                     .name = "first"})(pictures);
  x = ReLU()(BatchNormalization({.momentum = 0.9})(x));
  x = BatchNormalization()(
      Conv2D({.filters = 4, .kernel_size = {1, 1}, .use_bias = false, .kernel_initializer = random_normal()})(x));
  x = Dropout({.rate = 0.25})(Flatten()(x));
  return {pictures,
          Dense({.units = 5, .kernel_regularizer = L1(0.5), .kernel_constraint = UnitNorm()})(x),
          {.name = "convolutions"}};
}

/// Keras' operations, which are no layers there.
Model operations() {
  const Symbol sequence = Input({6, 8}, "sequence");
  const std::vector<Symbol> halves =
      operation_results("Split", {Dense({.units = 8})(sequence)}, R"({"indices_or_sections": 2, "axis": -1})");
  const Symbol some = slice(operation("Gelu", {halves[0]}), 1, 1, -2);
  const Symbol squares = operation("Power", {some}, "{}", R"([{"tensor": 0}, 2])");
  const Symbol means = operation("Mean", {halves[1]}, R"({"axis": [1], "keepdims": true})");
  const Symbol all = operation("Concatenate", {squares, means}, R"({"axis": 1})");
  return {sequence, Dense({.units = 3})(Flatten()(all)), {.name = "operations"}};
}

/// Two sequences of ids through shared layers, with two results.
Model shared() {
  const Symbol left = Input({6}, "left");
  const Symbol right = Input({6}, "right");
  const Embedding embedding({.input_dim = 9, .output_dim = 4});
  const LSTM lstm({.units = 5});
  const Symbol one = lstm(embedding(left));
  const Symbol other = lstm(embedding(right));
  const Symbol sum = Add()({one, other});
  const Symbol score = Dense({.units = 1, .activation = Activation::sigmoid, .name = "score"})(sum);
  return {std::vector{left, right}, std::vector{score, Concatenate()({one, other})}, {.name = "pairs"}};
}

/// A model in bf16, except for the last layer of one of its two results.
Model mixed() {
  const DTypePolicyScope scope("mixed_bfloat16");
  const Symbol pictures = Input({10, 10, 3}, "pictures");
  const Symbol x = ReLU()(BatchNormalization()(
      Conv2D({.filters = 6, .kernel_size = {3, 3}, .padding = Padding::same, .name = "first"})(pictures)));
  const Symbol pooled = MaxPooling2D({.pool_size = {1, 1}})(x);
  const Symbol separable = SeparableConv2D({.filters = 4, .kernel_size = {3, 3}, .padding = Padding::same})(x);
  Symbol y = AveragePooling2D()(Concatenate()({BatchNormalization()(separable), pooled}));
  y = LayerNormalization()(Flatten()(Dropout({.rate = 0.25})(y)));
  const Dense last = with_dtype_policy("float32", [] { return Dense({.units = 4, .name = "logits"}); });
  const Dense softmax({.units = 3, .activation = Activation::softmax, .name = "classes"});
  return {std::vector{pictures}, std::vector{last(y), softmax(y)}, {.name = "mixed"}};
}

/// Models nested twice, called twice, and a name that Keras 3 does not accept.
Model parts() {
  const Model inner = Sequential({4}, {Dense({.units = 3, .activation = Activation::tanh})}, {.name = "inner"});
  const Symbol a = Input({4}, "a");
  const Model middle(a, Dense({.units = 2})(inner(a)), {.name = "middle"});
  const Symbol x = Input({4}, "x");
  const Symbol y = Input({4}, "y");
  const Symbol left = middle(Dense({.units = 4, .name = "block/front"})(x));
  const Symbol right = middle(y);
  return {{x, y}, std::vector{Add("sum")({left, right}), left, right}, {.name = "outer"}};
}

/// Stateful layers.
Model stateful() {
  const Symbol x = Input({5, 3}, "x", 7);
  const Symbol y = Bidirectional(LSTM({.units = 3, .return_sequences = true, .stateful = true}))(x);
  return {x, Dense({.units = 2})(GRU({.units = 4, .stateful = true})(y)), {.name = "stateful"}};
}

/// Classes that are not Keras', alone, in a nested model, in each other and in a layer of Keras.
Model custom() {
  const Model inner =
      Sequential({4, 3}, {test::gain({.factor = 0.5}), test::Residual({.inner = Dense({.units = 3}).shared()})},
                 {.name = "inner"});
  const Symbol x = Input({4, 3}, "x");
  const Symbol y = inner(TimeDistributed(test::gain({.factor = 2}))(x));
  const Symbol z = test::Residual({.name = "second", .inner = test::gain({.factor = 3}).shared()})(y);
  const Symbol sum = Add()({z, Layer(std::make_shared<test::NegatedImpl>())(y)});
  return {x, Dense({.units = 2})(Flatten()(sum)), {.name = "custom"}};
}

Model make_model(const std::string& name) {
  if (name == "convolutions") return convolutions();
  if (name == "shared") return shared();
  if (name == "operations") return operations();
  if (name == "mixed") return mixed();
  if (name == "parts") return parts();
  if (name == "stateful") return stateful();
  if (name == "custom") return custom();
  if (name == "gpt") return zoo::gpt({.vocabulary = 9, .context = 16, .layers = 2, .width = 12, .heads = 3});
  if (name == "unet") return zoo::unet({8, 12, 3}, 4, {.filters = 4, .levels = 2});
  if (name == "vit") return zoo::vit({8, 12, 3}, 5, {.patch_size = 4, .layers = 2, .width = 12, .heads = 3});
  if (std::optional<Model> model = layers_model(name)) return *std::move(model);
  if (std::optional<Model> model = application_model(name)) return *std::move(model);
  fail("there is no model '{}'", name);
}

Tensor read_rows(const std::string& path, const Shape& row) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  require<InputError>(in.good(), "{} cannot be read", path);
  const std::size_t count = bytes.size() / sizeof(float);
  Shape shape{static_cast<std::int64_t>(count) / row.elements()};
  for (const std::int64_t size : row) shape.push_back(size);
  return Tensor::from(std::span(reinterpret_cast<const float*>(bytes.data()), count), shape);
}

std::vector<Tensor> read_inputs(const Model& model, const std::string& folder) {
  std::vector<Tensor> inputs;
  for (const NetworkInput& input : model.network().inputs()) {
    Shape row = input.shape;
    for (int axis = 0; axis < row.rank(); ++axis)  // as in UNKNOWN_SIZES of files_interop.py
      if (row[axis] < 0) row[axis] = 12 - 2 * axis;
    inputs.push_back(read_rows(fmt::format("{}/input_{}", folder, inputs.size()), row));
  }
  return inputs;
}

void write_rows(const Tensor& rows, const std::string& path) {
  const std::vector<float> values = cast(rows, DType::f32).to_vector<float>();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  require<InputError>(out.flush().good(), "{} cannot be written", path);
}

void predict(const Model& model, const std::string& folder) {
  const std::vector<Tensor> inputs = read_inputs(model, folder);
  const std::int64_t rows = inputs[0].dim(0);
  const std::int64_t batch_size =
      model.network().inputs()[0].batch_size > 0 ? model.network().inputs()[0].batch_size : rows;
  std::vector<std::vector<Tensor>> outputs(model.network().outputs().size());
  for (std::int64_t begin = 0; begin < rows; begin += batch_size) {
    std::vector<Tensor> batch;
    for (const Tensor& input : inputs) batch.push_back(input.slice_view(0, begin, begin + batch_size));
    const std::vector<Tensor> results = model.run(batch);
    for (std::size_t i = 0; i < results.size(); ++i) outputs[i].push_back(results[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write_rows(concatenate(outputs[i], 0), fmt::format("{}/output_{}", folder, i));
}

/// Opens a model, with another number of replicas than it was saved with.
Model open(const std::string& path, int replicas) {
  const MirroredStrategy strategy(logical_cpus(replicas));
  return strategy.scope([&] { return load_model(path); });
}

/// Layers whose order in Keras differs from that of their calls.
Model branches() {
  const Symbol input = Input({6}, "input");
  const Symbol near = Dense({.units = 5, .name = "near"})(input);
  const Symbol far = Dense({.units = 4, .activation = Activation::tanh, .name = "far"})(input);
  const Symbol sum = Add()({near, Dense({.units = 5, .name = "middle"})(far)});
  return {input, Dense({.units = 2, .name = "end"})(sum), {.seed = 1}};
}

// training_interop.py has the same cases. 1 - beta^t is exact in f32 for these betas.
Optimizer make_optimizer(const std::string& name) {
  const ExponentialDecayOptions decay{.initial_learning_rate = 0.125, .decay_steps = 2, .decay_rate = 0.5};
  if (name == "sgd") return SGD({.learning_rate = 0.125});
  if (name == "momentum") return SGD({.learning_rate = 0.125, .momentum = 0.75, .nesterov = true}, {.clipnorm = 0.5});
  if (name == "schedule") return SGD({.learning_rate = ExponentialDecay(decay), .momentum = 0.75}, {.use_ema = true});
  if (name == "adam") return Adam({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75, .amsgrad = true});
  if (name == "adamw") return AdamW({.learning_rate = 0.03125, .weight_decay = 0.25, .beta_1 = 0.5, .beta_2 = 0.75});
  if (name == "rmsprop") return RMSprop({.learning_rate = 0.03125, .momentum = 0.5, .epsilon = 1e-3, .centered = true});
  if (name == "adagrad") return Adagrad({.learning_rate = 0.125}, {.gradient_accumulation_steps = 3});
  if (name == "lamb") return Lamb({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75});
  if (name == "lion") return Lion({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75});
  if (name == "nadam") return Nadam({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75});
  if (name == "muon")
    return Muon({.learning_rate = 0.03125,
                 .adam_beta_1 = 0.5,
                 .adam_beta_2 = 0.75,
                 .exclude_layers = {"^end"},
                 .ns_steps = 2,
                 .rms_rate = {}});
  if (name == "adamax") return Adamax({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75});
  if (name == "adafactor") return Adafactor({.learning_rate = 0.125, .epsilon_2 = 0.25});
  if (name == "adadelta") return Adadelta({.learning_rate = 1, .rho = 0.75, .epsilon = 1e-3});
  if (name == "heavy_ball") return test::HeavyBall({.learning_rate = 0.125, .decay = 0.75}, {.clipnorm = 0.5});
  if (name == "ftrl") return Ftrl({.learning_rate = 0.125, .l1_regularization_strength = 0.0625, .beta = 0.5});
  fail("there is no optimizer '{}'", name);
}

/// Trains one epoch on two replicas and returns its loss.
double train(Model& model, const std::string& folder) {
  const Tensor x = read_rows(folder + "/input_0", {6});
  const Tensor y = read_rows(folder + "/target", {2});
  return model.fit(Dataset::from_tensors(x, y).batch(x.dim(0) / 3)).values.at("loss").front();
}

/// Trains an epoch with the layers that the file has frozen, and one with all layers but "norm"; saves the model.
void fine_tune(const std::string& path, const std::string& folder) {
  Model model = open(path, 2);
  fmt::print("{}\n", train(model, folder));
  model.set_trainable(true);
  model.get_layer("norm").impl().set_trainable(false);
  model.compile(SGD({.learning_rate = 0.0625, .momentum = 0.75}), MeanSquaredError());
  fmt::print("{}\n", train(model, folder));
  model.save(path);
}

/// Evaluates batches of 8 examples with weights on two replicas.
void evaluate(const std::string& path, const std::string& folder) {
  Model model = open(path, 2);
  const Tensor x = read_rows(folder + "/input_0", model.network().input_shape());
  const Tensor y = read_rows(folder + "/target", model.network().output_shape());
  const Tensor weights = read_rows(folder + "/weights", {});
  for (const auto& [name, value] : model.evaluate(Dataset::from_tensors({{x}, {y}, {weights}}).batch(8)))
    fmt::print("{} {}\n", name, value);
}

void write_gradients(const std::string& path, const std::string& folder) {
  const Model model = load_model(path);
  const std::vector<Variable> variables = model.trainable_variables();
  std::vector<Tensor> values;
  for (const Variable& variable : variables) values.push_back(variable.value());
  GradientTape tape;
  const std::vector<Tensor> results = model.run(read_inputs(model, folder), Mode::train);
  Tensor loss = Tensor::zeros({});
  for (std::size_t i = 0; i < results.size(); ++i) {
    write_rows(results[i], fmt::format("{}/output_{}", folder, i));
    const Tensor target = read_rows(fmt::format("{}/target_{}", folder, i), {});
    loss = loss + mean(square(results[i] - reshape(target, results[i].shape())));
  }
  const std::vector<Tensor> gradients = tape.gradient(loss, values);
  for (std::size_t i = 0; i < gradients.size(); ++i) variables[i].assign(gradients[i]);
  model.save_weights(folder + "/gradients.weights.h5");
  fmt::print("{}\n", loss.item<float>());
}

/// A line has the name of a layer, the index of the layer inside it or -1, the rate and the shape.
void write_draws(const std::string& path, const std::string& folder) {
  const Model model = load_model(path);
  std::ifstream lines(folder + "/draws");
  std::string line;
  for (int number = 0; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string layer;
    int inner = -1;
    float rate = 0;
    Shape shape;
    words >> layer >> inner >> rate;
    for (std::int64_t size = 0; words >> size;) shape.push_back(size);
    LayerImpl& outer = model.get_layer(layer).impl();
    RandomDraws* const draws = inner < 0 ? outer.random_draws() : outer.inner_layers().at(inner).layer->random_draws();
    require(draws != nullptr, "layer '{}' draws no random numbers", layer);
    write_rows(dropout(Tensor::full(shape, 1), rate, draws->next()), fmt::format("{}/draw_{}", folder, number));
  }
}

void print_curve(const std::string& path, const std::string& folder, int replicas, double learning_rate, int epochs) {
  Model model = open(path, replicas);
  model.compile(SGD({.learning_rate = learning_rate}), MeanSquaredError());
  const std::vector<Tensor> inputs = read_inputs(model, folder);
  std::vector<Tensor> targets;
  for (const Tensor& result : model.run(inputs)) {
    const Tensor target = read_rows(fmt::format("{}/target_{}", folder, targets.size()), {});
    targets.push_back(reshape(target, result.shape()));
  }
  const Dataset data = Dataset::from_tensors({inputs, targets}).batch(8);
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (const Batch& batch : data.epoch()) fmt::print("{}\n", model.train_on_batch(batch).at("loss"));
}

/// The layer of this name in training_interop.py.
class DivergenceImpl : public LayerImpl {
 public:
  DivergenceImpl() : LayerImpl("divergence") {}
  std::string_view class_name() const override { return "Divergence"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const std::vector<Tensor> halves = split(inputs[0], 2, -1);
    const Tensor& log_variance = halves[1];
    add_loss(mean(sum(square(halves[0]) + exp(log_variance) - log_variance - 1.0, {1})) * 0.5);
    return inputs[0];
  }
};

void train_with_added_loss(const std::string& weights, const std::string& folder) {
  const MirroredStrategy strategy(logical_cpus(3));
  Model model = strategy.scope([] {
    return Sequential({6}, {Dense({.units = 4}), Layer(std::make_shared<DivergenceImpl>()), Dense({.units = 2})});
  });
  model.load_weights(weights);
  model.compile(SGD({.learning_rate = 0.125}), MeanSquaredError());
  const Tensor x = read_rows(folder + "/input_0", {6});
  const Dataset data = Dataset::from_tensors(x, read_rows(folder + "/target", {2})).batch(8);
  fmt::print("{}\n", model.fit(data).values.at("loss").front());
  fmt::print("{}\n", model.evaluate(data).at("loss"));
  model.save_weights(weights);
}

/// The models of check_train_step in training_interop.py.
Model small_network(std::int64_t hidden) {
  return Sequential({6}, {Dense({.units = hidden, .activation = Activation::tanh}), Dense({.units = 2})});
}

/// Distills a teacher over three replicas in a train_step, which also logs the norm of the global batch's gradient.
void train_with_own_step(const std::string& student, const std::string& teacher, const std::string& folder) {
  const MirroredStrategy strategy(logical_cpus(3));
  const auto scope = strategy.scope();
  Model taught = small_network(4);
  Model wanted = small_network(8);
  taught.load_weights(student);
  wanted.load_weights(teacher);
  const StepFunction distill = [&](const Model& model, const Batch& part, std::int64_t global_size) -> StepValues {
    const std::vector<Variable> variables = model.trainable_variables();
    GradientTape tape;
    const Tensor loss = sum(mean(square(wanted(part.x()) - model(part.x(), Mode::train)), {1}));
    const std::vector<Tensor> gradients = gradient(tape, loss / static_cast<double>(global_size), variables);
    Tensor squares = Tensor::zeros({});
    for (const Tensor& gradient : gradients)
      squares = squares + sum(square(get_replica_context().all_reduce(ReduceOp::sum, gradient)));
    model.optimizer().apply_gradients(gradients, variables);
    return {{"loss", {loss, part.size()}}, {"gradient_norm", {sqrt(squares), 1}}};
  };
  taught.compile(Adam({.learning_rate = 0.03125, .beta_1 = 0.5, .beta_2 = 0.75}), {{.loss = MeanSquaredError()}},
                 {.train_step = distill});
  const Tensor x = read_rows(folder + "/input_0", {6});
  const History history =
      taught.fit(Dataset::from_tensors(x, Tensor::zeros({x.dim(0), 2})).batch(x.dim(0)), {.epochs = 8});
  for (std::size_t epoch = 0; epoch < 8; ++epoch)
    fmt::print("{} {}\n", history.values.at("loss")[epoch], history.values.at("gradient_norm")[epoch]);
  taught.save_weights(student);
}

void run(std::span<const std::string> words) {
  if (words.size() == 1 && words[0] == "operations") {
    fmt::print("{}\n", fmt::join(operation_names(), "\n"));
    return;
  }
  require(words.size() >= 3, "usage: see files_driver.cpp");
  if (words[0] == "save" && words.size() == 4) {
    const MirroredStrategy strategy(logical_cpus(2));
    const Model model = strategy.scope([&] { return make_model(words[1]); });
    randomize(model);
    save_model(model, words[2]);
    predict(model, words[3]);
  } else if (words[0] == "weights" && words.size() == 4) {
    Model model = make_model(words[1]);
    model.load_weights(words[2]);
    save_model(model, words[3]);
    model.save_weights(words[2]);
  } else if (words[0] == "start" && words.size() == 4) {
    const MirroredStrategy strategy(logical_cpus(2));
    Model model = strategy.scope([] { return branches(); });
    const Loss loss = words[1] == "heavy_ball" ? Loss(test::PowerLoss({.power = 3})) : Huber(0.5);
    model.compile(
        make_optimizer(words[1]), loss,
        {test::PowerError({.power = 1.5}), MeanMetricWrapper(MeanAbsoluteError()), Accuracy(), BinaryAccuracy(0.25),
         TopKCategoricalAccuracy(2), TruePositives(0.25), F1Score({.average = FScoreAverage::macro, .threshold = 0.25}),
         FBetaScore({.average = FScoreAverage::weighted, .beta = 2}), BinaryIoU({.target_class_ids = {1}}),
         OneHotIoU({.num_classes = 2, .target_class_ids = {0, 1}}), OneHotMeanIoU({.num_classes = 2}),
         RootMeanSquaredError(), R2Score({.class_aggregation = R2Aggregation::variance_weighted_average})});
    train(model, words[3]);
    save_model(model, words[2]);
  } else if (words[0] == "train_on") {
    const MirroredStrategy strategy(logical_cpus(2));
    Model model = strategy.scope([&] { return load_model(words[1]); });
    fmt::print("{}\n", train(model, words[2]));
    save_model(model, words[1]);
  } else if (words[0] == "fine_tune") {
    fine_tune(words[1], words[2]);
  } else if (words[0] == "added_loss") {
    train_with_added_loss(words[1], words[2]);
  } else if (words[0] == "train_step" && words.size() == 4) {
    train_with_own_step(words[1], words[2], words[3]);
  } else if (words[0] == "gradients") {
    write_gradients(words[1], words[2]);
  } else if (words[0] == "draws") {
    write_draws(words[1], words[2]);
  } else if (words[0] == "curve" && words.size() == 6) {
    print_curve(words[1], words[2], std::stoi(words[3]), std::stod(words[4]), std::stoi(words[5]));
  } else if (words[0] == "evaluate") {
    evaluate(words[1], words[2]);
  } else if (words[0] == "open") {
    predict(open(words[1], 1), words[2]);
  } else {
    for (int time = 0; time < std::stoi(words[2]); ++time) open(words[1], 1 + time % 3).save(words[1]);
    const Model model = open(words[1], 1);
    for (const Layer& layer : model.network().layers()) fmt::print("{}\n", layer.name());
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    lockstep::test::register_classes();
    lockstep::run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "files_driver: {}\n", error.what());
    return 1;
  }
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/losses/keras_losses.h>
#include <lockstep/models/metrics/keras_metrics.h>
#include <lockstep/models/optimizers/keras_optimizers.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/serialization/compile_config.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

CompileConfig read(const Json& config, const CustomObjects& custom = {}) {
  return read_compile_config(config, {"end"}, {.custom = custom}).value();
}

CompileConfig compiled_with(const Optimizer& optimizer, const OutputTraining& output) { return {optimizer, {output}}; }

Json keras_2(const char* optimizer, const char* loss, const char* metrics = "[]") {
  return {{"optimizer_config", Json::parse(optimizer)},
          {"loss", Json::parse(loss)},
          {"metrics", Json::parse(metrics)},
          {"sample_weight_mode", nullptr},
          {"loss_weights", nullptr}};
}

const char* const sgd = R"({"class_name": "SGD", "config": {"lr": 0.5}})";

class CompileConfigs : public testing::TestWithParam<ConfigForm> {};

TEST_P(CompileConfigs, StayTheSame) {
  const std::vector<Loss> losses{SparseCategoricalCrossentropy({.from_logits = true}),
                                 CategoricalCrossentropy({.label_smoothing = 0.25}),
                                 BinaryCrossentropy({.from_logits = true}),
                                 MeanSquaredError(),
                                 MeanAbsoluteError(),
                                 MeanAbsolutePercentageError(),
                                 MeanSquaredLogarithmicError(),
                                 Huber(2),
                                 LogCosh(),
                                 Poisson(),
                                 KLDivergence(),
                                 CosineSimilarity(-2),
                                 Hinge(),
                                 SquaredHinge(),
                                 CategoricalHinge(),
                                 Dice({.axis = {1, 2}}),
                                 Dice(),
                                 Tversky({.alpha = 0.25, .beta = 0.75, .axis = {1}}),
                                 SparseCategoricalCrossentropy({.ignore_class = 255}),
                                 BinaryFocalCrossentropy({.apply_class_balancing = true, .gamma = 3}),
                                 CategoricalFocalCrossentropy({.alpha = {0.25, 0.5}, .label_smoothing = 0.125})};
  std::vector<Metric> metrics{Accuracy(),
                              BinaryAccuracy(0.25),
                              CategoricalAccuracy(),
                              SparseCategoricalAccuracy(),
                              TopKCategoricalAccuracy(3),
                              SparseTopKCategoricalAccuracy(2),
                              Precision(0.25).with_name("precision_1"),
                              Recall(),
                              AUC({.num_thresholds = 5,
                                   .thresholds = {0.25, 0.5, 0.875},
                                   .curve = AUCCurve::pr,
                                   .from_logits = true,
                                   .name = "area"}),
                              TruePositives(0.25),
                              FalsePositives(),
                              FalseNegatives(),
                              TrueNegatives(),
                              F1Score({.average = FScoreAverage::macro, .threshold = 0.25}),
                              F1Score(),
                              FBetaScore({.average = FScoreAverage::micro, .beta = 2}),
                              IoU({.num_classes = 3, .target_class_ids = {2}, .ignore_class = 255}),
                              BinaryIoU({.target_class_ids = {1}, .threshold = 0.25}),
                              MeanIoU({.num_classes = 3, .sparse_y_true = false, .sparse_y_pred = false}),
                              OneHotIoU({.num_classes = 3, .target_class_ids = {0, 2}, .sparse_y_pred = true}),
                              OneHotMeanIoU({.num_classes = 3, .ignore_class = 1}),
                              RootMeanSquaredError(),
                              CosineSimilarityMetric(1),
                              R2Score({.class_aggregation = R2Aggregation::variance_weighted_average}),
                              R2Score({.class_aggregation = R2Aggregation::none})};
  for (const Loss& loss : losses)
    if (const MeanMetricWrapper metric(loss); metric.config()) metrics.push_back(metric);
  for (const Loss& loss : losses) {
    const Json config = compile_config(compiled_with(SGD(), {.loss = loss, .metrics = metrics}), GetParam());
    const CompileConfig again = read(config);
    EXPECT_EQ(compile_config(again, GetParam()), config);
    const OutputTraining& output = again.outputs.at(0);
    EXPECT_EQ(output.loss.value().name(), loss.name());
    for (std::size_t i = 0; i < metrics.size(); ++i) EXPECT_EQ(output.metrics.at(i).name(), metrics[i].name());
  }
}

TEST_P(CompileConfigs, KeepTheNameOfAccuracy) {
  const auto saved = [](const Loss& loss) {
    return compile_config(compiled_with(SGD(), {.loss = loss, .metrics = {Accuracy().with_name("top1")}}), GetParam());
  };
  const Json config = saved(SparseCategoricalCrossentropy());
  EXPECT_EQ(config["metrics"][0]["class_name"], "SparseCategoricalAccuracy");
  EXPECT_EQ(config["metrics"][0]["config"], Json::parse(R"({"name": "top1"})"));
  EXPECT_EQ(read(config).outputs.at(0).metrics.at(0).name(), "top1");
  EXPECT_EQ(saved(CategoricalCrossentropy())["metrics"][0]["class_name"], "CategoricalAccuracy");
  EXPECT_EQ(saved(BinaryCrossentropy())["metrics"], Json::parse(R"(["accuracy"])")) << "the predictions' shape decides";
}

TEST_P(CompileConfigs, HoldAnAverageWithoutMomentum) {
  const SGD optimizer({}, {.use_ema = true, .ema_momentum = 0});
  const Json config = compile_config(compiled_with(optimizer, {.loss = MeanSquaredError()}), GetParam());
  EXPECT_EQ(read(config).optimizer.config().common.ema_momentum, 0);
}

TEST_P(CompileConfigs, HoldKerasSchedules) {
  const std::vector<LearningRateSchedule> schedules{
      ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5, .staircase = true}),
      InverseTimeDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5}),
      PiecewiseConstantDecay({5, 20}, {0.1, 0.05, 0.01}),
      PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .power = 0.5, .cycle = true}),
      CosineDecay({.initial_learning_rate = 0, .decay_steps = 20, .warmup_target = 0.1, .warmup_steps = 5}),
      CosineDecayRestarts({.initial_learning_rate = 0.1, .first_decay_steps = 5, .m_mul = 0.75})};
  for (const LearningRateSchedule& schedule : schedules) {
    const Json config =
        compile_config(compiled_with(SGD({.learning_rate = schedule}), {.loss = MeanSquaredError()}), GetParam());
    const OptimizerConfig again = read(config).optimizer.config();
    ASSERT_TRUE(again.learning_rate.is_schedule());
    for (std::int64_t step = 0; step < 30; ++step) EXPECT_EQ(again.learning_rate.at(step), schedule(step));
  }
}

TEST_P(CompileConfigs, NameWhatIsTheProgramsOwn) {
  const Loss loss("mine", [](const Tensor&, const Tensor& y_pred) { return y_pred; });
  const Metric metric = MeanMetricWrapper(loss).with_name("measured");
  const LearningRateSchedule schedule = [](std::int64_t step) { return step == 0 ? 0.25 : 0.125; };
  const Json config = compile_config(
      compiled_with(SGD({.learning_rate = schedule}), {.loss = loss, .weighted_metrics = {metric}}), GetParam());
  const CompileConfig again = read(config, {.losses = {loss}, .metrics = {metric}});
  EXPECT_EQ(again.outputs.at(0).loss.value().name(), "mine");
  EXPECT_EQ(again.outputs.at(0).weighted_metrics.at(0).name(), "measured");
  EXPECT_EQ(again.optimizer.learning_rate(), 0.25);
  EXPECT_ERROR(InputError, "lockstep has no metric 'measured', and custom_objects has none of this name; known are ",
               read(config, {.losses = {loss}, .metrics = {metric.with_name("other")}}));
  EXPECT_ERROR(InputError, "lockstep has no metric 'measured'; known are ", read(config, {.losses = {loss}}));
  EXPECT_ERROR(Unsupported, "the loss 'mine' is a custom one", loss.get_config());
  EXPECT_ERROR(Unsupported, "the metric 'measured' is a custom one", metric.get_config());
}

INSTANTIATE_TEST_SUITE_P(Forms, CompileConfigs, testing::Values(ConfigForm::keras_3, ConfigForm::legacy_h5));

TEST(CompileConfig, IsWhatKerasWrites) {
  const Json config = compile_config(compiled_with(AdamW({.learning_rate = 0.5, .weight_decay = 0}, {.clipnorm = 2}),
                                                   {.loss = BinaryCrossentropy(), .metrics = {Accuracy()}}),
                                     ConfigForm::keras_3);
  const Json optimizer = Json::parse(R"({"module": "keras.optimizers", "class_name": "AdamW", "config": {
      "amsgrad": false, "beta_1": 0.9, "beta_2": 0.999, "clipnorm": 2.0, "ema_momentum": 0.99, "epsilon": 1e-07,
      "use_ema": false, "weight_decay": 0.0, "name": "adam_w", "learning_rate": 0.5}, "registered_name": null})");
  for (const char* key : {"module", "class_name", "registered_name"})
    EXPECT_EQ(config["optimizer"][key], optimizer[key]);
  EXPECT_EQ(nlohmann::json(config["optimizer"]["config"]), nlohmann::json(optimizer["config"]));
  EXPECT_EQ(Json::parse(AdamW({.learning_rate = 0.5, .weight_decay = 0}, {.clipnorm = 2}).get_config()),
            config["optimizer"]["config"]);
  EXPECT_EQ(config["loss"]["class_name"], "BinaryCrossentropy");
  EXPECT_EQ(Json::parse(BinaryCrossentropy().get_config()), config["loss"]["config"]);
  EXPECT_EQ(BinaryAccuracy(0.25).get_config(), R"({"threshold":0.25,"name":"binary_accuracy"})");
  EXPECT_EQ(config["metrics"], Json::parse(R"(["accuracy"])"));
  EXPECT_TRUE(config["weighted_metrics"].is_null());
}

TEST(CompileConfig, IsReadAsKeras2WroteIt) {
  const CompileConfig compiled =
      read(keras_2(R"({"class_name": "Adam", "config": {"lr": 0.5, "decay": 0.0, "beta_1": 0.75, "epsilon": null,
                       "amsgrad": false, "name": "Adam"}})",
                   R"({"end": "mse"})", R"([["mae", "acc"]])"));
  EXPECT_EQ(compiled.optimizer.learning_rate(), 0.5);
  EXPECT_EQ(compiled.optimizer.config().rule.options->at("beta_1"), 0.75);
  EXPECT_EQ(compiled.outputs.at(0).loss.value().name(), "mean_squared_error");
  const std::vector<Metric>& metrics = compiled.outputs.at(0).metrics;
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].name(), "mae");
  EXPECT_EQ(metrics[1].name(), "acc");
}

TEST(CompileConfig, NamesLossesAndMetricsAsKeras) {
  const CompileConfig compiled =
      read(keras_2(sgd, R"({"end": "dice"})",
                   R"([["f1_score", "binary_io_u", "true_negatives", "root_mean_squared_error", "cosine_similarity",
                        "r2_score", "squared_hinge"]])"));
  EXPECT_EQ(compiled.outputs.at(0).loss.value().config()->class_name, "Dice");
  std::vector<std::string> classes;
  for (const Metric& metric : compiled.outputs.at(0).metrics) classes.push_back(metric.config()->class_name);
  EXPECT_THAT(classes, testing::ElementsAre("F1Score", "BinaryIoU", "TrueNegatives", "RootMeanSquaredError",
                                            "CosineSimilarity", "R2Score", "SquaredHinge"));
  EXPECT_EQ(compiled.outputs.at(0).metrics.at(4).direction(), Direction::up);  // the metric, not the loss
}

TEST(CompileConfig, IsReadAsKeras3WritesOptionsWithoutValues) {
  const CompileConfig compiled =
      read(keras_2(sgd, R"({"class_name": "Tversky", "config": {"alpha": 0.25, "beta": 0.5, "axis": null}})",
                   R"([{"class_name": "MeanIoU", "config": {"num_classes": 2, "name": "mean_io_u_1", "dtype": "int64",
                   "ignore_class": null, "sparse_y_true": true, "sparse_y_pred": true, "axis": -1}},
                  {"class_name": "F1Score", "config": {"average": null, "threshold": null, "dtype": "float32"}}])"));
  EXPECT_EQ(compiled.outputs.at(0).loss.value().config()->options->dump(), R"({"alpha":0.25,"beta":0.5})");
  const std::vector<Metric>& metrics = compiled.outputs.at(0).metrics;
  EXPECT_EQ(metrics.at(0).get_config(),
            R"({"num_classes":2,"sparse_y_pred":true,"sparse_y_true":true,"name":"mean_io_u_1"})");
  EXPECT_EQ(metrics.at(1).get_config(), R"({"name":"f1_score"})");
}

TEST(CompileConfig, HasTheDecayOfKeras2) {
  const CompileConfig compiled = read(
      keras_2(R"({"class_name": "Custom>SGD", "config": {"lr": 0.5, "decay": 0.25}})", R"("mse")",
              R"([{"class_name": "MeanMetricWrapper", "config": {"name": "acc", "fn": "categorical_accuracy"}}])"));
  EXPECT_DOUBLE_EQ(compiled.optimizer.config().learning_rate.at(4), 0.25);
  const Metric& metric = compiled.outputs.at(0).metrics.at(0);
  EXPECT_EQ(metric.name(), "acc");
  EXPECT_EQ(metric.config()->class_name, CategoricalAccuracy().config()->class_name);
}

TEST(CompileConfig, SaysWhatEachOutputIsTrainedBy) {
  const std::vector<OutputTraining> outputs{{.loss = MeanSquaredError(), .loss_weight = 0.5},
                                            {.metrics = {Accuracy()}},
                                            {.loss = Huber(), .weighted_metrics = {Accuracy(), AUC()}}};
  const Json config = compile_config({SGD(), outputs}, ConfigForm::keras_3);
  EXPECT_TRUE(config["loss"][1].is_null());
  EXPECT_EQ(config["loss_weights"], Json::parse("[0.5, 1.0, 1.0]"));
  EXPECT_EQ(config["metrics"], Json::parse(R"([[], ["accuracy"], []])"));
  const std::vector<OutputTraining> again = read_compile_config(config, {"a", "b", "c"}, {}).value().outputs;
  EXPECT_EQ(compile_config({SGD(), again}, ConfigForm::keras_3), config);
  EXPECT_FALSE(again.at(1).loss.has_value());
  EXPECT_EQ(again.at(0).loss_weight, 0.5);
  EXPECT_EQ(again.at(2).weighted_metrics.size(), 2U);
}

TEST(CompileConfig, NamesOutputsOrIsForAll) {
  const Json named = keras_2(sgd, R"({"b": "mse", "a": "mae"})", R"({"b": ["acc", "mae"]})");
  const std::vector<OutputTraining> outputs = read_compile_config(named, {"a", "b"}, {}).value().outputs;
  EXPECT_EQ(outputs.at(0).loss.value().name(), "mean_absolute_error");
  EXPECT_EQ(outputs.at(1).loss.value().name(), "mean_squared_error");
  EXPECT_TRUE(outputs.at(0).metrics.empty());
  EXPECT_EQ(outputs.at(1).metrics.size(), 2U);
  const CompileConfig same = read_compile_config(keras_2(sgd, R"("mse")"), {"a", "b"}, {}).value();
  for (const OutputTraining& output : same.outputs) EXPECT_EQ(output.loss.value().name(), "mean_squared_error");
}

TEST(CompileConfig, MayBeMissing) {
  EXPECT_FALSE(read_compile_config(nullptr, {"end"}, {}).has_value());
  // A Keras 3 configuration of a model that was not compiled; the loss is given.
  EXPECT_FALSE(read_compile_config(Json::object(), {"end"}, {.loss = MeanSquaredError()}).has_value());
}

TEST(CompileConfig, MayHaveNoLoss) {
  const CompileConfig compiled = read_compile_config(keras_2(sgd, "null"), {"a", "b"}, {}).value();
  for (const OutputTraining& output : compiled.outputs) EXPECT_FALSE(output.loss.has_value());
  for (const ConfigForm form : {ConfigForm::keras_3, ConfigForm::legacy_h5})
    EXPECT_EQ(compile_config(compiled, form)["loss"], nullptr);
}

// Configurations as tf_keras 2.12 to 2.15 write the arguments of compile().
TEST(CompileConfig, NamesAnOptimizerAsCompileTakesIt) {
  const auto rate_of = [](const char* optimizer) {
    return read(Json{{"optimizer", optimizer}, {"loss", "mse"}}).optimizer.learning_rate();
  };
  EXPECT_EQ(rate_of("sgd"), 0.01);
  EXPECT_EQ(rate_of("rmsprop"), 0.001);
  EXPECT_EQ(rate_of("Adam"), 0.001);
}

TEST(CompileConfig, IsReadWithoutWhatIsUnknown) {
  const Json config = keras_2(R"({"class_name": "ScheduleFreeAdamW", "config": {}})", R"("mse")",
                              R"([{"class_name": "PearsonCorrelation", "config": {}}, "mae"])");
  std::vector<std::string> problems;
  const CompileReading reading{.optimizer = Adam(),
                               .on_unknown_metric = [&](const std::string& problem) { problems.push_back(problem); }};
  const CompileConfig compiled = read_compile_config(config, {"end"}, reading).value();
  EXPECT_EQ(compiled.optimizer.config().rule.class_name, "Adam");
  ASSERT_EQ(compiled.outputs.at(0).metrics.size(), 1U);
  EXPECT_EQ(compiled.outputs.at(0).metrics[0].name(), "mae");
  EXPECT_THAT(problems, testing::ElementsAre(testing::HasSubstr("lockstep has no metric 'PearsonCorrelation'")));
}

TEST(CompileConfig, ReadsWhatMuonTurnsOff) {
  const auto config_of = [](const char* options) {
    const Json config{{"class_name", "Muon"}, {"config", Json::parse(options)}};
    return optimizer_from_json(config).config();
  };
  const OptimizerConfig off = config_of(
      R"({"exclude_layers": ["^a", "b$"], "rms_rate": null, "weight_decay": 0.5, "adam_weight_decay": null})");
  EXPECT_EQ((*off.rule.options)["exclude_layers"], (Json{"^a", "b$"}));
  EXPECT_TRUE((*off.rule.options)["rms_rate"].is_null());
  EXPECT_EQ((*off.rule.options)["adam_weight_decay"], 0);
  EXPECT_EQ(off.common.weight_decay, 0.5);
  EXPECT_EQ((*config_of(R"({"rms_rate": 0.25})").rule.options)["rms_rate"], 0.25);
  EXPECT_EQ(config_of(R"({"weight_decay": null, "exclude_layers": null})").common.weight_decay, 0);
  EXPECT_ERROR(InputError, "the optimizer Muon: exclude_layers cannot be [1]; it must be a list of strings",
               config_of(R"({"exclude_layers": [1]})"));
  EXPECT_ERROR(InputError, "exclude_layers of Muon has \"(\", which is not a regular expression",
               config_of(R"({"exclude_layers": ["("]})"));
}

// By name and from a config without options, an optimizer has the defaults of its class, which are Keras'.
TEST(CompileConfig, GivesOptimizersTheirClassesDefaults) {
  const std::vector<Optimizer> all{SGD(),   Adam(), AdamW(),  RMSprop(),  Adagrad(), Lamb(),     Lion(),
                                   Nadam(), Muon(), Adamax(), Adadelta(), Ftrl(),    Adafactor()};
  for (const Optimizer& optimizer : all) {
    const std::string name = optimizer.config().rule.class_name;
    EXPECT_EQ(optimizer_from_json(name).get_config(), optimizer.get_config());
    const Json empty{{"class_name", name}, {"config", Json::object()}};
    EXPECT_EQ(optimizer_from_json(empty).get_config(), optimizer.get_config());
    const Json off{{"class_name", name}, {"config", {{"clipnorm", nullptr}, {"gradient_accumulation_steps", nullptr}}}};
    EXPECT_EQ(optimizer_from_json(off).get_config(), optimizer.get_config());
  }
  const auto muon = Json::parse(optimizer_from_json("muon").get_config());
  EXPECT_EQ(muon["weight_decay"], 0.004);
  EXPECT_EQ(muon["adam_weight_decay"], 0.004);
  EXPECT_EQ(muon["rms_rate"], 0.2);
}

TEST(CompileConfig, ReadsNullAsKerasNone) {
  const auto metric = [](const char* text) { return read(keras_2(sgd, R"("mse")", text)).outputs.at(0).metrics.at(0); };
  EXPECT_EQ(metric(R"([{"class_name": "R2Score", "config": {"class_aggregation": null}}])").get_config(),
            R2Score({.class_aggregation = R2Aggregation::none}).get_config());
  EXPECT_EQ(metric(R"([{"class_name": "Recall", "config": {"thresholds": null, "top_k": null, "class_id": null}}])")
                .get_config(),
            Recall().get_config());
  EXPECT_EQ(metric(R"([{"class_name": "AUC", "config": {"thresholds": null, "num_labels": null}}])").get_config(),
            AUC().get_config());
  EXPECT_EQ(
      metric(R"([{"class_name": "SparseCategoricalCrossentropy", "config": {"ignore_class": null}}])").get_config(),
      MeanMetricWrapper(SparseCategoricalCrossentropy()).get_config());
  EXPECT_ERROR(InputError, "the loss MeanSquaredError: reduction cannot be null; it must be \"sum_over_batch_size\"",
               read(keras_2(sgd, R"({"class_name": "MeanSquaredError", "config": {"reduction": null}})")));
  EXPECT_ERROR(InputError, "the optimizer AdamW: weight_decay cannot be null; it must be a number",
               read(keras_2(R"({"class_name": "AdamW", "config": {"weight_decay": null}})", R"("mse")")));
  EXPECT_ERROR(InputError, "the optimizer SGD: momentum cannot be null; it must be a number",
               read(keras_2(R"({"class_name": "SGD", "config": {"momentum": null}})", R"("mse")")));
}

TEST(CompileConfig, SaysWhatIsWrong) {
  EXPECT_ERROR(
      InputError,
      "the optimizer is of class ScheduleFreeAdamW; known are adadelta, adafactor, adagrad, adam, adamax, adamw, "
      "ftrl, lamb, lion, muon, nadam, rmsprop, sgd",
      read(keras_2(R"({"class_name": "ScheduleFreeAdamW", "config": {}})", R"("mse")")));
  EXPECT_ERROR(InputError, "the optimizer has a schedule and a decay of 0.5; it can have one",
               read(keras_2(R"({"class_name": "SGD", "config": {"decay": 0.5, "learning_rate": {"class_name":
                   "PolynomialDecay", "config": {"initial_learning_rate": 1, "decay_steps": 3}}}})",
                            R"("mse")")));
  EXPECT_ERROR(InputError, "the optimizer SGD: momentum cannot be \"high\"; it must be a number",
               read(keras_2(R"({"class_name": "SGD", "config": {"momentum": "high"}})", R"("mse")")));
  EXPECT_ERROR(InputError, "the optimizer SGD: the momentum of SGD must lie in [0, 1], got 2",
               read(keras_2(R"({"class_name": "SGD", "config": {"momentum": 2}})", R"("mse")")));
  EXPECT_ERROR(
      InputError, "the learning rate's schedule is of class Mine; known are ExponentialDecay",
      read(keras_2(R"({"class_name": "SGD", "config": {"learning_rate": {"class_name": "Mine"}}})", R"("mse")")));
  EXPECT_ERROR(InputError, "lockstep has no loss 'CTC'; known are bce, ",
               read(keras_2(sgd, R"({"class_name": "CTC", "config": {}})")));
  EXPECT_ERROR(InputError, "the loss Dice: axis cannot be [0.5]; it must be a whole number below 2^63, or a list",
               read(keras_2(sgd, R"({"class_name": "Dice", "config": {"axis": [0.5]}})")));
  EXPECT_ERROR(InputError, "the loss BinaryCrossentropy: axis cannot be 1; it must be -1",
               read(keras_2(sgd, R"({"class_name": "BinaryCrossentropy", "config": {"axis": 1}})")));
  EXPECT_ERROR(InputError, "the metric SparseCategoricalCrossentropy: ignore_class cannot be 2; it must be null",
               read(keras_2(sgd, R"("mse")",
                            R"([{"class_name": "SparseCategoricalCrossentropy", "config": {"ignore_class": 2}}])")));
  EXPECT_ERROR(InputError, "the loss MeanSquaredError: reduction cannot be \"sum\"; it must be \"sum_over_batch_size\"",
               read(keras_2(sgd, R"({"class_name": "MeanSquaredError", "config": {"reduction": "sum"}})")));
  EXPECT_ERROR(InputError, "lockstep has no metric 'PearsonCorrelation'",
               read(keras_2(sgd, R"("mse")", R"([{"class_name": "PearsonCorrelation", "config": {}}])")));
  EXPECT_ERROR(InputError, "compiled with several losses; it can have one", read(keras_2(sgd, R"(["mse", "mae"])")));
  EXPECT_ERROR(InputError, "loss of 'side'; the outputs are 'end', 'start'",
               read_compile_config(keras_2(sgd, R"({"side": "mse"})"), {"end", "start"}, {}));
  EXPECT_ERROR(InputError, "is not in Keras' form", read(Json::array({1})));
}

}  // namespace
}  // namespace lockstep

// The lockstep side of files_fuzz.py, which runs this program and compares the results. Each line of standard input is
// a request, a JSON object with the key "do"; the response is one line of JSON: the current model, or {"error": ...}.
// There is one model at a time.
//   {"do": "make", "spec": ..., "compile": ..., "replicas": n}  a model as described in random_models.py
//   {"do": "open", "path": ..., "replicas": n}                  load_model
//   {"do": "train", "folder": ...}                              one epoch on input_0, ... with targets of 0
//   {"do": "save" | "save_weights" | "load_weights", "path": ...}
//   {"do": "predict", "folder": ...}                            reads input_0, ..., writes output_0, ...
//   {"do": "values", "path": ...}                               writes all weights and the optimizer's state
// Files of values have rows of little-endian f32 without a header.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/serialization/compile_config.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Shape shape_of(const Json& sizes) { return Shape(sizes.get<std::vector<std::int64_t>>()); }

std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Shape batched(std::int64_t rows, const Shape& row) {
  Shape shape{rows};
  for (const std::int64_t size : row) shape.push_back(size);
  return shape;
}

/// Builds models from a description; each layer and model is made once, however often it is called.
class Maker {
 public:
  explicit Maker(const Json& pool) : pool_(pool) {}

  Model model(int index) {
    if (const auto made = models_.find(index); made != models_.end()) return made->second;
    return models_.emplace(index, make(pool_[index].at("model"))).first->second;
  }

 private:
  Model make(const Json& spec) {
    const ModelOptions options{.name = spec.at("name"), .seed = 1};
    if (is_plain_sequence(spec)) {
      const Shape shape = shape_of(spec["inputs"][0].at("shape"));
      std::vector<Layer> layers;
      int rank = shape.rank();
      for (const Json& call : spec["calls"]) {
        layers.push_back(layer(call.at("layer"), rank));
        rank = call.at("rank");
      }
      return Sequential(shape, layers, options);
    }
    std::vector<Symbol> inputs;
    for (const Json& input : spec.at("inputs")) inputs.push_back(Input(shape_of(input.at("shape")), input.at("name")));
    std::vector<std::vector<Symbol>> results;  // indexed by call
    const auto find = [&](const Json& references) {
      std::vector<Symbol> found;
      for (const Json& reference : references) {
        const int call = reference[0];
        found.push_back(call < 0 ? inputs.at(-1 - call) : results.at(call).at(reference[1]));
      }
      return found;
    };
    for (const Json& call : spec.at("calls")) {
      const std::vector<Symbol> from = find(call.at("inputs"));
      const int index = call.at("layer");
      if (pool_[index].contains("model"))
        results.push_back(model(index).run(from));
      else
        results.push_back({layer(index, from.front().shape().rank())(from)});
    }
    return {inputs, find(spec.at("outputs")), options};
  }

  bool is_plain_sequence(const Json& spec) const {
    return spec.at("sequential") && std::ranges::none_of(spec.at("calls"), [&](const Json& call) {
             return pool_[call.at("layer").get<int>()].contains("model");
           });
  }

  Layer layer(int index, int input_rank) {
    if (const auto made = layers_.find(index); made != layers_.end()) return made->second;
    LayerConfig config(pool_[index].at("class").get<std::string>(), pool_[index].at("config"), input_rank + 1);
    return layers_.emplace(index, layer_from_config(config)).first->second;
  }

  const Json& pool_;
  std::map<int, Model> models_;
  std::map<int, Layer> layers_;
};

std::vector<float> read_floats(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  require<InputError>(in.good(), "{} cannot be read", path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

void write_floats(std::ofstream& out, const Tensor& tensor) {
  const std::vector<float> values = tensor.to_vector<float>();
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

std::vector<Tensor> read_inputs(const Model& model, const std::string& folder) {
  std::vector<Tensor> inputs;
  for (const NetworkInput& input : model.network().inputs()) {
    const std::vector<float> values = read_floats(fmt::format("{}/input_{}", folder, inputs.size()));
    const auto rows = static_cast<std::int64_t>(values.size()) / input.shape.elements();
    inputs.push_back(Tensor::from(values, batched(rows, input.shape)));
  }
  return inputs;
}

class Session {
 public:
  Json answer(const Json& request) {
    const std::string what = request.at("do");
    if (what == "make") {
      make(request);
    } else if (what == "open") {
      const MirroredStrategy strategy(logical_cpus(request.at("replicas")));
      model_.emplace(strategy.scope([&] { return load_model(request.at("path")); }));
    } else if (what == "train") {
      train(request.at("folder"));
    } else if (what == "save") {
      model_->save(request.at("path"));
    } else if (what == "save_weights") {
      model_->save_weights(request.at("path"));
    } else if (what == "load_weights") {
      model_->load_weights(request.at("path"));
    } else if (what == "predict") {
      predict(request.at("folder"));
    } else {
      write_values(request.at("path"));
    }
    return describe();
  }

 private:
  void make(const Json& request) {
    const MirroredStrategy strategy(logical_cpus(request.at("replicas")));
    model_.emplace(
        strategy.scope([&] { return Maker(request.at("spec").at("pool")).model(request["spec"]["model"]); }));
    if (request.at("compile").is_null()) return;
    const auto compiled = read_compile_config(request["compile"], model_->network().output_names(), {});
    model_->compile(compiled->optimizer, compiled->outputs);
  }

  void train(const std::string& folder) {
    const std::vector<Tensor> inputs = read_inputs(*model_, folder);
    const std::int64_t rows = inputs.front().dim(0);
    std::vector<Tensor> targets;
    for (const int output : model_->network().outputs())
      targets.push_back(Tensor::zeros(batched(rows, model_->network().calls()[output].shape)));
    model_->fit(Dataset::from_tensors({inputs, targets}).batch(rows / 2));
  }

  void predict(const std::string& folder) const {
    const std::vector<Tensor> outputs = model_->run(read_inputs(*model_, folder));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::ofstream out(fmt::format("{}/output_{}", folder, i), std::ios::binary);
      write_floats(out, outputs[i].dtype() == DType::f32 ? outputs[i] : cast(outputs[i], DType::f32));
    }
  }

  void write_values(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    for (const Variable& variable : model_->variables()) write_floats(out, variable.value());
    if (!is_compiled()) return;
    for (const OptimizerState::Slot& slot : model_->optimizer().state().slots)
      for (const Tensor& value : slot.values) write_floats(out, value);
  }

  bool is_compiled() const {
    try {
      model_->optimizer();
      return true;
    } catch (const LogicError&) {
      return false;
    }
  }

  Json describe() const {
    const Network& network = model_->network();
    Json layers = Json::array();
    for (const Layer& layer : network.layers()) {
      Json weights = Json::array();
      for (const Variable& variable : layer.impl().variables())
        weights.push_back(
            {{"name", variable.name()}, {"shape", sizes_of(variable.shape())}, {"trainable", variable.trainable()}});
      layers.push_back({{"name", layer.name()},
                        {"class", layer.impl().class_name()},
                        {"trainable", layer.impl().trainable()},
                        {"weights", weights}});
    }
    Json inputs = Json::array();
    for (const NetworkInput& input : network.inputs()) inputs.push_back(input.name);
    Json model{{"name", model_->name()}, {"inputs", inputs}, {"outputs", network.output_names()}, {"layers", layers}};
    if (!is_compiled()) return model;
    const OptimizerState state = model_->optimizer().state();
    Json slots = Json::array();
    for (const OptimizerState::Slot& slot : state.slots) slots.push_back(slot.name);
    model["compile"] =
        compile_config({.optimizer = model_->optimizer(), .outputs = model_->compiled_outputs()}, ConfigForm::keras_3);
    model["optimizer"] = {{"steps", state.steps}, {"learning_rate", state.learning_rate}, {"slots", slots}};
    return model;
  }

  std::optional<Model> model_;
};

}  // namespace
}  // namespace lockstep

int main() {
  lockstep::Session session;
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::ordered_json answer;
    try {
      answer = session.answer(nlohmann::ordered_json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  }
}

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/dataset.h>

// usage: tf_data_driver PIPELINES.json COUNT
// Prints a line of JSON for each pipeline of tf_data_interop.py: its cardinality and the values of its first COUNT
// elements, or "error" where it throws. Caches in files are written next to PIPELINES.json.

namespace {

using namespace lockstep;
using Json = nlohmann::json;
using Integers = std::vector<std::int64_t>;

std::int64_t value_of(const Tensor& scalar) { return scalar.item<std::int64_t>(); }

Tensor integers(std::int64_t end) {
  Integers values(static_cast<std::size_t>(end));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from(values, {end});
}

Tensor tensor_of(const Json& rows) {
  const auto columns = static_cast<std::int64_t>(rows.at(0).size());
  Integers values;
  for (const Json& row : rows)
    for (const Json& value : row) values.push_back(value);
  return Tensor::from(values, {static_cast<std::int64_t>(rows.size()), columns});
}

/// Nested lists of the elements from `begin` on of the axes from `axis` on.
Json lists_of(const Integers& values, const Shape& shape, int axis = 0, std::int64_t begin = 0) {
  if (axis == shape.rank()) return values.at(static_cast<std::size_t>(begin));
  std::int64_t step = 1;
  for (int inner = axis + 1; inner < shape.rank(); ++inner) step *= shape[inner];
  Json list = Json::array();
  for (std::int64_t i = 0; i < shape[axis]; ++i) list.push_back(lists_of(values, shape, axis + 1, begin + i * step));
  return list;
}

Json lists_of(const Example& element) {
  Json tensors = Json::array();
  for (const Tensor& tensor : element.inputs)
    tensors.push_back(lists_of(tensor.to_vector<std::int64_t>(), tensor.shape()));
  return tensors;
}

Example times_ten(const Example& element) {
  return element.each([](const Tensor& tensor) {
    Integers values = tensor.to_vector<std::int64_t>();
    for (std::int64_t& value : values) value *= 10;
    return Tensor::from(values, tensor.shape());
  });
}

Dataset apply_map(const Dataset& data, const std::string& function) {
  if (function == "times_ten") return data.map(RowTransform(times_ten));
  const auto fill = [rows = function == "fill_rows"](const Example& element) {
    const std::int64_t x = value_of(element.x());
    return element.with_x(Tensor::full(rows ? Shape{x % 3, x} : Shape{x}, static_cast<double>(x), DType::i64));
  };
  return data.map(fill);
}

bool is_even(const Example& element) {
  const Integers values = element.x().to_vector<std::int64_t>();
  return std::accumulate(values.begin(), values.end(), std::int64_t{0}) % 2 == 0;
}

PaddedBatchOptions padding_of(const Json& arguments) {
  PaddedBatchOptions options{.drop_remainder = arguments.value("drop_remainder", false)};
  const Json shapes = arguments.value("padded_shapes", Json::array());
  const Json values = arguments.value("padding_values", Json::array());
  options.inputs.resize(std::max(shapes.size(), values.size()));
  for (std::size_t i = 0; i < shapes.size(); ++i) options.inputs[i].shape = shapes[i].get<Integers>();
  for (std::size_t i = 0; i < values.size(); ++i) options.inputs[i].value = values[i];
  return options;
}

std::optional<std::int64_t> optional_number(const Json& arguments, const char* name) {
  return arguments.contains(name) ? std::optional(arguments.at(name).get<std::int64_t>()) : std::nullopt;
}

class Builder {
 public:
  explicit Builder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Dataset dataset(const Json& pipeline) { return dataset(pipeline, Example()); }

 private:
  using Stage = std::function<Dataset(const Dataset&, const Json& arguments)>;

  /// `element`: of the input of a stage whose argument `pipeline` is.
  Dataset dataset(const Json& pipeline, const Example& element) {
    Dataset data = source(pipeline.at(0).at(0), pipeline.at(0).at(1), element);
    for (std::size_t i = 1; i < pipeline.size(); ++i)
      data = stages_.at(pipeline[i].at(0).get<std::string>())(data, pipeline[i].at(1));
    return data;
  }

  std::vector<Dataset> datasets(const Json& arguments, const Example& element) {
    std::vector<Dataset> sets;
    for (const Json& pipeline : arguments.at("datasets")) sets.push_back(dataset(pipeline, element));
    return sets;
  }

  Dataset source(const std::string& name, const Json& arguments, const Example& element) {
    if (name == "range") return Dataset::from_tensors(integers(arguments.at("stop")));
    if (name == "from_tensor_slices") return Dataset::from_tensors(tensor_of(arguments.at("tensors")));
    if (name == "zip") return Dataset::zip(datasets(arguments, element));
    if (name == "sample_from_datasets")
      return Dataset::sample_from_datasets(datasets(arguments, element),
                                           {.weights = arguments.at("weights").get<std::vector<double>>(),
                                            .stop_on_empty_dataset = arguments.value("stop_on_empty_dataset", false)});
    if (name == "from_generator") {
      const Dataset numbers = Dataset::from_tensors(integers(arguments.at("stop")));
      return Dataset::from_generator([numbers](std::uint64_t epoch) { return numbers.epoch(epoch); });
    }
    if (name == "times") {
      const std::int64_t x = value_of(element.x());
      return Dataset::from_tensors(Tensor::full({x}, static_cast<double>(x), DType::i64));
    }
    require(name == "slices", "no source {}", name);
    return Dataset::from_tensors(element.x());
  }

  std::function<Dataset(const Example&)> function(const Json& pipeline) {
    return [this, pipeline](const Example& element) { return dataset(pipeline, element); };
  }

  const std::map<std::string, Stage> stages_{
      {"map", [](const Dataset& data, const Json& a) { return apply_map(data, a.at("map_func")); }},
      {"batch", [](const Dataset& data,
                   const Json& a) { return data.batch(a.at("batch_size"), a.value("drop_remainder", false)); }},
      {"padded_batch",
       [](const Dataset& data, const Json& a) { return data.padded_batch(a.at("batch_size"), padding_of(a)); }},
      {"window",
       [](const Dataset& data, const Json& a) {
         return data.window(a.at("size"), {.shift = optional_number(a, "shift"),
                                           .stride = a.value("stride", std::int64_t{1}),
                                           .drop_remainder = a.value("drop_remainder", false)});
       }},
      {"filter",
       [](const Dataset& data, const Json& a) {
         if (a.at("predicate") == "even") return data.filter(is_even);
         return data.filter([all = a.at("predicate") == "all"](const Example&) { return all; });
       }},
      {"repeat", [](const Dataset& data, const Json& a) { return data.repeat(optional_number(a, "count")); }},
      {"take", [](const Dataset& data, const Json& a) { return data.take(a.at("count")); }},
      {"skip", [](const Dataset& data, const Json& a) { return data.skip(a.at("count")); }},
      {"prefetch", [](const Dataset& data, const Json& a) { return data.prefetch(a.at("buffer_size")); }},
      {"shuffle", [](const Dataset& data, const Json& a) { return data.shuffle({.buffer = a.at("buffer_size")}); }},
      {"unbatch", [](const Dataset& data, const Json&) { return data.unbatch(); }},
      {"cache",
       [this](const Dataset& data, const Json& a) {
         return a.value("file", false) ? data.cache(folder_ / fmt::format("{}.cache", files_++)) : data.cache();
       }},
      {"concatenate",
       [this](const Dataset& data, const Json& a) { return data.concatenate(dataset(a.at("dataset"))); }},
      {"flat_map", [this](const Dataset& data, const Json& a) { return data.flat_map(function(a.at("map_func"))); }},
      {"interleave",
       [this](const Dataset& data, const Json& a) {
         return data.interleave(function(a.at("map_func")), a.at("cycle_length"),
                                a.value("block_length", std::int64_t{1}));
       }},
  };
  std::filesystem::path folder_;
  int files_ = 0;
};

Json cardinality_of(const Dataset& data) {
  if (data.is_endless()) return "infinite";
  const std::optional<std::int64_t> size = data.size();
  return size ? Json(*size) : Json("unknown");
}

Json result_of(Builder& builder, const Json& pipeline, std::size_t count) {
  Json result{{"cardinality", "error"}};
  try {
    const Dataset data = builder.dataset(pipeline);
    result = {{"cardinality", cardinality_of(data)}, {"elements", "error"}};
    Json elements = Json::array();
    DatasetIterator pass = data.epoch();
    while (elements.size() < count) {
      const std::optional<Example> element = pass.next();
      if (!element) break;
      elements.push_back(lists_of(*element));
    }
    result["elements"] = std::move(elements);
  } catch (const lockstep::Error&) {
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const std::filesystem::path file = argv[1];
    std::ifstream in(file);
    Builder builder(file.parent_path());
    for (const Json& pipeline : Json::parse(in))
      fmt::print("{}\n", result_of(builder, pipeline, std::stoul(argv[2])).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

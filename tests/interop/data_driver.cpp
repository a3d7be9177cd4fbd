#include <map>
#include <string>

#include <fmt/ranges.h>

#include <lockstep/models/data/csv_file.h>
#include <lockstep/models/data/numpy_file.h>
#include <lockstep/models/data/tfrecord.h>

// usage: data_driver npy|npz|csv|tfrecord FILE
// Prints a line for each array, column or tensor of a record: its name, dtype, shape and values.

namespace {

using namespace lockstep;

void print(const std::string& label, const Tensor& values) {
  const Shape& shape = values.shape();
  fmt::print("{}\t{}\t{}\t{:.17g}\n", label, name(values.dtype()), fmt::join(shape.begin(), shape.end(), " "),
             fmt::join(values.to_vector<double>(), " "));
}

void print_file(const std::string& kind, const std::string& file) {
  if (kind == "npy") print("", read_npy(file));
  if (kind == "npz")
    for (const auto& [label, values] : read_npz(file)) print(label, values);
  if (kind == "csv")
    for (const CsvColumn& column : read_csv(file)) print(column.name, column.values);
  if (kind != "tfrecord") return;
  const TfRecordOptions options{.inputs = {{"x", FeatureType::numbers, {3}}, {"raw", FeatureType::bytes, {2, 2}}},
                                .targets = {{"y", FeatureType::integers}}};
  for (const Example& record : tfrecord_dataset({file}, options).epoch()) {
    print("x", record.inputs[0]);
    print("raw", record.inputs[1]);
    print("y", record.y());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    print_file(argv[1], argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

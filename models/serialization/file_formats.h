#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/serialization/load_weights_options.h>

// Tables of the file formats for weights and for whole models. All code that reads, writes or lists formats uses these
// tables. To add a format, add an entry here and a source file that defines it.

namespace lockstep {

class Network;
class Strategy;
class Tensor;
class Variable;
struct NestedModel;
struct SavedLayer;
struct Training;

/// Variables and the values that a file has for them.
using WeightValues = std::vector<std::pair<Variable, Tensor>>;

/// A file format for weights only.
struct WeightsFormat {
  std::string_view extension;  ///< extension of file names
  /// The contents of a file with all weights. A collective: every worker must call it.
  std::vector<std::byte> (*contents)(const Network& network);
  /// The values that load_weights sets.
  WeightValues (*read)(const Network& network, const std::string& path, const LoadWeightsOptions& options);
};

/// A file format for whole models. `read_config` and `read_weights` throw InputError naming the file.
struct ModelFormat {
  std::string_view extension;                    ///< extension of file names
  std::string_view other_extension = extension;  ///< a second extension of the format
  ConfigForm form = ConfigForm::keras_3;         ///< form of the objects in the file
  /// Whether a file's contents have this format, regardless of its name; null if only the name identifies the format.
  bool (*recognizes)(const std::string& path) = nullptr;
  /// The contents of a file with the network, described by `model`, and its training state if it was compiled. A
  /// collective: every worker must call it. Throws Unsupported for objects of classes that are neither Keras' nor
  /// registered, and InvalidArgument for a weight that is not f32.
  std::vector<std::byte> (*contents)(const Network& network, const NestedModel& model,
                                     const std::optional<Training>& training);
  /// The model's configuration, in which names and options have the meanings of Keras 3. The member "compile_config"
  /// holds the arguments of compile().
  nlohmann::ordered_json (*read_config)(const std::string& path);
  /// Sets the weights of the layers, which must be built. If there is a `training`, then replaces its optimizer by the
  /// file's optimizer with its state. `config` is the result of `read_config`. If a weight does not fit, sets none.
  /// Throws InvalidArgument for a layer's weight that is not f32.
  void (*read_weights)(const std::string& path, const nlohmann::ordered_json& config,
                       const std::vector<SavedLayer>& layers, std::optional<Training>& training);
};

extern const WeightsFormat weights_h5_format;   ///< Keras 3's format; also reads Keras' legacy files
extern const WeightsFormat safetensors_format;  ///< safetensors with the names "layer/variable"
extern const ModelFormat keras_format;          ///< Keras 3's format
extern const ModelFormat legacy_h5_format;      ///< Keras' legacy format, also of Keras 2

/// The formats for weights. The first one is used for file names without a known extension.
inline constexpr std::array weights_formats{&weights_h5_format, &safetensors_format};
/// The formats for whole models, chosen by extension.
inline constexpr std::array model_formats{&keras_format, &legacy_h5_format};

///@{
/// The format for the extension of `path`; null if the extension is unknown. A path can match both functions, since
/// ".weights.h5" also ends with ".h5".
const WeightsFormat* weights_format_of(std::string_view path);
const ModelFormat* model_format_of(std::string_view path);
///@}

///@{
/// The extensions in the tables, one for each format, in the form ".keras or .h5".
std::string weights_extensions();
std::string model_extensions();
std::string all_extensions();
///@}

/// Kinds of files for check_is_f32.
inline constexpr std::string_view keras_files = ".keras and .h5 files";
/// Throws InvalidArgument unless the variable is f32, the only dtype that `files`, such as keras_files, hold.
void check_is_f32(const Variable& variable, std::string_view files);

/// Throws LogicError inside a replica; `what` is the called function, for the message.
void check_outside_replica(std::string_view what);

/// Calls `job`, which reads or writes a file. If it throws InputError on one worker, all workers throw InputError, with
/// that worker's name and message; other errors end the cluster, as in notify_on_failure. A collective: every worker
/// must call it, even if it has nothing to write.
void on_all_workers(const Strategy& strategy, const std::function<void()>& job);

/// Writes all weights in the format of the extension; for an unknown extension, in Keras 3's `.weights.h5` format.
/// Atomic: on failure an existing file is unchanged. A collective: every worker must call it; the chief writes. Throws
/// InputError, which names the path and the reason, if the file cannot be written. Throws InvalidArgument for a weight
/// that is not f32, except in a `.safetensors` file. Throws LogicError in a replica.
void save_weights(const Network& network, const std::string& path);

/// Sets all copies of all weights from a file of this or another program. The extension determines the format; for an
/// unknown extension, the file may be a `.keras` file or any of Keras' HDF5 files. If the file cannot be read or
/// belongs to another model, throws InputError, which names the path, the layer and the mismatch, and leaves the
/// weights unchanged; with `options`, weights that do not fit can be skipped instead. A collective: every worker must
/// call it; if one worker cannot read the file, all throw. Throws InvalidArgument for an option that is not for this
/// format, and for a weight that save_weights refuses. Throws LogicError in a replica.
void load_weights(const Network& network, const std::string& path, const LoadWeightsOptions& options = {});

}  // namespace lockstep

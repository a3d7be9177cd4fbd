#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// The formats of files of weights and of whole models, one table of each. Whatever reads or writes such a file, or says
// which ones there are, goes through these tables. A new format is a line here and a source that defines it.

namespace lockstep {

class Network;
struct NestedModel;
struct SavedLayer;
struct Training;

/// A format of files of weights alone.
struct WeightsFormat {
  std::string_view extension;  ///< of a file's name
  /// All weights as the contents of a file, in f32. Every worker calls it.
  std::vector<std::byte> (*contents)(const Network& network);
  /// As load_weights.
  void (*load)(const Network& network, const std::string& path);
};

/// A format of files of whole models. All functions but `recognizes` throw InputError naming the file.
struct ModelFormat {
  std::string_view extension;                    ///< of a file's name
  std::string_view other_extension = extension;  ///< with the same meaning
  /// Whether a file has this format whatever its name says; null if the name alone says it.
  bool (*recognizes)(const std::string& path) = nullptr;
  /// The network as this model, and how it was compiled, if it was, as the contents of a file. Every worker calls it.
  /// Throws Unsupported for layers that Keras does not have.
  std::vector<std::byte> (*contents)(const Network& network, const NestedModel& model,
                                     const std::optional<Training>& training);
  /// The model's configuration in terms of Keras 3, and as its "compile_config" how it was compiled.
  nlohmann::ordered_json (*read_config)(const std::string& path);
  /// Sets the weights of the file's layers, which have been built; `config` is what `read_config` has given. Sets none
  /// if not all fit. Brings the training's optimizer, if there is one, to the state that the file holds.
  void (*read_weights)(const std::string& path, const nlohmann::ordered_json& config,
                       const std::vector<SavedLayer>& layers, std::optional<Training>& training);
};

extern const WeightsFormat weights_h5_format;   ///< Keras 3's; reads its legacy files, too
extern const WeightsFormat safetensors_format;  ///< weights by name
extern const ModelFormat keras_format;          ///< Keras 3's
extern const ModelFormat legacy_h5_format;      ///< Keras' older one, also of Keras 2

/// The first one counts for names that say none.
inline constexpr std::array weights_formats{&weights_h5_format, &safetensors_format};
/// Names say which one.
inline constexpr std::array model_formats{&keras_format, &legacy_h5_format};

///@{
/// The format that a file's name says; null if it says none. A whole model's name can end in one of weights.
const WeightsFormat* weights_format_of(std::string_view path);
const ModelFormat* model_format_of(std::string_view path);
///@}

///@{
/// The extensions of the tables, one for each format, as text: ".keras or .h5".
std::string weights_extensions();
std::string model_extensions();
std::string all_extensions();
///@}

/// Throws LogicError inside a replica. `what`: the function that was called.
void check_outside_replica(std::string_view what);

/// Writes all weights, f32, in the format that the name says; without one, as Keras 3's `.weights.h5`. Whole or not at
/// all: on failure an old file is as it was. Throws InputError naming path and reason, LogicError in a replica.
void save_weights(const Network& network, const std::string& path);

/// Sets all copies of all weights from such a file, written here or elsewhere, in the format that the name says;
/// without one, from Keras' HDF5 files. Throws InputError naming path, layer and what does not fit when the file is not
/// readable or is another model's, which then keeps its weights; LogicError in a replica.
void load_weights(const Network& network, const std::string& path);

}  // namespace lockstep

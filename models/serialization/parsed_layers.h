#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/serialization/parsed_model.h>

// Makes the inputs and layers that a ParsedModel describes. The functions throw InputError for values that lockstep
// does not support.

namespace lockstep {

/// An input's batch_shape in the file; null if there is none.
nlohmann::ordered_json batch_shape_of(const ParsedLayer& input);
/// The batch size in a batch_shape; 0 if there is none.
std::int64_t batch_size_of(const nlohmann::ordered_json& batch_shape);
/// The input that an InputLayer describes.
Symbol input_of(const ParsedLayer& layer);
/// The layer that an entry describes, under this name. `input_rank`: the rank of its first input, including the batch
/// axis. `frozen`: whether it is not trainable whatever the file says. `is_kept`: whether it is not to be loaded as a
/// layer if it is an operation.
Layer layer_of(const ParsedLayer& entry, const std::string& name, int input_rank, bool frozen, bool is_kept);
/// Limits the sizes and the number of elements of an example, so that computations of sizes cannot overflow. The number
/// may be larger with unknown sizes, for which large sizes stand.
void check_example(const Symbol& symbol, const std::string& layer);

}  // namespace lockstep

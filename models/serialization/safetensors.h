#pragma once

#include <string>

#include <lockstep/models/graph/network.h>

// Files of weights in the format safetensors: the header's length in 8 bytes, little-endian, a header in JSON that says
// of each tensor its type, its shape and where its bytes lie, and those bytes.

namespace lockstep {

/// Writes all weights, f32, under their names "layer/variable". Whole or not at all. Throws InputError naming path and
/// reason, LogicError in a replica.
void save_safetensors(const Network& network, const std::string& path);

/// Sets all copies of all weights from such a file, which must have them all, of these names and shapes and as F32,
/// and no others. Throws InputError naming path, weight and what does not fit when the file is damaged or another
/// model's, which then keeps its weights; LogicError in a replica.
void load_safetensors(const Network& network, const std::string& path);

}  // namespace lockstep

#pragma once

#include <string>

namespace lockstep {

/// A name without the "_1", "_2" that TensorFlow appends to make its parts unique: "foo_1/bar_2/baz" is "foo/bar/baz".
/// "Variable" for an empty one.
std::string canonical_name(const std::string& name);

}  // namespace lockstep

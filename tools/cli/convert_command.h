#pragma once

#include <string>

namespace lockstep::cli {

struct ConvertOptions {
  std::string in;
  std::string out;
  std::string model;  ///< empty: not given
};

int run(const ConvertOptions& options);

}  // namespace lockstep::cli

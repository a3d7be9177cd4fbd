#include <regex>

#include <lockstep/strategy/variable/names.h>

namespace lockstep {

std::string canonical_name(const std::string& name) {
  static const std::regex suffix("_\\d+(?=/|$)");
  return name.empty() ? "Variable" : std::regex_replace(name, suffix, "");
}

}  // namespace lockstep

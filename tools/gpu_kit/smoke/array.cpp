#include "array.h"

#include <algorithm>

namespace lockstep::smoke {

std::string compared(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  require<DeviceError>(found.size() == expected.size(), "{} values instead of {}", found.size(), expected.size());
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
    const double difference = std::abs(found[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    require<DeviceError>(difference <= tolerance, "value {} of {} is {} instead of {}", i, found.size(), found[i],
                         expected[i]);
    most = std::max(most, difference);
  }
  return most == 0 ? fmt::format("{} values, exact", found.size())
                   : fmt::format("{} values, relative error at most {:.1e}", found.size(), most);
}

}  // namespace lockstep::smoke

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor_facts.h"

namespace lockstep::cli {

/// One line of what `lockstep doctor` says.
struct Finding {
  enum class Level { fine, slow, broken };
  Level level = Level::fine;
  std::string subject{};  ///< "driver"
  std::string text{};     ///< what was found
  std::string remedy{};   ///< what to do; empty where nothing is wrong
};

/// "ok", "slow" or "BROKEN".
std::string_view name(Finding::Level level);

/// What the facts mean for training on several devices, in the order in which to mend it.
std::vector<Finding> judge(const MachineFacts& facts);

}  // namespace lockstep::cli

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor_facts.h"

namespace lockstep::cli {

/// One line of the output of `lockstep doctor`.
struct Finding {
  enum class Level { fine, slow, broken };
  Level level = Level::fine;
  std::string subject{};  ///< e.g. "driver"
  std::string text{};     ///< what was found
  std::string remedy{};   ///< what to do; empty when nothing is wrong
};

/// "ok", "slow" or "BROKEN".
std::string_view name(Finding::Level level);

/// Judges whether the facts prevent or slow down training on several devices. Findings are in the order in which
/// problems should be fixed.
std::vector<Finding> judge(const MachineFacts& facts);

}  // namespace lockstep::cli

#pragma once

#include <memory>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Shows fit's progress on standard error: a bar that is redrawn on a terminal, plain lines elsewhere.
std::shared_ptr<Callback> make_progress();

}  // namespace lockstep::cli

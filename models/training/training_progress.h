#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <lockstep/models/training/batch_feed.h>
#include <lockstep/models/training/history.h>
#include <lockstep/models/training/totals.h>

namespace lockstep {

/// Where a call of fit is: with the model, the optimizer and the callbacks all that it takes to resume.
struct TrainingProgress {
  int epoch = 0;                    ///< under way, or the next
  std::int64_t steps = 0;           ///< done, over all epochs
  std::int64_t steps_in_epoch = 0;  ///< done of this epoch; 0 between epochs
  FeedPosition position{};          ///< in the data
  Totals totals{};                  ///< of this epoch
  History history{};                ///< of the epochs before
  /// Fit's, in their order.
  std::vector<std::shared_ptr<Callback>> callbacks{};
};

}  // namespace lockstep

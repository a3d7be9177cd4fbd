#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <lockstep/models/training/batch_feed.h>
#include <lockstep/models/training/history.h>
#include <lockstep/models/training/totals.h>

namespace lockstep {

/// The progress of a call of fit. Together with the state of the model, the optimizer and the callbacks it suffices to
/// resume the run with the same data set and options.
struct TrainingProgress {
  int epoch = 0;                    ///< the current epoch; between epochs, the next one
  std::int64_t steps = 0;           ///< steps done in all epochs
  std::int64_t steps_in_epoch = 0;  ///< steps done in the current epoch; 0 between epochs
  FeedPosition position{};          ///< position in the data
  Totals totals{};                  ///< sums of the current epoch
  History history{};                ///< history of the earlier epochs
  /// FitOptions::callbacks.
  std::vector<std::shared_ptr<Callback>> callbacks{};
};

}  // namespace lockstep

#include "lockstep/models/training/batch_feed.h"

#include <algorithm>

#include <lockstep/runtime/core/logging.h>

namespace lockstep {

BatchFeed::BatchFeed(const Strategy& strategy, const Dataset& batches, std::uint64_t first_pass,
                     std::optional<std::int64_t> steps_per_epoch, const DistributeOptions& options)
    : data_(strategy.distribute(batches, options)),
      replicas_(strategy.num_replicas_in_sync()),
      first_pass_(first_pass),
      steps_per_epoch_(steps_per_epoch) {
  require(batches.size() != 0, "the data set is empty");
  require(!batches.is_endless() || steps_per_epoch, "a data set without end needs steps_per_epoch");
  require(!steps_per_epoch || *steps_per_epoch >= 1, "steps_per_epoch must be at least 1, got {}",
          steps_per_epoch.value_or(0));
}

std::int64_t BatchFeed::steps_in_epoch() const {
  const std::optional<std::int64_t> size = data_.size();
  if (!steps_per_epoch_) return size.value_or(0);
  if (!size) return *steps_per_epoch_;
  return std::min(*steps_per_epoch_, pass_ && !pass_is_over() ? *size - position_.batches : *size);
}

void BatchFeed::begin_epoch() {
  given_ = 0;
  if (!pass_)
    start_pass(first_pass_);
  else if (!steps_per_epoch_ || pass_is_over())
    start_pass(position_.pass + 1);
}

void BatchFeed::resume_epoch(std::int64_t steps_done, std::int64_t examples_done, const FeedPosition& position) {
  const FeedPosition in_pass_of_epoch{.pass = steps_done > 0 ? position.pass : position.pass + 1,
                                      .batches = steps_done};
  const auto [pass, batches] = steps_per_epoch_ ? position : in_pass_of_epoch;
  start_pass(pass);
  std::int64_t examples = 0;  // examples of the epoch
  while (position_.batches < batches) {
    const std::optional<DistributedBatch> batch = pass_->next();
    if (!batch) break;
    if (++position_.batches > batches - steps_done) examples += batch->global_size();
  }
  require<InputError>(
      position_.batches == batches,
      "the run to resume had read {} batches of pass {}, the data set has only {}: resume it with its own data",
      batches, pass, position_.batches);
  require<InputError>(examples == examples_done,
                      "the run to resume had read {} examples in {} batches of its epoch, these batches have {}: "
                      "resume it with its own batch size",
                      examples_done, steps_done, examples);
  given_ = steps_done;
  if (given_ == 0 && pass_is_over()) start_pass(pass + 1);
}

std::optional<DistributedBatch> BatchFeed::next() {
  if (given_ == steps_per_epoch_) return std::nullopt;
  std::optional<DistributedBatch> batch = next_of_passes();
  if (!batch) {
    require(given_ > 0, "the data set is empty");
    require<BrokenInvariant>(position_.batches >= data_.size().value_or(0), "a data set of {} batches ended after {}",
                             data_.size().value_or(0), position_.batches);
    if (steps_per_epoch_ && !std::exchange(warned_, true))
      log_warning(
          "the data ended after {} of {} steps of an epoch, which ended the epoch: give data of at least "
          "steps_per_epoch * epochs batches, or call repeat()",
          given_, *steps_per_epoch_);
    return std::nullopt;
  }
  if (!checked_) check_enough(*batch);
  checked_ = true;
  ++given_;
  ++position_.batches;
  return batch;
}

std::optional<DistributedBatch> BatchFeed::next_of_passes() {
  std::optional<DistributedBatch> batch = pass_->next();
  const bool begins_at_the_end = !batch && given_ == 0 && position_.batches > 0;
  if (begins_at_the_end) {
    start_pass(position_.pass + 1);
    batch = pass_->next();
  }
  ended_ = !batch;
  return batch;
}

void BatchFeed::start_pass(std::uint64_t number) {
  position_ = {.pass = number, .batches = 0};
  ended_ = false;
  if (pass_)
    pass_->begin_epoch(number);
  else
    pass_ = data_.epoch(number);
}

void BatchFeed::check_enough(const DistributedBatch& first) const {
  require(data_.size() != 1 || first.global_size() >= replicas_,
          "a data set of {} example(s) cannot keep {} replicas busy: use at most {} replica(s)", first.global_size(),
          replicas_, first.global_size());
  if (first.global_size() < replicas_)
    log_warning("global batches of {} example(s) leave {} of {} replicas without work: use larger ones",
                first.global_size(), replicas_ - first.global_size(), replicas_);
}

}  // namespace lockstep

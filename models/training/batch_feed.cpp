#include "lockstep/models/training/batch_feed.h"

namespace lockstep {

BatchFeed::BatchFeed(const Strategy& strategy, const Dataset& batches, std::optional<std::int64_t> steps_per_epoch,
                     const DistributeOptions& options)
    : data_(strategy.distribute(batches, options)),
      replicas_(strategy.num_replicas_in_sync()),
      follow_on_(steps_per_epoch.has_value()) {
  const std::optional<std::int64_t> size = batches.size();
  require(size != 0, "the data set is empty");
  require(size || steps_per_epoch, "a data set without end needs steps_per_epoch");
  require(!steps_per_epoch || *steps_per_epoch >= 1, "steps_per_epoch must be at least 1, got {}",
          steps_per_epoch.value_or(0));
  steps_ = steps_per_epoch ? *steps_per_epoch : *size;
}

void BatchFeed::begin_epoch(int epoch) {
  left_ = steps_;
  if (follow_on_ && pass_) return;
  start_pass(static_cast<std::uint64_t>(epoch));
}

void BatchFeed::resume_epoch(int epoch, std::int64_t steps_done, const FeedPosition& position) {
  const auto own_pass = FeedPosition{static_cast<std::uint64_t>(epoch), steps_done};
  const auto [pass, batches] = follow_on_ ? position : own_pass;
  start_pass(pass);
  while (position_.batches < batches && pass_->next()) ++position_.batches;
  require<InputError>(position_.batches == batches,
                      "the run to go on from had read {} batches of pass {}, there are {}", batches, pass,
                      position_.batches);
  left_ = steps_ - steps_done;
}

std::optional<DistributedBatch> BatchFeed::next() {
  if (left_ == 0) return std::nullopt;
  std::optional<DistributedBatch> batch = pass_->next();
  if (!batch && follow_on_) {
    start_pass(position_.pass + 1);
    batch = pass_->next();
  }
  require<BrokenInvariant>(batch.has_value(), "a data set of {} batches ended {} before", data_.size().value_or(0),
                           left_);
  if (!checked_) check_enough(*batch);
  checked_ = true;
  --left_;
  ++position_.batches;
  return batch;
}

void BatchFeed::start_pass(std::uint64_t number) {
  position_ = {.pass = number, .batches = 0};
  if (pass_)
    pass_->begin_epoch(number);
  else
    pass_ = data_.epoch(number);
}

void BatchFeed::check_enough(const DistributedBatch& first) const {
  require(data_.size() != 1 || first.global_size() >= replicas_,
          "a data set of {} example(s) cannot keep {} replicas busy: use at most {} replica(s)", first.global_size(),
          replicas_, first.global_size());
}

}  // namespace lockstep

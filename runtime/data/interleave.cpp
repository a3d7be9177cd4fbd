#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

using MakeStage = std::function<StagePtr(const Example&)>;

class InterleaveCursor final : public Cursor {
 public:
  InterleaveCursor(std::unique_ptr<Cursor> input, const MakeStage& make, const Interleaving& options,
                   std::uint64_t epoch)
      : input_(std::move(input)), make_(make), options_(options), epoch_(epoch) {}

  std::optional<Example> next() override {
    while (Slot* const slot = current()) {
      std::optional<Example> element = in_context(slot->number, [&] { return slot->pass->next(); });
      leave(*slot, 1, element ? 1 : 0);
      if (element) return element;
    }
    return std::nullopt;
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    std::vector<Batch> parts;
    while (rows > 0) {
      Slot* const slot = current();
      if (!slot) break;
      const std::int64_t wanted = std::min(rows, options_.block_length - in_block_);
      std::optional<Batch> part = in_context(slot->number, [&] { return slot->pass->next_batch(wanted); });
      const std::int64_t found = part ? part->size() : 0;
      leave(*slot, wanted, found);
      rows -= found;
      if (part) parts.push_back(std::move(*part));
    }
    if (parts.empty()) return std::nullopt;
    return join(parts);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t left = count;
    while (left > 0) {
      Slot* const slot = current();
      if (!slot) break;
      const std::int64_t wanted = std::min(left, options_.block_length - in_block_);
      const std::int64_t skipped = in_context(slot->number, [&] { return slot->pass->skip(wanted); });
      leave(*slot, wanted, skipped);
      left -= skipped;
    }
    return count - left;
  }

 private:
  /// A place of the cycle.
  struct Slot {
    StagePtr stage{};
    std::unique_ptr<Cursor> pass{};  ///< over `stage`; null if the place is free
    std::int64_t number = 0;         ///< of the input's element that `stage` comes from
  };

  /// The place to read from, in which a new pass is opened if it is free; null at the end.
  Slot* current() {
    while (open_ > 0 || !input_ended_) {
      if (at_ < cycle_.size() && cycle_[at_].pass) return &cycle_[at_];
      if (input_ended_)
        advance();
      else
        open();
    }
    return nullptr;
  }

  void open() {
    const std::optional<Example> element = input_->next();
    input_ended_ = !element;
    if (!element) return;
    const std::int64_t number = position_++;
    Slot slot{.number = number};
    in_context(number, [&] {
      slot.stage = make_(*element);
      slot.pass = slot.stage->open(epoch_);
    });
    if (at_ == cycle_.size()) cycle_.emplace_back();
    cycle_[at_] = std::move(slot);
    ++open_;
  }

  /// `found` of `wanted` elements have been read from `slot`, the current one.
  void leave(Slot& slot, std::int64_t wanted, std::int64_t found) {
    in_block_ += found;
    const bool ended = found < wanted;
    if (ended) {
      slot = {};
      --open_;
    }
    if (ended || in_block_ == options_.block_length) advance();
  }

  void advance() {
    in_block_ = 0;
    ++at_;
    const bool last = at_ == static_cast<std::size_t>(options_.cycle_length);
    if (last || (input_ended_ && at_ >= cycle_.size())) at_ = 0;
  }

  /// Adds the element of the input to errors of the data set that was made from it.
  template <class Read>
  std::invoke_result_t<const Read&> in_context(std::int64_t number, const Read& read) const {
    try {
      return read();
    } catch (...) {
      std::rethrow_exception(with_element(options_.name, number));
    }
  }

  std::unique_ptr<Cursor> input_;
  const MakeStage& make_;
  const Interleaving& options_;
  std::uint64_t epoch_;
  std::vector<Slot> cycle_;    ///< grows up to cycle_length
  std::size_t at_ = 0;         ///< index of the current place
  std::int64_t in_block_ = 0;  ///< number of elements read from the current place's block
  std::int64_t open_ = 0;      ///< number of places with a pass
  std::int64_t position_ = 0;  ///< number of the input's next element
  bool input_ended_ = false;
};

/// Every worker makes all elements of the input, because only the data sets made from them have the numbers of
/// elements. Elements of these data sets are skipped without making them.
class Interleave final : public UnaryStage {
 public:
  Interleave(StagePtr input, MakeStage make, const Interleaving& options)
      : UnaryStage(std::move(input)), make_(std::move(make)), options_(options) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<InterleaveCursor>(input_->open(epoch), make_, options_, epoch);
  }
  Extent extent() const override {
    const Extent elements = input_->extent();
    if (elements.most == 0) return {.most = 0};
    return {.exact = false, .repeated = elements.repeated};
  }
  bool can_peek() const override { return false; }
  StagePtr fixed_part(std::int64_t, std::int64_t) const override { return no_fixed_part(*input_, options_.name); }

 private:
  MakeStage make_;
  Interleaving options_;
};

}  // namespace

StagePtr make_interleave(StagePtr input, MakeStage make, const Interleaving& options) {
  return std::make_shared<Interleave>(std::move(input), std::move(make), options);
}

}  // namespace lockstep::detail

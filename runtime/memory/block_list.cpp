#include "lockstep/runtime/memory/block_list.h"

#include <functional>

namespace lockstep {

bool BlockList::BySize::operator()(const Position& a, const Position& b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : std::less<>()(a->data, b->data);
}

bool BlockList::BySize::operator()(const Position& a, std::size_t bytes) const { return a->bytes < bytes; }

void BlockList::make_free(Position block) noexcept { free_.insert(std::move(block->place)); }

BlockList::Position BlockList::add(Position before, std::byte* data, std::size_t bytes, bool begins_segment) {
  std::list<MemoryBlock> one;
  one.push_back({data, bytes, begins_segment, {}});
  const Position block = one.begin();
  Free place;
  place.insert(block);
  block->place = place.extract(place.begin());
  blocks_.splice(before, one);
  return block;
}

std::optional<BlockList::Position> BlockList::take(std::size_t bytes, Excess excess) {
  const auto smallest = free_.lower_bound(bytes);
  if (smallest == free_.end()) return std::nullopt;
  const Position block = *smallest;
  const std::size_t rest = block->bytes - bytes;
  if (excess == Excess::keep && rest > bytes / 8) return std::nullopt;
  if (excess == Excess::cut && rest > 0) {
    const Position behind = add(std::next(block), block->data + bytes, rest, false);
    block->place = free_.extract(smallest);  // before its size, the key of free_, changes
    block->bytes = bytes;
    make_free(behind);
  } else {
    block->place = free_.extract(smallest);
  }
  return block;
}

void BlockList::give_back(Position block) noexcept {
  const Position next = std::next(block);
  if (next != blocks_.end() && !next->begins_segment && next->is_free()) {
    free_.erase(next);
    swallow_next(block);
  }
  if (!block->begins_segment && std::prev(block)->is_free()) {
    const Position before = std::prev(block);
    before->place = free_.extract(before);
    swallow_next(before);
    block = before;
  }
  make_free(block);
}

void BlockList::swallow_next(Position block) noexcept {
  block->bytes += std::next(block)->bytes;
  blocks_.erase(std::next(block));
}

void BlockList::add_segment(void* data, std::size_t bytes) {
  make_free(add(blocks_.end(), static_cast<std::byte*>(data), bytes, true));
}

void BlockList::extend(std::size_t bytes) { give_back(add(blocks_.end(), end(), bytes, false)); }

std::byte* BlockList::end() const { return blocks_.empty() ? nullptr : blocks_.back().data + blocks_.back().bytes; }

std::size_t BlockList::free_at_end() const {
  return blocks_.empty() || !blocks_.back().is_free() ? 0 : blocks_.back().bytes;
}

std::optional<std::pair<void*, std::size_t>> BlockList::take_free_segment() {
  for (const Position block : free_) {
    const Position next = std::next(block);
    if (!block->begins_segment || (next != blocks_.end() && !next->begins_segment)) continue;
    const std::pair<void*, std::size_t> segment(block->data, block->bytes);
    free_.erase(block);
    blocks_.erase(block);
    return segment;
  }
  return std::nullopt;
}

}  // namespace lockstep

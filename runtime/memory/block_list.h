#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <set>
#include <utility>

namespace lockstep {

/// Segments of memory cut into blocks that are in use or free. Free neighbours within a segment become one block. Knows
/// addresses only: neither where they come from nor what is there. Not thread-safe.
class BlockList {
 public:
  struct Block;
  /// Stays valid while the block is in use.
  using Position = std::list<Block>::iterator;
  /// Shorter blocks first, of equal ones the first in memory.
  struct BySize {
    using is_transparent = void;                                  ///< blocks are compared with lengths, too
    bool operator()(const Position& a, const Position& b) const;  ///< whether a comes before b
    bool operator()(const Position& a, std::size_t bytes) const;  ///< whether a is shorter
  };
  /// The free blocks.
  using Free = std::set<Position, BySize>;

  /// What may be done with a free block that is longer than needed.
  enum class Excess {
    cut,  ///< the rest stays free
    keep  ///< it is used whole, and only if at most an eighth is too much
  };

  /// The smallest free block of at least `bytes` bytes, of equal ones the first in memory, which is then in use.
  std::optional<Position> take(std::size_t bytes, Excess excess);
  /// Makes it free again. `block` is of this list and in use.
  void give_back(Position block) noexcept;

  /// A free block of `bytes` at `data`.
  void add_segment(void* data, std::size_t bytes);
  /// Extends the segment added last by `bytes`. Precondition: there is one.
  void extend(std::size_t bytes);
  /// Where the segment added last ends; null when there is none.
  std::byte* end() const;
  /// Bytes of the free block at its end.
  std::size_t free_at_end() const;

  /// Removes a segment of which nothing is in use, and returns it.
  std::optional<std::pair<void*, std::size_t>> take_free_segment();

 private:
  /// A block in use before `before`. All that changes the list otherwise allocates nothing.
  Position add(Position before, std::byte* data, std::size_t bytes, bool begins_segment);
  void make_free(Position block) noexcept;
  void swallow_next(Position block) noexcept;

  std::list<Block> blocks_;  ///< segment by segment, each in the order of addresses
  Free free_;
};

/// A piece of a segment.
struct BlockList::Block {
  std::byte* data;        ///< its first byte
  std::size_t bytes;      ///< its length
  bool begins_segment;    ///< nothing of the same segment lies before it
  Free::node_type place;  ///< in the free blocks, kept while in use, so that to give back needs no memory

  /// Whether it is not in use.
  bool is_free() const { return place.empty(); }
};

}  // namespace lockstep

#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <set>
#include <utility>

namespace lockstep {

struct MemoryBlock;

/// Segments of memory cut into blocks that are in use or free. Adjacent free blocks of a segment are joined. Handles
/// only addresses: it neither allocates nor accesses the memory. Not thread-safe.
class BlockList {
 public:
  /// A block in the list. Valid while the block is in use.
  using Position = std::list<MemoryBlock>::iterator;
  /// Orders blocks by size, blocks of equal size by address.
  struct BySize {
    using is_transparent = void;                                  ///< allows lookup by a size in bytes
    bool operator()(const Position& a, const Position& b) const;  ///< whether a comes before b
    bool operator()(const Position& a, std::size_t bytes) const;  ///< whether a is smaller than `bytes`
  };
  /// The free blocks.
  using Free = std::set<Position, BySize>;

  /// How to use a free block that is larger than requested.
  enum class Excess {
    cut,  ///< cut off the excess, which stays free
    keep  ///< use the whole block, but only if the excess is at most an eighth of the request
  };

  /// Marks the smallest free block of at least `bytes` bytes as in use and returns it. Of blocks of equal size, takes
  /// the block at the lowest address. Returns nothing if there is no such block or if it is larger than `excess`
  /// permits.
  std::optional<Position> take(std::size_t bytes, Excess excess);
  /// Makes `block` free again. Precondition: it belongs to this list and is in use.
  void give_back(Position block) noexcept;

  /// Adds a segment: one free block of `bytes` bytes at `data`.
  void add_segment(void* data, std::size_t bytes);
  /// Extends the segment added last by `bytes`. Precondition: there is one.
  void extend(std::size_t bytes);
  /// The end of the segment added last; null if there is none.
  std::byte* end() const;
  /// Bytes of the free block at the end of the segment added last; 0 if that end is in use.
  std::size_t free_at_end() const;

  /// Removes a segment without blocks in use and returns its address and size in bytes; nothing if there is no such
  /// segment.
  std::optional<std::pair<void*, std::size_t>> take_free_segment();

 private:
  /// Inserts a block, marked as in use, in front of position `before`. All memory of the list is allocated here.
  Position add(Position before, std::byte* data, std::size_t bytes, bool begins_segment);
  void make_free(Position block) noexcept;
  void swallow_next(Position block) noexcept;

  std::list<MemoryBlock> blocks_;  ///< segment by segment; in a segment by address
  Free free_;
};

/// A piece of a segment.
struct MemoryBlock {
  std::byte* data;                   ///< first byte
  std::size_t bytes;                 ///< size
  bool begins_segment;               ///< first block of its segment
  BlockList::Free::node_type place;  ///< while in use: the block's node for the free blocks, allocated in advance

  /// Whether the block is not in use.
  bool is_free() const { return place.empty(); }
  /// Where the block is in its list. Precondition: it is in use.
  BlockList::Position position() const { return place.value(); }
};

}  // namespace lockstep

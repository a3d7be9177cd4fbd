#include "tile_emulator.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>

#include <ucontext.h>

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/runtime/core/bfloat16.h>

namespace lockstep::test {
namespace {

std::atomic<std::uint64_t> done{0};
struct sigaction before {};

/// State of a thread: the operand of LDTILECFG, and eight tiles.
struct Tiles {
  struct Configuration {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t bytes_of_row[16];
    std::uint8_t rows[16];
  } configuration;
  std::uint8_t bytes[8][16][64];
};
static_assert(sizeof(Tiles::Configuration) == 64);
thread_local Tiles tiles;

/// A VEX-encoded instruction with a three-byte prefix and a ModRM byte.
struct Instruction {
  std::uint8_t map, prefix, vvvv, opcode;
  bool w, l;
  int mod, reg, rm;
  std::int64_t base, index;  ///< parts of the memory operand's address: base with displacement, and index times scale
  int length;
};

/// The value of a general register.
std::int64_t value_of(const mcontext_t& context, int number) {
  constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.gregs[order[number]];
}

template <class T>
T read(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// None if the instruction is encoded in another way, or its address is relative to it.
std::optional<Instruction> decoded(const std::uint8_t* code, const mcontext_t& context) {
  if (code[0] != 0xC4) return {};
  const int extended_reg = (code[1] & 0x80) == 0 ? 8 : 0;
  const int extended_index = (code[1] & 0x40) == 0 ? 8 : 0;
  const int extended_base = (code[1] & 0x20) == 0 ? 8 : 0;
  Instruction one{.map = static_cast<std::uint8_t>(code[1] & 0x1F),
                  .prefix = static_cast<std::uint8_t>(code[2] & 3),
                  .vvvv = static_cast<std::uint8_t>(~(code[2] >> 3) & 15),
                  .opcode = code[3],
                  .w = (code[2] & 0x80) != 0,
                  .l = (code[2] & 4) != 0,
                  .mod = code[4] >> 6,
                  .reg = ((code[4] >> 3) & 7) | extended_reg,
                  .rm = code[4] & 7,
                  .base = 0,
                  .index = 0,
                  .length = 5};
  if (one.mod == 3) return one;
  if (one.mod == 0 && one.rm == 5) return {};
  if (one.rm == 4) {
    const int sib = code[one.length++];
    const int index = ((sib >> 3) & 7) | extended_index;
    if (index != 4) one.index = value_of(context, index) << (sib >> 6);
    if ((sib & 7) == 5 && one.mod == 0) return {};
    one.base = value_of(context, (sib & 7) | extended_base);
  } else {
    one.base = value_of(context, one.rm | extended_base);
  }
  if (one.mod == 1) one.base += read<std::int8_t>(code + one.length++);
  if (one.mod == 2) {
    one.base += read<std::int32_t>(code + one.length);
    one.length += 4;
  }
  return one;
}

std::uint8_t* memory(std::int64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

/// When a tile is written, rows beyond the configured ones and bytes beyond a row's are zeroed.
void load_tile(int number, std::int64_t base, std::int64_t stride) {
  std::memset(tiles.bytes[number], 0, sizeof tiles.bytes[number]);
  for (int row = 0; row < tiles.configuration.rows[number]; ++row)
    std::memcpy(tiles.bytes[number][row], memory(base + row * stride), tiles.configuration.bytes_of_row[number]);
}

void store_tile(int number, std::int64_t base, std::int64_t stride) {
  for (int row = 0; row < tiles.configuration.rows[number]; ++row)
    std::memcpy(memory(base + row * stride), tiles.bytes[number][row], tiles.configuration.bytes_of_row[number]);
}

/// Sums even and odd terms separately, and adds both to the destination at the end.
void multiply_tiles(int sums, int left, int right) {
  const auto& c = tiles.configuration;
  for (int row = 0; row < c.rows[sums]; ++row)
    for (int column = 0; column < c.bytes_of_row[sums] / 4; ++column) {
      float even = 0;
      float odd = 0;
      for (int k = 0; k < c.bytes_of_row[left] / 4; ++k) {
        const auto of = [](const std::uint8_t* pair, int which) {
          return static_cast<float>(read<bfloat16>(pair + 2 * which));
        };
        const std::uint8_t* const a = tiles.bytes[left][row] + 4 * k;
        const std::uint8_t* const b = tiles.bytes[right][k] + 4 * column;
        even = std::fma(of(a, 0), of(b, 0), even);
        odd = std::fma(of(a, 1), of(b, 1), odd);
      }
      std::uint8_t* const at = tiles.bytes[sums][row] + 4 * column;
      const float sum = read<float>(at) + (even + odd);
      std::memcpy(at, &sum, sizeof sum);
    }
}

/// False if the instruction is none of the six.
bool execute(const Instruction& one) {
  enum Prefix { none, p66, f3, f2 };
  if (one.map != 2 || one.w || one.l) return false;
  // Like a processor: a tile that LDTILECFG has not configured cannot be used.
  if (one.opcode != 0x49 && tiles.configuration.palette != 1) return false;
  const bool of_memory = one.mod != 3;
  if (one.opcode == 0x49 && one.prefix == none && of_memory)
    std::memcpy(&tiles.configuration, memory(one.base + one.index), sizeof tiles.configuration);
  else if (one.opcode == 0x49 && one.prefix == none && one.reg == 0 && one.rm == 0)
    tiles = {};
  else if (one.opcode == 0x49 && one.prefix == f2 && !of_memory)
    std::memset(tiles.bytes[one.reg], 0, sizeof tiles.bytes[one.reg]);
  else if (one.opcode == 0x4B && one.prefix == f2 && of_memory && one.rm == 4)
    load_tile(one.reg, one.base, one.index);
  else if (one.opcode == 0x4B && one.prefix == f3 && of_memory && one.rm == 4)
    store_tile(one.reg, one.base, one.index);
  else if (one.opcode == 0x5C && one.prefix == f3 && !of_memory)
    multiply_tiles(one.reg, one.rm, one.vvvv);
  else
    return false;
  return true;
}

void on_illegal_instruction(int signal, siginfo_t*, void* context_of_signal) {
  auto& context = static_cast<ucontext_t*>(context_of_signal)->uc_mcontext;
  const auto* const code = memory(context.gregs[REG_RIP]);
  const std::optional<Instruction> one = decoded(code, context);
  if (!one || !execute(*one)) {
    sigaction(signal, &before, nullptr);  // the instruction runs again, and ends the program
    return;
  }
  context.gregs[REG_RIP] += one->length;
  ++done;
}

}  // namespace

TileEmulator::TileEmulator() {
  onednn::request_tiles();
  struct sigaction ours {};
  ours.sa_sigaction = on_illegal_instruction;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &ours, &before);
}

TileEmulator::~TileEmulator() { sigaction(SIGILL, &before, nullptr); }

std::uint64_t TileEmulator::instructions() { return done; }

}  // namespace lockstep::test

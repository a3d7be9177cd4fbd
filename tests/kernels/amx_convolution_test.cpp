#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>
#include <support/tensors.h>
#include <sys/syscall.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/convolution/amx_convolution.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/runtime/memory/memory_pool.h>
#include <lockstep/runtime/thread/parallel.h>

#include "tile_emulator.h"

// The linker has calls of NAME reach __wrap_NAME, and calls of __real_NAME reach NAME (tests/kernels/CMakeLists.txt).
extern "C" bool __wrap__ZN8lockstep6onednn9has_tilesEv();
extern "C" bool __real__ZN8lockstep6onednn9has_tilesEv();
extern "C" dnnl_cpu_isa_t __wrap_dnnl_get_effective_cpu_isa();
extern "C" dnnl_cpu_isa_t __real_dnnl_get_effective_cpu_isa();
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
extern "C" long __real_syscall(long number, long a, long b, long c, long d, long e, long f);

namespace lockstep::test {
namespace {

bool pretended = false;

/// Simulates a machine for request_tiles() during its lifetime.
struct Machine {
  explicit Machine(dnnl_cpu_isa_t instructions, bool grants = false) : instructions(instructions), grants(grants) {
    current = this;
  }
  ~Machine() { current = nullptr; }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const dnnl_cpu_isa_t instructions;
  const bool grants;
  std::vector<long> requested;  ///< state components requested with arch_prctl
  inline static Machine* current = nullptr;
};

/// During its lifetime, kernels see a processor with tile registers, whose library still multiplies bf16 as this
/// processor can: has_fast_bfloat16() keeps its first result, which otherwise would be that of such a processor.
struct PretendedTiles {
  PretendedTiles() {
    onednn::has_fast_bfloat16();
    pretended = true;
  }
  ~PretendedTiles() { pretended = false; }
  const TileEmulator emulator;
};

struct Case {
  Shape x;
  Shape kernel;
  Padding padding = Padding::same;
  Size2d dilation{1, 1};
};

/// One and several tiles; one and several images, in a line and in a block; lines that are a multiple of a tile or not.
const std::vector<Case> cases{
    {{1, 4, 8, 16}, {1, 1, 16, 16}},
    {{2, 5, 6, 16}, {1, 1, 16, 32}},
    {{3, 4, 5, 48}, {3, 3, 48, 16}},
    {{2, 7, 6, 32}, {3, 3, 32, 48}, Padding::valid},
    {{1, 9, 8, 64}, {3, 3, 64, 32}},
    {{2, 6, 7, 16}, {3, 2, 16, 80}},
    {{2, 6, 5, 32}, {2, 4, 32, 16}},
    {{2, 9, 10, 16}, {3, 3, 16, 32}, Padding::same, {2, 3}},
    {{2, 9, 10, 32}, {5, 5, 32, 16}, Padding::valid, {2, 1}},
    {{2, 3, 17, 16}, {1, 7, 16, 16}},
    {{40, 20, 22, 16}, {3, 3, 16, 16}},
};

struct Problem {
  explicit Problem(const Case& c) {
    const auto [sliding, size] = slide_window("test", c.x, {c.kernel[0], c.kernel[1]}, {1, 1}, c.padding, c.dilation);
    window = sliding;
    x = cast(random_tensor(c.x, 1), DType::bf16);
    dy = cast(random_tensor({c.x[0], size.height, size.width, c.kernel[3]}, 2), DType::bf16);
    kernel = c.kernel;
    name = "x " + c.x.text() + ", kernel " + c.kernel.text();
  }

  Tensor gradient() const {
    Tensor result = Tensor::full(kernel, std::nanf(""));
    amx::conv2d_gradient_kernel(x, dy, window, result);
    return result;
  }

  /// The gradient that the library computes.
  Tensor gradient_in_f32() const {
    Tensor result = Tensor::empty(kernel);
    launch(kernels::Conv2dGradientKernel{cast(x, DType::f32), cast(dy, DType::f32), window, result, {}});
    return result;
  }

  Window2d window;
  Tensor x, dy;
  Shape kernel;
  std::string name;
};

TEST(AmxConvolution, GradientOfKernelIsThatInF32) {
  const TileEmulator tiles;
  for (const Case& c : cases) {
    const Problem problem(c);
    SCOPED_TRACE(problem.name);
    ASSERT_TRUE(amx::fits(problem.x, problem.kernel, problem.window));
    expect_close(problem.gradient(), problem.gradient_in_f32().to_vector<double>(), c.x[0] * c.x[1] * c.x[2]);
  }
  EXPECT_TRUE(onednn::has_tiles() || TileEmulator::instructions() > 0);
}

TEST(AmxConvolution, GivesTheSameBitsOnAnyNumberOfThreads) {
  const TileEmulator tiles;
  const Problem problem({{3, 9, 11, 48}, {3, 3, 48, 80}});
  const auto on_threads = [&](int threads) {
    const ComputeThreadsScope scope(threads);
    return problem.gradient();
  };
  const Tensor alone = on_threads(1);
  for (const int threads : {2, 3, 5}) expect_same_bits(on_threads(threads), alone);
}

TEST(AmxConvolution, FitsWhatItCanDo) {
  const Tensor x = cast(random_tensor({1, 8, 8, 32}, 1), DType::bf16);
  const Window2d window = slide_window("test", x.shape(), {3, 3}, {1, 1}, Padding::same).window;
  const Shape kernel{3, 3, 32, 16};
  EXPECT_TRUE(amx::fits(x, kernel, window));
  EXPECT_FALSE(amx::fits(cast(x, DType::f32), kernel, window));
  EXPECT_FALSE(amx::fits(x, {3, 3, 32, 24}, window));
  EXPECT_FALSE(amx::fits(x, {3, 3, 16, 16}, window)) << "of two groups";
  EXPECT_FALSE(amx::fits(cast(random_tensor({1, 8, 8, 8}, 1), DType::bf16), {3, 3, 8, 16}, window));
  const auto other = [&](const std::function<void(Window2d&)>& change) {
    Window2d changed = window;
    change(changed);
    return amx::fits(x, kernel, changed);
  };
  EXPECT_FALSE(other([](Window2d& w) { w.stride_w = 2; }));
  EXPECT_FALSE(other([](Window2d& w) { w.stride_h = 2; }));
  EXPECT_TRUE(other([](Window2d& w) { w.pad_left = w.pad_right = 2; }));
  EXPECT_FALSE(other([](Window2d& w) { w.pad_left = w.pad_right = 3; })) << "results beside those of x";
  EXPECT_FALSE(other([](Window2d& w) { w.pad_top = w.pad_bottom = 3; })) << "results above those of x";
}

/// The gradient that the AMX kernel computes.
Tensor gradient_by_table(const Problem& problem) {
  Tensor result = Tensor::full(problem.kernel, std::nanf(""));
  launch(kernels::Conv2dGradientKernel{problem.x, problem.dy, problem.window, result, {}});
  return result;
}

TEST(AmxConvolution, IsWhatTheTableTakesWhereThereAreTiles) {
  const PretendedTiles tiles;
  for (const Case& c : cases) {
    const Problem problem(c);
    SCOPED_TRACE(problem.name);
    const std::uint64_t before = TileEmulator::instructions();
    const Tensor result = gradient_by_table(problem);
    EXPECT_TRUE(__real__ZN8lockstep6onednn9has_tilesEv() || TileEmulator::instructions() > before);
    expect_same_bits(result, problem.gradient());
  }
}

TEST(AmxConvolution, LeavesTheLibraryWhatItCannotDo) {
  const PretendedTiles tiles;
  const Problem problem({{2, 9, 10, 24}, {3, 3, 24, 16}});
  const std::uint64_t before = TileEmulator::instructions();
  expect_close(gradient_by_table(problem), problem.gradient_in_f32().to_vector<double>(), 2 * 9 * 10);
  EXPECT_EQ(TileEmulator::instructions(), before);
}

TEST(AmxTiles, AreRequestedFromTheSystem) {
  constexpr long tile_data = 18;  // XFEATURE_XTILE_DATA of Linux
  Machine machine(dnnl_cpu_isa_avx512_core_amx, true);
  EXPECT_TRUE(onednn::request_tiles());
  EXPECT_EQ(machine.requested, std::vector{tile_data});
}

TEST(AmxTiles, AreNotUsedWhereTheSystemRefuses) {
  const Machine machine(dnnl_cpu_isa_avx512_core_amx, false);
  EXPECT_FALSE(onednn::request_tiles());
  EXPECT_EQ(machine.requested.size(), 1);
}

TEST(AmxTiles, AreNotRequestedWhereTheProcessorHasNone) {
  const Machine machine(dnnl_cpu_isa_avx512_core_bf16, true);
  EXPECT_FALSE(onednn::request_tiles());
  EXPECT_EQ(machine.requested, std::vector<long>{});
}

/// Host memory with the traits of a GPU's.
struct HostMemoryOfGpu final : MemoryResource {
  void* allocate(std::size_t bytes) override { return operator new (bytes, std::align_val_t{64}); }
  void release(void* memory, std::size_t) noexcept override { operator delete (memory, std::align_val_t{64}); }
};

TEST(AmxConvolution, WritesToTensorsOfAnyDevice) {
  const TileEmulator tiles;
  const Problem problem(cases.front());
  HostMemoryOfGpu memory;
  const MemoryPool pool(LogicalDevice{.kind = DeviceKind::gpu}, memory);
  const MemoryPoolScope scope(pool);
  const Tensor there = Tensor::empty(problem.kernel, DType::f32, LogicalDevice{.kind = DeviceKind::gpu});
  amx::conv2d_gradient_kernel(problem.x, problem.dy, problem.window, there);
  const Tensor expected = problem.gradient();
  EXPECT_TRUE(std::equal(there.data<float>(), there.data<float>() + there.elements(), expected.data<float>()));
}

TEST(AmxConvolution, IsNotTakenWhereThereAreNoTiles) {
  if (onednn::has_tiles()) GTEST_SKIP() << "this processor has them";
  const TileEmulator emulator;
  const std::uint64_t before = TileEmulator::instructions();
  gradient_by_table(Problem(cases.front()));
  EXPECT_EQ(TileEmulator::instructions(), before);
}

}  // namespace
}  // namespace lockstep::test

bool __wrap__ZN8lockstep6onednn9has_tilesEv() {
  return lockstep::test::pretended || __real__ZN8lockstep6onednn9has_tilesEv();
}

dnnl_cpu_isa_t __wrap_dnnl_get_effective_cpu_isa() {
  const auto* const machine = lockstep::test::Machine::current;
  return machine == nullptr ? __real_dnnl_get_effective_cpu_isa() : machine->instructions;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  auto* const machine = lockstep::test::Machine::current;
  constexpr long request_permission = 0x1023;
  if (machine == nullptr || number != SYS_arch_prctl || a != request_permission)
    return __real_syscall(number, a, b, c, d, e, f);
  machine->requested.push_back(b);
  return machine->grants ? 0 : -1;
}

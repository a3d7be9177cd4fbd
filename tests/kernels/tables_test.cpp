#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/differentiable_ops.h>
#include <kernels/grid/host_grid_backend.h>
#include <support/pretend_gpu/backend.h>
#include <support/pretend_gpu/platform.h>
#include <support/tensors.h>

#include <lockstep/kernels/cpu/cpu_backend.h>
#include <lockstep/kernels/ops/activations.h>
#include <lockstep/kernels/ops/batch_norm.h>
#include <lockstep/kernels/ops/dropout.h>
#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/indexed_slices.h>
#include <lockstep/kernels/ops/norm_limits.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/kernels/ops/sort.h>
#include <lockstep/kernels/ops/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/context.h>

// The op tables of CPUs and GPUs have no hole: every public op is tried here on both, together they call every entry,
// and what one table takes and gives, the other one does. The table that is tried for GPUs is the one of kernels/grid;
// CudaBackend, which runs on GPUs only, is held against it by its source. What cuDNN and cuBLASLt do there, the CPU's
// table does here.

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

static_assert(!std::is_abstract_v<CpuBackend> &&
              !std::is_abstract_v<HostGridBackend>);  // CudaBackend: where it is made

std::string text_of(const fs::path& file) {
  std::ifstream in(fs::path(KERNELS_FOLDER) / file);
  EXPECT_TRUE(in.good()) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The files of these folders of kernels/ that have one of these endings.
std::vector<fs::path> files_in(const std::vector<const char*>& folders, const std::set<std::string>& endings) {
  std::vector<fs::path> result;
  for (const char* const folder : folders)
    for (const auto& file : fs::directory_iterator(fs::path(KERNELS_FOLDER) / folder))
      if (endings.contains(file.path().extension())) result.push_back(fs::path(folder) / file.path().filename());
  return result;
}

/// What group 1 of the expression is at each place that it matches.
std::multiset<std::string> all_matches(const std::string& text, const char* expression) {
  const std::regex regex(expression);
  std::multiset<std::string> result;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    result.insert((*match)[1]);
  return result;
}

/// The table's entries by name, one for each overload.
std::multiset<std::string> entries() {
  constexpr const char* declared = R"(\n  virtual [^~;({]*?(\w+)\()";
  std::multiset<std::string> result = all_matches(text_of("backend.h"), declared);
  result.merge(all_matches(text_of("whole_recurrence.h"), declared));
  return result;
}

/// The functions of the headers of kernels/ops, but for those in which ops share what is not of the surface.
std::set<std::string> public_ops() {
  const std::set<fs::path> shared{"ops/axis_groups.h", "ops/checks.h",     "ops/fused_activation.h",
                                  "ops/gradient.h",    "ops/kept_input.h", "ops/layout.h",
                                  "ops/own_pass.h",    "ops/recurrence.h", "ops/sum_axes.h",
                                  "ops/unary.h",       "ops/window2d.h",   "ops/whole_recurrence.h"};
  std::set<std::string> result;
  for (const fs::path& header : files_in({"ops"}, {".h"}))
    if (!shared.contains(header))
      for (const std::string& function : all_matches(text_of(header), R"(\n[\w:<>]+ (\w+)\()")) result.insert(function);
  return result;
}

using In = std::span<const Tensor>;

/// The first two rows of x, twice, in the place of rows 1 and 3 of five.
IndexedSlices slices_of(const Tensor& x) {
  return {x, Tensor::from(std::vector<std::int64_t>{3, 1, 3, 1}, {4}), {5, x.dim(1)}};
}

/// A copy that may be written to.
Tensor own_copy(const Tensor& x) { return x * 1; }

/// Of the kind of the one that computes.
LogicalDevice another_device() { return {.kind = current_context().device.kind, .index = 1}; }

template <class T>
Tensor reduced(In in) {
  const Tensor a = cast(cast(in[0], DType::f32) * 50, dtype_of<T>);
  const Tensor b = cast(cast(in[1], DType::f32) * 50, dtype_of<T>);
  const Tensor out = Tensor::empty(a.shape(), dtype_of<T>);
  const T* const from[] = {a.data<T>(), b.data<T>()};
  T* const to[] = {out.data<T>()};
  current_backend().reduce(ReduceOp::sum, ReduceViews<T>{.in = from, .out = to, .count = a.elements()});
  return out;
}

Tensor updated(In in) {
  const Tensor gradient = cast(in[0], DType::f32) * 1;
  const Tensor parameter = cast(in[1], DType::f32) * 1;
  const float* const from[] = {gradient.data<float>()};
  float* const to[] = {parameter.data<float>()};
  current_backend().update(SgdStep{.learning_rate = 0.5F}, UpdateViews{from, to, {}, gradient.elements()});
  return parameter;
}

Tensor norm_of(In in) {
  const Tensor x = cast(in[0], DType::f32);
  return Tensor::scalar(static_cast<float>(current_backend().squared_norm(x.data<float>(), x.elements())));
}

/// What has no gradient or, as activate, another op's name; and what strategies and optimizers call.
std::vector<Op> other_calls() {
  const Tensor x = random_tensor({4, 6}, 1, 0.2, 0.8);
  const Tensor y = random_tensor({4, 6}, 2, 0.2, 0.8);
  return {{"activate", {x}, [](In in) { return activate(in[0], Activation::tanh); }},
          {"argmax", {x}, [](In in) { return argmax(in[0]); }},
          {"argsort", {x}, [](In in) { return argsort(in[0]); }},
          {"top_k indices", {x}, [](In in) { return top_k(in[0], 3).indices; }},
          {"update_moving_average",
           {x, y},
           [](In in) {
             const Tensor average = own_copy(in[0]);
             update_moving_average(average, in[1], 0.5F);
             return average;
           }},
          {"limit_norms",
           {x},
           [](In in) {
             const Tensor limited = own_copy(in[0]);
             limit_norms(limited, {0}, {.max_value = 0.1});
             return limited;
           }},
          {"to_dense", {x}, [](In in) { return to_dense(slices_of(in[0])); }},
          {"scatter_add",
           {x},
           [](In in) {
             const Tensor sum = Tensor::full({5, 6}, 1, in[0].dtype());
             scatter_add(slices_of(in[0]), sum);
             return sum;
           }},
          {"sum_duplicates", {x}, [](In in) { return sum_duplicates(slices_of(in[0])).values; }},
          {"joined", {x, y}, [](In in) { return joined(slices_of(in[0]), slices_of(in[1])).values; }},
          {"to_device", {x}, [](In in) { return to_device(in[0], another_device()); }},
          {"reachable_from", {x}, [](In in) { return reachable_from(another_device(), in[0]); }},
          {"assign",
           {x},
           [](In in) {
             const Tensor to = Tensor::empty({4, 6}, DType::i64);
             assign(in[0] * 100.0, to);
             return to;
           }},
          {"reduce f32", {x, y}, reduced<float>},
          {"reduce bf16", {x, y}, reduced<bfloat16>},
          {"reduce i32", {x, y}, reduced<std::int32_t>},
          {"reduce i64", {x, y}, reduced<std::int64_t>},
          {"update", {x, y}, updated},
          {"squared_norm", {x}, norm_of}};
}

/// Which of an op's inputs are bf16 instead of f32.
enum class Bf16 { none, first, all };

/// By call: the result, then the gradients of the inputs; nothing of a call that is refused.
using Results = std::map<std::string, std::vector<Tensor>>;

std::vector<Tensor> results_of(const Op& op, Bf16 bf16, bool differentiate) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : op.inputs) {
    const bool narrow = bf16 == Bf16::all || (bf16 == Bf16::first && inputs.empty());
    inputs.push_back(cast(to_device(input, current_context().device), narrow ? DType::bf16 : DType::f32));
  }
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  std::vector<Tensor> results{op.run(inputs)};
  if (!differentiate) return results;
  const Tensor& y = results.front();
  const Tensor weights = cast(to_device(random_tensor(y.shape(), 99), y.device()), y.dtype());
  std::ranges::move(tape.gradient(sum(y * weights), inputs), std::back_inserter(results));
  return results;
}

void add_results(const Op& op, bool differentiate, Results& results) {
  for (const auto& [bf16, name] : {std::pair(Bf16::none, op.name), std::pair(Bf16::first, op.name + ", first of bf16"),
                                   std::pair(Bf16::all, op.name + ", all of bf16")}) {
    try {
      results[name] = results_of(op, bf16, differentiate);
    } catch (const Error& error) {
      results.erase(name);
      EXPECT_TRUE(bf16 != Bf16::none) << op.name << ": " << error.what();
    }
  }
}

Results results_on(const LogicalDevice& device) {
  const std::vector<Op> differentiable = differentiable_ops();
  const std::vector<Op> others = other_calls();
  const ContextScope there({.device = device});
  Results results;
  for (const Op& op : differentiable) add_results(op, true, results);
  for (const Op& op : others) add_results(op, false, results);
  return results;
}

/// A GPU that computes with kernels/grid, and what calls come to on it. Never destroyed, as the memory of its tensors.
class TriedGpu {
 public:
  TriedGpu() {
    const GpuPlatformScope gpus(platform_);
    const GpuBackendScope tables(table_);
    results_ = results_on(logical_gpus(1).front());
    for (auto& [call, tensors] : results_)
      for (Tensor& tensor : tensors)
        if (tensor.defined()) tensor = tensor.on_host();
  }

  const Results& results() const { return results_; }
  std::multiset<std::string> called() const { return table_.called(); }

 private:
  PretendGpuPlatform platform_;
  HostGridBackend kernels_;
  PretendGpuBackend table_{platform_, kernels_, backend(DeviceKind::cpu)};
  Results results_;
};

const TriedGpu& gpu() {
  static const auto& tried = *new TriedGpu;
  return tried;
}

TEST(Tables, EveryPublicOpIsTried) {
  std::set<std::string> tried;
  for (const std::vector<Op>& ops : {differentiable_ops(), other_calls()})
    for (const Op& op : ops) tried.insert(op.function());
  std::vector<std::string> untried;
  std::ranges::set_difference(public_ops(), tried, std::back_inserter(untried));
  EXPECT_THAT(untried, IsEmpty()) << "add them to differentiable_ops.cpp, or here";
  EXPECT_GT(public_ops().size(), 50U);
}

TEST(Tables, EveryEntryIsCalled) {
  EXPECT_GT(entries().size(), 50U);
  EXPECT_THAT(gpu().called(), UnorderedElementsAreArray(entries()));
}

/// Sums are added in another order by each of the tables. The ops call the same entries on CPUs, but for whole
/// recurrences, which CPUs do a step at a time.
TEST(Tables, TakeAndGiveTheSame) {
  const Results cpu = results_on(logical_cpus(1).front());
  for (const auto& [call, expected] : cpu) {
    SCOPED_TRACE(call);
    const auto found = gpu().results().find(call);
    if (found == gpu().results().end()) {
      ADD_FAILURE() << "CPUs take it, GPUs do not";
      continue;
    }
    ASSERT_EQ(found->second.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(i == 0 ? "the result" : fmt::format("the gradient of input {}", i - 1));
      const Tensor& actual = found->second[i];
      ASSERT_EQ(actual.defined(), expected[i].defined());
      if (!actual.defined()) continue;
      ASSERT_EQ(actual.shape(), expected[i].shape());
      ASSERT_EQ(actual.dtype(), expected[i].dtype());
      if (is_real(actual.dtype()))
        expect_close(actual, expected[i].to_vector<double>(), 64);
      else
        EXPECT_EQ(actual.to_vector<double>(), expected[i].to_vector<double>());
    }
  }
  for (const auto& [call, results] : gpu().results())
    EXPECT_TRUE(cpu.contains(call)) << "GPUs take it, CPUs do not: " << call;
}

/// An entry that were not of every table would be missed by no compiler.
TEST(Tables, OnlyWholeRecurrenceMayBeLeftToTheBaseClass) {
  EXPECT_THAT(all_matches(text_of("backend.h"), R"(\n  virtual [^~;({]*?(\w+)\([^;{]*\{)"),
              ElementsAre("whole_recurrence"));
  EXPECT_THAT(text_of("cuda/cuda_backend.h"), testing::HasSubstr("WholeRecurrence* whole_recurrence() override;"));
}

/// "int Table::f(...) {...}" of each member function of a class in the text, in one line, by all but its result.
std::vector<std::string> definitions(const std::string& text, const std::string& class_name) {
  std::vector<std::string> result;
  const std::string of_class = class_name + "::";
  for (std::size_t at = text.find(of_class); at != std::string::npos; at = text.find(of_class, at + 1)) {
    const std::size_t body = text.find('{', at);
    std::size_t end = body + 1;
    for (int depth = 1; depth > 0; ++end) depth += text.at(end) == '{' ? 1 : text.at(end) == '}' ? -1 : 0;
    std::string one = text.substr(at + of_class.size(), end - at - of_class.size());
    one = std::regex_replace(one, std::regex(R"(\s+)"), " ");
    result.push_back(std::regex_replace(one, std::regex("(cuda::Cuda|Host)Executor"), "Executor"));
  }
  return result;
}

/// CudaBackend's functions that NVIDIA's libraries do; each has a source of its own and tests in tests/kernels/cuda.
const std::set<std::string> of_libraries{"conv2d",           "conv2d_gradient_x",     "conv2d_gradient_kernel", "dense",
                                         "dense_gradient_x", "dense_gradient_kernel", "whole_recurrence"};

std::string name_of_definition(const std::string& definition) { return definition.substr(0, definition.find('(')); }

TEST(Tables, CudaDoesWhatIsTriedHere) {
  std::vector<std::string> tried;
  for (const std::string& one : definitions(text_of("../tests/kernels/grid/host_grid_backend.cpp"), "HostGridBackend"))
    if (!of_libraries.contains(name_of_definition(one))) tried.push_back(one);
  std::vector<std::string> kernels;
  std::set<std::string> libraries;
  for (const fs::path& file : files_in({"cuda"}, {".cu", ".cpp"}))
    for (const std::string& one : definitions(text_of(file), "CudaBackend"))
      if (of_libraries.contains(name_of_definition(one)))
        libraries.insert(name_of_definition(one));
      else
        kernels.push_back(one);
  EXPECT_THAT(kernels, UnorderedElementsAreArray(tried));
  EXPECT_EQ(libraries, of_libraries);
}

/// All that GPUs refuse, however it is worded: an entry that only says "not on GPUs" would be one more.
TEST(Tables, GpusRefuseNothingThatCpusTakeButThis) {
  std::map<fs::path, std::size_t> refusals;
  for (const fs::path& file : files_in({"cuda", "grid"}, {".cu", ".cuh", ".cpp", ".h"}))
    if (const std::size_t count =
            all_matches(text_of(file), R"(((?:fail|require)(?:<(?!DeviceError)\w+>)?\(|throw ))").size())
      refusals[file] = count;
  const std::map<fs::path, std::size_t> known{
      {"cuda/cublas.cpp", 1},                   // cuBLASLt has no algorithm for a product
      {"cuda/convolution_descriptors.cpp", 1},  // more elements than an int counts
      {"cuda/cudnn_classic.cpp", 4},    // cuDNN has no algorithm for a convolution; what plans for graphs alone may ask
      {"cuda/cudnn_graphs.cpp", 1},     // cuDNN has no engine for a convolution
      {"cuda/executor.cu", 1},          // more elements than CUB can sort, 2^31
      {"cuda/recurrence_plan.cpp", 1},  // cuDNN has other weights for a layer than its documentation says
  };
  EXPECT_EQ(refusals, known);
}

}  // namespace
}  // namespace lockstep::test

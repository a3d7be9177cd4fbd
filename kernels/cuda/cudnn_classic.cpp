// Convolutions by cuDNN's classic functions, where there is no cudnn-frontend.

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <lockstep/kernels/cuda/convolution_descriptors.h>
#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep::cudnn {
namespace {

///@{
/// What results are multiplied by: of the call, and of what was in their memory.
constexpr float one = 1;
constexpr float zero = 0;
///@}

/// What cuDNN says of one of its algorithms.
struct Algorithm {
  int number = -1;  ///< of the pass's own
  cudnnMathType_t math{};
  cudnnStatus_t status{};
  cudnnDeterminism_t determinism{};
  std::size_t workspace = 0;
};

/// Its name, by which plans are kept, too.
std::string text_of(const Algorithm& algorithm) {
  return fmt::format("algorithm {}, math type {}", algorithm.number, static_cast<int>(algorithm.math));
}

void check_plan(cudnnStatus_t status, const Convolution& c) {
  require<Unsupported>(status == CUDNN_STATUS_SUCCESS, "cuDNN cannot run the {}: {}", c.text(),
                       cudnnGetErrorString(status));
}

/// Whether the algorithm adds products up, in the same order every time: others transform first, or add as it comes.
bool adds_in_order(ConvolutionPass pass, int number) {
  switch (pass) {
    case ConvolutionPass::forward:
      return number >= CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && number <= CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
    case ConvolutionPass::gradient_x:
      return number == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
    case ConvolutionPass::gradient_kernel:
      return number == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
  }
  return false;
}

/// Whether a plan may be by this algorithm.
bool is_wanted(const Convolution& c, const Algorithm& a) {
  const bool exact = c.dtype == DType::f32 ? a.math == CUDNN_DEFAULT_MATH || a.math == CUDNN_FMA_MATH
                                           : a.math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
  // cuDNN has a bias without relu only with this one.
  const bool fuses = !c.bias || a.number == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  return a.status == CUDNN_STATUS_SUCCESS && a.determinism == CUDNN_DETERMINISTIC &&
         a.workspace <= static_cast<std::size_t>(workspace_limit) && adds_in_order(c.pass, a.number) && exact && fuses;
}

/// What `ask` answers in cuDNN's structure for the pass, and what of it is wanted, in the order of cuDNN's heuristics.
template <class Answer, class Ask>
std::vector<Algorithm> wanted(const Convolution& c, const Ask& ask) {
  std::array<Answer, 32> answers{};
  int count = 0;
  check_plan(ask(static_cast<int>(answers.size()), &count, answers.data()), c);
  std::vector<Algorithm> result;
  for (const Answer& a : std::span(answers).first(static_cast<std::size_t>(count))) {
    const Algorithm algorithm{a.algo, a.mathType, a.status, a.determinism, a.memory};
    if (is_wanted(c, algorithm)) result.push_back(algorithm);
  }
  return result;
}

std::vector<Algorithm> offered(cudnnHandle_t handle, const Convolution& c, const ConvolutionDescriptors& d) {
  switch (c.pass) {
    case ConvolutionPass::forward:
      return wanted<cudnnConvolutionFwdAlgoPerf_t>(c, [&](int most, int* count, auto* answers) {
        return cudnnGetConvolutionForwardAlgorithm_v7(handle, d.x.get(), d.kernel.get(), d.window.get(), d.y.get(),
                                                      most, count, answers);
      });
    case ConvolutionPass::gradient_x:
      return wanted<cudnnConvolutionBwdDataAlgoPerf_t>(c, [&](int most, int* count, auto* answers) {
        return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, d.kernel.get(), d.y.get(), d.window.get(), d.x.get(),
                                                           most, count, answers);
      });
    case ConvolutionPass::gradient_kernel:
      return wanted<cudnnConvolutionBwdFilterAlgoPerf_t>(c, [&](int most, int* count, auto* answers) {
        return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, d.x.get(), d.y.get(), d.window.get(),
                                                             d.kernel.get(), most, count, answers);
      });
  }
  return {};
}

cudnnStatus_t ask_workspace(cudnnHandle_t handle, const Convolution& c, const ConvolutionDescriptors& d, int number,
                            std::size_t* bytes) {
  switch (c.pass) {
    case ConvolutionPass::forward:
      return cudnnGetConvolutionForwardWorkspaceSize(handle, d.x.get(), d.kernel.get(), d.window.get(), d.y.get(),
                                                     static_cast<cudnnConvolutionFwdAlgo_t>(number), bytes);
    case ConvolutionPass::gradient_x:
      return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, d.kernel.get(), d.y.get(), d.window.get(), d.x.get(),
                                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(number), bytes);
    case ConvolutionPass::gradient_kernel:
      return cudnnGetConvolutionBackwardFilterWorkspaceSize(
          handle, d.x.get(), d.y.get(), d.window.get(), d.kernel.get(),
          static_cast<cudnnConvolutionBwdFilterAlgo_t>(number), bytes);
  }
  return CUDNN_STATUS_BAD_PARAM;
}

/// y = convolution, + bias; what y held before has no part in it.
cudnnStatus_t call_forward(cudnnHandle_t handle, const Convolution& c, const ConvolutionDescriptors& d, int number,
                           const ConvolutionPlan::Operands& o, void* workspace, std::size_t bytes) {
  const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(number);
  if (!c.bias)
    return cudnnConvolutionForward(handle, &one, d.x.get(), o.x, d.kernel.get(), o.kernel, d.window.get(), algorithm,
                                   workspace, bytes, &zero, d.y.get(), o.y);
  return cudnnConvolutionBiasActivationForward(handle, &one, d.x.get(), o.x, d.kernel.get(), o.kernel, d.window.get(),
                                               algorithm, workspace, bytes, &zero, d.y.get(), o.y, d.bias.get(), o.bias,
                                               d.activation.get(), d.y.get(), o.y);
}

cudnnStatus_t call(cudnnHandle_t handle, const Convolution& c, const ConvolutionDescriptors& d, int number,
                   const ConvolutionPlan::Operands& o, void* workspace, std::size_t bytes) {
  switch (c.pass) {
    case ConvolutionPass::forward:
      return call_forward(handle, c, d, number, o, workspace, bytes);
    case ConvolutionPass::gradient_x:
      return cudnnConvolutionBackwardData(handle, &one, d.kernel.get(), o.kernel, d.y.get(), o.y, d.window.get(),
                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(number), workspace, bytes, &zero,
                                          d.x.get(), o.x);
    case ConvolutionPass::gradient_kernel:
      return cudnnConvolutionBackwardFilter(handle, &one, d.x.get(), o.x, d.y.get(), o.y, d.window.get(),
                                            static_cast<cudnnConvolutionBwdFilterAlgo_t>(number), workspace, bytes,
                                            &zero, d.kernel.get(), o.kernel);
  }
  return CUDNN_STATUS_BAD_PARAM;
}

/// Refuses what can be told to graphs alone.
cudnnHandle_t handle_for(const Convolution& c, const PlannedFor& gpu) {
  require<Unsupported>(c.pads_before == c.pads_after,
                       "cuDNN's classic functions cannot run the {}, whose padding is uneven; cudnn-frontend is needed",
                       c.text());
  require<Unsupported>(!c.relu, "cuDNN's classic functions cannot run the {}: their relu makes 0 of NaN", c.text());
  const auto* const handle = std::get_if<cudnnHandle_t>(&gpu);
  require<Unsupported>(
      handle != nullptr,
      "cuDNN's classic functions cannot plan the {} for a GPU that is not there; cudnn-frontend is needed", c.text());
  return *handle;
}

}  // namespace

std::string versions() {
  const std::size_t library = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}, classic functions", library / 10000, library / 100 % 100, library % 100);
}

bool takes_uneven_padding() { return false; }
bool takes_relu(DType /*dtype*/) { return false; }

struct ConvolutionPlan::Description {
  Convolution convolution;
  cudnnHandle_t handle;
  ConvolutionDescriptors descriptors;
  std::vector<Algorithm> algorithms;  ///< that cuDNN offers
  Algorithm chosen;

  Description(const Convolution& of, const PlannedFor& gpu)
      : convolution(of), handle(handle_for(of, gpu)), descriptors(of) {}

  /// The bytes that the algorithm needs beside the operands; none where cuDNN does not take it.
  std::optional<std::int64_t> take(const Algorithm& algorithm) {
    chosen = algorithm;
    // Of f32 tensor cores stay excluded, whatever cuDNN says of the algorithm.
    const cudnnMathType_t math = convolution.dtype == DType::f32 ? CUDNN_FMA_MATH : algorithm.math;
    std::size_t bytes = 0;
    if (cudnnSetConvolutionMathType(descriptors.window.get(), math) != CUDNN_STATUS_SUCCESS ||
        ask_workspace(handle, convolution, descriptors, algorithm.number, &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > static_cast<std::size_t>(workspace_limit))
      return {};
    return static_cast<std::int64_t>(bytes);
  }
};

ConvolutionPlan::ConvolutionPlan(std::unique_ptr<Description> description) : description_(std::move(description)) {}

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu)
    : description_(std::make_unique<Description>(convolution, gpu)) {
  prepare();
  choose_first();
}

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu, const TimeOf& time_of)
    : description_(std::make_unique<Description>(convolution, gpu)) {
  choose_fastest(prepare(), time_of);
}

ConvolutionPlan::ConvolutionPlan(ConvolutionPlan&&) noexcept = default;
ConvolutionPlan::~ConvolutionPlan() = default;

std::int64_t ConvolutionPlan::prepare() {
  Description& d = *description_;
  d.algorithms = offered(d.handle, d.convolution, d.descriptors);
  return static_cast<std::int64_t>(d.algorithms.size());
}

bool ConvolutionPlan::choose(std::int64_t index) {
  const std::optional<std::int64_t> bytes =
      description_->take(description_->algorithms.at(static_cast<std::size_t>(index)));
  if (!bytes) return false;
  workspace_bytes_ = *bytes;
  read_properties();
  return true;
}

void ConvolutionPlan::choose_first() {
  const auto count = static_cast<std::int64_t>(description_->algorithms.size());
  for (std::int64_t index = 0; index < count; ++index)
    if (choose(index)) return;
  check_plan(CUDNN_STATUS_NOT_SUPPORTED, description_->convolution);
}

void ConvolutionPlan::read_properties() {
  engine_ = text_of(description_->chosen);
  on_tensor_cores_ = description_->chosen.math == CUDNN_TENSOR_OP_MATH;
}

std::vector<std::uint8_t> ConvolutionPlan::serialized() const { return {engine_.begin(), engine_.end()}; }

std::optional<ConvolutionPlan> ConvolutionPlan::restored(const Convolution& convolution, const PlannedFor& gpu,
                                                         const std::vector<std::uint8_t>& bytes) {
  ConvolutionPlan plan(std::make_unique<Description>(convolution, gpu));
  plan.prepare();
  const auto& algorithms = plan.description_->algorithms;
  const auto kept = std::ranges::find(algorithms, std::string(bytes.begin(), bytes.end()), text_of);
  if (kept == algorithms.end() || !plan.choose(kept - algorithms.begin())) return {};
  return plan;
}

void ConvolutionPlan::run(cudnnHandle_t handle, const Operands& operands, void* workspace) const {
  const Convolution& c = description_->convolution;
  if constexpr (contracts::checked) check_contracts(c, operands, workspace);
  const cudnnStatus_t status = call(handle, c, description_->descriptors, description_->chosen.number, operands,
                                    workspace, static_cast<std::size_t>(workspace_bytes_));
  if (status != CUDNN_STATUS_SUCCESS) check(status, "cuDNN", fmt::format("{} by {}", c.text(), engine_));
}

}  // namespace lockstep::cudnn

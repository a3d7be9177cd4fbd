#include "lockstep/kernels/cuda/cudnn_graphs.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <cudnn_frontend.h>

#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/runtime/thread/context.h>

// cudnn-frontend names these in code that nothing here calls. That they are weak spares every start of a program the
// loading of NVRTC, 10 ms.
#pragma weak nvrtcCompileProgram
#pragma weak nvrtcCreateProgram
#pragma weak nvrtcDestroyProgram
#pragma weak nvrtcGetCUBIN
#pragma weak nvrtcGetCUBINSize
#pragma weak nvrtcGetProgramLog
#pragma weak nvrtcGetProgramLogSize

namespace lockstep::cudnn {
namespace {

namespace frontend = cudnn_frontend;
using frontend::graph::Tensor_attributes;
using TensorHandle = std::shared_ptr<Tensor_attributes>;

/// By which the operands are told apart.
enum Uid : std::int64_t { x_uid = 1, kernel_uid, y_uid, bias_uid };

/// Scratch memory counts against a device's limit. Algorithms that want more are seldom faster.
constexpr std::int64_t workspace_limit = std::int64_t{1} << 30;

/// cuDNN's reasons take many lines.
std::string one_line(std::string text) {
  constexpr std::size_t enough = 400;
  if (text.size() > enough) text.resize(enough);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void check_plan(const frontend::error_t& status, const Convolution& convolution) {
  require<Unsupported>(status.is_good(), "cuDNN cannot run the {}: {}", convolution.text(), one_line(status.err_msg));
}

std::vector<std::int64_t> as_vector(const auto& values) { return {values.begin(), values.end()}; }

/// Adds shape and name to a tensor of a graph.
Tensor_attributes& describe(Tensor_attributes& tensor, Uid uid, const Layout& layout) {
  return tensor.set_uid(uid)
      .set_dim(as_vector(layout.sizes))
      .set_stride(as_vector(layout.strides))
      .set_alignment(operand_alignment);
}

TensorHandle input(frontend::graph::Graph& graph, Uid uid, const Layout& layout) {
  Tensor_attributes tensor;
  return graph.tensor(describe(tensor, uid, layout));
}

void output(const TensorHandle& tensor, Uid uid, const Layout& layout) {
  describe(*tensor, uid, layout).set_output(true);
}

/// How the window moves, for any of the three passes.
template <class Attributes>
Attributes windows_of(const Convolution& c) {
  Attributes attributes;
  attributes.set_pre_padding(as_vector(c.pads_before))
      .set_post_padding(as_vector(c.pads_after))
      .set_stride(as_vector(c.strides))
      .set_dilation(as_vector(c.dilation));
  return attributes;
}

frontend::graph::Pointwise_attributes pointwise(frontend::PointwiseMode_t mode) {
  frontend::graph::Pointwise_attributes attributes;
  attributes.set_mode(mode);
  return attributes;
}

void describe_forward(frontend::graph::Graph& graph, const Convolution& c) {
  const TensorHandle x = input(graph, x_uid, c.x());
  const TensorHandle kernel = input(graph, kernel_uid, c.kernel());
  TensorHandle y = graph.conv_fprop(x, kernel, windows_of<frontend::graph::Conv_fprop_attributes>(c));
  if (c.bias)
    y = graph.pointwise(y, input(graph, bias_uid, c.bias_layout()), pointwise(frontend::PointwiseMode_t::ADD));
  // cudnn-frontend asks for NaN to stay NaN, as relu of ops/activations.h does.
  if (c.relu) y = graph.pointwise(y, pointwise(frontend::PointwiseMode_t::RELU_FWD));
  output(y, y_uid, c.y());
}

void describe_gradient_x(frontend::graph::Graph& graph, const Convolution& c) {
  const TensorHandle dy = input(graph, y_uid, c.y());
  const TensorHandle kernel = input(graph, kernel_uid, c.kernel());
  output(graph.conv_dgrad(dy, kernel, windows_of<frontend::graph::Conv_dgrad_attributes>(c)), x_uid, c.x());
}

void describe_gradient_kernel(frontend::graph::Graph& graph, const Convolution& c) {
  const TensorHandle dy = input(graph, y_uid, c.y());
  const TensorHandle x = input(graph, x_uid, c.x());
  output(graph.conv_wgrad(dy, x, windows_of<frontend::graph::Conv_wgrad_attributes>(c)), kernel_uid, c.kernel());
}

}  // namespace

std::string versions() {
  const std::size_t library = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}, cudnn-frontend {}.{}.{}", library / 10000, library / 100 % 100, library % 100,
                     CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION, CUDNN_FRONTEND_PATCH_VERSION);
}

struct ConvolutionPlan::Graph {
  Convolution convolution;
  cudnnHandle_t handle = nullptr;  ///< null for a GPU that is described
  frontend::graph::Graph graph;

  Graph(const Convolution& of, const PlannedFor& gpu) : convolution(of) {
    if (const auto* const described = std::get_if<DescribedGpu>(&gpu)) {
      const auto properties = std::make_shared<frontend::DeviceProperties>();
      const std::string& text = described->properties;
      check_plan(properties->deserialize({text.begin(), text.end()}), of);
      graph.set_device_properties(properties).set_sm_version(described->compute_capability);
    } else {
      handle = std::get<cudnnHandle_t>(gpu);
    }
  }

  void describe() {
    const Convolution& of = convolution;
    const auto io = of.dtype == DType::bf16 ? frontend::DataType_t::BFLOAT16 : frontend::DataType_t::FLOAT;
    graph.set_io_data_type(io)
        .set_intermediate_data_type(frontend::DataType_t::FLOAT)
        .set_compute_data_type(frontend::DataType_t::FLOAT);
    switch (of.pass) {
      case ConvolutionPass::forward:
        describe_forward(graph, of);
        break;
      case ConvolutionPass::gradient_x:
        describe_gradient_x(graph, of);
        break;
      case ConvolutionPass::gradient_kernel:
        describe_gradient_kernel(graph, of);
        break;
    }
  }
};

ConvolutionPlan::ConvolutionPlan(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu)
    : graph_(std::make_unique<Graph>(convolution, gpu)) {
  prepare();
  choose_first();
}

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, const PlannedFor& gpu, const TimeOf& time_of)
    : graph_(std::make_unique<Graph>(convolution, gpu)) {
  prepare();
  double least = std::numeric_limits<double>::infinity();
  std::int64_t fastest = -1;
  std::int64_t first = -1;
  for (std::int64_t index = 0; index < graph_->graph.get_execution_plan_count(); ++index) {
    if (!choose(index)) continue;
    if (first < 0) first = index;
    const double time = time_of(*this);
    if (time >= least) continue;
    least = time;
    fastest = index;
  }
  if (first < 0)
    choose_first();  // says why there is none
  else
    choose(fastest < 0 ? first : fastest);
}

ConvolutionPlan::ConvolutionPlan(ConvolutionPlan&&) noexcept = default;
ConvolutionPlan::~ConvolutionPlan() = default;

void ConvolutionPlan::prepare() {
  using Note = frontend::NumericalNote_t;
  frontend::graph::Graph& graph = graph_->graph;
  const Convolution& convolution = graph_->convolution;
  graph_->describe();
  check_plan(graph.validate(), convolution);
  check_plan(graph.build_operation_graph(graph_->handle), convolution);
  check_plan(graph.create_execution_plans({frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK}), convolution);
  std::vector<Note> refused{Note::NONDETERMINISTIC, Note::DOWN_CONVERT_INPUTS, Note::REDUCED_PRECISION_REDUCTION,
                            Note::FFT, Note::WINOGRAD};
  if (convolution.dtype == DType::f32) refused.push_back(Note::TENSOR_CORE);  // where f32 would be rounded first
  graph.deselect_numeric_notes(refused)
      .deselect_behavior_notes({frontend::BehaviorNote_t::RUNTIME_COMPILATION})
      .deselect_workspace_greater_than(workspace_limit);
  check_plan(graph.check_support(), convolution);
}

bool ConvolutionPlan::choose(std::int64_t index) {
  if (graph_->graph.build_plan_at_index(index).is_bad()) return false;
  read_workspace();
  check_plan(graph_->graph.get_plan_name(engine_), graph_->convolution);
  return true;
}

void ConvolutionPlan::choose_first() {
  check_plan(graph_->graph.build_plans(frontend::BuildPlanPolicy_t::HEURISTICS_CHOICE), graph_->convolution);
  read_workspace();
  check_plan(graph_->graph.get_plan_name(engine_), graph_->convolution);
}

void ConvolutionPlan::read_workspace() {
  check_plan(graph_->graph.get_workspace_size(workspace_bytes_), graph_->convolution);
}

std::vector<std::uint8_t> ConvolutionPlan::serialized() const {
  std::vector<std::uint8_t> plan;
  check_plan(graph_->graph.serialize(plan, false), graph_->convolution);
  // With the engine's name in front, which a plan that has been restored does not know.
  std::vector<std::uint8_t> bytes(engine_.begin(), engine_.end());
  bytes.push_back('\n');
  bytes.insert(bytes.end(), plan.begin(), plan.end());
  return bytes;
}

std::optional<ConvolutionPlan> ConvolutionPlan::restored(const Convolution& convolution, const PlannedFor& gpu,
                                                         const std::vector<std::uint8_t>& bytes) {
  const auto end_of_name = std::ranges::find(bytes, '\n');
  if (end_of_name == bytes.end()) return {};
  const std::vector<std::uint8_t> serialized(end_of_name + 1, bytes.end());
  ConvolutionPlan plan(std::make_unique<Graph>(convolution, gpu));
  frontend::graph::Graph& graph = plan.graph_->graph;
  try {
    const cudnnHandle_t handle = plan.graph_->handle;
    const frontend::error_t status =
        handle == nullptr ? graph.deserialize(serialized) : graph.deserialize(handle, serialized, true, false);
    if (status.is_bad()) return {};
  } catch (const std::exception&) {  // of the parser
    return {};
  }
  plan.read_workspace();
  plan.engine_.assign(bytes.begin(), end_of_name);
  return plan;
}

void ConvolutionPlan::run(cudnnHandle_t handle, const Operands& operands, void* workspace) const {
  if constexpr (contracts::checked) {
    const Convolution& c = graph_->convolution;
    check_operands("a convolution of cuDNN's",
                   {operand(operands.x, c.x().elements(), c.dtype),
                    operand(operands.kernel, c.kernel().elements(), c.dtype),
                    operand(operands.y, c.y().elements(), c.dtype),
                    operand(operands.bias, c.bias ? c.bias_layout().elements() : 0, c.dtype),
                    {workspace, static_cast<std::size_t>(workspace_bytes_), operand_alignment}});
  }
  std::unordered_map<std::int64_t, void*> addresses{
      {x_uid, operands.x}, {kernel_uid, operands.kernel}, {y_uid, operands.y}};
  if (graph_->convolution.bias) addresses.emplace(bias_uid, operands.bias);
  const frontend::error_t status = graph_->graph.execute(handle, addresses, workspace);
  require<DeviceError>(status.is_good(), "cuDNN failed on {} in the {} by {}: {}", current_context().device.name(),
                       graph_->convolution.text(), engine_, one_line(status.err_msg));
}

}  // namespace lockstep::cudnn

#include "lockstep/kernels/cuda/cudnn_graphs.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

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

struct ConvolutionPlan::Graph {
  Convolution convolution;
  frontend::graph::Graph graph;

  explicit Graph(const Convolution& of) : convolution(of) {
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

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, cudnnHandle_t handle)
    : graph_(std::make_unique<Graph>(convolution)) {
  build(handle);
}

ConvolutionPlan::ConvolutionPlan(const Convolution& convolution, const DescribedGpu& gpu)
    : graph_(std::make_unique<Graph>(convolution)) {
  const auto properties = std::make_shared<frontend::DeviceProperties>();
  check_plan(properties->deserialize({gpu.properties.begin(), gpu.properties.end()}), convolution);
  graph_->graph.set_device_properties(properties).set_sm_version(gpu.compute_capability);
  build(nullptr);
}

ConvolutionPlan::ConvolutionPlan(ConvolutionPlan&&) noexcept = default;
ConvolutionPlan::~ConvolutionPlan() = default;

void ConvolutionPlan::build(cudnnHandle_t handle) {
  using Note = frontend::NumericalNote_t;
  frontend::graph::Graph& graph = graph_->graph;
  const Convolution& convolution = graph_->convolution;
  check_plan(graph.validate(), convolution);
  check_plan(graph.build_operation_graph(handle), convolution);
  check_plan(graph.create_execution_plans({frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK}), convolution);
  std::vector<Note> refused{Note::NONDETERMINISTIC, Note::DOWN_CONVERT_INPUTS, Note::REDUCED_PRECISION_REDUCTION,
                            Note::FFT, Note::WINOGRAD};
  if (convolution.dtype == DType::f32) refused.push_back(Note::TENSOR_CORE);  // where f32 would be rounded first
  graph.deselect_numeric_notes(refused)
      .deselect_behavior_notes({frontend::BehaviorNote_t::RUNTIME_COMPILATION})
      .deselect_workspace_greater_than(workspace_limit);
  check_plan(graph.check_support(), convolution);
  check_plan(graph.build_plans(frontend::BuildPlanPolicy_t::HEURISTICS_CHOICE), convolution);
  check_plan(graph.get_workspace_size(workspace_bytes_), convolution);
  check_plan(graph.get_plan_name(engine_), convolution);
}

void ConvolutionPlan::run(cudnnHandle_t handle, const Operands& operands, void* workspace) const {
  std::unordered_map<std::int64_t, void*> addresses{
      {x_uid, operands.x}, {kernel_uid, operands.kernel}, {y_uid, operands.y}};
  if (graph_->convolution.bias) addresses.emplace(bias_uid, operands.bias);
  const frontend::error_t status = graph_->graph.execute(handle, addresses, workspace);
  require<DeviceError>(status.is_good(), "cuDNN failed on {} in the {} by {}: {}", current_context().device.name(),
                       graph_->convolution.text(), engine_, one_line(status.err_msg));
}

}  // namespace lockstep::cudnn

// Convolutions and attention as cuDNN graphs.

#include <algorithm>
#include <unordered_map>

#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <lockstep/kernels/cuda/attention_plan.h>
#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/runtime/device/context.h>

// cudnn-frontend uses these functions in code that is never called here. As weak symbols they do not make every program
// load NVRTC at its start, which takes 10 ms.
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

/// Identifiers of the operands.
enum Uid : std::int64_t {
  x_uid = 1,
  kernel_uid,
  y_uid,
  bias_uid,
  query_uid,
  key_uid,
  value_uid,
  log_sum_exp_uid,
  dy_uid,
  dquery_uid,
  dkey_uid,
  dvalue_uid,
  seed_uid,
  offset_uid
};

/// Shortens cuDNN's error messages, which have many lines.
std::string one_line(std::string text) {
  constexpr std::size_t enough = 400;
  if (text.size() > enough) text.resize(enough);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// `what`: a Convolution or a FusedAttention.
template <class What>
void check_plan(const frontend::error_t& status, const What& what) {
  require<Unsupported>(status.is_good(), "cuDNN cannot run the {}: {}", what.text(), one_line(status.err_msg));
}

/// The handle of the plan's GPU; null for a GPU that is only described, whose properties are set in the graph.
template <class What>
cudnnHandle_t set_gpu(frontend::graph::Graph& graph, const PlannedFor& gpu, const What& what) {
  const auto* const described = std::get_if<DescribedGpu>(&gpu);
  if (described == nullptr) return std::get<cudnnHandle_t>(gpu);
  const auto properties = std::make_shared<frontend::DeviceProperties>();
  const std::string& text = described->properties;
  check_plan(properties->deserialize({text.begin(), text.end()}), what);
  graph.set_device_properties(properties).set_sm_version(described->compute_capability);
  return nullptr;
}

void set_types(frontend::graph::Graph& graph, DType dtype) {
  graph.set_io_data_type(dtype == DType::bf16 ? frontend::DataType_t::BFLOAT16 : frontend::DataType_t::FLOAT)
      .set_intermediate_data_type(frontend::DataType_t::FLOAT)
      .set_compute_data_type(frontend::DataType_t::FLOAT);
}

std::vector<std::int64_t> as_vector(const auto& values) { return {values.begin(), values.end()}; }

/// A graph with its plan as bytes. A restored plan does not know its engine's name, so it is stored in front.
template <class What>
std::vector<std::uint8_t> bytes_of(const frontend::graph::Graph& graph, const std::string& engine, const What& what) {
  std::vector<std::uint8_t> plan;
  check_plan(graph.serialize(plan, false), what);
  std::vector<std::uint8_t> bytes(engine.begin(), engine.end());
  bytes.push_back('\n');
  bytes.insert(bytes.end(), plan.begin(), plan.end());
  return bytes;
}

/// Restores a graph with its plan and returns its engine's name; nothing if cuDNN rejects the bytes.
std::optional<std::string> restore(frontend::graph::Graph& graph, cudnnHandle_t handle,
                                   const std::vector<std::uint8_t>& bytes) {
  const auto end_of_name = std::ranges::find(bytes, '\n');
  if (end_of_name == bytes.end()) return {};
  const std::vector<std::uint8_t> serialized(end_of_name + 1, bytes.end());
  try {
    const frontend::error_t status =
        handle == nullptr ? graph.deserialize(serialized) : graph.deserialize(handle, serialized, true, false);
    if (status.is_bad()) return {};
  } catch (const std::exception&) {  // thrown by the parser
    return {};
  }
  return std::string(bytes.begin(), end_of_name);
}

/// For most of the plans that cuDNN examines, it loads NVRTC and unloads it again, which takes twice as long as
/// everything else. Loaded here, NVRTC stays; if it is not found, cuDNN says which plans need it.
void keep_nvrtc() {
  [[maybe_unused]] static const void* const nvrtc =
      dlopen(fmt::format("libnvrtc.so.{}", CUDART_VERSION / 1000).c_str(), RTLD_LAZY);
}

/// Lists the plans of a described graph, the best first by cuDNN's heuristics.
template <class What>
void list_plans(frontend::graph::Graph& graph, cudnnHandle_t handle, const What& what) {
  keep_nvrtc();
  check_plan(graph.validate(), what);
  check_plan(graph.build_operation_graph(handle), what);
  check_plan(graph.create_execution_plans({frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK}), what);
}

/// Sets the identifier, shape, strides and alignment of a graph's tensor.
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

/// The window's padding, strides and dilation, as attributes of any of the three passes.
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

/// The options that both passes of attention have; query i attends to key 0 to i if it is causal, as in attention.h.
template <class Attributes>
Attributes options_of(const FusedAttention& a, frontend::graph::Graph& graph) {
  Attributes options;
  options.set_attn_scale(a.scale);
  if (a.is_causal)
    options.set_diagonal_alignment(frontend::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  if (a.bias) options.set_bias(input(graph, bias_uid, *a.bias));
  if (a.seed()) {
    const auto number = [&](Uid uid) {
      TensorHandle tensor = input(graph, uid, *a.seed());
      tensor->set_data_type(frontend::DataType_t::INT64);
      return tensor;
    };
    options.set_dropout(a.dropout_rate, number(seed_uid), number(offset_uid));
  }
  return options;
}

void describe_attention(frontend::graph::Graph& graph, const FusedAttention& a) {
  auto options = options_of<frontend::graph::SDPA_attributes>(a, graph);
  options.set_generate_stats(true).set_implementation(frontend::AttentionImplementation_t::COMPOSITE);
  const auto [y, log_sum_exp] = graph.sdpa(input(graph, query_uid, a.query), input(graph, key_uid, a.key),
                                           input(graph, value_uid, a.value), std::move(options));
  output(y, y_uid, a.y());
  output(log_sum_exp, log_sum_exp_uid, a.log_sum_exp());
  log_sum_exp->set_data_type(frontend::DataType_t::FLOAT);
}

void describe_attention_gradient(frontend::graph::Graph& graph, const FusedAttention& a) {
  auto options = options_of<frontend::graph::SDPA_backward_attributes>(a, graph);
  options.set_deterministic_algorithm(true);
  const TensorHandle log_sum_exp = input(graph, log_sum_exp_uid, a.log_sum_exp());
  log_sum_exp->set_data_type(frontend::DataType_t::FLOAT);
  const auto [dquery, dkey, dvalue] = graph.sdpa_backward(
      input(graph, query_uid, a.query), input(graph, key_uid, a.key), input(graph, value_uid, a.value),
      input(graph, y_uid, a.y()), input(graph, dy_uid, *a.dy), log_sum_exp, std::move(options));
  output(dquery, dquery_uid, a.dquery());
  output(dkey, dkey_uid, a.dkey());
  output(dvalue, dvalue_uid, a.dvalue());
}

/// A graph that reports the numerical notes of its chosen plan.
struct NotedGraph : frontend::graph::Graph {
  bool on_tensor_cores() const {
    const auto& notes = plans.execution_plans.at(static_cast<std::size_t>(plans.candidate))->getAllNumericNotes();
    return std::ranges::find(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
  }
};

}  // namespace

std::string versions() {
  const std::size_t library = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}, cudnn-frontend {}.{}.{}", library / 10000, library / 100 % 100, library % 100,
                     CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION, CUDNN_FRONTEND_PATCH_VERSION);
}

struct ConvolutionPlan::Description {
  Convolution convolution;
  NotedGraph graph;
  cudnnHandle_t handle;  ///< null for a GPU that is only described

  Description(const Convolution& of, const PlannedFor& gpu) : convolution(of), handle(set_gpu(graph, gpu, of)) {}

  void describe() {
    const Convolution& of = convolution;
    set_types(graph, of.dtype);
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
  using Note = frontend::NumericalNote_t;
  frontend::graph::Graph& graph = description_->graph;
  const Convolution& convolution = description_->convolution;
  description_->describe();
  list_plans(graph, description_->handle, convolution);
  std::vector<Note> refused{Note::NONDETERMINISTIC, Note::DOWN_CONVERT_INPUTS, Note::REDUCED_PRECISION_REDUCTION,
                            Note::FFT, Note::WINOGRAD};
  if (convolution.dtype == DType::f32) refused.push_back(Note::TENSOR_CORE);  // tensor cores would round f32 operands
  // NaN stays NaN, as in the relu of activations.h.
  if (convolution.relu) graph.select_numeric_notes({Note::STRICT_NAN_PROP});
  graph.deselect_numeric_notes(refused)
      .deselect_behavior_notes({frontend::BehaviorNote_t::RUNTIME_COMPILATION})
      .deselect_workspace_greater_than(workspace_limit);
  check_plan(graph.check_support(), convolution);
  return graph.get_execution_plan_count();
}

bool ConvolutionPlan::choose(std::int64_t index) {
  if (description_->graph.build_plan_at_index(index).is_bad()) return false;
  check_plan(description_->graph.get_plan_name(engine_), description_->convolution);
  read_properties();
  return true;
}

void ConvolutionPlan::choose_first() {
  check_plan(description_->graph.build_plans(frontend::BuildPlanPolicy_t::HEURISTICS_CHOICE),
             description_->convolution);
  check_plan(description_->graph.get_plan_name(engine_), description_->convolution);
  read_properties();
}

void ConvolutionPlan::read_properties() {
  check_plan(description_->graph.get_workspace_size(workspace_bytes_), description_->convolution);
  on_tensor_cores_ = description_->graph.on_tensor_cores();
}

std::vector<std::uint8_t> ConvolutionPlan::serialized() const {
  return bytes_of(description_->graph, engine_, description_->convolution);
}

std::optional<ConvolutionPlan> ConvolutionPlan::restored(const Convolution& convolution, const PlannedFor& gpu,
                                                         const std::vector<std::uint8_t>& bytes) {
  ConvolutionPlan plan(std::make_unique<Description>(convolution, gpu));
  const auto engine = restore(plan.description_->graph, plan.description_->handle, bytes);
  if (!engine) return {};
  plan.read_properties();
  plan.engine_ = *engine;
  return plan;
}

void ConvolutionPlan::run(cudnnHandle_t handle, const Operands& operands, void* workspace) const {
  if (contracts::checked()) check_contracts(description_->convolution, operands, workspace);
  std::unordered_map<std::int64_t, void*> addresses{
      {x_uid, operands.x}, {kernel_uid, operands.kernel}, {y_uid, operands.y}};
  if (description_->convolution.bias) addresses.emplace(bias_uid, operands.bias);
  const frontend::error_t status = description_->graph.execute(handle, addresses, workspace);
  require<DeviceError>(status.is_good(), "cuDNN failed on {} in the {} by {}: {}", current_context().device.name(),
                       description_->convolution.text(), engine_, one_line(status.err_msg));
}

struct AttentionPlan::Description {
  FusedAttention attention;
  frontend::graph::Graph graph;
  cudnnHandle_t handle;  ///< null for a GPU that is only described

  Description(const FusedAttention& of, const PlannedFor& gpu) : attention(of), handle(set_gpu(graph, gpu, of)) {}
};

AttentionPlan::AttentionPlan(std::unique_ptr<Description> description) : description_(std::move(description)) {}

AttentionPlan::AttentionPlan(const FusedAttention& attention, const PlannedFor& gpu)
    : description_(std::make_unique<Description>(attention, gpu)) {
  // Earlier versions copy the lengths of sequences from memory of the host, which a CUDA graph cannot capture.
  constexpr std::size_t least_version = 91600;
  require<Unsupported>(cudnnGetVersion() >= least_version, "cuDNN cannot run the {} before version 9.16; this is {}",
                       attention.text(), versions());
  // cudnn-frontend puts an f32 number for each row in front of the workspace of cuDNN.
  const bool is_aligned = attention.log_sum_exp().elements() * 4 % operand_alignment == 0;
  require<Unsupported>(!attention.dy || is_aligned, "cuDNN cannot run the {}: its workspace would not be aligned",
                       attention.text());
  frontend::graph::Graph& graph = description_->graph;
  set_types(graph, DType::bf16);
  if (attention.dy)
    describe_attention_gradient(graph, attention);
  else
    describe_attention(graph, attention);
  list_plans(graph, description_->handle, attention);
  graph.deselect_numeric_notes({frontend::NumericalNote_t::NONDETERMINISTIC});
  check_plan(graph.check_support(), attention);
  check_plan(graph.build_plans(frontend::BuildPlanPolicy_t::HEURISTICS_CHOICE), attention);
  check_plan(graph.get_plan_name(engine_), attention);
  check_plan(graph.get_workspace_size(workspace_bytes_), attention);
}

std::optional<AttentionPlan> AttentionPlan::restored(const FusedAttention& attention, const PlannedFor& gpu,
                                                     const std::vector<std::uint8_t>& bytes) {
  AttentionPlan plan(std::make_unique<Description>(attention, gpu));
  const auto engine = restore(plan.description_->graph, plan.description_->handle, bytes);
  if (!engine) return {};
  check_plan(plan.description_->graph.get_workspace_size(plan.workspace_bytes_), attention);
  plan.engine_ = *engine;
  return plan;
}

AttentionPlan::AttentionPlan(AttentionPlan&&) noexcept = default;
AttentionPlan::~AttentionPlan() = default;

std::string AttentionPlan::graph() const { return description_->graph.print(); }

std::vector<std::uint8_t> AttentionPlan::serialized() const {
  return bytes_of(description_->graph, engine_, description_->attention);
}

void AttentionPlan::run(cudnnHandle_t handle, const Operands& operands, void* workspace) const {
  const FusedAttention& attention = description_->attention;
  if (contracts::checked()) check_contracts(attention, operands, workspace);
  std::unordered_map<std::int64_t, void*> addresses{{query_uid, operands.query},
                                                    {key_uid, operands.key},
                                                    {value_uid, operands.value},
                                                    {y_uid, operands.y},
                                                    {log_sum_exp_uid, operands.log_sum_exp}};
  if (attention.bias) addresses.emplace(bias_uid, operands.bias);
  if (attention.seed()) addresses.insert({{seed_uid, operands.seed}, {offset_uid, operands.offset}});
  if (attention.dy)
    addresses.insert({{dy_uid, operands.dy},
                      {dquery_uid, operands.dquery},
                      {dkey_uid, operands.dkey},
                      {dvalue_uid, operands.dvalue}});
  const frontend::error_t status = description_->graph.execute(handle, addresses, workspace);
  require<DeviceError>(status.is_good(), "cuDNN failed on {} in the {} by {}: {}", current_context().device.name(),
                       attention.text(), engine_, one_line(status.err_msg));
}

}  // namespace lockstep::cudnn

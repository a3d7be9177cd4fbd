#include "lockstep/models/layers/einsum_dense.h"

#include <algorithm>
#include <cctype>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// Which axes `...` stands for.
enum class Elided { none, first, last };

/// The letters of an equation's terms.
struct Equation {
  std::string input, kernel, output;
  Elided elided = Elided::none;
};

/// Removes `...` from the beginning or the end of a term, and returns where it was.
Elided take_ellipsis(std::string& term) {
  const Elided where = term.starts_with("...") ? Elided::first : term.ends_with("...") ? Elided::last : Elided::none;
  if (where != Elided::none) term.erase(where == Elided::first ? 0 : term.size() - 3, 3);
  return where;
}

bool are_letters(const std::string& term) {
  return !term.empty() && std::ranges::all_of(term, [&](char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0 && std::ranges::count(term, letter) == 1;
  });
}

/// Whether each axis of the kernel and of the result is also an axis of another term, and the batch axis comes first.
bool are_consistent(const Equation& terms) {
  const auto all_in = [](const std::string& letters, const std::string& others) {
    return letters.find_first_not_of(others) == std::string::npos;
  };
  const bool batch_first = terms.elided == Elided::first || (terms.input[0] == terms.output[0] &&
                                                             terms.kernel.find(terms.input[0]) == std::string::npos);
  return batch_first && all_in(terms.kernel, terms.input + terms.output) &&
         all_in(terms.output, terms.input + terms.kernel);
}

Equation parsed(const std::string& given) {
  std::string equation = given;
  std::erase(equation, ' ');
  const std::size_t comma = std::min(equation.find(','), equation.size());
  const std::size_t arrow = std::min(equation.find("->"), equation.size());
  Equation terms;
  terms.input = equation.substr(0, std::min(comma, arrow));
  if (comma < arrow) terms.kernel = equation.substr(comma + 1, arrow - comma - 1);
  if (arrow < equation.size()) terms.output = equation.substr(arrow + 2);
  terms.elided = take_ellipsis(terms.input);
  const bool alike = take_ellipsis(terms.output) == terms.elided;
  require(alike && are_letters(terms.input) && are_letters(terms.kernel) && are_letters(terms.output) &&
              are_consistent(terms),
          "EinsumDense needs an equation such as 'ab,bc->ac', '...ab,bc->...ac' or 'ab...,bc->ac...', got '{}'", given);
  return terms;
}

/// The shapes that follow from an input; the result's includes the batch axis.
struct Shapes {
  Shape result, kernel, bias;
};

class EinsumDenseImpl final : public LayerOf<EinsumDenseOptions> {
 public:
  explicit EinsumDenseImpl(const EinsumDenseOptions& options)
      : LayerOf("EinsumDense", options, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        equation_(parsed(options.equation)) {
    for (const char axis : options.bias_axes)
      require(equation_.output.find(axis) != std::string::npos,
              "EinsumDense needs bias_axes of the result of '{}', got '{}'", options.equation, options.bias_axes);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shapes shapes = shapes_of(only_input(class_name(), inputs));
    require(!is_built() || shapes.kernel == kernel_.shape(),
            "EinsumDense '{}' was built with a kernel {}, and the input {} needs {}", name(),
            is_built() ? kernel_.shape() : Shape(), inputs[0], shapes.kernel);
    return without_batch_axis(shapes.result);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      const Tensor& x = inputs[0];
      Tensor y = einsum(options_.equation, x, cast(kernel_.value(), x.dtype()));
      if (bias_.defined()) y = y + cast(bias_.value(), x.dtype());
      return activate(y, activation);
    });
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const Shapes shapes = shapes_of(inputs[0]);
    kernel_ = add_kernel(shapes.kernel, seed.key(0));
    if (!options_.bias_axes.empty()) bias_ = add_bias(shapes.bias, seed.key(1));
  }

  Shapes shapes_of(const Shape& example) const {
    const Shape input = with_batch_axis(example);
    const int elided = input.rank() - static_cast<int>(equation_.input.size());
    const int least = equation_.elided == Elided::first ? 1 : 0;  // the batch axis
    require(equation_.elided == Elided::none ? elided == 0 : elided >= least,
            "EinsumDense with '{}' does not fit the axes of (batch) + {}", options_.equation, example);
    const int before = equation_.elided == Elided::first ? elided : 0;  // axes before the first letter's
    Shapes shapes;
    shapes.result = result_of(example, input, elided, before);
    for (const char letter : equation_.kernel) {
      const std::size_t in_input = equation_.input.find(letter);
      const std::size_t in_output = equation_.output.find(letter);
      shapes.kernel.push_back(in_input != std::string::npos ? input[static_cast<int>(in_input) + before]
                                                            : shapes.result[static_cast<int>(in_output) + before]);
    }
    const std::size_t first = equation_.output.find_first_of(options_.bias_axes);
    for (std::size_t i = first; i < equation_.output.size(); ++i) {
      const bool has_axis = options_.bias_axes.find(equation_.output[i]) != std::string::npos;
      shapes.bias.push_back(has_axis ? shapes.result[static_cast<int>(i) + before] : 1);
    }
    for (int i = 0; equation_.elided == Elided::last && i < elided; ++i) shapes.bias.push_back(1);
    return shapes;
  }

  /// The shape of the result for an input (with the batch axis).
  Shape result_of(const Shape& example, const Shape& input, int elided, int before) const {
    Shape result{input[0]};
    for (int axis = 1; axis < before; ++axis) result.push_back(input[axis]);
    for (const std::int64_t size : options_.output_shape) result.push_back(size);
    for (int i = elided; equation_.elided == Elided::last && i > 0; --i) result.push_back(input.dim(-i));
    require(result.rank() == static_cast<int>(equation_.output.size()) + elided,
            "EinsumDense with '{}' needs an output_shape without the batch axis and those of '...', got {}",
            options_.equation, options_.output_shape);
    for (std::size_t i = 0; i < equation_.output.size(); ++i) {
      std::int64_t& size = result[static_cast<int>(i) + before];
      const std::size_t in_input = equation_.input.find(equation_.output[i]);
      if (in_input != std::string::npos) {
        const std::int64_t own = input[static_cast<int>(in_input) + before];
        require(size == -1 || size == own, "EinsumDense with '{}' and output_shape {} does not fit the sizes of {}",
                options_.equation, options_.output_shape, example);
        size = own;
      }
      require(size >= 1, "EinsumDense with '{}' needs a size for the axis '{}' in its output_shape, got {}",
              options_.equation, equation_.output[i], options_.output_shape);
    }
    return result;
  }

  Equation equation_;
  Variable kernel_;
  Variable bias_;
};

}  // namespace

void EinsumDenseOptions::describe(LayerConfig& config) {
  config.option("equation", equation);
  config.sizes("output_shape", output_shape);
  config.option("activation", activation);
  config.string_or_null("bias_axes", bias_axes);
  list_kernel_and_bias(config, *this);
}

EinsumDense::EinsumDense(const EinsumDenseOptions& options) : Layer(std::make_shared<EinsumDenseImpl>(options)) {}

}  // namespace lockstep

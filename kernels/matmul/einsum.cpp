#include "lockstep/kernels/matmul/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <string>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {
namespace {

/// One number for each axis of a tensor; axes of two tensors with the same number are multiplied with each other. Axes
/// of an ellipsis have negative numbers, -1 the last.
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

/// A tensor with a label for each axis.
struct Labeled {
  Tensor x;
  Labels labels;
};

Labels operator+(Labels first, const Labels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The labels of `of` for which `chosen` is true.
template <class Chosen>
Labels those(const Labels& of, const Chosen& chosen) {
  Labels result;
  std::ranges::copy_if(of, std::back_inserter(result), chosen);
  return result;
}

/// The operand, summed over the axes whose labels neither `other` nor `out` has.
Labeled without_lone_axes(const Labeled& operand, const Labels& other, const Labels& out) {
  std::vector<int> axes;
  Labels rest;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const int label = operand.labels[i];
    if (has(other, label) || has(out, label))
      rest.push_back(label);
    else
      axes.push_back(static_cast<int>(i));
  }
  // The sum of u8 and bool is i32.
  return {axes.empty() ? operand.x : cast(sum(operand.x, axes), operand.x.dtype()), rest};
}

/// The axes in the order of `labels`, which has each of the operand's once.
Tensor ordered(const Labeled& operand, const Labels& labels) {
  if (labels == operand.labels) return operand.x;
  std::vector<int> axes;
  for (const int label : labels)
    axes.push_back(static_cast<int>(std::ranges::find(operand.labels, label) - operand.labels.begin()));
  return transpose(operand.x, axes);
}

/// x (batch..., rows..., columns...) as (batch..., rows, columns); no copy if there is at most one axis of each, or if
/// x is dense.
Tensor as_matrices(const Tensor& x, std::size_t batch, std::size_t rows, std::size_t columns) {
  if (rows == 1 && columns == 1) return x;
  if (rows == 0 && columns == 1) return expand_dims(x, -2);
  if (rows == 1 && columns == 0) return expand_dims(x, -1);
  Shape shape;
  std::int64_t sizes[2] = {1, 1};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(x.rank()); ++axis) {
    const std::int64_t size = x.shape()[static_cast<int>(axis)];
    if (axis < batch)
      shape.push_back(size);
    else
      sizes[axis < batch + rows ? 0 : 1] *= size;
  }
  shape.push_back(sizes[0]);
  shape.push_back(sizes[1]);
  return reshape(x, shape);
}

/// The labels of a product, by the tensors that have them.
struct Groups {
  Labels batch;   ///< axes of both operands and the result
  Labels summed;  ///< axes of both operands
  Labels left;    ///< axes of the first operand and the result
  Labels right;   ///< axes of the second operand and the result
};

/// Products of all elements with equal places along the batch.
Tensor multiplied(const Labeled& a, const Labeled& b, const Groups& groups) {
  Tensor left = ordered(a, groups.batch + groups.left);
  Tensor right = ordered(b, groups.batch + groups.right);
  for (std::size_t i = 0; i < groups.right.size(); ++i) left = expand_dims(left, -1);
  for (std::size_t i = 0; i < groups.left.size(); ++i)
    right = expand_dims(right, static_cast<int>(groups.batch.size()));
  return multiply(left, right);
}

/// Sums of products over the summed axes.
Tensor matrix_product(const Labeled& a, const Labeled& b, const Groups& groups) {
  const Tensor left = ordered(a, groups.batch + groups.left + groups.summed);
  const Tensor right = ordered(b, groups.batch + groups.summed + groups.right);
  Shape shape;
  for (std::size_t i = 0; i < groups.batch.size() + groups.left.size(); ++i)
    shape.push_back(left.shape()[static_cast<int>(i)]);
  for (std::size_t i = 0; i < groups.right.size(); ++i)
    shape.push_back(right.shape()[static_cast<int>(groups.batch.size() + groups.summed.size() + i)]);
  const std::size_t batch = groups.batch.size();
  return reshape(matmul(as_matrices(left, batch, groups.left.size(), groups.summed.size()),
                        as_matrices(right, batch, groups.summed.size(), groups.right.size())),
                 shape);
}

/// The sum of the products of a and b over the labels that `out` does not have.
Tensor contract(Labeled a, Labeled b, const Labels& out) {
  a = without_lone_axes(a, b.labels, out);
  b = without_lone_axes(b, a.labels, out);
  const Groups groups{those(out, [&](int label) { return has(a.labels, label) && has(b.labels, label); }),
                      those(a.labels, [&](int label) { return !has(out, label); }),
                      those(a.labels, [&](int label) { return !has(b.labels, label); }),
                      those(b.labels, [&](int label) { return !has(a.labels, label); })};
  const Tensor y = groups.summed.empty() ? multiplied(a, b, groups) : matrix_product(a, b, groups);
  return ordered({y, groups.batch + groups.left + groups.right}, out);
}

void require_one_dtype(const char* op, const Tensor& a, const Tensor& b) {
  require_defined(op, a);
  require_defined(op, b);
  require(a.dtype() == b.dtype(), "{} takes tensors of one dtype, got {} and {}; cast one of them", op, a, b);
}

/// The labels of a term in which an ellipsis has `ellipsis` axes.
Labels labels_of(std::string_view equation, std::string_view term, int ellipsis) {
  require(term.find("...") == term.rfind("..."), "einsum '{}': the term '{}' has '...' more than once", equation, term);
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "...") {
      for (int axis = ellipsis; axis > 0; --axis) labels.push_back(-axis);
      i += 2;
    } else {
      const char letter = term[i];
      require(std::isalpha(static_cast<unsigned char>(letter)) != 0,
              "einsum '{}': an equation consists of letters, '...', commas and '->', got '{}'", equation, letter);
      labels.push_back(letter);
    }
  }
  return labels;
}

/// An equation, split at its commas and at `->`.
struct Terms {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;
};

Terms terms_of(std::string equation) {
  std::erase(equation, ' ');
  Terms terms;
  const std::size_t arrow = equation.find("->");
  terms.has_output = arrow != std::string::npos;
  if (terms.has_output) terms.output = equation.substr(arrow + 2);
  std::string inputs = equation.substr(0, arrow);
  for (std::size_t comma = inputs.find(','); comma != std::string::npos; comma = inputs.find(',')) {
    terms.inputs.push_back(inputs.substr(0, comma));
    inputs = inputs.substr(comma + 1);
  }
  terms.inputs.push_back(inputs);
  return terms;
}

/// Labels the operand's axes by its term.
Labeled labeled(std::string_view equation, const std::string& term, const Tensor& x) {
  const bool elided = term.find("...") != std::string::npos;
  const int letters = static_cast<int>(term.size()) - (elided ? 3 : 0);
  require(elided ? x.rank() >= letters : x.rank() == letters, "einsum '{}': the term '{}' does not fit the axes of {}",
          equation, term, x);
  return {x, labels_of(equation, term, x.rank() - letters)};
}

void check_sizes(std::string_view equation, const std::vector<Labeled>& operands) {
  struct Axis {
    std::int64_t size;
    Shape shape;
  };
  std::map<int, Axis> axes;
  for (const auto& [x, labels] : operands)
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::int64_t size = x.shape()[static_cast<int>(i)];
      const Axis& known = axes.try_emplace(labels[i], Axis{size, x.shape()}).first->second;
      require(known.size == size, "einsum '{}': an axis has {} elements in {} and {} in {}", equation, known.size,
              known.shape, size, x.shape());
    }
}

/// The labels of the result.
Labels output_of(std::string_view equation, const Terms& terms, const std::vector<Labeled>& operands) {
  Labels all;
  for (const auto& [x, labels] : operands) all = all + labels;
  const int elided = static_cast<int>(-std::min(0, all.empty() ? 0 : *std::ranges::min_element(all)));
  if (!terms.has_output) {
    Labels once = those(all, [&](int label) { return label < 0 || std::ranges::count(all, label) == 1; });
    std::ranges::sort(once);
    const auto rest = std::ranges::unique(once);
    once.erase(rest.begin(), rest.end());
    return once;
  }
  const Labels output = labels_of(equation, terms.output, elided);
  for (const int label : output) {
    require(has(all, label), "einsum '{}': the result has an axis that no operand has", equation);
    require(std::ranges::count(output, label) == 1, "einsum '{}': the result '{}' has a letter twice", equation,
            terms.output);
  }
  return output;
}

/// The operand with the diagonal, as its last axis, in place of axes with the same label.
Labeled with_diagonals(Labeled operand) {
  auto& [x, labels] = operand;
  for (std::size_t first = 0; first < labels.size();) {
    const int label = labels[first];
    const auto second = static_cast<std::size_t>(
        std::find(labels.begin() + static_cast<std::ptrdiff_t>(first) + 1, labels.end(), label) - labels.begin());
    if (second == labels.size()) {
      ++first;
      continue;
    }
    x = diagonal(x, 0, static_cast<int>(first), static_cast<int>(second));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(second));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(first));
    labels.push_back(label);
  }
  return operand;
}

/// The labels of a product of a and b from which `rest` and the result follow: those that one of these has.
Labels still_needed(const Labels& a, const Labels& b, std::span<const Labeled> rest, const Labels& output) {
  return those(a + those(b, [&](int label) { return !has(a, label); }), [&](int label) {
    return has(output, label) || std::ranges::any_of(rest, [&](const Labeled& x) { return has(x.labels, label); });
  });
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) try {
  const Terms terms = terms_of(std::string(equation));
  require(operands.size() == terms.inputs.size(),
          "einsum takes as many tensors as the equation has terms, got {} for '{}'", operands.size(), equation);
  for (const Tensor& operand : operands) require_one_dtype("einsum", operands.front(), operand);
  std::vector<Labeled> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) inputs.push_back(labeled(equation, terms.inputs[i], operands[i]));
  check_sizes(equation, inputs);
  const Labels output = output_of(equation, terms, inputs);
  std::ranges::transform(inputs, inputs.begin(), with_diagonals);
  if (inputs.size() == 1) return ordered(without_lone_axes(inputs[0], {}, output), output);
  Labeled product = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::span rest = std::span<const Labeled>(inputs).subspan(i + 1);
    const Labels labels = rest.empty() ? output : still_needed(product.labels, inputs[i].labels, rest, output);
    product = {contract(product, inputs[i], labels), labels};
  }
  return product.x;
} catch (Error& error) {
  rethrow_from("einsum", error);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int>& a_axes, const std::vector<int>& b_axes) try {
  require_one_dtype("tensordot", a, b);
  require(a_axes.size() == b_axes.size(), "tensordot takes as many axes of a as of b, got {} and {}", a_axes.size(),
          b_axes.size());
  Labels of_a(static_cast<std::size_t>(a.rank()));
  Labels of_b(static_cast<std::size_t>(b.rank()));
  std::iota(of_a.begin(), of_a.end(), 0);
  std::iota(of_b.begin(), of_b.end(), a.rank());
  Labels out = of_a + of_b;
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    const int left = a.shape().normalize_axis(a_axes[i]);
    const int right = b.shape().normalize_axis(b_axes[i]);
    require(a.dim(left) == b.dim(right), "tensordot: axis {} of {} and axis {} of {} differ in size", a_axes[i], a,
            b_axes[i], b);
    require(has(out, left) && has(out, a.rank() + right), "tensordot: an axis of {} and {} is given twice", a, b);
    std::erase_if(out, [&](int label) { return label == left || label == a.rank() + right; });
    of_b[static_cast<std::size_t>(right)] = left;
  }
  return contract({a, of_a}, {b, of_b}, out);
} catch (Error& error) {
  rethrow_from("tensordot", error);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int axes) {
  require_one_dtype("tensordot", a, b);
  require(axes >= 0 && axes <= a.rank() && axes <= b.rank(), "tensordot of {} and {} takes 0 to {} axes, got {}", a, b,
          std::min(a.rank(), b.rank()), axes);
  std::vector<int> a_axes(static_cast<std::size_t>(axes));
  std::vector<int> b_axes(static_cast<std::size_t>(axes));
  std::iota(a_axes.begin(), a_axes.end(), a.rank() - axes);
  std::iota(b_axes.begin(), b_axes.end(), 0);
  return tensordot(a, b, a_axes, b_axes);
}

Tensor dot(const Tensor& a, const Tensor& b) try {
  require_one_dtype("dot", a, b);
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  return tensordot(a, b, {-1}, {b.rank() == 1 ? 0 : -2});
} catch (Error& error) {
  rethrow_from("dot", error);
}

Tensor outer(const Tensor& a, const Tensor& b) try {
  require_same_dtype("outer", a, b);
  return multiply(reshape(a, {-1, 1}), reshape(b, {1, -1}));
} catch (Error& error) {
  rethrow_from("outer", error);
}

}  // namespace lockstep

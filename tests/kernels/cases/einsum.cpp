#include <algorithm>
#include <map>
#include <string>

#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/einsum.h>

namespace lockstep::test {
namespace {

/// A sum of products: a string of letters for each operand's and for the result's axes.
struct Sum {
  std::vector<std::string> operands;
  std::string result;
  std::map<char, std::int64_t> sizes;  ///< of the axis of each letter

  Shape shape_of(const std::string& letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(sizes.at(letter));
    return shape;
  }

  std::vector<double> operator()(const Values& in) const {
    std::string letters;
    Shape all;
    for (const auto& [letter, size] : sizes) {
      letters += letter;
      all.push_back(size);
    }
    const auto element = [&](const std::string& term, const Shape& at) {
      Shape own;
      for (const char letter : term) own.push_back(at[static_cast<int>(letters.find(letter))]);
      return static_cast<std::size_t>(number_of(own, shape_of(term)));
    };
    std::vector<double> y(static_cast<std::size_t>(shape_of(result).elements()), 0);
    for_each_place(all, [&](const Shape& at) {
      double product = 1;
      for (std::size_t i = 0; i < operands.size(); ++i) product *= in[i][element(operands[i], at)];
      y[element(result, at)] += product;
    });
    return y;
  }

  /// Whether the operands have one letter as their first axis only.
  bool has_rows() const {
    return std::ranges::all_of(
        operands, [&](const std::string& term) { return term[0] == operands[0][0] && term.rfind(term[0]) == 0; });
  }

  /// The terms of the longest sum, forward or backward.
  std::int64_t length() const {
    std::int64_t all = 1;
    for (const auto& [letter, size] : sizes) all *= size;
    std::int64_t smallest = shape_of(result).elements();
    for (const std::string& term : operands) smallest = std::min(smallest, shape_of(term).elements());
    return all / std::max<std::int64_t>(1, smallest);
  }
};

OpCase sum_case(const std::string& name, const Sum& sum, Op run) {
  OpCase c{.name = name,
           .inputs = {},
           .run = std::move(run),
           .reference = sum,
           .check = {.length = sum.length()},
           .data = sum.operands.size(),
           .takes_no_rows = sum.has_rows(),
           .takes_any_dtype = true,
           .same_bits_on_any_threads = false};
  for (const std::string& term : sum.operands)
    c.inputs.push_back(random_tensor(sum.shape_of(term), 1 + static_cast<unsigned>(c.inputs.size())));
  return c;
}

/// A row whose equation has the letters of `sum`, or is another way to write it.
OpCase einsum_case(const std::string& equation, const Sum& sum) {
  return sum_case("einsum " + equation, sum, [=](In in) { return einsum(equation, in); });
}

std::vector<OpCase> rows_of_products() {
  const std::map<char, std::int64_t> abc{{'a', 2}, {'b', 3}, {'c', 4}};
  const std::map<char, std::int64_t> abcd{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}};
  const std::map<char, std::int64_t> abcde{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}, {'e', 6}};
  return {einsum_case("ab,bc->ac", {{"ab", "bc"}, "ac", abc}),
          einsum_case("ab,bc->ca", {{"ab", "bc"}, "ca", abc}),
          einsum_case("ba,cb->ac", {{"ba", "cb"}, "ac", abc}),
          einsum_case("ab, bc", {{"ab", "bc"}, "ac", abc}),
          einsum_case("ab,ab->a", {{"ab", "ab"}, "a", {{'a', 2}, {'b', 3}}}),
          einsum_case("ab,ab", {{"ab", "ab"}, "", {{'a', 2}, {'b', 3}}}),
          einsum_case("ab,ba->ab", {{"ab", "ba"}, "ab", {{'a', 2}, {'b', 3}}}),
          einsum_case("a,b->ba", {{"a", "b"}, "ba", {{'a', 2}, {'b', 3}}}),
          einsum_case("abc,cd->abd", {{"abc", "cd"}, "abd", abcd}),
          einsum_case("abc,ad->bd", {{"abc", "ad"}, "bd", abcd}),
          einsum_case("abc,cde->abde", {{"abc", "cde"}, "abde", abcde}),
          einsum_case("abcd,cde->abe", {{"abcd", "cde"}, "abe", abcde}),
          einsum_case("abcd,dce->eba", {{"abcd", "dce"}, "eba", abcde}),
          einsum_case("aecd,abcd->acbe", {{"aecd", "abcd"}, "acbe", abcde}),
          einsum_case("acbe,aecd->abcd", {{"acbe", "aecd"}, "abcd", abcde}),
          einsum_case("...b,bc->...c", {{"dab", "bc"}, "dac", abcd}),
          einsum_case("a...,ab->b...", {{"acd", "ab"}, "bcd", abcd}),
          einsum_case("...,...b", {{"ac", "acb"}, "acb", abc}),
          einsum_case("ba,bc,cd->ad", {{"ba", "bc", "cd"}, "ad", abcd}),
          einsum_case("ab,ac,ad->dbc", {{"ab", "ac", "ad"}, "dbc", abcd}),
          einsum_case("a...,b,...c,b", {{"ad", "b", "dc", "b"}, "dac", abcd}),
          einsum_case("aab,bcc->ac", {{"aab", "bcc"}, "ac", abc}),
          einsum_case("abcb,ca,ad->bd", {{"abcb", "ca", "ad"}, "bd", abcd}),
          large(einsum_case("abc,dbe->aecd",
                            {{"abc", "dbe"}, "aecd", {{'a', 9}, {'b', 33}, {'c', 10}, {'d', 12}, {'e', 8}}}),
                4)};
}

}  // namespace

std::vector<OpCase> einsum_cases() {
  const std::map<char, std::int64_t> abc{{'a', 2}, {'b', 3}, {'c', 4}};
  const std::map<char, std::int64_t> abcd{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}};
  std::vector<OpCase> cases = rows_of_products();
  cases.push_back(einsum_case("abc->cb", {{"abc"}, "cb", abc}));
  cases.push_back(einsum_case("abc->", {{"abc"}, "", abc}));
  cases.push_back(einsum_case("aab->ab", {{"aab"}, "ab", {{'a', 2}, {'b', 3}}}));
  cases.push_back(einsum_case("baaca->cab", {{"baaca"}, "cab", abc}));
  cases.push_back(einsum_case("aa", {{"aa"}, "", {{'a', 5}}}));
  cases.push_back(einsum_case("abc->cab", {{"abc"}, "cab", abc}));
  cases.back().is_view = true;
  cases.push_back(sum_case("tensordot over pairs of axes", {{"abc", "dba"}, "cd", abcd}, [](In in) {
    return tensordot(in[0], in[1], {0, -2}, {2, 1});
  }));
  cases.push_back(sum_case("tensordot over one axis", {{"abc", "cd"}, "abd", abcd},
                           [](In in) { return tensordot(in[0], in[1], 1); }));
  cases.push_back(
      sum_case("tensordot over two axes", {{"abc", "bcd"}, "ad", abcd}, [](In in) { return tensordot(in[0], in[1]); }));
  cases.push_back(sum_case("tensordot over no axis", {{"ab", "cd"}, "abcd", abcd},
                           [](In in) { return tensordot(in[0], in[1], 0); }));
  cases.push_back(sum_case("tensordot over an axis without elements",
                           {{"ab", "bc"}, "ac", {{'a', 2}, {'b', 0}, {'c', 3}}},
                           [](In in) { return tensordot(in[0], in[1], 1); }));
  cases.push_back(sum_case("dot of vectors", {{"a", "a"}, "", {{'a', 7}}}, [](In in) { return dot(in[0], in[1]); }));
  cases.push_back(
      sum_case("dot of a tensor and a vector", {{"abc", "c"}, "ab", abc}, [](In in) { return dot(in[0], in[1]); }));
  cases.push_back(
      sum_case("dot of two tensors", {{"ab", "cbd"}, "acd", abcd}, [](In in) { return dot(in[0], in[1]); }));
  cases.push_back(
      sum_case("outer of two tensors", {{"ab", "c"}, "abc", abc}, [](In in) { return outer(in[0], in[1]); }));
  cases.push_back(sum_case("outer without rows", {{"a", "b"}, "ab", {{'a', 0}, {'b', 3}}},
                           [](In in) { return outer(in[0], in[1]); }));
  for (OpCase& c : cases)
    if (c.name.starts_with("outer")) c.takes_no_rows = false;
  return cases;
}

}  // namespace lockstep::test

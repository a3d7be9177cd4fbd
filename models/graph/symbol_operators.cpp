#include "lockstep/models/graph/symbol_operators.h"

#include <cmath>

#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/preprocessing.h>

namespace lockstep {
namespace {

Symbol rescaled(const Symbol& x, double scale, double offset) {
  return Rescaling({.scale = {scale}, .offset = {offset}})(x);
}

}  // namespace

Symbol operator+(const Symbol& a, const Symbol& b) { return Add()({a, b}); }
Symbol operator-(const Symbol& a, const Symbol& b) { return Subtract()({a, b}); }
Symbol operator*(const Symbol& a, const Symbol& b) { return Multiply()({a, b}); }
Symbol operator/(const Symbol& a, const Symbol& b) { return operation("Divide", {a, b}); }
Symbol operator/(double a, const Symbol& b) {
  require(std::isfinite(a), "a symbol cannot divide {}", a);
  return operation("Divide", {b}, "{}", fmt::format(R"([{}, {{"tensor": 0}}])", a));
}
Symbol operator+(const Symbol& a, double b) { return rescaled(a, 1, b); }
Symbol operator+(double a, const Symbol& b) { return rescaled(b, 1, a); }
Symbol operator-(const Symbol& a, double b) { return rescaled(a, 1, -b); }
Symbol operator-(double a, const Symbol& b) { return rescaled(b, -1, a); }
Symbol operator*(const Symbol& a, double b) { return rescaled(a, b, 0); }
Symbol operator*(double a, const Symbol& b) { return rescaled(b, a, 0); }
Symbol operator-(const Symbol& a) { return rescaled(a, -1, 0); }

Symbol operator/(const Symbol& a, double b) {
  require(b != 0, "a symbol cannot be divided by 0");
  return rescaled(a, 1 / b, 0);
}

}  // namespace lockstep

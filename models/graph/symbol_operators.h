#pragma once

#include <lockstep/models/graph/symbol.h>

// Arithmetic on symbols. Each operator calls a layer. The layer of two symbols is Add, Subtract, Multiply or Keras'
// operation Divide, and the examples' shapes broadcast. The layer of a number divided by a symbol is Divide. The layer
// of a negation, and of every other operator with a number, is Rescaling.

namespace lockstep {

///@{
/// Element-wise sum, difference, product, quotient or negation. Throw InvalidArgument for shapes that do not broadcast
/// and for a number that is not finite.
Symbol operator+(const Symbol& a, const Symbol& b);
Symbol operator-(const Symbol& a, const Symbol& b);
Symbol operator*(const Symbol& a, const Symbol& b);
Symbol operator/(const Symbol& a, const Symbol& b);
Symbol operator/(double a, const Symbol& b);
Symbol operator+(const Symbol& a, double b);
Symbol operator+(double a, const Symbol& b);
Symbol operator-(const Symbol& a, double b);
Symbol operator-(double a, const Symbol& b);
Symbol operator*(const Symbol& a, double b);
Symbol operator*(double a, const Symbol& b);
Symbol operator-(const Symbol& a);
///@}
/// a / b, element-wise. Throws InvalidArgument unless 1 / b is finite.
Symbol operator/(const Symbol& a, double b);

}  // namespace lockstep

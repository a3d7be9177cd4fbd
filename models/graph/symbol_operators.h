#pragma once

#include <lockstep/models/graph/symbol.h>

// Arithmetic on symbols. Each operation is a layer: Add, Subtract, Multiply or Keras' operation Divide for two symbols,
// where the examples' shapes broadcast; Divide for a number divided by a symbol; Rescaling for a symbol and a number in
// all other cases.

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
/// a / b, element-wise. Throws InvalidArgument if b is 0 or NaN.
Symbol operator/(const Symbol& a, double b);

}  // namespace lockstep

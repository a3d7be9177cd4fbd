#pragma once

#include <lockstep/models/graph/symbol.h>

// Arithmetic on symbols. Each operation is a layer, as in models read from Keras' files: Add, Subtract, Multiply or
// Keras' operation Divide for two symbols, whose examples' shapes broadcast, and Rescaling for a symbol and a number.

namespace lockstep {

///@{
/// Element-wise sum, difference, product, quotient or negation.
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
/// a / b. Throws InvalidArgument if b is 0.
Symbol operator/(const Symbol& a, double b);

}  // namespace lockstep

#pragma once

#include <tuple>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/losses/focal.h>
#include <lockstep/models/losses/hinge.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/losses/overlap.h>
#include <lockstep/models/losses/regression.h>

namespace lockstep {

/// The supported losses that Keras also has as metrics. The strings are the names of Keras' class and functions for
/// each loss, in the form that plain_name (object_config.h) returns: lower case without underscores.
inline constexpr std::tuple keras_losses_and_metrics{
    keras_class<MeanSquaredError>("meansquarederror", "mse"),
    keras_class<MeanAbsoluteError>("meanabsoluteerror", "mae"),
    keras_class<MeanAbsolutePercentageError>("meanabsolutepercentageerror", "mape"),
    keras_class<MeanSquaredLogarithmicError>("meansquaredlogarithmicerror", "msle"),
    keras_class<Poisson>("poisson"),
    keras_class<KLDivergence>("kldivergence", "kld", "kullbackleiblerdivergence"),
    keras_class<CosineSimilarity>("cosinesimilarity"),
    keras_class<Hinge>("hinge"),
    keras_class<SquaredHinge>("squaredhinge"),
    keras_class<CategoricalHinge>("categoricalhinge"),
    keras_class<SparseCategoricalCrossentropy>("sparsecategoricalcrossentropy"),
    keras_class<CategoricalCrossentropy>("categoricalcrossentropy"),
    keras_class<BinaryCrossentropy>("binarycrossentropy", "bce")};

/// The other losses; Keras has no metric of the same name.
inline constexpr std::tuple keras_losses_alone{
    keras_class<Huber>("huber", "huberloss"),
    keras_class<LogCosh>("logcosh"),
    keras_class<Dice>("dice"),
    keras_class<Tversky>("tversky"),
    keras_class<CategoricalFocalCrossentropy>("categoricalfocalcrossentropy"),
    keras_class<BinaryFocalCrossentropy>("binaryfocalcrossentropy")};

}  // namespace lockstep

#pragma once

#include <tuple>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/metrics/confusion.h>
#include <lockstep/models/metrics/f_score.h>
#include <lockstep/models/metrics/iou.h>
#include <lockstep/models/metrics/regression.h>

namespace lockstep {

/// The supported metrics of Keras, except losses (keras_losses_and_metrics), with the plain_name (object_config.h) of
/// their classes and aliases.
inline constexpr std::tuple keras_metrics{keras_class<Accuracy>("accuracy", "acc"),
                                          keras_class<BinaryAccuracy>("binaryaccuracy"),
                                          keras_class<CategoricalAccuracy>("categoricalaccuracy"),
                                          keras_class<SparseCategoricalAccuracy>("sparsecategoricalaccuracy"),
                                          keras_class<TopKCategoricalAccuracy>("topkcategoricalaccuracy"),
                                          keras_class<SparseTopKCategoricalAccuracy>("sparsetopkcategoricalaccuracy"),
                                          keras_class<Precision>("precision"),
                                          keras_class<Recall>("recall"),
                                          keras_class<AUC>("auc"),
                                          keras_class<TruePositives>("truepositives"),
                                          keras_class<FalsePositives>("falsepositives"),
                                          keras_class<FalseNegatives>("falsenegatives"),
                                          keras_class<TrueNegatives>("truenegatives"),
                                          keras_class<F1Score>("f1score"),
                                          keras_class<FBetaScore>("fbetascore"),
                                          keras_class<IoU>("iou"),
                                          keras_class<BinaryIoU>("binaryiou"),
                                          keras_class<MeanIoU>("meaniou"),
                                          keras_class<OneHotIoU>("onehotiou"),
                                          keras_class<OneHotMeanIoU>("onehotmeaniou"),
                                          keras_class<RootMeanSquaredError>("rootmeansquarederror"),
                                          keras_class<CosineSimilarityMetric>("cosinesimilarity"),
                                          keras_class<R2Score>("r2score")};

}  // namespace lockstep

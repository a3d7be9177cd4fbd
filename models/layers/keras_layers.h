#pragma once

#include <tuple>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/activity_regularization.h>
#include <lockstep/models/layers/adaptive_pooling.h>
#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/einsum_dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/random_images.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/resizing.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/layers/single_head_attention.h>
#include <lockstep/models/layers/time_distributed.h>

namespace lockstep {

/// The supported layers of keras.layers, with Keras' names of their classes.
inline constexpr std::tuple keras_layers{keras_class<ActivationLayer>("Activation"),
                                         keras_class<ActivityRegularization>("ActivityRegularization"),
                                         keras_class<AdaptiveAveragePooling1D>("AdaptiveAveragePooling1D"),
                                         keras_class<AdaptiveAveragePooling2D>("AdaptiveAveragePooling2D"),
                                         keras_class<AdaptiveMaxPooling1D>("AdaptiveMaxPooling1D"),
                                         keras_class<AdaptiveMaxPooling2D>("AdaptiveMaxPooling2D"),
                                         keras_class<Add>("Add"),
                                         keras_class<AdditiveAttention>("AdditiveAttention"),
                                         keras_class<AlphaDropout>("AlphaDropout"),
                                         keras_class<Attention>("Attention"),
                                         keras_class<Average>("Average"),
                                         keras_class<AveragePooling1D>("AveragePooling1D"),
                                         keras_class<AveragePooling2D>("AveragePooling2D"),
                                         keras_class<BatchNormalization>("BatchNormalization"),
                                         keras_class<Bidirectional>("Bidirectional"),
                                         keras_class<CategoryEncoding>("CategoryEncoding"),
                                         keras_class<CenterCrop>("CenterCrop"),
                                         keras_class<Concatenate>("Concatenate"),
                                         keras_class<Conv1D>("Conv1D"),
                                         keras_class<Conv1DTranspose>("Conv1DTranspose"),
                                         keras_class<Conv2D>("Conv2D"),
                                         keras_class<Conv2DTranspose>("Conv2DTranspose"),
                                         keras_class<Cropping1D>("Cropping1D"),
                                         keras_class<Cropping2D>("Cropping2D"),
                                         keras_class<Dense>("Dense"),
                                         keras_class<DepthwiseConv1D>("DepthwiseConv1D"),
                                         keras_class<DepthwiseConv2D>("DepthwiseConv2D"),
                                         keras_class<Dot>("Dot"),
                                         keras_class<Dropout>("Dropout"),
                                         keras_class<ELU>("ELU"),
                                         keras_class<EinsumDense>("EinsumDense"),
                                         keras_class<Embedding>("Embedding"),
                                         keras_class<Flatten>("Flatten"),
                                         keras_class<GRU>("GRU"),
                                         keras_class<GaussianDropout>("GaussianDropout"),
                                         keras_class<GaussianNoise>("GaussianNoise"),
                                         keras_class<GlobalAveragePooling1D>("GlobalAveragePooling1D"),
                                         keras_class<GlobalAveragePooling2D>("GlobalAveragePooling2D"),
                                         keras_class<GlobalMaxPooling1D>("GlobalMaxPooling1D"),
                                         keras_class<GlobalMaxPooling2D>("GlobalMaxPooling2D"),
                                         keras_class<GroupNormalization>("GroupNormalization"),
                                         keras_class<GroupQueryAttention>("GroupQueryAttention"),
                                         keras_class<Identity>("Identity"),
                                         keras_class<LSTM>("LSTM"),
                                         keras_class<LayerNormalization>("LayerNormalization"),
                                         keras_class<LeakyReLU>("LeakyReLU"),
                                         keras_class<Masking>("Masking"),
                                         keras_class<MaxPooling1D>("MaxPooling1D"),
                                         keras_class<MaxPooling2D>("MaxPooling2D"),
                                         keras_class<Maximum>("Maximum"),
                                         keras_class<Minimum>("Minimum"),
                                         keras_class<MultiHeadAttention>("MultiHeadAttention"),
                                         keras_class<Multiply>("Multiply"),
                                         keras_class<Normalization>("Normalization"),
                                         keras_class<PReLU>("PReLU"),
                                         keras_class<Permute>("Permute"),
                                         keras_class<RMSNormalization>("RMSNormalization"),
                                         keras_class<ReLU>("ReLU"),
                                         keras_class<RandomBrightness>("RandomBrightness"),
                                         keras_class<RandomContrast>("RandomContrast"),
                                         keras_class<RandomCrop>("RandomCrop"),
                                         keras_class<RandomFlip>("RandomFlip"),
                                         keras_class<RandomRotation>("RandomRotation"),
                                         keras_class<RandomTranslation>("RandomTranslation"),
                                         keras_class<RandomZoom>("RandomZoom"),
                                         keras_class<RepeatVector>("RepeatVector"),
                                         keras_class<Rescaling>("Rescaling"),
                                         keras_class<Reshape>("Reshape"),
                                         keras_class<Resizing>("Resizing"),
                                         keras_class<SeparableConv1D>("SeparableConv1D"),
                                         keras_class<SeparableConv2D>("SeparableConv2D"),
                                         keras_class<SimpleRNN>("SimpleRNN"),
                                         keras_class<Softmax>("Softmax"),
                                         keras_class<SpatialDropout1D>("SpatialDropout1D"),
                                         keras_class<SpatialDropout2D>("SpatialDropout2D"),
                                         keras_class<Subtract>("Subtract"),
                                         keras_class<TimeDistributed>("TimeDistributed"),
                                         keras_class<UnitNormalization>("UnitNormalization"),
                                         keras_class<UpSampling1D>("UpSampling1D"),
                                         keras_class<UpSampling2D>("UpSampling2D"),
                                         keras_class<ZeroPadding1D>("ZeroPadding1D"),
                                         keras_class<ZeroPadding2D>("ZeroPadding2D")};

/// The layers that keras.applications defines for its models.
inline constexpr std::tuple layers_of_applications{keras_class<CustomScaleLayer>("CustomScaleLayer"),
                                                   keras_class<LayerScale>("LayerScale"),
                                                   keras_class<StochasticDepth>("StochasticDepth")};

}  // namespace lockstep

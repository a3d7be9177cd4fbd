#pragma once

#include <tuple>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adafactor.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>

namespace lockstep {

/// The supported optimizers of Keras, with the plain_name (object_config.h) of their classes.
inline constexpr std::tuple keras_optimizers{
    keras_class<SGD>("sgd"),
    keras_class<Adam>("adam"),
    keras_class<AdamW>("adamw"),
    keras_class<RMSprop>("rmsprop"),
    keras_class<Adagrad>("adagrad"),
    keras_class<Lamb>("lamb"),
    keras_class<Lion>("lion"),
    keras_class<Nadam>("nadam"),
    keras_class<Muon>("muon"),
    keras_class<Adamax>("adamax"),
    keras_class<Adadelta>("adadelta"),
    keras_class<Ftrl>("ftrl"),
    keras_class<Adafactor>("adafactor"),
};

}  // namespace lockstep

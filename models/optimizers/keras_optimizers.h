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

/// The supported optimizers of Keras.
inline constexpr std::tuple keras_optimizers{
    keras_class<SGD>("SGD"),
    keras_class<Adam>("Adam"),
    keras_class<AdamW>("AdamW"),
    keras_class<RMSprop>("RMSprop"),
    keras_class<Adagrad>("Adagrad"),
    keras_class<Lamb>("Lamb"),
    keras_class<Lion>("Lion"),
    keras_class<Nadam>("Nadam"),
    keras_class<Muon>("Muon"),
    keras_class<Adamax>("Adamax"),
    keras_class<Adadelta>("Adadelta"),
    keras_class<Ftrl>("Ftrl"),
    keras_class<Adafactor>("Adafactor"),
};

}  // namespace lockstep

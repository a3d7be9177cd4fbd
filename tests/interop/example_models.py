"""The models that the programs of tools/examples/ have trained and saved: the files' names and the shapes of the models'
inputs. None is an unknown size."""

SHAPES = {
    "bidirectional_lstm": [(None,)],
    "discriminator": [(28, 28, 1)],
    "encoder": [(28, 28, 1)],
    "fine_tuned": [(28, 28, 1)],
    "forecaster": [(48, 5)],
    "generator": [(32,)],
    "vae_decoder": [(8,)],
    "vae_encoder": [(28, 28, 1)],
}
OF_IDS = {"bidirectional_lstm"}
UNKNOWN = 12  # stands for an unknown size, as in files_driver.cpp


def sized(shape):
    return tuple(UNKNOWN if size is None else size for size in shape)

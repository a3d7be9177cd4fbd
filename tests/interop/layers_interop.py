"""Keras' version of the layers in tests/interop/layers_models.h, compared like the models of keras_interop.py.

usage: layers_interop.py --driver INTEROP_DRIVER [CASE ...]
"""

import keras_interop  # first: it chooses Keras' backend
import keras
from keras import layers
from keras.src.ops.nn import Gelu


def images():
    """All layers for images, merging along two axes, and the layers at the end of such networks."""
    pictures = keras.Input((16, 15, 4))
    x = layers.ZeroPadding2D(((1, 0), (2, 3)))(pictures)
    x = layers.Conv2D(8, 3, dilation_rate=2, groups=2, activation="gelu")(x)
    x = layers.DepthwiseConv2D((3, 2), padding="same", depth_multiplier=2, activation="elu")(x)
    left = layers.SeparableConv2D(6, 3, strides=2, padding="same", use_bias=False)(x)
    left = layers.LeakyReLU()(layers.BatchNormalization(scale=False)(left))
    right = layers.SeparableConv2D(6, 3, strides=2, padding="same", depth_multiplier=2, activation="silu")(x)
    right = layers.ReLU(0.75, 0.125)(layers.LayerNormalization(center=False)(right))
    x = layers.Add()([left, right])
    x = layers.Concatenate(axis=1)([x, left])
    ends = [layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(right)]
    x = layers.Concatenate()(ends)
    return keras.Model(pictures, layers.Dense(5)(layers.ELU()(x)))


def sequences():
    """Reshape, GRU, LSTM, and Dense on the last of several axes."""
    vector = keras.Input((54,))
    x = layers.Reshape((9, -1))(vector)
    x = layers.GRU(8, return_sequences=True)(x)
    x = layers.Dense(6, activation="gelu")(layers.LayerNormalization()(x))
    x = layers.LSTM(7, return_sequences=True)(x)
    x = layers.Dense(5, activation="softmax", use_bias=False)(layers.Reshape((3, 3, 7))(x))
    x = layers.Reshape((9, 5))(layers.Permute((2, 3, 1))(x))
    return keras.Model(vector, layers.Dense(4)(layers.GRU(5)(x)))


def wrapped():
    """Bidirectional with each merge mode and TimeDistributed, in each other and of models too, and SimpleRNN."""
    sequence = keras.Input((6, 4))
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(sequence)
    x = layers.TimeDistributed(layers.Dense(8, activation="tanh"))(x)
    backward = layers.SimpleRNN(4, return_sequences=True, go_backwards=True)
    x = layers.Bidirectional(layers.GRU(4, return_sequences=True), merge_mode="sum", backward_layer=backward)(x)
    x = layers.TimeDistributed(layers.BatchNormalization())(x)
    x = layers.Bidirectional(layers.SimpleRNN(8, return_sequences=True, activation="softsign"), merge_mode="mul")(x)
    x = layers.TimeDistributed(layers.Reshape((4, 2)))(x)
    x = layers.TimeDistributed(layers.Bidirectional(layers.LSTM(3), merge_mode="ave"))(x)
    x = layers.Bidirectional(layers.GRU(2, dropout=0.25, recurrent_dropout=0.5))(x)
    forward, backward = layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode=None)(sequence)
    both = layers.Flatten()(layers.Subtract()([forward, backward]))
    pixels = keras.Input((2, 2))
    left = layers.Dense(3, activation="tanh")(pixels)
    encoder = keras.Model(pixels, layers.Flatten()(layers.Add()([left, layers.BatchNormalization()(left)])), name="encoder")
    encoded = layers.TimeDistributed(encoder)(layers.Reshape((6, 2, 2))(sequence))
    encoded = layers.TimeDistributed(keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.Dense(2)]))(encoded)
    return keras.Model(sequence, layers.Concatenate()([x, both, layers.Flatten()(encoded)]))


def all_activations():
    """Each activation as the argument of a layer and as a layer."""
    vector = keras.Input((12,))
    names = ["relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "sigmoid", "silu", "softplus", "softsign", "tanh",
             "hard_sigmoid", "hard_silu", "mish", "log_sigmoid", "squareplus", "sparse_plus", "celu", "hard_tanh",
             "hard_shrink", "soft_shrink", "tanh_shrink"]
    names += ["exponential", "softmax", "log_softmax", "sparse_sigmoid"]
    functions = names + [Gelu(approximate=True)]  # not a lambda, so that files have it
    results = [layers.Activation(f)(layers.Dense(3, activation=f)(vector)) for f in functions]
    results.append(layers.Softmax()(layers.Dense(3)(vector)))
    return keras.Model(vector, layers.Dense(6)(layers.Concatenate()(results)))


def merges():
    """The layers that merge element by element, of inputs with equal and with other shapes."""
    pictures = keras.Input((5, 4, 6))
    x = layers.Conv2D(6, 1)(pictures)
    y = layers.BatchNormalization()(layers.Conv2D(6, 1)(x))
    channels = layers.Dense(6, activation="sigmoid")(layers.GlobalAveragePooling2D()(x))
    weighted = layers.Multiply()([x, channels])  # squeeze and excitation
    largest = layers.Maximum()([weighted, y, x])
    smallest = layers.Minimum()([channels, largest, pictures])
    total = layers.Add()([y, channels])
    mean = layers.Average()([layers.Subtract()([total, smallest]), weighted, channels])
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(mean)))


def encodings():
    """CategoryEncoding of lists of ids and of single ones, in each form."""
    ids, weights = keras.Input((5,), dtype="int32"), keras.Input((5,))
    single = keras.Input((1,), dtype="int32")
    encoded = [layers.CategoryEncoding(9)(ids), layers.Flatten()(layers.CategoryEncoding(9, "one_hot")(ids)),
               layers.CategoryEncoding(9, "one_hot")(single), layers.CategoryEncoding(9, "count")(ids),
               layers.CategoryEncoding(9, "count")(ids, count_weights=weights)]
    return keras.Model([ids, weights, single], layers.Dense(3)(layers.Concatenate()(encoded)))


def borders():
    """Sequences with steps removed and added."""
    sequence = keras.Input((6, 5))
    x = layers.ZeroPadding1D((1, 3))(layers.Cropping1D((2, 1))(sequence))
    return keras.Model(sequence, layers.Dense(4)(layers.Flatten()(x)))


def preprocessing():
    """Layers that prepare images, with numbers that are given and with weights."""
    pictures = keras.Input((9, 8, 3))
    x = layers.Normalization()(layers.Rescaling([0.5, 2, -1], [0, 1, 0.25])(pictures))
    x = layers.Normalization(mean=[0.5, 0.25, -1], variance=[4, 0.5, 1])(layers.Cropping2D(((1, 0), (2, 1)))(x))
    x = layers.Conv2D(4, 3)(layers.Rescaling(3)(x))
    x = layers.Dropout(0.5, noise_shape=(None, 1, 1, None))(x)
    x = layers.Normalization(mean=0.5, variance=4, invert=True)(x)
    x = layers.Normalization((3, 1))(layers.Normalization(None)(x))
    x = layers.Normalization((-3, -1), mean=[[1], [2], [3], [4], [5], [6]], variance=[[2], [1], [2], [1], [2], [1]])(x)
    x = layers.Normalization((1, 3), mean=[1, 2, 3, 4], variance=[1, 2, 3, 4])(x)
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(x)))


def products():
    """EinsumDense with its forms of equations, and Dot."""
    sequence = keras.Input((6, 8))
    queries = layers.EinsumDense("abc,cde->abde", (6, 2, 3), bias_axes="de")(sequence)
    keys = layers.EinsumDense("abc,cde->adbe", (2, 6, 3), activation="tanh", bias_axes="e")(sequence)
    mixed = layers.EinsumDense("ab...,bc->ac...", 4, bias_axes="c")(queries)
    last = layers.EinsumDense("...x,xy->...y", 3)(keys)
    scores = layers.Dot((2, 1))([layers.Reshape((4, 6))(mixed), layers.Reshape((6, 6))(last)])
    cosine = layers.Dot(-1, normalize=True)([layers.Flatten()(queries), layers.Flatten()(keys)])
    steps_of_any_number = layers.LSTM(3)(layers.EinsumDense("abc,cd->abd", (None, 4))(sequence))
    return keras.Model(sequence, layers.Dense(3)(layers.Concatenate()([layers.Flatten()(scores), cosine,
                                                                       steps_of_any_number])))


def steps():
    """Conv1D with each padding, and the layers that repeat."""
    sequence = keras.Input((10, 4))
    x = layers.Conv1D(6, 3, padding="causal", dilation_rate=2, activation="gelu")(sequence)
    x = layers.Conv1D(8, 4, strides=2, padding="same", groups=2)(x)
    x = layers.Conv1D(5, 2, use_bias=False)(layers.UpSampling1D(3)(x))
    last = layers.LSTM(4)(layers.Identity()(x))
    repeated = layers.RepeatVector(6)(last)
    image = layers.UpSampling2D((2, 3))(layers.Reshape((3, 2, 4))(repeated))
    return keras.Model(sequence, layers.Dense(3)(layers.Flatten()(layers.Conv2D(2, 3)(image))))


def attention():
    """Attention that is causal, masked, both, and of groups of heads."""
    queries, values, marks = keras.Input((6, 8)), keras.Input((5, 8)), keras.Input((6, 5))
    mask = layers.ReLU()(marks)
    x = layers.MultiHeadAttention(2, 3, value_dim=5)(queries, queries, use_causal_mask=True)
    y = layers.MultiHeadAttention(3, 4, dropout=0.25, output_shape=8)(x, values, attention_mask=mask)
    z = layers.GroupQueryAttention(5, 4, 2, use_bias=False)(y, values, values, attention_mask=mask, use_causal_mask=True)
    return keras.Model([queries, values, marks], layers.Dense(3)(layers.Flatten()(layers.Add()([x, z]))))


def attention_options():
    """Attention with scores, gates and windows, along other axes than that of time, and without projections."""
    sequence, pictures = keras.Input((6, 8)), keras.Input((4, 3, 8))
    masked = layers.Masking(0.0)(layers.ReLU()(sequence))
    x, first = layers.MultiHeadAttention(2, 3, use_gate=True, sliding_window=3)(  # Keras removes its inputs' masks
        sequence, layers.Masking(0.0)(masked), return_attention_scores=True, use_causal_mask=True)
    y, second = layers.GroupQueryAttention(5, 4, 2, use_gate=True, use_bias=False, sliding_window=2)(
        x, masked, return_attention_scores=True)
    z = layers.Attention(use_scale=True, score_mode="concat")([layers.Attention()([masked, y], use_causal_mask=True), y])
    z, third = layers.AdditiveAttention()([z, masked, x], return_attention_scores=True)
    a = layers.MultiHeadAttention(2, 3, attention_axes=(2,), use_gate=True)(pictures, pictures)
    b = layers.MultiHeadAttention(2, 3)(a, pictures)
    c = layers.MultiHeadAttention(2, 3, attention_axes=[-3], output_shape=(2, 2), sliding_window=2)(b, a)
    results = layers.Concatenate()([layers.Flatten()(result) for result in (z, first, second, third, c)])
    return keras.Model([sequence, pictures], layers.Dense(3)(results))


def masked():
    """Masks that are made, used, joined and passed on."""
    sequence = keras.Input((7, 2))
    masked = layers.Masking(0.0)(layers.ReLU()(sequence))
    a = layers.LSTM(4, return_sequences=True)(masked)
    b = layers.Bidirectional(layers.GRU(3, return_sequences=True))(masked)
    c = layers.Concatenate()([a, b])
    d = layers.MultiHeadAttention(2, 3)(c, c)
    e = layers.LayerNormalization()(layers.Dropout(0.25)(layers.Add()([c, d])))
    f = layers.TimeDistributed(layers.Dense(10, activation="tanh"))(e)
    g = layers.LSTM(10, return_sequences=True, zero_output_for_mask=True)(masked)
    h = layers.SimpleRNN(4, go_backwards=True)(layers.Maximum()([f, g]))
    both = layers.Concatenate(axis=1)([masked, sequence])
    mean = layers.GlobalAveragePooling1D()(layers.Masking()(both))
    forward, backward = layers.Bidirectional(layers.GRU(2, return_sequences=True), merge_mode=None)(masked)
    words = layers.Masking()(layers.Reshape((7, 2, 1))(layers.ReLU()(sequence)))
    reader = keras.Sequential([keras.Input((2, 1)), layers.Dense(3), layers.LSTM(2)])
    ends = [layers.LSTM(2)(forward), layers.LSTM(3)(backward), layers.Flatten()(layers.TimeDistributed(reader)(words))]
    return keras.Model(sequence, layers.Dense(3)(layers.Concatenate()([h, layers.GRU(4)(both), mean, *ends])))


def masked_merges():
    """Masks that merging layers join, and that layers for single steps pass on, each read by a recurrent layer."""
    first, second = keras.Input((6, 2)), keras.Input((6, 2))
    ids = keras.Input((6,), dtype="int32")
    a, b = [layers.Masking(0.0)(layers.ReLU()(x)) for x in (first, second)]
    merges = [layers.Add, layers.Average, layers.Concatenate, layers.Maximum, layers.Minimum, layers.Multiply, layers.Subtract]
    ends = [layers.LSTM(2)(merge()([a, b])) for merge in merges]
    x = layers.Embedding(9, 4, mask_zero=True)(ids)
    for layer in (layers.Activation("tanh"), layers.ActivityRegularization(0.5), layers.AlphaDropout(0.25),
                  layers.BatchNormalization(), layers.Dense(4), layers.Dropout(0.25), layers.ELU(), layers.GaussianDropout(0.25),
                  layers.GaussianNoise(0.25), layers.GroupNormalization(2), layers.Identity(), layers.LayerNormalization(),
                  layers.LeakyReLU(), layers.Normalization(mean=0.5, variance=4), layers.PReLU(), layers.ReLU(),
                  layers.Rescaling(2, 0.25), layers.SpatialDropout1D(0.25), layers.TimeDistributed(layers.Dense(4)),
                  layers.UnitNormalization()):
        x = layer(x)
    ends += [layers.GRU(3)(x), layers.Flatten()(layers.Dot(2)([a, b])), layers.GlobalAveragePooling1D()(x)]
    return keras.Model([first, second, ids], layers.Dense(3)(layers.Concatenate()(ends)))


def seq2seq():
    """Recurrent layers that return states and start with given ones, also with masks."""
    source, target = keras.Input((5, 3)), keras.Input((4, 2))
    masked = layers.Masking(0.0)(layers.ReLU()(source))
    encoder = layers.Bidirectional(layers.LSTM(3, return_sequences=True, return_state=True))
    encoded, forward_h, forward_c, backward_h, backward_c = encoder(masked)
    h, c = layers.Concatenate()([forward_h, backward_h]), layers.Concatenate()([forward_c, backward_c])
    decoded = layers.LSTM(6, return_sequences=True, return_state=True)(target, initial_state=[h, c])[0]
    summary, state = layers.GRU(6, return_state=True)(encoded)
    backwards = layers.SimpleRNN(6, go_backwards=True)(encoded, initial_state=summary)
    last = layers.Bidirectional(layers.GRU(6))(decoded, initial_state=[state, backwards])
    return keras.Model([source, target], layers.Dense(3)(last))


def pools():
    """Pooling of sequences."""
    sequence = keras.Input((10, 4))
    mean = layers.AveragePooling1D(2, padding="same")(layers.MaxPooling1D(3, strides=2, padding="same")(sequence))
    first = layers.Flatten()(layers.GlobalAveragePooling1D(keepdims=True)(layers.AveragePooling1D(2)(sequence)))
    second = layers.GlobalMaxPooling1D()(layers.MaxPooling1D(4, strides=1)(sequence))
    return keras.Model(sequence, layers.Dense(3)(layers.Concatenate()([layers.Flatten()(mean), first, second])))


def activation_layers():
    """Layers of activations with the arguments that all_activations leaves out."""
    sequence = keras.Input((6, 4))
    results = [layers.ReLU(threshold=0.25)(sequence),
               layers.ReLU(0.75, negative_slope=0.5, threshold=0.125)(sequence),
               layers.PReLU(shared_axes=[1])(layers.PReLU("ones")(sequence)),
               layers.Softmax(1)(layers.Dense(4)(sequence)),
               layers.Dense(4, activation=Gelu(approximate=True))(sequence)]
    return keras.Model(sequence, layers.Dense(3)(layers.Flatten()(layers.Concatenate()(results))))


def softmax_over_axes():
    """Softmax over two axes: a tuple, since Keras' NumPy backend does not take the list that files have."""
    pictures = keras.Input((3, 4, 2))
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(layers.Softmax((1, 3))(pictures))))


def normalizations():
    """Normalizations over one axis and over several."""
    pictures = keras.Input((5, 4, 6))
    x = layers.BatchNormalization(axis=1)(layers.LayerNormalization(axis=[1, 3])(pictures))
    x = layers.LayerNormalization(axis=2, scale=False)(layers.Conv2D(6, 1)(x))
    x = layers.GroupNormalization(3)(layers.Conv2D(6, 1)(x))
    x = layers.GroupNormalization(2, axis=2, center=False)(x)
    x = layers.RMSNormalization(axis=[2, 3])(layers.RMSNormalization()(layers.Dense(6)(x)))
    x = layers.Dense(3)(layers.UnitNormalization(axis=[1, 2])(layers.Dense(4)(x)))
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(layers.UnitNormalization()(x))))


def resized():
    """Resizing and UpSampling2D with each interpolation."""
    pictures = keras.Input((9, 12, 3))
    x = layers.Resizing(6, 15)(pictures)
    x = layers.UpSampling2D((2, 1), interpolation="bilinear")(x)
    x = layers.Resizing(5, 6, interpolation="bicubic", crop_to_aspect_ratio=True, antialias=True)(x)
    x = layers.UpSampling2D((1, 3), interpolation="bicubic")(x)
    x = layers.Resizing(8, 9, interpolation="nearest", pad_to_aspect_ratio=True, fill_value=0.5)(x)
    x = layers.UpSampling2D(interpolation="lanczos3")(layers.Resizing(7, 5, interpolation="bicubic")(x))
    x = layers.Resizing(6, 7, interpolation="lanczos5", antialias=True)(x)
    x = layers.CenterCrop(7, 3)(layers.CenterCrop(4, 5)(x))
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(layers.Resizing(5, 5, antialias=True)(x))))


def augmented():
    """Layers that change images in training only; RandomCrop of the input's size, since Keras' does not crop in
    predictions."""
    pictures = keras.Input((6, 7, 3))
    x = layers.RandomFlip("horizontal")(layers.RandomCrop(6, 7)(pictures))
    x = layers.RandomTranslation(0.25, (-0.5, 0.25), fill_mode="wrap", interpolation="nearest")(x)
    x = layers.RandomZoom((0, 0.5), (-0.25, 0.25), fill_mode="constant", fill_value=2)(layers.RandomZoom(0.5)(x))
    x = layers.RandomRotation((-0.125, 0.25), fill_mode="nearest")(x)
    x = layers.RandomContrast((0.25, 0.5))(layers.RandomBrightness(0.25, value_range=(-1, 1))(x))
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(x)))


def transposes():
    """Transposed convolutions of images and sequences."""
    pictures = keras.Input((3, 4, 3))
    x = layers.Conv2DTranspose(4, (3, 2), strides=(2, 3), padding="same")(pictures)
    x = layers.Conv2DTranspose(3, 2, strides=(3, 1), activation="tanh")(x)
    x = layers.Conv2DTranspose(2, (4, 3), strides=2, padding="same", output_padding=(1, 0), use_bias=False)(x)
    x = layers.Conv2DTranspose(2, 3, padding="same", dilation_rate=(2, 3))(x)
    y = layers.Conv1DTranspose(4, 3, strides=2, padding="same")(layers.Reshape((-1, 50))(x))
    y = layers.Conv1DTranspose(2, 2, strides=3, output_padding=1)(y)
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(y)))


def channels():
    """Depthwise and separable convolutions of sequences."""
    sequence = keras.Input((12, 4))
    x = layers.DepthwiseConv1D(3, strides=2, padding="same", depth_multiplier=2, activation="tanh")(sequence)
    x = layers.SeparableConv1D(5, 2, dilation_rate=2, depth_multiplier=2)(x)
    x = layers.SeparableConv1D(3, 2, use_bias=False)(x)
    return keras.Model(sequence, layers.Dense(3)(layers.Flatten()(x)))


def dropouts():
    """Dropout of whole features and noise, which predictions do not have."""
    pictures = keras.Input((6, 5, 4))
    x = layers.SpatialDropout2D(0.25)(layers.Conv2D(3, 2)(pictures))
    x = layers.SpatialDropout1D(0.5)(layers.Reshape((5, 12))(x))
    x = layers.AlphaDropout(0.5, noise_shape=(None, 1, 12))(layers.GaussianDropout(0.25)(layers.GaussianNoise(0.5)(x)))
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(x)))


def adaptive_pools():
    """Pooling to sizes that divide those of the input, and to others."""
    pictures = keras.Input((11, 7, 4))
    x = layers.AdaptiveAveragePooling2D((4, 6))(pictures)
    sequence = layers.Reshape((24, 4))(x)
    results = [layers.AdaptiveMaxPooling2D(3)(x), layers.AdaptiveAveragePooling1D(7)(sequence),
               layers.AdaptiveMaxPooling1D(6)(sequence)]
    results = layers.Concatenate()([layers.Flatten()(result) for result in results])
    return keras.Model(pictures, layers.Dense(3)(results))


MODELS = {"preprocessing": preprocessing, "borders": borders, "merges": merges, "encodings": encodings, "images": images,
          "sequences": sequences, "wrapped": wrapped, "all_activations": all_activations, "products": products,
          "steps": steps, "attention": attention, "attention_options": attention_options, "masked": masked, "masked_merges": masked_merges,
          "seq2seq": seq2seq, "pools": pools, "activation_layers": activation_layers,
          "softmax_over_axes": softmax_over_axes, "normalizations": normalizations, "transposes": transposes,
          "channels": channels, "dropouts": dropouts, "adaptive_pools": adaptive_pools, "resized": resized,
          "augmented": augmented}

if __name__ == "__main__":
    keras_interop.main(MODELS)

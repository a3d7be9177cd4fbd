"""lockstep's models and those of bench/libtorch in PyTorch, with their optimizers and losses."""

import torch
from torch import nn


class ConvModule(nn.Sequential):
    """Convolution with bias, BatchNorm, ReLU. BatchNorm uses Keras' epsilon and decay, not PyTorch's."""

    def __init__(self, inputs, filters, kernel, stride=1, padding=0):
        super().__init__(
            nn.Conv2d(inputs, filters, kernel, stride=stride, padding=padding),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01),
            nn.ReLU(inplace=True),
        )
        self.filters = filters


class Inception(nn.Module):
    def __init__(self, inputs, filters_1x1, filters_3x3):
        super().__init__()
        self.conv_1x1 = ConvModule(inputs, filters_1x1, 1)
        self.conv_3x3 = ConvModule(inputs, filters_3x3, 3, padding=1)
        self.filters = filters_1x1 + filters_3x3

    def forward(self, x):
        return torch.cat((self.conv_1x1(x), self.conv_3x3(x)), dim=1)


class Downsample(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.conv_3x3 = ConvModule(inputs, filters, 3, stride=2)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.filters = inputs + filters

    def forward(self, x):
        return torch.cat((self.conv_3x3(x), self.pool(x)), dim=1)


class MiniGoogLeNet(nn.Module):
    """The small GoogLeNet of Zhang et al. (2017) for images of 32x32x3."""

    def __init__(self):
        super().__init__()
        layers = [ConvModule(3, 96, 3, padding=1)]
        for block, *filters in (
            (Inception, 32, 32),
            (Inception, 32, 48),
            (Downsample, 80),
            (Inception, 112, 48),
            (Inception, 96, 64),
            (Inception, 80, 80),
            (Inception, 48, 96),
            (Downsample, 96),
            (Inception, 176, 160),
            (Inception, 176, 160),
        ):
            layers.append(block(layers[-1].filters, *filters))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.AvgPool2d(7), nn.Flatten(), nn.Dropout(0.5), nn.Linear(layers[-1].filters, 10)
        )
        initialize(self)

    def forward(self, x):
        return self.classifier(self.features(x))


class Bottleneck(nn.Module):
    """Residual block as in Keras' ResNet-50: the stride is in the first convolution, and all convolutions have
    biases."""

    def __init__(self, inputs, filters, stride, projects):
        super().__init__()
        self.narrow = nn.Sequential(
            *normalized(inputs, filters, 1, stride), nn.ReLU(inplace=True),
            *normalized(filters, filters, 3, padding=1), nn.ReLU(inplace=True),
            *normalized(filters, 4 * filters, 1),
        )
        self.shortcut = nn.Sequential(*normalized(inputs, 4 * filters, 1, stride)) if projects else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.shortcut(x) + self.narrow(x))


def normalized(inputs, filters, kernel, stride=1, padding=0):
    return (nn.Conv2d(inputs, filters, kernel, stride=stride, padding=padding),
            nn.BatchNorm2d(filters, eps=1.001e-5, momentum=0.01))


class ResNet50(nn.Sequential):
    """He et al. (2015), for images of 224x224x3."""

    def __init__(self):
        layers = [*normalized(3, 64, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)]
        inputs = 64
        for stage, blocks in enumerate((3, 4, 6, 3)):
            filters = 64 << stage
            for block in range(blocks):
                layers.append(Bottleneck(inputs, filters, 2 if stage and block == 0 else 1, block == 0))
                inputs = 4 * filters
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))
        initialize(self)


class Transformer(nn.Module):
    """Encoder that classifies sequences of 64 tokens; the peer of bench/libtorch's. Without dropout, so that the losses
    of all ways to train it agree."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(1000, 256)
        self.positions = nn.Parameter(torch.zeros(64, 1, 256))
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0) for _ in range(4)))
        self.classifier = nn.Linear(256, 10)
        initialize(self)

    def forward(self, tokens):
        return self.classifier(self.layers(self.tokens(tokens).transpose(0, 1) + self.positions).mean(0))


class Mlp(nn.Sequential):
    """Dense layers for two classes; returns logits, as PyTorch's loss expects."""

    def __init__(self):
        layers = [nn.Linear(8000, 4000), nn.Tanh()]
        for inputs, outputs in ((4000, 2000), (2000, 500), (500, 300)):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        super().__init__(*layers, nn.Linear(300, 1), nn.Flatten(0))
        initialize(self)


class SiameseLstm(nn.Module):
    """Classifies whether two sequences belong together, from the Keras guide to the functional API: one LSTM for
    both."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(256, 64, batch_first=True)
        # Keras' LSTM has one bias, whose part for the forget gate starts at 1.
        nn.init.xavier_uniform_(self.lstm.weight_ih_l0)
        nn.init.orthogonal_(self.lstm.weight_hh_l0)
        nn.init.zeros_(self.lstm.bias_ih_l0)
        nn.init.ones_(self.lstm.bias_ih_l0[64:128])
        nn.init.zeros_(self.lstm.bias_hh_l0).requires_grad_(False)
        self.classifier = nn.Sequential(nn.Linear(128, 1), nn.Flatten(0))
        initialize(self.classifier)

    def encode(self, sequence):
        _, (hidden, _) = self.lstm(sequence)
        return hidden[0]

    def forward(self, a, b):
        return self.classifier(torch.cat((self.encode(a), self.encode(b)), dim=1))


def plain_conv(inputs, filters, kernel, stride=1):
    """Convolution without bias, BatchNorm."""
    return nn.Conv2d(inputs, filters, kernel, stride=stride, bias=False), nn.BatchNorm2d(filters, 1e-3, momentum=0.01)


def separable_conv(inputs, filters):
    """Depthwise convolution of 3 x 3, pointwise convolution, BatchNorm."""
    return nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False), *plain_conv(inputs, filters, 1)


class ReducingBlock(nn.Module):
    """Two separable convolutions and a pool that halves the image, with a strided convolution as the shortcut."""

    def __init__(self, size, inputs, first_filters, filters, begins_with_relu=True):
        super().__init__()
        self.deep = nn.Sequential(
            *([nn.ReLU()] if begins_with_relu else []), *separable_conv(inputs, first_filters),
            nn.ReLU(inplace=True), *separable_conv(first_filters, filters),
            # Keras' "same" padding: at both ends of an odd size, at the far end of an even one.
            nn.MaxPool2d(3, stride=2, padding=size % 2, ceil_mode=True),
        )
        self.shortcut = nn.Sequential(*plain_conv(inputs, filters, 1, 2))

    def forward(self, x):
        return self.deep(x) + self.shortcut(x)


class MiddleBlock(nn.Sequential):
    """Three separable convolutions with an identity shortcut."""

    def __init__(self):
        super().__init__(*(nn.Sequential(nn.ReLU(inplace=layer > 0), *separable_conv(728, 728)) for layer in range(3)))

    def forward(self, x):
        return x + super().forward(x)


class Xception(nn.Sequential):
    """keras.applications.Xception (Chollet 2017), for images of 299x299x3."""

    def __init__(self):
        relu = nn.ReLU(inplace=True)
        super().__init__(
            *plain_conv(3, 32, 3, 2), relu, *plain_conv(32, 64, 3), relu,
            ReducingBlock(147, 64, 128, 128, begins_with_relu=False),
            ReducingBlock(74, 128, 256, 256),
            ReducingBlock(37, 256, 728, 728),
            *(MiddleBlock() for _ in range(8)),
            ReducingBlock(19, 728, 728, 1024),
            *separable_conv(1024, 1536), relu, *separable_conv(1536, 2048), relu,
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000),
        )
        initialize(self)


def initialize(model):
    """Keras' default initialization, so that both sides start with losses of the same size."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


class Workload:
    """A model with its settings in `lockstep bench` or bench/libtorch. `params` as Keras counts them: see count_params.
    With a `vocabulary` the inputs are tokens."""

    def __init__(self, make_model, params, shape, classes, make_optimizer, inputs=1, vocabulary=None):
        self.make_model, self.params, self.shape, self.classes = make_model, params, shape, classes
        self.make_optimizer, self.inputs, self.vocabulary = make_optimizer, inputs, vocabulary

    def examples(self, count):
        """Returns the inputs, then the labels."""
        labels = torch.randint(self.classes, (count,))
        shape = (count, *self.shape)
        inputs = (torch.randint(self.vocabulary, shape) if self.vocabulary else torch.randn(shape)
                  for _ in range(self.inputs))
        return *inputs, labels.float() if self.classes == 2 else labels

    def loss(self):
        return nn.BCEWithLogitsLoss() if self.classes == 2 else nn.CrossEntropyLoss()


def sgd(learning_rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, fused=True)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-4, fused=True)


def rmsprop(parameters):
    """Uses Keras' defaults. PyTorch has no fused implementation of it."""
    return torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.9, eps=1e-7)


WORKLOADS = {
    "minigooglenet": Workload(MiniGoogLeNet, 1_656_250, (3, 32, 32), 10, sgd(5e-3)),
    "mlp": Workload(Mlp, 41_157_101, (8000,), 2, adam),
    "resnet50": Workload(ResNet50, 25_636_712, (3, 224, 224), 1000, sgd(0.1)),
    "resnet50-96": Workload(ResNet50, 25_636_712, (3, 96, 96), 1000, sgd(0.1)),
    "siamese-lstm": Workload(SiameseLstm, 82_305, (140, 256), 2, rmsprop, inputs=2),
    "transformer": Workload(Transformer, 3_433_994, (64,), 10, sgd(0.01), vocabulary=1000),
    "xception": Workload(Xception, 22_910_480, (3, 299, 299), 1000, rmsprop),
}


def count_params(model):
    """Counts as Keras does: trained parameters and BatchNorm's moving statistics, not its batch counters."""
    buffers = (buffer for name, buffer in model.named_buffers() if not name.endswith("num_batches_tracked"))
    return sum(p.numel() for p in model.parameters() if p.requires_grad) + sum(b.numel() for b in buffers)

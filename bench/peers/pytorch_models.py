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


class MobileNetBlock(nn.Module):
    """Inverted residual block: widens the channels, convolves each and narrows them. With `squeezes`, MBConv: SiLU in
    place of ReLU6, scaled channels, and the block is skipped with the probability `drop_rate`."""

    def __init__(self, inputs, filters, kernel, stride, expansion, momentum, squeezes=False, drop_rate=0.0):
        super().__init__()
        wide = expansion * inputs
        activation = nn.SiLU if squeezes else nn.ReLU6
        layers = []
        if expansion != 1:
            layers += [*unbiased(inputs, wide, 1, momentum=momentum), activation(inplace=True)]
        layers += [*unbiased(wide, wide, kernel, stride, wide, momentum), activation(inplace=True)]
        if squeezes:
            layers.append(Excitation(wide, inputs // 4))
        self.deep = nn.Sequential(*layers, *unbiased(wide, filters, 1, momentum=momentum))
        self.adds = stride == 1 and inputs == filters
        self.drop_rate = drop_rate

    def forward(self, x):
        y = self.deep(x)
        if not self.adds:
            return y
        if self.training and self.drop_rate:
            kept = torch.empty((len(x), 1, 1, 1), dtype=y.dtype, device=y.device).bernoulli_(1 - self.drop_rate)
            y = y * kept.div_(1 - self.drop_rate)
        return x + y


class Excitation(nn.Module):
    """Scales the channels by a function of their means."""

    def __init__(self, channels, hidden):
        super().__init__()
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, hidden, 1), nn.SiLU(inplace=True),
                                   nn.Conv2d(hidden, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.scale(x)


def unbiased(inputs, filters, kernel, stride=1, groups=1, momentum=0.01):
    """Convolution without bias, BatchNorm. A strided convolution of an even image is padded at its far end more, as in
    Keras, if the kernel is odd."""
    conv = nn.Conv2d(inputs, filters, kernel, stride, padding=kernel // 2 if stride == 1 else 0, groups=groups,
                     bias=False)
    pad = [nn.ZeroPad2d((kernel // 2 - 1, kernel // 2) * 2)] if stride == 2 else []
    return *pad, conv, nn.BatchNorm2d(filters, 1e-3, momentum=momentum)


class MobileNetV2(nn.Sequential):
    """keras.applications.MobileNetV2 (Sandler et al. 2018), for images of 224x224x3."""

    def __init__(self):
        layers = [*unbiased(3, 32, 3, 2, momentum=1e-3), nn.ReLU6(inplace=True)]
        inputs = 32
        for filters, blocks, stride, expansion in ((16, 1, 1, 1), (24, 2, 2, 6), (32, 3, 2, 6), (64, 4, 2, 6),
                                                   (96, 3, 1, 6), (160, 3, 2, 6), (320, 1, 1, 6)):
            for block in range(blocks):
                layers.append(MobileNetBlock(inputs, filters, 3, 1 if block else stride, expansion, 1e-3))
                inputs = filters
        super().__init__(*layers, *unbiased(inputs, 1280, 1, momentum=1e-3), nn.ReLU6(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))
        initialize(self)


class Normalized(nn.Module):
    """Keras' Rescaling by 1 / 255 and Normalization of each channel, which has three variables."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, 3, 1, 1))
        self.register_buffer("variance", torch.ones(1, 3, 1, 1))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, images):
        return (images / 255 - self.mean) / self.variance.sqrt()


class EfficientNetB0(nn.Sequential):
    """keras.applications.EfficientNetB0 (Tan and Le 2019), for images of 224x224x3 with values of 0 to 255."""

    def __init__(self):
        layers = [Normalized(), *unbiased(3, 32, 3, 2), nn.SiLU(inplace=True)]
        inputs = 32
        number = 0
        for blocks, filters, kernel, stride, expansion in ((1, 16, 3, 1, 1), (2, 24, 3, 2, 6), (2, 40, 5, 2, 6),
                                                           (3, 80, 3, 2, 6), (3, 112, 5, 1, 6), (4, 192, 5, 2, 6),
                                                           (1, 320, 3, 1, 6)):
            for block in range(blocks):
                layers.append(MobileNetBlock(inputs, filters, kernel, 1 if block else stride, expansion, 0.01,
                                             squeezes=True, drop_rate=0.2 * number / 16))
                inputs = filters
                number += 1
        super().__init__(*layers, *unbiased(inputs, 1280, 1), nn.SiLU(inplace=True), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))
        initialize(self)


class UNetConvolutions(nn.Sequential):
    """Two convolutions, each normalized and with ReLU."""

    def __init__(self, inputs, filters):
        super().__init__(*unbiased(inputs, filters, 3, momentum=0.1), nn.ReLU(inplace=True),
                         *unbiased(filters, filters, 3, momentum=0.1), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Ronneberger et al. (2015) with padded, normalized convolutions: two logits for each pixel."""

    def __init__(self):
        super().__init__()
        widths = (64, 128, 256, 512, 1024)
        self.down = nn.ModuleList(UNetConvolutions(*pair) for pair in zip((3, *widths), widths))
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(inputs, filters, 2, stride=2) for inputs, filters in pairs)
        self.up = nn.ModuleList(UNetConvolutions(inputs, filters) for inputs, filters in pairs)
        self.classifier = nn.Conv2d(64, 2, 1)
        initialize(self)

    def forward(self, x):
        skipped = []
        for level, convolutions in enumerate(self.down):
            x = convolutions(self.pool(x) if level else x)
            skipped.append(x)
        for widen, convolutions, skip in zip(self.widen, self.up, skipped[-2::-1]):
            x = convolutions(torch.cat((skip, widen(x)), dim=1))
        return self.classifier(x)


class TransformerBlock(nn.Module):
    """Pre-norm block of attention and two dense layers with GELU."""

    def __init__(self, width, heads, epsilon, causal, dropout):
        super().__init__()
        self.heads, self.causal, self.rate = heads, causal, dropout
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.dense = nn.Sequential(nn.LayerNorm(width, epsilon), nn.Linear(width, 4 * width), nn.GELU(),
                                   nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def attention(self, x):
        n, time, width = x.shape
        heads = self.query_key_value(x).view(n, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*heads, dropout_p=self.rate if self.training else 0.0,
                                                       is_causal=self.causal)
        return self.attention_output(y.transpose(1, 2).reshape(n, time, width))

    def forward(self, x):
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        return x + self.dropout(self.dense(x))


class Gpt(nn.Module):
    """lockstep's zoo::gpt for a vocabulary of 65 tokens: logits of the token after each of 256."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(65, 384)
        self.positions = nn.Embedding(256, 384)
        self.blocks = nn.Sequential(nn.Dropout(0.1), *(TransformerBlock(384, 6, 1e-5, True, 0.1) for _ in range(6)),
                                    nn.LayerNorm(384), nn.Linear(384, 65, bias=False))
        initialize(self)

    def forward(self, tokens):
        return self.blocks(self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]).transpose(1, 2)


class Vit(nn.Module):
    """lockstep's zoo::vit, ViT-S/16 without a class token, for images of 224x224x3."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 384, 16, stride=16)
        self.positions = nn.Embedding(196, 384)
        self.blocks = nn.Sequential(*(TransformerBlock(384, 6, 1e-6, False, 0.0) for _ in range(12)),
                                    nn.LayerNorm(384, 1e-6))
        self.classifier = nn.Linear(384, 1000)
        initialize(self)

    def forward(self, images):
        patches = self.patches(images).flatten(2).transpose(1, 2)
        return self.classifier(self.blocks(patches + self.positions.weight).mean(1))


def initialize(model):
    """Keras' default initialization, so that both sides start with losses of the same size."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.uniform_(module.weight, -0.05, 0.05)


class Workload:
    """A model with its settings in `lockstep bench` or bench/libtorch. `params` as Keras counts them: see count_params.
    With a `vocabulary` the inputs are tokens. `labels` is the shape of an example's labels; of two classes, a single
    label belongs to one logit."""

    def __init__(self, make_model, params, shape, classes, make_optimizer, inputs=1, vocabulary=None, labels=()):
        self.make_model, self.params, self.shape, self.classes = make_model, params, shape, classes
        self.make_optimizer, self.inputs, self.vocabulary, self.labels = make_optimizer, inputs, vocabulary, labels
        self.binary = classes == 2 and not labels

    def examples(self, count):
        """Returns the inputs, then the labels."""
        labels = torch.randint(self.classes, (count, *self.labels))
        shape = (count, *self.shape)
        inputs = (torch.randint(self.vocabulary, shape) if self.vocabulary else torch.randn(shape)
                  for _ in range(self.inputs))
        return *inputs, labels.float() if self.binary else labels

    def loss(self):
        return nn.BCEWithLogitsLoss() if self.binary else nn.CrossEntropyLoss()


def sgd(learning_rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, fused=True)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-4, fused=True)


def rmsprop(parameters):
    """Uses Keras' defaults. PyTorch has no fused implementation of it."""
    return torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.9, eps=1e-7)


WORKLOADS = {
    "efficientnet-b0": Workload(EfficientNetB0, 5_330_571, (3, 224, 224), 1000, rmsprop),
    "gpt": Workload(Gpt, 10_795_776, (256,), 65, adam, vocabulary=65, labels=(256,)),
    "minigooglenet": Workload(MiniGoogLeNet, 1_656_250, (3, 32, 32), 10, sgd(5e-3)),
    "mlp": Workload(Mlp, 41_157_101, (8000,), 2, adam),
    "mobilenet-v2": Workload(MobileNetV2, 3_538_984, (3, 224, 224), 1000, rmsprop),
    "resnet50": Workload(ResNet50, 25_636_712, (3, 224, 224), 1000, sgd(0.1)),
    "resnet50-96": Workload(ResNet50, 25_636_712, (3, 96, 96), 1000, sgd(0.1)),
    "siamese-lstm": Workload(SiameseLstm, 82_305, (140, 256), 2, rmsprop, inputs=2),
    "transformer": Workload(Transformer, 3_433_994, (64,), 10, sgd(0.01), vocabulary=1000),
    "unet": Workload(UNet, 31_049_474, (3, 128, 128), 2, adam, labels=(128, 128)),
    "vit": Workload(Vit, 22_049_896, (3, 224, 224), 1000, adam),
    "xception": Workload(Xception, 22_910_480, (3, 299, 299), 1000, rmsprop),
}


def count_params(model):
    """Counts as Keras does: trained parameters and BatchNorm's moving statistics, not its batch counters."""
    buffers = (buffer for name, buffer in model.named_buffers() if not name.endswith("num_batches_tracked"))
    return sum(p.numel() for p in model.parameters() if p.requires_grad) + sum(b.numel() for b in buffers)

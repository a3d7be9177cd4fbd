"""lockstep's models in PyTorch, with its optimizers and losses."""

import torch
from torch import nn


class ConvModule(nn.Sequential):
    """Convolution with bias, BatchNorm, ReLU. BatchNorm takes Keras' epsilon and decay, not PyTorch's."""

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
    """As in Keras' ResNet-50: the stride is in the first convolution, and all of them have biases."""

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


class Mlp(nn.Sequential):
    """Dense layers for two classes; gives logits, as PyTorch's loss wants them."""

    def __init__(self):
        layers = [nn.Linear(8000, 4000), nn.Tanh()]
        for inputs, outputs in ((4000, 2000), (2000, 500), (500, 300)):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        super().__init__(*layers, nn.Linear(300, 1), nn.Flatten(0))
        initialize(self)


def initialize(model):
    """Keras' default, so that both sides start from losses of the same size."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


class Workload:
    """A model with what `lockstep bench` takes for it. `params` as Keras counts them: see count_params."""

    def __init__(self, make_model, params, shape, classes, make_optimizer):
        self.make_model, self.params, self.shape, self.classes = make_model, params, shape, classes
        self.make_optimizer = make_optimizer

    def examples(self, count):
        labels = torch.randint(self.classes, (count,))
        return torch.randn(count, *self.shape), labels.float() if self.classes == 2 else labels

    def loss(self):
        return nn.BCEWithLogitsLoss() if self.classes == 2 else nn.CrossEntropyLoss()


def sgd(learning_rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, fused=True)


WORKLOADS = {
    "minigooglenet": Workload(MiniGoogLeNet, 1_656_250, (3, 32, 32), 10, sgd(5e-3)),
    "resnet50": Workload(ResNet50, 25_636_712, (3, 224, 224), 1000, sgd(0.1)),
    "mlp": Workload(Mlp, 41_157_101, (8000,), 2, lambda parameters: torch.optim.Adam(parameters, lr=1e-4, fused=True)),
}


def count_params(model):
    """Counts as Keras does: parameters and BatchNorm's moving statistics, but not PyTorch's batch counters."""
    buffers = (buffer for name, buffer in model.named_buffers() if not name.endswith("num_batches_tracked"))
    return sum(p.numel() for p in model.parameters()) + sum(b.numel() for b in buffers)

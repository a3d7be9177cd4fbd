#!/usr/bin/env python3
"""Writes the step files of published figures: `derive.py FOLDER`, or `derive.py --check FOLDER` to compare.

Published are the examples per second on one device, and the batch. The rest is derived from them and from the model's
layers:
- the step takes batch / rate, including the update, which no publication reports separately;
- backward is twice as much work as forward (a product for the gradient of the input, one for that of the weights; the
first layer needs only the latter), and a layer's time is proportional to its multiply-adds;
- gradients have 4 bytes per parameter, or 2 if the publication's framework exchanges half precision.
Layers are grouped into blocks, in the order of backward.
"""

import json
import pathlib
import sys


class Net:
    """A network's blocks in the order of forward: (name, multiply-adds of an example, parameters)."""

    def __init__(self, size, channels=3):
        self.size, self.channels, self.blocks = size, channels, []

    def begin(self, name):
        self.blocks.append([name, 0, 0])

    def add(self, macs, params):
        self.blocks[-1][1] += macs
        self.blocks[-1][2] += params

    def conv(self, out, kernel, stride=1, channels=None, size=None, valid=False, bias=False):
        """Adds a convolution (height x width kernel), with batch normalization unless `bias`. Returns channels and
        size."""
        high, wide = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        channels, size = channels or self.channels, size or self.size
        after = (size - high) // stride + 1 if valid else -(-size // stride)
        weights = high * wide * channels * out
        self.add(after * after * weights, weights + (out if bias else 2 * out))
        self.channels, self.size = out, after
        return out, after

    def dense(self, inputs, outputs):
        self.add(inputs * outputs, inputs * outputs + outputs)


def resnet(depths):
    net = Net(224)
    net.begin("conv1")
    net.conv(64, 7, 2)
    net.size //= 2
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for block in range(depth):
            net.begin(f"conv{stage + 2}_block{block + 1}")
            channels, size = net.channels, net.size
            stride = 2 if stage > 0 and block == 0 else 1
            net.conv(width, 1)
            net.conv(width, 3, stride)  # v1.5 has the stride here
            after = net.conv(4 * width, 1)
            if block == 0:
                net.conv(4 * width, 1, stride, channels, size)
            net.channels, net.size = after
    net.begin("predictions")
    net.dense(2048, 1000)
    return net.blocks


def vgg16():
    net = Net(224)
    for stage, (width, depth) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for layer in range(depth):
            net.begin(f"block{stage + 1}_conv{layer + 1}")
            net.conv(width, 3, bias=True)
        net.size //= 2
    for name, inputs, outputs in (("fc1", 25088, 4096), ("fc2", 4096, 4096), ("predictions", 4096, 1000)):
        net.begin(name)
        net.dense(inputs, outputs)
    return net.blocks


def inception3():
    """Without the auxiliary head: 23.8 M parameters."""
    net = Net(299)
    net.begin("stem")
    net.conv(32, 3, 2, valid=True)
    net.conv(32, 3, valid=True)
    net.conv(64, 3)
    net.size = (net.size - 3) // 2 + 1
    net.conv(80, 1)
    net.conv(192, 3, valid=True)
    net.size = (net.size - 3) // 2 + 1

    def mixed(name, branches, reduces=False):
        """Adds branches: each is a list of (channels, kernel), applied in sequence; a list of kernels is applied in
        parallel."""
        net.begin(name)
        channels, size, width = net.channels, net.size, 0
        for branch in branches:
            at, last = channels, 0
            for index, (out, kernel) in enumerate(branch):
                ends = reduces and index == len(branch) - 1
                side = kernel if isinstance(kernel, list) else [kernel]
                for each in side:
                    net.conv(out, each, 2 if ends else 1, at, size, valid=ends)
                at, last = out, out * len(side)
            width += last
        net.channels = width + (channels if reduces else 0)  # a reduction's pooling branch has no convolution
        net.size = (size - 3) // 2 + 1 if reduces else size

    for index, pool in enumerate((32, 64, 64)):
        mixed(f"mixed{index}", [[(64, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)], [(pool, 1)]])
    mixed("mixed3", [[(384, 3)], [(64, 1), (96, 3), (96, 3)]], reduces=True)
    for index, c in enumerate((128, 160, 160, 192)):
        row, column = (1, 7), (7, 1)
        mixed(f"mixed{index + 4}", [[(192, 1)], [(c, 1), (c, row), (192, column)],
                                    [(c, 1), (c, column), (c, row), (c, column), (192, row)], [(192, 1)]])
    mixed("mixed8", [[(192, 1), (320, 3)], [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3)]], reduces=True)
    for index in range(2):
        pair = [(1, 3), (3, 1)]
        mixed(f"mixed{index + 9}", [[(320, 1)], [(384, 1), (384, pair)], [(448, 1), (384, 3), (384, pair)], [(192, 1)]])
    net.begin("predictions")
    net.dense(2048, 1000)
    return net.blocks


def bert_base(length=128, predicted=20):
    """Pretraining. The decoder shares the word embedding's matrix, so that its gradient is final at the end of
    backward."""
    hidden, words = 768, 30522
    net = Net(0)
    net.begin("embeddings")
    net.add(0, (words + 512 + 2) * hidden + 2 * hidden)
    for layer in range(12):
        net.begin(f"layer{layer}")
        weights = 12 * hidden * hidden
        net.add(length * weights + 2 * length * length * hidden, weights + 9 * hidden + 4 * hidden)
    net.begin("heads")
    net.add(predicted * (hidden * hidden + hidden * words), 2 * hidden * hidden + words + 6 * hidden + 2)
    return net.blocks


MXNET = ("github.com/NVIDIA/DeepLearningExamples MxNet/Classification/RN50v1.5 README, A100-80G fp16: 2180 img/s on 1 "
         "GPU, batch 256")
PYTORCH = ("github.com/NVIDIA/DeepLearningExamples PyTorch/Classification/ConvNets/resnet50v1.5 README, A100-80G {}: "
           "{} img/s on 1 GPU, batch 256")
TF = "tensorflow/docs_src/performance/benchmarks.md of May 2017, DGX-1, synthetic data: {} img/s on 1 GPU, batch {}"
DLPERF = "github.com/Oneflow-Inc/DLPerf report v1, V100-SXM2-16GB fp32, {}: {} examples/s on 1 GPU, batch {}"
RESNET101 = ("interpolated by multiply-adds between ResNet-50 (219 img/s) and ResNet-152 (91.8 img/s) of "
             "tensorflow/docs_src/performance/benchmarks.md of May 2017, 1 GPU of a DGX-1, batch 64")


def between(blocks, fewer, more):
    """Examples per second, interpolating the time of an example linearly in its multiply-adds."""
    macs = [sum(block[1] for block in net) for net in (fewer[0], blocks, more[0])]
    share = (macs[1] - macs[0]) / (macs[2] - macs[0])
    return 1 / ((1 - share) / fewer[1] + share / more[1])


def steps():
    """Yields (file, title, source, blocks, batch, examples per second, bytes of a gradient's element)."""
    amp, tf32 = PYTORCH.format("AMP", 2470), PYTORCH.format("TF32", 938)
    resnet50, resnet101, resnet152 = resnet((3, 4, 6, 3)), resnet((3, 4, 23, 3)), resnet((3, 8, 36, 3))
    rate101 = between(resnet101, (resnet50, 219), (resnet152, 91.8))
    yield "resnet50-a100-mxnet-fp16", "ResNet-50, MXNet fp16, A100", MXNET, resnet50, 256, 2180, 2
    yield "resnet50-a100-pytorch-amp", "ResNet-50, PyTorch AMP, A100", amp, resnet50, 256, 2470, 4
    yield "resnet50-a100-pytorch-tf32", "ResNet-50, PyTorch TF32, A100", tf32, resnet50, 256, 938, 4
    yield "resnet50-p100", "ResNet-50, TensorFlow, P100", TF.format(219, 64), resnet50, 64, 219, 4
    yield "resnet101-p100", "ResNet-101, TensorFlow, P100", RESNET101, resnet101, 64, rate101, 4
    yield "inception3-p100", "Inception V3, TensorFlow, P100", TF.format(142, 64), inception3(), 64, 142, 4
    yield "vgg16-p100", "VGG-16, TensorFlow, P100", TF.format(154, 64), vgg16(), 64, 154, 4
    yield "vgg16-p100-batch32", "VGG-16, TensorFlow, P100, batch 32", TF.format(144, 32), vgg16(), 32, 144, 4
    for system, rate in (("OneFlow", 384.85), ("PyTorch", 354.40)):
        source = DLPERF.format(system, rate, 128)
        yield f"resnet50-v100-{system.lower()}", f"ResNet-50, {system}, V100", source, resnet50, 128, rate, 4
    for batch, rate in ((96, 149.84), (32, 145.21)):
        source = DLPERF.format("OneFlow", rate, batch)
        yield (f"bert-base-v100-batch{batch}", f"BERT base, OneFlow, V100, batch {batch}", source, bert_base(), batch,
               rate, 4)


def text(title, source, blocks, batch, rate, element):
    step_ms = 1e3 * batch / rate
    work = [2 * macs for _, macs, _ in blocks]
    work[0] //= 2  # the first layer needs no gradient of its input
    backward_ms = step_ms * sum(work) / (sum(work) + sum(macs for _, macs, _ in blocks))
    layers = [{"name": name, "ms": round(backward_ms * part / sum(work), 6), "gradient_bytes": element * params}
              for (name, _, params), part in zip(reversed(blocks), reversed(work))]
    lines = ",\n".join("    " + json.dumps(layer) for layer in layers)
    head = {"name": title, "source": source + "; split by layer: derived, see derive.py"}
    fields = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    return f'{{\n{fields}  "forward_ms": {step_ms - backward_ms:.6f},\n  "backward": [\n{lines}\n  ]\n}}\n'


def main(arguments):
    checks = arguments[0] == "--check"
    folder = pathlib.Path(arguments[-1])
    wrong = 0
    for name, *rest in steps():
        file = folder / f"{name}.json"
        if not checks:
            file.write_text(text(*rest))
        elif not file.is_file() or file.read_text() != text(*rest):
            print(f"{file.name}: is not what derive.py writes")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

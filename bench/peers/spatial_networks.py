"""spatial_networks.py FOLDER: networks with an open spatial dimension, with random weights.

recognizer.onnx: a recognizer of lines of text 32 pixels high and `width` wide, without recurrences: [1,1,32,width] to
chances of 96 characters for each column of width/4. small.onnx: a smaller one, of any width from 1.
audio.onnx: 1-D convolutions over `length` samples, with residual blocks: [1,1,length] to chances of 40 sounds for each
frame of 8 samples."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """A network of one input and one output; operators are added one after the other."""

    def __init__(self, name, given, result):
        self.name, self.given, self.result = name, given, result
        self.nodes, self.weights, self.count = [], [], 0
        self.random = np.random.default_rng(3)

    def new_name(self):
        self.count += 1
        return f"v{self.count}"

    def weight(self, shape, scale):
        name = self.new_name()
        values = (self.random.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def op(self, kind, inputs, **attributes):
        name = self.new_name()
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def conv(self, x, channels, kernel, pads=None, strides=None, group=1, relu=True):
        """channels: of data and result."""
        given, made = channels
        rank = len(kernel)
        each = given // group
        weight = self.weight((made, each, *kernel), (2 / (np.prod(kernel) * each)) ** 0.5)
        x = self.op("Conv", [x, weight, self.weight((made,), 0.1)], kernel_shape=kernel, group=group,
                    pads=pads or [0] * 2 * rank, strides=strides or [1] * rank)
        return self.op("Relu", [x]) if relu else x

    def residual(self, x, channels, kernel, pads):
        y = self.conv(x, (channels, channels), kernel, pads)
        y = self.conv(y, (channels, channels), kernel, pads, relu=False)
        return self.op("Relu", [self.op("Add", [x, y])])

    def pool(self, x, size):
        return self.op("MaxPool", [x], kernel_shape=size, strides=size)

    def classes(self, x, given, made):
        x = self.op("MatMul", [x, self.weight((given, made), given**-0.5)])
        return self.op("Softmax", [self.op("Add", [x, self.weight((made,), 0.1)])], axis=2)

    def save(self, path):
        self.nodes[-1].output[0] = self.result[0]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                   for name, shape in (self.given, self.result)]
        graph = helper.make_graph(self.nodes, self.name, tensors[:1], tensors[1:], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def small(path):
    net = Network("small", ("image", [1, 3, 8, "width"]), ("result", [1, 16, 8, "columns"]))
    x = net.conv("image", (3, 16), [3, 3], [1] * 4)
    net.conv(x, (16, 16), [3, 3], [1] * 4)
    net.save(path)


def recognizer(path):
    net = Network("recognizer", ("image", [1, 1, 32, "width"]), ("classes", ["frames", 1, 96]))
    around = [1] * 4
    x = net.pool(net.conv("image", (1, 32), [3, 3], around), [2, 2])
    x = net.conv(x, (32, 32), [3, 3], around, group=32)
    x = net.pool(net.conv(x, (32, 64), [1, 1]), [2, 2])
    x = net.residual(x, 64, [3, 3], around)
    x = net.conv(x, (64, 64), [3, 3], around, group=64)
    x = net.pool(net.conv(x, (64, 128), [1, 1]), [2, 1])
    x = net.pool(net.conv(x, (128, 128), [3, 3], around), [2, 1])
    x = net.conv(x, (128, 256), [3, 3], around)
    x = net.conv(x, (256, 256), [2, 1])
    net.weights.append(numpy_helper.from_array(np.array([2]), "rows"))
    x = net.op("Transpose", [net.op("Squeeze", [x, "rows"])], perm=[2, 0, 1])
    net.classes(x, 256, 96)
    net.save(path)


def audio(path):
    net = Network("audio", ("samples", [1, 1, "length"]), ("classes", [1, "frames", 40]))
    x = net.conv("samples", (1, 64), [8], [2, 2], [4])
    for _ in range(3):
        x = net.residual(x, 64, [3], [1, 1])
    x = net.conv(x, (64, 128), [3], [1, 1], [2])
    for _ in range(2):
        x = net.residual(x, 128, [3], [1, 1])
    net.classes(net.op("Transpose", [x], perm=[0, 2, 1]), 128, 40)
    net.save(path)


folder = sys.argv[1]
small(folder + "/small.onnx")
recognizer(folder + "/recognizer.onnx")
audio(folder + "/audio.onnx")

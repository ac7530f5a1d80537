"""small_network.py FOLDER: the small network of tests/fixtures/data, and what ONNX Runtime computes.

network.onnx (convolutions, one grouped and one of depth, batch normalization, a residual, pooling, a
matrix product, softmax; weights seeded), network_input.npy and network_output.npy."""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(15)
nodes, weights = [], []


def weight(name, *shape, scale=None):
    fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    value = random.standard_normal(shape) * (scale or 1 / np.sqrt(fan))
    weights.append(numpy_helper.from_array(value.astype(np.float32), name))
    return name


def node(op, inputs, output, **attributes):
    nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
    return output


def conv(name, data, channels_in, channels, kernel, stride=1, group=1, normalize=False):
    pad = kernel // 2
    inputs = [data, weight(name + "_w", channels, channels_in // group, kernel, kernel)]
    if not normalize:
        inputs.append(weight(name + "_b", channels, scale=0.1))
    value = node("Conv", inputs, name, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
    if not normalize:
        return value
    statistics = [weight(name + "_scale", channels), weight(name + "_shift", channels), weight(name + "_mean", channels)]
    variance = (1 + random.random(channels)).astype(np.float32)
    weights.append(numpy_helper.from_array(variance, name + "_variance"))
    return node("BatchNormalization", [value] + statistics + [name + "_variance"], name + "_normal", epsilon=1e-5)


x = node("Relu", [conv("first", "data", 3, 16, 3, stride=2, normalize=True)], "first_relu")
y = node("Relu", [conv("deep", x, 16, 16, 3, group=16)], "deep_relu")
y = conv("point", y, 16, 16, 1, normalize=True)
x = node("Relu", [node("Add", [x, y], "sum")], "sum_relu")
x = node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
x = node("Clip", [conv("grouped", x, 16, 24, 3, group=2), "low", "high"], "clipped")
weights += [numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(6), "high")]
x = node("Flatten", [node("GlobalAveragePool", [x], "mean")], "flat")
x = node("Gemm", [x, weight("dense_w", 10, 24), weight("dense_b", 10, scale=0.1)], "dense", transB=1)
node("Softmax", [x], "probabilities", axis=1)

graph = helper.make_graph(
    nodes, "network", [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 24, 24])],
    [helper.make_tensor_value_info("dense", TensorProto.FLOAT, [1, 10]),
     helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
folder = sys.argv[1]
onnx.save(model, folder + "/network.onnx")
data = random.standard_normal((1, 3, 24, 24)).astype(np.float32)
np.save(folder + "/network_input.npy", data)
session = onnxruntime.InferenceSession(folder + "/network.onnx", providers=["CPUExecutionProvider"])
np.save(folder + "/network_output.npy", session.run(["dense"], {"data": data})[0])

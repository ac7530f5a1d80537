"""tagger.py KIND LAYERS INPUTS HIDDEN TAGS STEPS FILE: a tagger of sequences, with random weights.

LAYERS bidirectional layers KIND (LSTM, GRU, RNN) of HIDDEN units in each direction, then a dense layer of TAGS and a softmax for each
step. STEPS: a number, or steps:300 for an open number `steps`, at most 300. The input is [STEPS,1,INPUTS] (embeddings of words), the
result [STEPS,1,TAGS]."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

kind, path = sys.argv[1], sys.argv[7]
layers, inputs, hidden, tags = (int(a) for a in sys.argv[2:6])
open_name, _, most = sys.argv[6].rpartition(":")
steps = open_name or int(most)
gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
random = np.random.default_rng(11)
nodes, weights = [], []


def weight(name, *shape):
    values = random.standard_normal(shape) / np.sqrt(shape[-1])
    weights.append(numpy_helper.from_array(values.astype(np.float32), name))
    return name


def node(op, operands, output, **attributes):
    nodes.append(helper.make_node(op, operands, [output], name=output, **attributes))
    return output


weights.append(numpy_helper.from_array(np.array([0, 0, 2 * hidden], np.int64), "both"))
x, width = "x", inputs
for layer in range(layers):
    name = f"layer{layer}"
    operands = [x, weight(name + "_w", 2, gates * hidden, width), weight(name + "_r", 2, gates * hidden, hidden)]
    operands.append(weight(name + "_b", 2, 2 * gates * hidden))
    y = node(kind, operands, name, hidden_size=hidden, direction="bidirectional")
    turned = node("Transpose", [y], name + "_turned", perm=[0, 2, 1, 3])
    x, width = node("Reshape", [turned, "both"], name + "_joined"), 2 * hidden
weights.append(numpy_helper.from_array((random.standard_normal((width, tags)) / np.sqrt(width)).astype(np.float32), "dense_w"))
scores = node("Add", [node("MatMul", [x, "dense_w"], "dense_product"), weight("dense_b", tags)], "dense")
node("Softmax", [scores], "tags", axis=-1)
value = lambda name, last: helper.make_tensor_value_info(name, TensorProto.FLOAT, [steps, 1, last])
graph = helper.make_graph(nodes, "tagger", [value("x", inputs)], [value("tags", tags)], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)

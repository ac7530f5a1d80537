"""products.py PLACES FILE: the matrix products of one layer of an encoder of width 768 with 12 heads, at PLACES
positions, with random weights: four of 768 x 768, one to 3072 and one back, scores and values of the heads. They are apart
(operands are inputs, results are outputs), so that what a network takes is their sum and nothing else."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

places, path = int(sys.argv[1]), sys.argv[2]
width, heads, inner = 768, 12, 3072
each = width // heads
random = np.random.default_rng(17)
nodes, weights, inputs, outputs = [], [], [], []


def given(name, *shape):
    inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return name


def constant(name, *shape):
    value = (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    weights.append(numpy_helper.from_array(value, name))
    return name


def result(op, operands, name, *shape):
    nodes.append(helper.make_node(op, operands, [name], name=name))
    outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))


def dense(name, x, size_in, size_out):
    product = f"{name}_product"
    nodes.append(helper.make_node("MatMul", [x, constant(f"{name}_weight", size_in, size_out)], [product], name=product))
    result("Add", [product, constant(f"{name}_bias", size_out)], name, places, size_out)


x, hidden = given("x", places, width), given("hidden", places, inner)
for name in ("query", "key", "value", "joined"):
    dense(name, x, width, width)
dense("wide", x, width, inner)
dense("narrow", hidden, inner, width)
queries, keys, values = (given(n, heads, places, each) for n in ("queries", "keys", "values"))
nodes.append(helper.make_node("Transpose", [keys], ["turned"], name="turned", perm=[0, 2, 1]))
result("MatMul", [queries, "turned"], "scores", heads, places, places)
result("MatMul", [given("shares", heads, places, places), values], "mixed", heads, places, each)

graph = helper.make_graph(nodes, "products", inputs, outputs, weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.checker.check_model(model)
onnx.save(model, path)

"""shared_weights.py WORK PROGRAM: networks that read the same weights many times, as exporters write unrolled loops and
shared layers. Prints the size of the model file, the library's size over the file's, and the peak memory of
`tilewright compile` in MB beside its limit (300 MB + 6 x the file). Outputs are compared with ONNX Runtime's."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Maker:
    def __init__(self, name):
        self.name, self.nodes, self.weights = name, [], []
        self.random = np.random.default_rng(5)

    def weight(self, *shape, dtype=np.float32):
        name = f"w{len(self.weights)}"
        value = self.random.standard_normal(shape) / np.sqrt(shape[-1])
        self.weights.append(numpy_helper.from_array(value.astype(dtype), name))
        return name

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, data, result, shape):
        self.nodes.append(helper.make_node("Identity", [result], ["result"]))
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, data)],
                                  [helper.make_tensor_value_info("result", TensorProto.FLOAT, shape)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, path)


def unrolled_lstm(path, width=1152, steps=60):
    """Each step transposes the weights that it reads."""
    m = Maker("unrolled_lstm")
    w, bias = m.weight(4 * width, width), m.weight(4 * width)
    h = c = m.constant(np.zeros((1, width), np.float32))
    for step in range(steps):
        at = m.op("Gather", "data", m.constant(np.array([step])), axis=0)
        gates = m.op("Add", m.op("MatMul", m.op("Add", h, at), m.op("Transpose", w, perm=[1, 0])), bias)
        i, f, g, o = m.op("Split", gates, m.constant(np.full(4, width)), outputs=4, axis=1)
        c = m.op("Add", m.op("Mul", m.op("Sigmoid", f), c), m.op("Mul", m.op("Sigmoid", i), m.op("Tanh", g)))
        h = m.op("Mul", m.op("Sigmoid", o), m.op("Tanh", c))
    m.save(path, [steps, width], h, [1, width])
    return [steps, width]


def unrolled_gemm(path, width=2048, steps=40):
    m = Maker("unrolled_gemm")
    w, u, bias = m.weight(width, width), m.weight(width, width), m.weight(width)
    h = m.constant(np.zeros((1, width), np.float32))
    for step in range(steps):
        at = m.op("Gather", "data", m.constant(np.array([step])), axis=0)
        h = m.op("Tanh", m.op("Add", m.op("Gemm", at, w, bias, transB=1), m.op("Gemm", h, u, transB=1)))
    m.save(path, [steps, width], h, [1, width])
    return [steps, width]


def shared_layers(path, width=768, places=64, layers=12):
    """An encoder whose layers have the same weights, each multiplied by a constant first."""
    m = Maker("shared_layers")
    q, k, v, o = (m.weight(width, width) for _ in range(4))
    up, down = m.weight(4 * width, width), m.weight(width, 4 * width)
    scale = m.constant(np.float32(0.3))
    x = "data"
    product = lambda x, w: m.op("MatMul", x, m.op("Transpose", m.op("Mul", w, scale), perm=[1, 0]))
    for _ in range(layers):
        scores = m.op("MatMul", product(x, q), m.op("Transpose", product(x, k), perm=[1, 0]))
        mixed = m.op("MatMul", m.op("Softmax", scores, axis=-1), product(x, v))
        x = m.op("Add", x, product(mixed, o))
        x = m.op("Add", x, product(m.op("Relu", product(x, up)), down))
    m.save(path, [places, width], x, [places, width])
    return [places, width]


def shared_convolutions(path, channels=512, steps=10):
    m = Maker("shared_convolutions")
    w, u = m.weight(channels, channels, 1, 1), m.weight(channels, channels, 1, 1)
    x = "data"
    for _ in range(steps):
        x = m.op("Add", x, m.op("Conv", m.op("Relu", m.op("Conv", x, w)), u))
    m.save(path, [1, channels, 14, 14], x, [1, channels, 14, 14])
    return [1, channels, 14, 14]


NETWORKS = [unrolled_lstm, unrolled_gemm, shared_layers, shared_convolutions]


def error_of(library, model, shape):
    import onnxruntime
    from library import Library
    data = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"data": data})[0].astype(np.float64)
    got = Library(library).run({"data": data})[0]
    return np.abs(got.reshape(expected.shape) - expected).max() / np.sqrt(np.mean(expected**2))


def main():
    work, program = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    rows = []
    for make in NETWORKS:  # before ONNX Runtime is loaded: a child's peak is at least the memory of this process
        stem = os.path.join(work, make.__name__)
        shape = make(stem + ".onnx")
        process = subprocess.Popen([program, "compile", stem + ".onnx", "--no-packages", "--threads", "1", "--name", "net",
                                    "-o", stem + ".so"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "XDG_DATA_HOME": os.path.join(work, "none")})
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{make.__name__}: compile failed")
        rows.append((stem, shape, usage.ru_maxrss / 1024))
    print(f"{'network':20}{'file MB':>9}{'library / file':>16}{'peak MB':>9}{'limit MB':>10}{'error':>11}")
    for stem, shape, peak in rows:
        size = os.path.getsize(stem + ".onnx") / 1e6
        print(f"{os.path.basename(stem):20}{size:9.1f}{os.path.getsize(stem + '.so') / 1e6 / size:16.2f}{peak:9.0f}"
              f"{300 + 6 * size:10.0f}{error_of(stem + '.so', stem + '.onnx', shape):11.1e}", flush=True)


main()

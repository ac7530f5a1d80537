"""dynamic_int8.py WORK PROGRAM [--threads N] [--turns N]: networks that are quantized at run time, by Tilewright (default
configs, no records), ONNX Runtime (all optimizations) and OpenVINO (latency mode, float32), in turns in one process: encoders
quantized by quantize_dynamic, MatMulInteger behind DynamicQuantizeLinear of awkward sizes (int8 and uint8 weights), and
products of two quantized activations. Prints ms per run (20th percentile of all runs) and our time over theirs.
Needs numpy, onnx, onnxruntime and openvino."""
import argparse
import os
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from library import Library


def saved(path, nodes, inputs, output, constants):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "case", [value(*i) for i in inputs], [value(*output)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def encoder(path, layers, width, heads, places):
    """An encoder of a transformer with random weights, whose products with weights quantize_dynamic makes MatMulInteger."""
    rng, nodes = np.random.default_rng(0), []
    each = width // heads
    constants = {"split": np.array([1, places, heads, each]), "joined": np.array([1, places, width]), "half": np.float32(0.5),
                 "one": np.float32(1), "root": np.float32(np.sqrt(2)), "share": np.float32(1 / np.sqrt(each))}

    def node(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"value{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def linear(x, name, columns, rows):
        constants[name] = (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
        constants[name + "_bias"] = rng.standard_normal(columns).astype(np.float32)
        return node("Add", node("MatMul", x, name), name + "_bias")

    def normalized(x, name):
        constants[name], constants[name + "_bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
        return node("LayerNormalization", x, name, name + "_bias", axis=-1, epsilon=1e-5)

    x = "x"
    for layer in range(layers):
        q, k, v = (node("Reshape", linear(x, f"{name}{layer}", width, width), "split") for name in "qkv")
        q, k, v = (node("Transpose", part, perm=perm) for part, perm in ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3])))
        scores = node("Softmax", node("Mul", node("MatMul", q, k), "share"), axis=-1)
        mixed = node("Reshape", node("Transpose", node("MatMul", scores, v), perm=[0, 2, 1, 3]), "joined")
        x = normalized(node("Add", x, linear(mixed, f"o{layer}", width, width)), f"first{layer}")
        wide = linear(x, f"wide{layer}", 4 * width, width)
        gate = node("Add", node("Erf", node("Div", wide, "root")), "one")
        wide = node("Mul", node("Mul", wide, gate), "half")
        x = normalized(node("Add", x, linear(wide, f"narrow{layer}", width, 4 * width)), f"second{layer}")
    plain = path[:-5] + "-float.onnx"
    saved(plain, nodes, [("x", [1, places, width])], (x, [1, places, width]), constants)
    quantize_dynamic(plain, path, weight_type=QuantType.QInt8)


def product(path, rows, depth, columns, dtype):
    rng = np.random.default_rng(columns)
    low = 0 if dtype == np.uint8 else -128
    constants = {"w": rng.integers(low, low + 256, (depth, columns)).astype(dtype), "w_scale": np.float32(0.01),
                 "w_zero": dtype(117 if low == 0 else 0), "b": rng.standard_normal(columns).astype(np.float32)}
    node = helper.make_node
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             node("MatMulInteger", ["q", "w", "z", "w_zero"], ["sums"]), node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT),
             node("Mul", ["s", "w_scale"], ["scale"]), node("Mul", ["real", "scale"], ["scaled"]), node("Add", ["scaled", "b"], ["y"])]
    saved(path, nodes, [("x", [rows, depth])], ("y", [rows, columns]), constants)


def activations(path, batch, rows, depth, columns):
    constants = {"s1": np.float32(0.02), "z1": np.uint8(114), "s2": np.float32(0.03), "z2": np.uint8(120),
                 "s3": np.float32(0.2), "z3": np.uint8(114)}
    nodes = []
    for name, number in (("a", 1), ("b", 2), ("m", 3)):
        if name == "m":
            nodes.append(helper.make_node("MatMul", ["ad", "bd"], ["m"]))
        parameters = [f"s{number}", f"z{number}"]
        nodes.append(helper.make_node("QuantizeLinear", [name, *parameters], [name + "q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + "q", *parameters], ["y" if name == "m" else name + "d"]))
    saved(path, nodes, [("a", [1, batch, rows, depth]), ("b", [1, batch, depth, columns])], ("y", [1, batch, rows, columns]), constants)


SIZES = [(256, 128, 37), (256, 128, 73), (256, 128, 97), (256, 128, 101), (256, 128, 128), (128, 384, 101), (128, 101, 101),
         (64, 37, 73), (16, 512, 97), (1, 384, 101)]
CASES = {f"encoder_{width}": (lambda path, w=width, n=layers: encoder(path, n, w, w // 64, 128)) for width, layers in ((384, 6), (768, 4))}
CASES |= {f"product_{'x'.join(map(str, s))}": (lambda path, s=s: product(path, *s, np.int8)) for s in SIZES}
CASES |= {"product_uint8_128x384x384": lambda path: product(path, 128, 384, 384, np.uint8)}
CASES |= {f"activations_{'x'.join(map(str, s))}": (lambda path, s=s: activations(path, *s))
          for s in ((6, 400, 64, 400), (12, 128, 64, 128), (12, 128, 128, 64))}
CASES |= {"resnet18_uint8": None}


def network(path, program, name, dtype):
    plain = path[:-5] + "-float.onnx"
    subprocess.run([program, "model", name, "-o", plain], check=True, capture_output=True)
    quantize_dynamic(plain, path, weight_type=dtype)


def data_of(session):
    rng, data = np.random.default_rng(1), {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in value.shape]
        whole = "int" in value.type
        data[value.name] = rng.integers(0, 100, shape).astype(np.int64) if whole else rng.standard_normal(shape).astype(np.float32)
    return data


def runners(model, library, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    data = data_of(session)
    run, outputs = Library(library, threads).prepared(data)
    run.outputs = outputs  # their addresses do not keep them
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                            "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for port in compiled.inputs:
        request.set_tensor(port, openvino.Tensor(data[port.get_any_name()], shared_memory=True))
    run()
    expected = session.run(None, data)[0].astype(np.float64)
    error = np.max(np.abs(outputs[0].reshape(expected.shape) - expected)) / (np.sqrt(np.mean(expected**2)) + 1e-30)
    return [run, lambda: session.run(None, data), request.infer], error


def measured(functions, threads, turns):
    """Times of each function. With one thread every turn is one run of each; with more each has the machine for a while,
    because pools of the others wait awake."""
    seconds, pause = (0, 0) if threads == 1 else (0.3, 0.15)
    times = [[] for _ in functions]
    end_of_all = time.perf_counter() + 2
    while len(times[0]) < turns or (threads == 1 and time.perf_counter() < end_of_all):
        for function, own in zip(functions, times):
            if pause:
                time.sleep(pause)
                function()
            end = time.perf_counter() + seconds
            while True:
                begin = time.perf_counter()
                function()
                now = time.perf_counter()
                own.append(now - begin)
                if now >= end:
                    break
        if pause and len(times[0]) >= turns:
            break
    return [sorted(own)[len(own) // 5] for own in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    print(f"ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, threads: {arguments.threads}, "
          f"turns: {arguments.turns}")
    print(f"{'ms per run':28}{'tilewright':>12}{'onnxruntime':>12}{'openvino':>12}{'/ onnxrt':>10}{'/ openvino':>12}{'error':>10}")
    for name, make in CASES.items():
        if not name.startswith(arguments.only):
            continue
        model, library = os.path.join(arguments.work, name + ".onnx"), os.path.join(arguments.work, f"{name}-{arguments.threads}.so")
        if not os.path.exists(model):
            make(model) if name.split("_")[0] != "resnet18" else network(model, arguments.program, "resnet18_v1", QuantType.QUInt8)
        subprocess.run([arguments.program, "compile", model, "--no-packages", "--threads", str(arguments.threads), "--name", "net",
                        "-o", library], check=True, capture_output=True,
                       env={**os.environ, "XDG_DATA_HOME": os.path.join(arguments.work, "none")})
        functions, error = runners(model, library, arguments.threads)
        ours, first, second = measured(functions, arguments.threads, arguments.turns)
        print(f"{name:28}" + "".join(f"{1e3 * t:12.3f}" for t in (ours, first, second))
              + f"{ours / first:10.2f}{ours / second:12.2f}{error:10.1e}", flush=True)


main()

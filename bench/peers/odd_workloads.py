"""odd_workloads.py WORK PROGRAM RESULTS [--from N] [--to N] [--format F] [--kind K] [--again]: products and convolutions of odd
sizes, one operator each, by Tilewright (default configs, no records) and ONNX Runtime (all optimizations), one thread, one
process, in turns. A seed draws an ordered list of 1,000 workloads; --from and --to take a slice of it, --format and --kind what is
of that format or kind. Appends a line of JSON for each workload to RESULTS, and leaves out those that RESULTS has (--again:
measures them again; the last line counts). odd_workloads.py --summary RESULTS... prints shares and the worst cases, --list the list.

Each time is the least processor time of many turns of some calls. A call of a network of one ReLU of one element is measured as well: what a
call costs each program. It is subtracted from both. Workloads for which one of the programs needs less than 2 us after that are
listed apart (small). ONNX Runtime has no kernels for bfloat16: there it runs the same graph in float32. Results are compared.
Needs numpy, ml_dtypes, onnx and onnxruntime."""
import argparse
import collections
import json
import os
import subprocess
import time

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from library import Library

COUNT, SEED, SMALL = 1000, 37, 2e-6
FORMATS = {"float32": 6, "float16": 3, "bfloat16": 2, "qdq_u8s8": 4, "qdq_s8s8": 2, "dynamic": 3}
KINDS = {"dense": 7, "batch": 3, "conv": 2, "conv1x1": 2, "depthwise": 2, "grouped": 1, "strided": 2, "dilated": 1, "conv1d": 2}
TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
PROTO = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "uint8": TensorProto.UINT8,
         "int8": TensorProto.INT8}
ODD = [1, 2, 3, 5, 7, 13, 17, 29, 37, 53, 73, 97, 101, 131, 200, 257, 389, 521, 768, 1009]
ROWS = [1, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 64, 101, 128, 255, 384, 760]


# ---- The list.
def draw_product(random, batch):
    pick = lambda sizes: int(sizes[random.integers(len(sizes))])
    size = {"m": pick(ROWS), "k": pick(ODD), "n": pick(ODD)}
    return {"b": pick([2, 3, 6, 8, 12, 13]), **size} if batch else size


def draw_conv(random, kind):
    pick = lambda *sizes: int(sizes[random.integers(len(sizes))])
    channels = lambda: pick(1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 32, 37, 48, 64, 73, 96, 97, 101, 128, 192, 257)
    side = lambda: pick(1, 2, 3, 5, 7, 7, 9, 13, 14, 17, 19, 28, 31, 37, 56, 75)
    shape = {"c": channels(), "o": channels(), "g": 1, "s": 1, "d": 1}
    if kind == "conv1d":
        shape |= {"h": 0, "w": pick(5, 17, 50, 101, 257, 400, 1021), "kw": pick(1, 2, 3, 5, 7, 11, 16), "kh": 0,
                  "s": pick(1, 1, 1, 2, 3), "d": pick(1, 1, 1, 2)}
        if random.random() < 0.3:
            shape["g"] = shape["o"] = shape["c"]
    else:
        square = random.random() < 0.7
        h = side()
        shape |= {"h": h, "w": h if square else side(), "kh": 1 if kind == "conv1x1" else pick(2, 3, 3, 3, 5, 5, 7)}
        shape["kw"] = shape["kh"] if random.random() < 0.85 or kind == "conv1x1" else pick(1, 3, 5)
        if kind == "conv1x1":
            shape["s"] = pick(1, 1, 1, 1, 2)
        if kind == "strided":
            shape["s"] = pick(2, 2, 2, 3)
        if kind == "dilated":
            shape["d"] = pick(2, 2, 3)
        if kind == "depthwise":
            shape |= {"g": shape["c"], "o": shape["c"] * pick(1, 1, 1, 1, 2), "s": pick(1, 1, 2)}
        if kind == "grouped":
            groups = pick(2, 3, 4, 8)
            shape |= {"g": groups, "c": groups * pick(1, 2, 3, 4, 5, 8, 16, 17, 24), "o": groups * pick(1, 2, 3, 4, 7, 8, 16, 24)}
    shape["p"] = 0 if kind == "conv1x1" else pick(0, 1, 1, 1)  # 1: as large as the window's half
    return shape


def sides_of(shape):
    """(size, window, padding, output size) of each spatial axis; None if the window does not fit."""
    axes = []
    for size, window in ((shape["h"], shape["kh"]), (shape["w"], shape["kw"])):
        if window:
            reach = shape["d"] * (window - 1)
            pad = (reach // 2) * shape["p"]
            out = (size + 2 * pad - reach - 1) // shape["s"] + 1
            axes.append((size, window, pad, out))
    return axes if all(a[3] >= 1 for a in axes) else None


def products_of(case):
    s = case["shape"]
    if "k" in s:
        return s.get("b", 1) * s["m"] * s["k"] * s["n"]
    axes = sides_of(s)
    return 0 if axes is None else int(np.prod([a[1] * a[3] for a in axes])) * s["o"] * s["c"] // s["g"]


def drawn():
    random, cases = np.random.default_rng(SEED), []
    weighted = lambda table: str(random.choice(list(table), p=np.array(list(table.values())) / sum(table.values())))
    while len(cases) < COUNT:
        case = {"format": weighted(FORMATS), "kind": weighted(KINDS)}
        product = case["kind"] in ("dense", "batch")
        case["shape"] = draw_product(random, case["kind"] == "batch") if product else draw_conv(random, case["kind"])
        case["relu"] = bool(random.random() < 0.4)
        if case["format"] == "dynamic" and case["kind"] == "batch":
            continue
        tiny = products_of(case) < 1e5  # of these a third is enough
        if 2e2 <= products_of(case) <= 6e7 and (not tiny or random.random() < 0.35):
            shape = "_".join(f"{k}{v}" for k, v in case["shape"].items())
            cases.append({"name": f"{len(cases)}_{case['format']}_{case['kind']}_{shape}" + "_relu" * case["relu"], **case})
    return cases


# ---- The graphs.
class Graph:
    def __init__(self, seed):
        self.random, self.nodes, self.weights, self.inputs, self.data = np.random.default_rng(seed), [], [], [], {}

    def constant(self, value, name):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def normal(self, shape, dtype, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(dtype)

    def input(self, name, value, kind):
        self.inputs.append(helper.make_tensor_value_info(name, PROTO[kind], value.shape))
        self.data[name] = value
        return name

    def node(self, op, inputs, output=None, **attributes):
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def parameters(self, name, scale, zero):
        return [self.constant(np.float32(scale), name + "_scale"), self.constant(zero, name + "_zero")]

    def quantized_input(self, name, shape, dtype):
        info = np.iinfo(dtype)
        value = self.random.integers(info.min, info.max + 1, shape).astype(dtype)
        self.input(name, value, np.dtype(dtype).name)
        return self.node("DequantizeLinear", [name, *self.parameters(name, 0.02, dtype(121 if dtype == np.uint8 else 3))])

    def save(self, path, shape, kind):
        graph = helper.make_graph(self.nodes, "case", self.inputs, [helper.make_tensor_value_info("y", PROTO[kind], shape)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)


def shapes_of(case):
    """Of the data, the weights and the result, and the attributes of Conv."""
    s = case["shape"]
    if "k" in s:
        batch = [s["b"]] if "b" in s else []
        return batch + [s["m"], s["k"]], batch + [s["k"], s["n"]], batch + [s["m"], s["n"]], {}
    axes = sides_of(s)
    attributes = {"kernel_shape": [a[1] for a in axes], "strides": [s["s"]] * len(axes), "dilations": [s["d"]] * len(axes),
                  "pads": [a[2] for a in axes] * 2, "group": s["g"]}
    return ([1, s["c"], *[a[0] for a in axes]], [s["o"], s["c"] // s["g"], *[a[1] for a in axes]],
            [1, s["o"], *[a[3] for a in axes]], attributes)


def make_float(graph, case, dtype):
    data, weight, _, attributes = shapes_of(case)
    kind, fan = np.dtype(dtype).name, np.sqrt(np.prod(weight[1:]) if attributes else weight[-2])
    x = graph.input("x", graph.normal(data, dtype), kind)
    w = graph.normal(weight, dtype, 1 / fan)
    w = graph.input("w", w, kind) if case["kind"] == "batch" else graph.constant(w, "w")
    if attributes:
        value = graph.node("Conv", [x, w, graph.constant(graph.normal(weight[:1], dtype), "bias")], **attributes)
    else:
        value = graph.node("MatMul", [x, w])
        if case["kind"] == "dense":
            value = graph.node("Add", [value, graph.constant(graph.normal(weight[-1:], dtype), "bias")])
    graph.node("Relu" if case["relu"] else "Identity", [value], "y")
    return kind


def make_qdq(graph, case, dtype):
    data, weight, _, attributes = shapes_of(case)
    x = graph.quantized_input("x", data, dtype)
    sum_of = np.prod(weight[1:]) if attributes else weight[-2]
    if case["kind"] == "batch":
        w, scale = graph.quantized_input("w", weight, dtype), 0.02
    else:
        scale = (0.01 + 0.01 * graph.random.random(weight[0] if attributes else weight[-1])).astype(np.float32)
        w = graph.constant(graph.random.integers(-127, 128, weight).astype(np.int8), "w")
        w = graph.node("DequantizeLinear", [w, graph.constant(scale, "w_scale"), graph.constant(np.zeros(scale.shape, np.int8), "w_zero")],
                       axis=0 if attributes else len(weight) - 1)
    if attributes:
        bias = graph.constant(graph.random.integers(-9999, 9999, weight[0]).astype(np.int32), "bias")
        bias = graph.node("DequantizeLinear", [bias, graph.constant(np.float32(0.02) * scale, "bias_scale")], axis=0)
        value = graph.node("Conv", [x, w, bias], **attributes)
    else:
        value = graph.node("MatMul", [x, w])
    if case["relu"]:
        value = graph.node("Relu", [value])
    zero = dtype(0 if case["relu"] and dtype == np.uint8 else 120 if dtype == np.uint8 else -5)
    graph.node("QuantizeLinear", [value, *graph.parameters("y", 0.02 * np.sqrt(sum_of), zero)], "y")
    return np.dtype(dtype).name


def make_dynamic(graph, case):
    data, weight, _, attributes = shapes_of(case)
    x = graph.input("x", graph.normal(data, np.float32), "float32")
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], ["q", "s", "z"]))
    unsigned = case["shape"].get("m", 0) % 2 == 1 or case["shape"].get("o", 0) % 5 == 2
    low, zero = (0, np.uint8(131)) if unsigned else (-128, np.int8(0))
    w = graph.constant(graph.random.integers(low, low + 256, weight).astype(zero.dtype), "w")
    operands = ["q", w, "z", graph.constant(zero, "w_zero")]
    sums = graph.node("ConvInteger", operands, **attributes) if attributes else graph.node("MatMulInteger", operands)
    scale = graph.node("Mul", ["s", graph.constant(np.float32(0.01), "w_scale")])
    value = graph.node("Mul", [graph.node("Cast", [sums], to=TensorProto.FLOAT), scale])
    bias = graph.normal([1, weight[0]] + [1] * len(weight[2:]) if attributes else weight[-1:], np.float32)
    graph.node("Add", [value, graph.constant(bias, "bias")], "y")
    return "float32"


def make(path, case, number):
    """Writes the graph, and for bfloat16 its twin in float32. Returns the twin's path and the data of both."""
    graph, form = Graph(number), case["format"]
    if form == "dynamic":
        kind = make_dynamic(graph, case)
    elif form.startswith("qdq"):
        kind = make_qdq(graph, case, np.uint8 if form == "qdq_u8s8" else np.int8)
    else:
        kind = make_float(graph, case, TYPES[form])
    graph.save(path, shapes_of(case)[2], kind)
    if form != "bfloat16":
        return path, graph.data, graph.data
    twin = Graph(number)
    make_float(twin, case, np.float32)
    twin.save(path[:-5] + "-twin.onnx", shapes_of(case)[2], "float32")
    return path[:-5] + "-twin.onnx", graph.data, twin.data


# ---- The measurement.
def session_of(model, data):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in data.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    result = session.run(None, data)[0]
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(result)))
    return lambda: session.run_with_iobinding(binding), result


def compiled(model, arguments):
    library = model[:-5] + ".so"
    done = subprocess.run([arguments.program, "compile", model, "--no-packages", "--threads", "1", "--name", "net", "--json", "-o", library],
                          capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": os.path.join(arguments.work, "none")})
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-500:])
    return library, json.loads(done.stdout)


def turns(functions, seconds):
    """The least processor time of a call of each function, from turns of about 150 us."""
    best, counts = [], []
    for function in functions:
        function()
        begin = time.process_time()
        function()
        function()
        best.append(1e9)
        counts.append(max(1, int(150e-6 * 2 / (time.process_time() - begin))))
    fewest, rounds, end = 20, 0, time.perf_counter() + seconds
    while time.perf_counter() < end or rounds < fewest:
        rounds += 1
        for i, function in enumerate(functions):
            calls = range(counts[i])
            begin = time.process_time()
            for _ in calls:
                function()
            best[i] = min(best[i], (time.process_time() - begin) / counts[i])
    return best


def overheads(arguments):
    path = os.path.join(arguments.work, "nothing.onnx")
    graph = Graph(0)
    graph.node("Relu", [graph.input("x", np.ones([1], np.float32), "float32")], "y")
    graph.save(path, [1], "float32")
    run, _ = Library(compiled(path, arguments)[0]).prepared(graph.data)
    return turns([run, session_of(path, graph.data)[0]], 1)


def measure(case, number, arguments, calls):
    path = os.path.join(arguments.work, f"{number}.onnx")
    twin, data, twin_data = make(path, case, number)
    library, report = compiled(path, arguments)
    run, outputs = Library(library).prepared(data)
    peer, expected = session_of(twin, twin_data)
    run()
    expected = expected.astype(np.float64)
    error = np.abs(outputs[0].astype(np.float64).reshape(expected.shape) - expected).max() / (np.sqrt(np.mean(expected**2)) + 1e-30)
    times = turns([run, peer], arguments.seconds)
    own = [max(t - c, 1e-7) for t, c in zip(times, calls)]
    configs = [k["template"] for k in report["operators"] if k.get("template")]
    for end in (".onnx", "-twin.onnx", ".so", ".h"):
        if not arguments.keep and os.path.exists(path[:-5] + end):
            os.remove(path[:-5] + end)
    return {"ours_us": 1e6 * own[0], "peer_us": 1e6 * own[1], "ratio": own[0] / own[1], "small": bool(min(own) < SMALL), "error": float(error),
            "gmacs": products_of(case) / own[0] / 1e9, "templates": configs}


# ---- The summary.
def summary(files):
    rows = {}
    for file in files:
        for line in open(file):
            row = json.loads(line)
            rows[row["number"]] = row
    failed = [r for r in rows.values() if "ratio" not in r]
    measured = [r for r in rows.values() if "ratio" in r]
    for small in (False, True):
        part = [r for r in measured if r["small"] == small]
        print(f"{'small (below 2 us after the cost of a call)' if small else 'workloads'}: {len(part)}")
        print(f"  {'':24}{'count':>6}{'mean':>7}{'median':>7}{'worst':>8}{'> 1.1':>8}{'> 1.5':>8}")
        groups = collections.defaultdict(list)
        for r in part:
            for key in ("all", r["format"], r["kind"]):
                groups[key].append(r["ratio"])
        for key in ["all", *FORMATS, *KINDS]:
            v = np.array(groups[key])
            if len(v):
                print(f"  {key:24}{len(v):6}{np.exp(np.mean(np.log(v))):7.2f}{np.median(v):7.2f}{v.max():8.2f}{100 * np.mean(v > 1.1):7.1f}%"
                      f"{100 * np.mean(v > 1.5):7.1f}%")
        for r in sorted(part, key=lambda r: -r["ratio"])[:40]:
            print(f"    {r['ratio']:7.2f} {r['ours_us']:9.1f} {r['peer_us']:9.1f} us {r['gmacs']:6.1f} GMAC/s  {r['name']} {','.join(map(str, r['templates']))}")
    for r in failed:
        print(f"failed: {r['name']}: {r['failed']}")
    wrong = [r for r in measured if r["error"] > (0.05 if "float32" == r["format"] else 0.2)]
    for r in wrong:
        print(f"differs from ONNX Runtime by {r['error']:.1e}: {r['name']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="WORK PROGRAM RESULTS")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--to", type=int, default=COUNT)
    parser.add_argument("--format", default="")
    parser.add_argument("--kind", default="")
    parser.add_argument("--only", default="", help="numbers, with commas between them")
    parser.add_argument("--seconds", type=float, default=0.3, help="of both programs' turns, for each workload")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep graphs and libraries in WORK")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.summary:
        return summary(arguments.files)
    if arguments.list:
        return print("\n".join(case["name"] for case in drawn()))
    arguments.work, arguments.program, results = arguments.files
    os.makedirs(arguments.work, exist_ok=True)
    known = set() if arguments.again or not os.path.exists(results) else {json.loads(line)["number"] for line in open(results)}
    only = {int(n) for n in arguments.only.split(",")} if arguments.only else None
    calls = overheads(arguments)
    print(f"ONNX Runtime {onnxruntime.__version__}; a call costs us {1e6 * calls[0]:.2f} us, ONNX Runtime {1e6 * calls[1]:.2f} us")
    for number, case in enumerate(drawn()):
        if (not arguments.first <= number < arguments.to or number in known or not case["format"].startswith(arguments.format)
                or not case["kind"].startswith(arguments.kind) or (only is not None and number not in only)):
            continue
        row = {"number": number, "name": case["name"], "format": case["format"], "kind": case["kind"]}
        try:
            row |= measure(case, number, arguments, calls)
            print(f"{row['ratio']:7.2f} {row['ours_us']:9.1f} {row['peer_us']:9.1f} us {'small' * row['small']:5} {row['name']} "
                  f"{','.join(map(str, row['templates']))}", flush=True)
        except Exception as problem:  # the next workload is another one
            row["failed"] = str(problem)[-500:]
            print(f"failed  {row['name']}: {row['failed']}", flush=True)
        with open(results, "a") as file:
            file.write(json.dumps(row) + "\n")


main()

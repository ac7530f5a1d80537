"""Recurrent layers of one network each beside ONNX Runtime, the two programs in turns.

usage: recurrent.py TILEWRIGHT [--rounds 40] [--hidden 128] [--threads 1] [--grid]

Each layer is compiled (untuned), its results are compared with ONNX Runtime's, and both run for about 5 ms by turns; with several threads
each in a process of its own for half a second. Prints the medians over the rounds of the time of one run in microseconds (with one thread
the processor's), their ratio, that of the fastest rounds (for a machine that does other things as well), and the seconds that compiling took.
--grid: LSTM and GRU of 32, 256 and 1000 steps, of 1 and 8 sequences, of 64, 128 and 256 units. Needs numpy, onnx, onnxruntime."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import library as caller


def model_of(kind, steps, hidden, batch=1, **attributes):
    quantized = kind == "DynamicQuantizeLSTM"
    gates = {"GRU": 3, "RNN": 1}.get(kind, 4)
    rng = np.random.default_rng(steps + gates)
    weight = lambda *shape: (rng.standard_normal(shape) / np.sqrt(hidden)).astype(np.float32)
    constants = dict(w=weight(1, gates * hidden, hidden), r=weight(1, gates * hidden, hidden), b=weight(1, 2 * gates * hidden))
    states = ["h", "c"] if gates == 4 else ["h"]
    results = ["y", "y_h", "y_c"] if gates == 4 else ["y", "y_h"]
    operands = ["x", "w", "r", "b", "", *states]
    if quantized:
        for name in "wr":
            scale = np.abs(constants[name]).max() / 127
            constants[name] = np.rint(constants[name] / scale).astype(np.int8).transpose(0, 2, 1).copy()
            constants |= {name + "_scale": np.array([scale], np.float32), name + "_zero": np.zeros(1, np.int8)}
        operands += ["", "w_scale", "w_zero", "r_scale", "r_zero"]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    node = helper.make_node(kind, operands, results, hidden_size=hidden, domain="com.microsoft" if quantized else "", **attributes)
    state = (1, batch, hidden)
    graph = helper.make_graph([node], "recurrent", [info("x", (steps, batch, hidden)), *[info(s, state) for s in states]],
                              [info("y", (steps, 1, batch, hidden)), *[info(r, state) for r in results[1:]]],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


class Theirs:
    def __init__(self, model, feeds, threads=1):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, value in feeds.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def run(self):
        self.session._sess.run_with_iobinding(self.binding._iobinding, None)

    def results(self):
        self.run()
        return self.binding.copy_outputs_to_cpu()


class Ours:
    def __init__(self, made, feeds, threads=1):
        self.run, self.outputs = caller.Library(made, threads).prepared(feeds)

    def results(self):
        self.run()
        return self.outputs


def compiled(program, model, folder, threads):
    """The library, and how long it took, the check of what was compiled included."""
    path, made = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.so")
    onnx.save(model, path)
    begin = time.perf_counter()
    subprocess.run([program, "compile", path, "--threads", str(threads), "-o", made, "--no-packages"], check=True, capture_output=True)
    return made, time.perf_counter() - begin


def feeds_of(model):
    rng = np.random.default_rng(7)
    return {v.name: rng.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim]).astype(np.float32) for v in model.graph.input}


def seconds(program, count, clock=time.thread_time):
    begin = clock()
    for _ in range(count):
        program.run()
    return (clock() - begin) / count


def in_turns(programs, rounds):
    counts = [max(1, int(0.005 / max(1e-7, seconds(p, 3)))) for p in programs]
    times = [[], []]
    for _ in range(rounds):
        for i, program in enumerate(programs):
            times[i].append(seconds(program, counts[i]))
    return times


def alone(which, folder, threads):
    """What a process of its own prints: times of runs during half a second, behind a tenth of one."""
    model = onnx.load(os.path.join(folder, "m.onnx"))
    feeds = feeds_of(model)
    program = Ours(os.path.join(folder, "m.so"), feeds, threads) if which == "ours" else Theirs(model, feeds, threads)
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        program.run()
    times, end = [], time.perf_counter() + 0.5
    while time.perf_counter() < end or len(times) < 3:
        times.append(seconds(program, 1, time.perf_counter))
    print(float(np.median(times)))


def each_alone(folder, threads, rounds):
    times = [[], []]
    for _ in range(rounds):
        for i, which in enumerate(("ours", "theirs")):
            child = subprocess.run([sys.executable, os.path.abspath(__file__), "--alone", which, folder, str(threads)], check=True, capture_output=True)
            times[i].append(float(child.stdout))
    return times


def main():
    if sys.argv[1:2] == ["--alone"]:
        return alone(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewright")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--grid", action="store_true")
    args = parser.parse_args()
    layers = [("LSTM", 1, {}), ("LSTM", 8, {}), ("LSTM", 32, {}), ("GRU", 1, {}), ("GRU", 64, dict(linear_before_reset=1)), ("GRU", 64, {}), ("RNN", 32, {}),
              ("DynamicQuantizeLSTM", 1, {}), ("DynamicQuantizeLSTM", 32, {})]
    layers = [(kind, steps, args.hidden, 1, attributes) for kind, steps, attributes in layers]
    if args.grid:
        layers = [(kind, steps, hidden, batch, attributes) for kind, attributes in (("LSTM", {}), ("GRU", dict(linear_before_reset=1)))
                  for hidden in (64, 128, 256) for batch in (1, 8) for steps in (32, 256, 1000)]
    print(f"{'layer':36s} {'ours us':>9s} {'theirs us':>9s} {'ratio':>6s} {'fastest':>8s} {'compile s':>9s}  largest difference")
    for kind, steps, hidden, batch, attributes in layers:
        model = model_of(kind, steps, hidden, batch, **attributes)
        feeds = feeds_of(model)
        with tempfile.TemporaryDirectory() as folder:
            made, compile_seconds = compiled(os.path.abspath(args.tilewright), model, folder, args.threads)
            programs = Ours(made, feeds), Theirs(model, feeds)
            difference = max(float(np.abs(a - b.reshape(a.shape)).max()) for a, b in zip(programs[0].results(), programs[1].results()))
            times = in_turns(programs, args.rounds) if args.threads == 1 else each_alone(folder, args.threads, args.rounds)
        ours, theirs = (float(np.median(t)) * 1e6 for t in times)
        text = f"{kind} {steps} x {batch} x {hidden} " + " ".join(f"{k}={v}" for k, v in attributes.items())
        fastest = min(times[0]) / min(times[1])
        print(f"{text:36s} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f} {fastest:8.2f} {compile_seconds:9.2f}  {difference:.1e}", flush=True)
        if difference > (0.05 if kind.startswith("Dynamic") else 1e-4):  # a step of 8 bits more or less, from state to state
            sys.exit("results differ")


if __name__ == "__main__":
    main()

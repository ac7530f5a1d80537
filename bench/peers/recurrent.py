"""Recurrent layers of one network each beside ONNX Runtime: one thread, the two programs in turns.

usage: recurrent.py TILEWRIGHT [--rounds 40] [--hidden 128]

Each layer is compiled (untuned), its results are compared with ONNX Runtime's, and both run for about 5 ms by turns.
Prints the medians over the rounds of the processor time of one run, in microseconds, their ratio, and that of the fastest rounds (for a
machine that does other things as well). Needs numpy, onnx, onnxruntime."""
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
    def __init__(self, model, feeds):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
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
    def __init__(self, program, model, feeds, folder):
        path, made = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.so")
        onnx.save(model, path)
        subprocess.run([program, "compile", path, "--threads", "1", "-o", made, "--no-packages"], check=True, capture_output=True)
        self.run, self.outputs = caller.Library(made).prepared(feeds)

    def results(self):
        self.run()
        return self.outputs


def seconds(program, count):
    begin = time.thread_time()
    for _ in range(count):
        program.run()
    return (time.thread_time() - begin) / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewright")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=128)
    args = parser.parse_args()
    layers = [("LSTM", 1, {}), ("LSTM", 8, {}), ("LSTM", 32, {}), ("GRU", 1, {}), ("GRU", 64, dict(linear_before_reset=1)), ("GRU", 64, {}), ("RNN", 32, {}),
              ("DynamicQuantizeLSTM", 1, {}), ("DynamicQuantizeLSTM", 32, {})]
    print(f"{'layer':36s} {'ours us':>9s} {'theirs us':>9s} {'ratio':>6s} {'fastest':>8s}  largest difference")
    for kind, steps, attributes in layers:
        model = model_of(kind, steps, args.hidden, **attributes)
        rng = np.random.default_rng(7)
        feeds = {v.name: rng.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim]).astype(np.float32) for v in model.graph.input}
        with tempfile.TemporaryDirectory() as folder:
            programs = Ours(os.path.abspath(args.tilewright), model, feeds, folder), Theirs(model, feeds)
            difference = max(float(np.abs(a - b.reshape(a.shape)).max()) for a, b in zip(programs[0].results(), programs[1].results()))
            counts = [max(1, int(0.005 / max(1e-7, seconds(p, 20)))) for p in programs]
            times = [[], []]
            for _ in range(args.rounds):
                for i, program in enumerate(programs):
                    times[i].append(seconds(program, counts[i]))
        ours, theirs = (float(np.median(t)) * 1e6 for t in times)
        text = f"{kind} {steps} x {args.hidden} " + " ".join(f"{k}={v}" for k, v in attributes.items())
        fastest = min(times[0]) / min(times[1])
        print(f"{text:36s} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f} {fastest:8.2f}  {difference:.1e}", flush=True)
        if difference > (0.05 if kind.startswith("Dynamic") else 1e-4):  # a step of 8 bits more or less, from state to state
            sys.exit("results differ")


if __name__ == "__main__":
    main()

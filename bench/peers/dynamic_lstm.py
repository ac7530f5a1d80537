"""DynamicQuantizeLSTM layers beside ONNX Runtime in one process, the two programs in turns.

usage: dynamic_lstm.py TILEWRIGHT [--rounds 40] [--only TEXT]

Each network is one layer with int8 weights that are quantized by a scale for each direction. It is compiled without records; its results are
compared with ONNX Runtime's, and both run for about 5 ms by turns. Prints the medians of the processor time of one run in microseconds,
their ratio, that of the fastest rounds, and the size of the library relative to the model file. Needs numpy, onnx, onnxruntime."""
import argparse
import os
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from recurrent import Ours, Theirs, compiled, feeds_of, in_turns


def model_of(steps, batch, hidden, directions=1, inputs=None):
    inputs = inputs or hidden
    rng = np.random.default_rng(steps + hidden)
    real = dict(w=rng.standard_normal((directions, inputs, 4 * hidden)) / np.sqrt(inputs),
                r=rng.standard_normal((directions, hidden, 4 * hidden)) / np.sqrt(hidden))
    constants = dict(b=(rng.standard_normal((directions, 8 * hidden)) / 4).astype(np.float32))
    for name, value in real.items():
        scale = np.abs(value).max(axis=(1, 2), keepdims=True) / 127
        constants |= {name: np.rint(value / scale).astype(np.int8), name + "_scale": scale.reshape(-1).astype(np.float32),
                      name + "_zero": np.zeros(directions, np.int8)}
    info = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "h", "c", "", "w_scale", "w_zero", "r_scale", "r_zero"], ["y", "y_h", "y_c"],
                            hidden_size=hidden, domain="com.microsoft", direction="bidirectional" if directions == 2 else "forward")
    state = (directions, batch, hidden)
    graph = helper.make_graph([node], "recurrent", [info("x", steps, batch, inputs), info("h", *state), info("c", *state)],
                              [info("y", steps, directions, batch, hidden), info("y_h", *state), info("y_c", *state)],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewright")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    layers = [(steps, batch, hidden, 1) for hidden in (64, 128, 256, 512) for batch in (1, 8) for steps in (1, 10, 100)]
    layers += [(20, 1, 256, 2), (20, 4, 128, 2)]
    print(f"{'steps x batch x hidden':28s} {'ours us':>9s} {'theirs us':>9s} {'ratio':>6s} {'fastest':>8s} {'library':>8s} {'compile s':>9s}  largest difference")
    ratios = []
    for steps, batch, hidden, directions in layers:
        text = f"{steps} x {batch} x {hidden}" + (" bidirectional" if directions == 2 else "")
        if args.only not in text:
            continue
        model = model_of(steps, batch, hidden, directions)
        feeds = feeds_of(model)
        with tempfile.TemporaryDirectory() as folder:
            made, seconds = compiled(os.path.abspath(args.tilewright), model, folder, 1)
            size = os.path.getsize(made) / os.path.getsize(os.path.join(folder, "m.onnx"))
            programs = Ours(made, feeds), Theirs(model, feeds)
            results = zip(programs[0].results(), programs[1].results())
            difference = max(float(np.abs(a - b.reshape(a.shape)).max()) for a, b in results)
            times = in_turns(programs, args.rounds)
        ours, theirs = (float(np.median(t)) * 1e6 for t in times)
        ratios.append(ours / theirs)
        fastest = min(times[0]) / min(times[1])
        print(f"{text:28s} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f} {fastest:8.2f} {size:8.2f} {seconds:9.2f}  {difference:.1e}", flush=True)
        if difference > 0.05:  # a step of 8 bits more or less, from state to state
            sys.exit("results differ")
    if ratios:
        print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()

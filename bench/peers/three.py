"""three.py WORK PROGRAM [--threads N] [--turns N]: built-in networks by Tilewright (default configs, no records), ONNX
Runtime (all optimizations) and OpenVINO (latency mode, float32), timed in turns: a process for each, of which two wait, asleep,
while the third computes. Called by three.sh. Prints ms per run (median of the turns' medians), and the median over
turns of our time over theirs. All results are compared with ONNX Runtime's first."""
import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np

NETWORKS = {"resnet18_v1": [1, 3, 224, 224], "resnet50_v1": [1, 3, 224, 224], "mobilenet_v2": [1, 3, 224, 224],
            "squeezenet1_1": [1, 3, 224, 224], "bert_base_encoder": [1, 128, 768]}


def data_of(shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def serve(run, result):
    """A line with seconds in, the median time of a run out; "result FILE" saves the output."""
    print("ready", flush=True)
    for line in sys.stdin:
        if line.startswith("result "):
            run()
            np.save(line.split()[1], result())
            print("saved", flush=True)
            continue
        end, times = time.perf_counter() + float(line), []
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times), flush=True)


def serve_ours(library, model, threads, shape):
    from library import Library
    run, outs = Library(library, threads).prepared({"data": data_of(shape)})
    run()
    serve(run, lambda: outs[0])


def serve_onnxruntime(library, model, threads, shape):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("data", onnxruntime.OrtValue.ortvalue_from_numpy(data_of(shape)))
    binding.bind_output(session.get_outputs()[0].name)
    serve(lambda: session.run_with_iobinding(binding), lambda: binding.copy_outputs_to_cpu()[0])


def serve_openvino(library, model, threads, shape):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(data_of(shape)))
    serve(request.infer, lambda: request.get_output_tensor(0).data)


class Child:
    def __init__(self, kind, *arguments):
        self.process = subprocess.Popen([sys.executable, __file__, kind, *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{self.process.args[2]}: ended")
        return line

    def ask(self, text):
        time.sleep(0.1)  # until threads of the others no longer wait awake
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(work, program, name, threads, turns):
    shape = NETWORKS[name]
    model, library = os.path.join(work, f"{name}.onnx"), os.path.join(work, f"{name}-{threads}.so")
    if not os.path.exists(model):
        subprocess.run([program, "model", name, "-o", model], check=True, capture_output=True)
    subprocess.run([program, "compile", model, "--no-packages", "--threads", str(threads), "--name", "net", "-o", library],
                   check=True, capture_output=True, env={**os.environ, "XDG_DATA_HOME": os.path.join(work, "none")})
    children = {kind: Child(kind, library, model, threads, ",".join(map(str, shape)))
                for kind in ("ours", "onnxruntime", "openvino")}
    outputs = {}
    for kind, child in children.items():
        child.ask(f"result {work}/{kind}.npy")
        outputs[kind] = np.load(f"{work}/{kind}.npy").reshape(-1).astype(np.float64)
    expected = outputs["onnxruntime"]
    error = max(np.max(np.abs(o - expected)) for o in outputs.values()) / np.sqrt(np.mean(expected**2))
    rows = []
    for turn in range(turns + 1):
        kinds = list(children)
        kinds = kinds[turn % 3:] + kinds[:turn % 3]
        rows.append({kind: float(children[kind].ask("0.7")) for kind in kinds})
    for child in children.values():
        child.end()
    rows = rows[1:]  # the first one warms up
    ms = [1e3 * statistics.median(r[kind] for r in rows) for kind in ("ours", "onnxruntime", "openvino")]
    ratios = [statistics.median(r["ours"] / r[kind] for r in rows) for kind in ("onnxruntime", "openvino")]
    print(f"{name:20}" + "".join(f"{v:12.2f}" for v in ms) + "".join(f"{v:12.2f}" for v in ratios) + f"{error:11.1e}",
          flush=True)


def main():
    if sys.argv[1] in ("ours", "onnxruntime", "openvino"):
        kind, library, model, threads, shape = sys.argv[1:]
        globals()[f"serve_{kind}"](library, model, int(threads), [int(n) for n in shape.split(",")])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    import onnxruntime
    import openvino
    print(f"ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, "
          f"threads: {arguments.threads}, turns: {arguments.turns}")
    print(f"{'ms per run':20}{'tilewright':>12}{'onnxruntime':>12}{'openvino':>12}{'/ onnxrt':>12}{'/ openvino':>12}{'error':>11}")
    for name in NETWORKS:
        compare(arguments.work, arguments.program, name, arguments.threads, arguments.turns)


main()

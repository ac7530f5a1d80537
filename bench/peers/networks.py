"""networks.py WORK PROGRAM [--only TEXT] [--threads 1,2] [--turns N] [--tune SECONDS | --tuned]
[--before PROGRAM]: whole networks beside ONNX Runtime. Called by networks.sh, which puts the models into WORK/models.

Each network is compiled with its sizes bound on the command line, its results are compared with ONNX
Runtime's (all optimizations on; `theirs` is how far its own results without optimizations are from
those), and both are timed in turns: a process for each, of which one waits, asleep,
while the other computes. Variants of one model count once in the means (their geometric mean).
`products-N`, the matrix products of a layer of an encoder, are no network: --only names them.

--tune: a job of so many seconds first, with an empty store, whose records `compile` gets; the network without
them is timed in the same turns. --tuned: with the stores that an earlier --tune left in WORK/libraries (of all networks that
have one), as tuning all of them takes hours. --before: what an older program compiles without records, too
(sizes are written into the file, as it may have no option for them); `gain` is its time over ours, where it can."""
import argparse
import glob
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
import zlib

import numpy as np

SILERO = ("silero-vad", "MIT")
OCR = ("rapidocr-onnxruntime", "Apache-2.0")
ZOO = ("onnx", "Apache-2.0")
OWN = ("-", "of the project")


class Model:
    """`group`: variants of one model have the same. `bind`: arguments of the program; `feeds`: shapes of
    the inputs that are left."""

    def __init__(self, name, source, path, bind="", group=None, kind="float", recurrent=False):
        self.name, self.source, self.path, self.bind = name, source, path, bind.split()
        self.group, self.kind, self.recurrent = group or name, kind, recurrent


MODELS = [
    Model("nudenet", ("nudenet", "MIT"), "nudenet/320n.onnx", "--shape images=1x3x320x320"),
    Model("ocr-det-320", OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "--shape x=1x3x320x320",
          "ocr-det"),
    Model("ocr-det-640", OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "--shape x=1x3x640x640",
          "ocr-det"),
    Model("ocr-rec", OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "--shape x=1x3x48x320"),
    Model("ocr-cls", OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "--shape x=1x3x48x192"),
    Model("silero-16k", SILERO, "silero_vad/data/silero_vad.onnx",
          "--shape input=1x576 --shape state=2x1x128 --value sr=16000", "silero", recurrent=True),
    Model("silero-8k", SILERO, "silero_vad/data/silero_vad.onnx",
          "--shape input=1x288 --shape state=2x1x128 --value sr=8000", "silero", recurrent=True),
    Model("silero-op15", SILERO, "silero_vad/data/silero_vad_16k_op15.onnx",
          "--shape input=1x576 --shape state=2x1x128 --value sr=16000", "silero", recurrent=True),
    Model("silero-half", SILERO, "silero_vad/data/silero_vad_half.onnx",
          "--shape input=1x576 --shape state=2x1x128", "silero", recurrent=True),
    Model("silero-ifless-16k", SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx",
          "--shape input=1x576 --shape state=2x1x128 --value sr=16000", "silero", recurrent=True),
    Model("silero-ifless-8k", SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx",
          "--shape input=1x288 --shape state=2x1x128 --value sr=8000", "silero", recurrent=True),
    Model("silero-openvino", SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx", "", "silero", recurrent=True),
    Model("silero-sequence", SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", "--shape input=32x576", "silero",
          recurrent=True),
    Model("magika", ("magika", "Apache-2.0"), "magika/models/standard_v3_3/model.onnx", "--shape bytes=1x2048"),
] + [
    Model(f"light-{name}", ZOO, f"onnx/backend/test/data/light/light_{name}.onnx")
    for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet",
                 "vgg19", "zfnet512")
] + [
    Model(name, OWN, f"made/{name}.onnx")
    for name in ("resnet18_v1", "resnet50_v1", "mobilenet_v2", "squeezenet1_1")
] + [
    Model(f"{name}-int8", OWN, f"made/{name}.qdq.onnx", kind="int8")
    for name in ("resnet18_v1", "resnet50_v1", "mobilenet_v2", "squeezenet1_1")
] + [
    Model(f"encoder{size}-{form}", OWN, f"made/encoder{size}_{form}.onnx", group=f"encoder{size}", kind="transformer")
    for size in (768, 384) for form in ("decomposed", "fused")
] + [
    Model(f"products-{places}", OWN, f"made/products_{places}.onnx", kind="products") for places in (16, 64, 128, 512)
]


GLYPHS = {"T": "1111100100001000010000100", "U": "1000110001100011000101110", "N": "1000111001101011001110001",
          "E": "1111110000111101000011111", "L": "1000010000100001000011111", "O": "0111010001100011000101110",
          "P": "1111010001111101000010000", "3": "1111000001011100000111110", "7": "1111100010001000100001000"}


def written(shape):
    """A picture [1,3,H,W] of letters on white, from -1 to 1: what a network that reads text answers
    clearly. Noise it answers with numbers near 0, which rounding decides."""
    height, width = shape[2:]
    lines = max(height // 80, 1)
    rows = height // lines
    scale = max(rows // 8, 1)
    picture = np.ones((height, width), np.float32)
    for line in range(lines):
        top = line * rows + (rows - 5 * scale) // 2
        for i, letter in enumerate("TUNE LOOP 37"):
            left = (2 + 7 * i) * scale
            if letter == " " or left + 5 * scale > width:
                continue
            glyph = np.array([int(c) for c in GLYPHS[letter]]).reshape(5, 5)
            picture[top:top + 5 * scale, left:left + 5 * scale] -= 2 * np.kron(glyph, np.ones((scale, scale)))
    return np.broadcast_to(picture, shape).astype(np.float32)


def bindings(model):
    shapes, values = {}, {}
    for flag, text in zip(model.bind[::2], model.bind[1::2]):
        name, what = text.split("=")
        if flag == "--shape":
            shapes[name] = [int(n) for n in what.split("x")]
        else:
            values[name] = int(what)
    return shapes, values


def feeds_of(session, model):
    """Inputs by name, the same in every process."""
    shapes, values = bindings(model)
    feeds = {}
    for i in session.get_inputs():
        random = np.random.default_rng(zlib.crc32(f"{model.name}/{i.name}".encode()))
        shape = shapes.get(i.name) or [d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
        if i.name in values:
            feeds[i.name] = np.full([] if not i.shape else shape, values[i.name], np.int64)
        elif i.type == "tensor(float)":
            scale = 0.1 if model.recurrent else 1.0
            feeds[i.name] = (scale * random.standard_normal(shape)).astype(np.float32)
            if model.source == OCR:
                feeds[i.name] = written(shape)
            if i.name == "mask":
                feeds[i.name] = np.ones(shape, np.float32)
                feeds[i.name][:, -shape[-1] // 4:] = 0
        else:
            feeds[i.name] = random.integers(0, 200, shape).astype({"tensor(int32)": np.int32,
                                                                   "tensor(int64)": np.int64}[i.type])
    return feeds


def session_of(path, threads, optimized=True):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def serve(run, outputs):
    """Times `run` whenever asked: a line with seconds in, the median time of a run out."""
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() in ("results", "plain"):
            np.savez(sys.argv[-1], *outputs(line.strip()))
            print("saved", flush=True)
            continue
        end = time.perf_counter() + float(line)
        times = []
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times), flush=True)


def serve_theirs(path, name, threads):
    model = next(m for m in MODELS if m.name == name)
    session = session_of(path, threads)
    feeds = feeds_of(session, model)
    binding = session.io_binding()
    import onnxruntime
    for key, value in feeds.items():
        binding.bind_ortvalue_input(key, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    for o in session.get_outputs():
        binding.bind_output(o.name)
    serve(lambda: session.run_with_iobinding(binding),
          lambda which: (session if which == "results" else session_of(path, 1, False)).run(None, feeds))


def serve_ours(library, path, name, threads):
    from library import Library
    model = next(m for m in MODELS if m.name == name)
    run, outs = Library(library, threads).prepared(feeds_of(session_of(path, 1), model))
    run()
    serve(run, lambda _: outs)


class Child:
    def __init__(self, *arguments):
        self.results_file = arguments[-1]
        self.process = subprocess.Popen([sys.executable, __file__, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, word=None):
        line = self.process.stdout.readline().strip()
        if not line or (word and line != word):
            raise RuntimeError(f"{' '.join(self.process.args[2:4])}: ended ({line})")
        return line

    def ask(self, text):
        time.sleep(0.1)  # until the other process's threads no longer wait awake
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.expect()

    def results(self, which="results"):
        self.ask(which)
        with np.load(self.results_file) as arrays:
            return [arrays[key] for key in arrays.files]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def difference(ours, theirs):
    """The largest difference of an output over the root mean square of theirs; integers: steps."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if b.dtype.kind != "f":
            worst = max(worst, float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0)) * 1e-4)
            continue
        a, b = a.astype(np.float64).reshape(b.shape), b.astype(np.float64)
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite):
            return math.inf
        root = math.sqrt(np.mean(b[finite] ** 2)) if finite.any() else 0
        worst = max(worst, float(np.max(np.abs(a[finite] - b[finite]), initial=0)) / (root or 1))
    return worst


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.work = arguments.work
        self.tuned = bool(arguments.tune or arguments.tuned)
        self.libraries = os.path.join(self.work, "libraries")
        os.makedirs(self.libraries, exist_ok=True)

    def path(self, model):
        return os.path.join(self.work, "models", model.path)

    def command(self, *arguments):
        begin = time.perf_counter()
        done = subprocess.run(arguments, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[0])
        return seconds, done.stdout

    def compile(self, program, path, bind, threads, output, records=()):
        """Returns the seconds that compiling took."""
        return self.command(program, "compile", path, *bind, "--threads", str(threads), "--name", "net", *records,
                            "-o", output)[0]

    def store_of(self, model, threads):
        return os.path.join(self.libraries, f"{model.name}-{threads}.db")

    def tune(self, model, threads):
        store = self.store_of(model, threads)
        for file in glob.glob(store + "*"):
            os.remove(file)
        self.command(self.arguments.program, "tune", self.path(model), *model.bind, "--records", store, "--threads",
                     str(threads), "--budget", f"{self.arguments.tune}s")

    def trials_in(self, store):
        _, output = self.command(self.arguments.program, "records", "stats", "--json", store)
        return json.loads(output)["trials"]

    def with_sizes(self, model):
        """A file of the model whose inputs have the sizes that `bind` gives them."""
        shapes, values = bindings(model)
        if not shapes or values:
            return self.path(model)
        import onnx
        file = onnx.load(self.path(model))
        for i in file.graph.input:
            for dim, size in zip(i.type.tensor_type.shape.dim, shapes.get(i.name, [])):
                dim.dim_value = size
        for o in file.graph.output:
            o.type.tensor_type.ClearField("shape")
        path = os.path.join(self.libraries, f"{model.name}.onnx")
        onnx.save(onnx.shape_inference.infer_shapes(file, data_prop=True), path)
        return path

    def compile_before(self, model, threads, output):
        """Whether the older program can."""
        try:
            self.compile(self.arguments.before, self.with_sizes(model), [], threads, output)
        except RuntimeError:
            return False
        return True

    def compare(self, model, threads):
        """Milliseconds of each kind of library, and their ratios in the same turns."""
        path, program = self.path(model), self.arguments.program
        library = lambda kind: os.path.join(self.libraries, f"{model.name}-{threads}-{kind}.so")
        row = {}
        records = ()
        if self.tuned:
            self.compile(program, path, model.bind, threads, library("untuned"))
            if self.arguments.tune:
                self.tune(model, threads)
            store = self.store_of(model, threads)
            row["trials"] = self.trials_in(store)
            records = ("--records", store)
        row["compile"] = self.compile(program, path, model.bind, threads, library("ours"), records)
        before = bool(self.arguments.before) and self.compile_before(model, threads, library("before"))

        results = lambda kind: os.path.join(self.work, f"{kind}.npz")
        children = {"theirs": Child("theirs", path, model.name, threads, results("theirs"))}
        for kind in ("ours", *["untuned"] * self.tuned, *["before"] * before):
            children[kind] = Child("ours", library(kind), path, model.name, threads, results(kind))
        expected = children["theirs"].results()
        row["their_error"] = difference(children["theirs"].results("plain"), expected)
        errors = {kind: difference(child.results(), expected) for kind, child in children.items() if kind != "theirs"}
        row["error"] = max(error for kind, error in errors.items() if kind != "before")
        if errors.get("before", 0) > max(1e-2, 2 * row["their_error"]):
            raise RuntimeError(f"the older program's results differ by {errors['before']:.1e}")
        turns = []
        for turn in range(self.arguments.turns + 1):
            kinds = list(children)
            kinds = kinds[turn % len(kinds):] + kinds[:turn % len(kinds)]  # none is always after the same
            times = {kind: float(children[kind].ask(str(self.arguments.seconds))) for kind in kinds}
            if turn > 0:
                turns.append(times)
        for child in children.values():
            child.end()
        for kind in children:
            row[kind] = statistics.median(t[kind] for t in turns) * 1e3
        row["ratio"] = statistics.median(t["ours"] / t["theirs"] for t in turns)
        if self.tuned:
            row["untuned_ratio"] = statistics.median(t["untuned"] / t["theirs"] for t in turns)
        if before:
            row["gain"] = statistics.median(t["before"] / t["ours"] for t in turns)
        return row

    def run(self):
        only = self.arguments.only or r"^(?!products)"  # no networks
        chosen = [m for m in MODELS if re.search(only, m.name)]
        for model in [m for m in chosen if not os.path.exists(self.path(m))]:
            print(f"skipped: {model.name} (no {model.path})")
            chosen.remove(model)
        counts = [int(t) for t in self.arguments.threads.split(",")]
        if self.arguments.tuned:
            chosen = [m for m in chosen if all(os.path.exists(self.store_of(m, t)) for t in counts)]
        rows = {}
        means = ["ratio", *["untuned_ratio"] * self.tuned, *["gain"] * bool(self.arguments.before)]
        columns = [("theirs", 10, 3), ("ours", 9, 3), ("ratio", 9, 3)]
        if self.tuned:
            columns += [("untuned_ratio", 9, 3), ("trials", 8, 0)]
        if self.arguments.before:
            columns += [("gain", 8, 2)]
        width = sum(c[1] for c in columns)
        print(f"{'':22}" + "".join(f"{f'{t} thread' + 's' * (t > 1):>{width}}" for t in counts) +
              f"{'error':>10}{'theirs':>10}{'compile':>9}{'scaling':>9}")
        print(f"{'':22}" + "".join(f"{key.split('_')[0]:>{space}}" for key, space, _ in columns) * len(counts) +
              f"{'of RMS':>10}{'of RMS':>10}{'s':>9}")
        for model in chosen:
            line, error, their_error, seconds, times = f"{model.name:22}", 0.0, 0.0, 0.0, []
            for threads in counts:
                try:
                    r = self.compare(model, threads)
                except RuntimeError as problem:
                    line += f"  {problem}"
                    rows.setdefault(model.name, {})[threads] = {}
                    continue
                rows.setdefault(model.name, {})[threads] = r
                line += "".join(f"{r[key]:{space}.{digits}f}" if key in r else f"{'-':>{space}}"
                                for key, space, digits in columns)
                error, seconds = max(error, r["error"]), max(seconds, r["compile"])
                their_error = max(their_error, r["their_error"])
                times.append(r["ours"])
            scaling = f"{times[0] / times[1]:9.2f}" if len(times) == 2 else ""
            print(line + f"{error:10.1e}{their_error:10.1e}{seconds:9.2f}{scaling}", flush=True)
        for kind, members in [("float", ("float", "transformer")), ("transformer", ("transformer",)), ("int8", ("int8",)),
                              ("products", ("products",))]:
            for what in means:
                line = []
                for threads in counts:
                    groups = {}
                    for model in chosen:
                        if model.kind in members and what in rows[model.name].get(threads, {}):
                            groups.setdefault(model.group, []).append(math.log(rows[model.name][threads][what]))
                    if groups:
                        mean = statistics.fmean(statistics.fmean(g) for g in groups.values())
                        line.append(f"{threads}: {math.exp(mean):.3f} ({len(groups)})")
                if line:
                    print(f"geometric mean, {kind} (threads: {what.replace('_', ' ')}, models): " + ", ".join(line))


def main():
    if sys.argv[1] == "theirs":
        return serve_theirs(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1] == "ours":
        return serve_ours(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--tune", type=int, default=0)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--before", default="")
    Bench(parser.parse_args()).run()


main()

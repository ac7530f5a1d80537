"""transposed.py WORK PROGRAM [--int8] [--seconds S] [--only WORDS]: transposed convolutions of audio vocoders, U-Nets
and GANs with bias and activation, by Tilewright (default configs, no records), ONNX Runtime (all optimizations) and
OpenVINO (latency mode, float32), one thread, in one process, run by run in turns. Prints 20th percentiles of the
processor time in ms (time that other programs take does not count) and our time over the fastest peer's. With --int8
the networks have QuantizeLinear and DequantizeLinear around the operator, weights per tensor. Results are compared with
ONNX Runtime's."""
import argparse
import os
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# name: data, output channels, kernel, stride, pads, output padding, activation
SHAPES = {
    "hifigan_up1_k16s8": ([1, 512, 64], 256, [16], [8], [4, 4], [0], "LeakyRelu"),
    "hifigan_up2_k16s8": ([1, 256, 512], 128, [16], [8], [4, 4], [0], "LeakyRelu"),
    "hifigan_up3_k4s2": ([1, 128, 4096], 64, [4], [2], [1, 1], [0], "LeakyRelu"),
    "hifigan_up4_k4s2": ([1, 64, 8192], 32, [4], [2], [1, 1], [0], "LeakyRelu"),
    "vocoder_k11s5": ([1, 256, 400], 128, [11], [5], [3, 3], [0], "LeakyRelu"),
    "codec_k8s4": ([1, 512, 256], 256, [8], [4], [2, 2], [0], "Elu"),
    "unet_k2s2": ([1, 128, 56, 56], 64, [2, 2], [2, 2], [0] * 4, [0, 0], "Relu"),
    "unet_k3s2_28": ([1, 256, 28, 28], 128, [3, 3], [2, 2], [1] * 4, [1, 1], "Relu"),
    "unet_k3s2_56": ([1, 128, 56, 56], 64, [3, 3], [2, 2], [1] * 4, [1, 1], "Relu"),
    "unet_k4s2_64": ([1, 64, 64, 64], 32, [4, 4], [2, 2], [1] * 4, [0, 0], "Relu"),
    "gan_k4s2_8": ([1, 512, 8, 8], 256, [4, 4], [2, 2], [1] * 4, [0, 0], "Relu"),
    "gan_k4s2_32": ([1, 128, 32, 32], 3, [4, 4], [2, 2], [1] * 4, [0, 0], "Tanh"),
}


def make(path, name, quantized):
    data, outputs, kernel, strides, pads, extra, activation = SHAPES[name]
    random = np.random.default_rng(3)
    weight = (random.standard_normal([data[1], outputs, *kernel]) / np.sqrt(data[1])).astype(np.float32)
    bias = random.standard_normal(outputs).astype(np.float32)
    nodes, weights = [], [numpy_helper.from_array(bias, "bias")]

    def constant(value, name):
        weights.append(numpy_helper.from_array(value, name))
        return name

    def quantize(x, scale, zero):
        parameters = [constant(np.float32(scale), x + "_scale"), constant(np.uint8(zero), x + "_zero")]
        nodes.append(helper.make_node("QuantizeLinear", [x, *parameters], [x + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [x + "_q", *parameters], [x + "_dq"]))
        return x + "_dq"

    if quantized:
        scale = float(np.abs(weight).max()) / 127
        constant(np.round(weight / scale).astype(np.int8), "weight_q")
        nodes.append(helper.make_node("DequantizeLinear", ["weight_q", constant(np.float32(scale), "weight_scale"),
                                                           constant(np.int8(0), "weight_zero")], ["weight"]))
    else:
        constant(weight, "weight")
    x = quantize("data", 0.03, 121) if quantized else "data"
    nodes.append(helper.make_node("ConvTranspose", [x, "weight", "bias"], ["sum"], strides=strides, pads=pads,
                                  output_padding=extra))
    nodes.append(helper.make_node(activation, ["sum"], ["active" if quantized else "result"],
                                  **({"alpha": 0.1} if activation == "LeakyRelu" else {})))
    if quantized:
        out = quantize("active", 0.04, 0 if activation == "Relu" else 30)
        nodes[-1].output[0] = "result"
    size = [(n - 1) * s - pads[i] - pads[i + len(kernel)] + k + e
            for i, (n, s, k, e) in enumerate(zip(data[2:], strides, kernel, extra))]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, data)],
                              [helper.make_tensor_value_info("result", TensorProto.FLOAT, [data[0], outputs, *size])],
                              weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def ours(library, data):
    from library import Library
    run, outs = Library(library).prepared({"data": data})
    return run, lambda: outs[0]


def onnxruntime_of(model, data):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("data", onnxruntime.OrtValue.ortvalue_from_numpy(data))
    binding.bind_output("result")
    return lambda: session.run_with_iobinding(binding), lambda: binding.copy_outputs_to_cpu()[0]


def openvino_of(model, data):
    import openvino
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                            "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(data))
    return request.infer, lambda: request.get_output_tensor(0).data


def compare(arguments, name):
    stem = os.path.join(arguments.work, name + ("_int8" if arguments.int8 else ""))
    model, library = stem + ".onnx", stem + ".so"
    make(model, name, arguments.int8)
    subprocess.run([arguments.program, "compile", model, "--no-packages", "--threads", "1", "--name", "net", "-o", library],
                   check=True, capture_output=True, env={**os.environ, "XDG_DATA_HOME": os.path.join(arguments.work, "none")})
    data = np.random.default_rng(7).standard_normal(SHAPES[name][0]).astype(np.float32)
    runs = [ours(library, data), onnxruntime_of(model, data), openvino_of(model, data)]
    for run, _ in runs:
        run()
    results = [np.asarray(result(), np.float64).reshape(-1) for _, result in runs]
    error = np.abs(results[0] - results[1]).max() / np.sqrt(np.mean(results[1]**2))
    times = [[] for _ in runs]
    end = time.perf_counter() + arguments.seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for (run, _), own in zip(runs, times):
            begin = time.process_time()
            run()
            own.append(time.process_time() - begin)
    ms = [1e3 * sorted(own)[len(own) // 5] for own in times]
    ratio = ms[0] / min(ms[1:])
    print(f"{name:20}" + "".join(f"{v:12.3f}" for v in ms) + f"{ratio:10.2f}{error:11.1e}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("program")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    import onnxruntime
    import openvino
    os.makedirs(arguments.work, exist_ok=True)
    print(f"ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, 1 thread, "
          + ("int8" if arguments.int8 else "float32"))
    print(f"{'ms per run':20}{'tilewright':>12}{'onnxruntime':>12}{'openvino':>12}{'/ best':>10}{'error':>11}")
    ratios = [compare(arguments, name) for name in SHAPES if arguments.only in name]
    print(f"geometric mean of our time over the fastest peer's: {np.exp(np.mean(np.log(ratios))):.2f}, largest {max(ratios):.2f}")


main()

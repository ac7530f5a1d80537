"""quantize_qdq.py FLOAT.onnx OUT.onnx: a network in int8 with QuantizeLinear and DequantizeLinear around its
operators, by ONNX Runtime's static quantization: activations per tensor, weights per channel, calibrated with
four inputs of random numbers."""
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Noise(CalibrationDataReader):
    def __init__(self, path):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(16)
        self.samples = iter([{i.name: random.standard_normal(i.shape).astype(np.float32)
                              for i in session.get_inputs()} for _ in range(4)])

    def get_next(self):
        return next(self.samples, None)


with tempfile.NamedTemporaryFile(suffix=".onnx") as prepared:
    quant_pre_process(sys.argv[1], prepared.name, skip_symbolic_shape=True)
    quantize_static(prepared.name, sys.argv[2], Noise(sys.argv[1]), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)

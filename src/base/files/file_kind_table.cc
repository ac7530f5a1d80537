// The kinds of files that people give to this program by mistake, and how to get on.

#include <array>

#include "src/base/files/file_kind.h"

namespace tilewright {
namespace {

struct Kinds {
  using enum FileRole;
  static constexpr auto kRows = std::to_array<FileKind>({
      // Files that stand for another one.
      {"git-lfs", "a Git LFS pointer: the file itself is not downloaded",
       "Download it, in its repository: git lfs pull --include {file}", kWrapper},
      {"git-annex", "a git-annex pointer: the file itself is not downloaded",
       "Download it, in its repository: git annex get {file}", kWrapper},
      {"web-page", "a web page (HTML): the download was answered with a page instead of the file",
       "Use the address of the file itself: on GitHub that of \"Raw\", on Hugging Face /resolve/ "
       "instead of /blob/; then: curl -L -o {file} ADDRESS",
       kWrapper},
      {"failed-download", "a server's error message: the download failed",
       "Read it (head -c 500 {file}), check the address and the access rights, and download again: "
       "curl -fL -o {file} ADDRESS",
       kWrapper},
      {"tar-gz", "a compressed tar archive", "Unpack it: tar xzf {file}", kWrapper},
      {"gzip", "a file compressed by gzip", "Unpack it: gunzip -c {file} > {plain}", kWrapper},
      {"xz", "a file compressed by xz", "Unpack it: xz -dc {file} > {plain}", kWrapper},
      {"zstd", "a file compressed by Zstandard", "Unpack it: zstd -dc {file} > {plain}", kWrapper},
      {"bzip2", "a file compressed by bzip2", "Unpack it: bunzip2 -c {file} > {plain}", kWrapper},
      {"lz4", "a file compressed by lz4", "Unpack it: lz4 -dc {file} > {plain}", kWrapper},
      {"7z", "a 7-Zip archive", "Unpack it: 7z x {file}", kWrapper},
      {"rar", "a RAR archive", "Unpack it: unrar x {file}", kWrapper},
      {"tar", "a tar archive", "Unpack it: tar xf {file}", kWrapper},
      {"zip-onnx", "a zip archive with an ONNX file in it", "Unpack it: unzip {file}", kWrapper},
      {"zip", "a zip archive", "Unpack it: unzip {file}", kWrapper},

      // PyTorch.
      {"torch-export", "a PyTorch program saved by torch.export (.pt2)",
       "Export it: python -c \"import torch; torch.onnx.export(torch.export.load('{file}'), "
       "f='{onnx}')\""},
      {"aot-inductor", "a PyTorch program compiled by AOTInductor: machine code without a graph",
       "Export the module that it was compiled from: torch.onnx.export(module, (example_input,), "
       "'{onnx}')"},
      {"torchscript", "a TorchScript program",
       "Export it, with the shape of your input: python -c \"import torch; "
       "torch.onnx.export(torch.jit.load('{file}'), (torch.zeros(1, 3, 224, 224),), '{onnx}', "
       "dynamo=False)\""},
      {"torch-module", "a PyTorch module saved by torch.save",
       "Export it, where its classes can be imported, with the shape of your input: python -c "
       "\"import torch; torch.onnx.export(torch.load('{file}', weights_only=False).eval(), "
       "(torch.zeros(1, 3, 224, 224),), '{onnx}')\""},
      {"torch-checkpoint", "a PyTorch checkpoint: weights without the network",
       "Build the network in Python, load the weights and export it: "
       "net.load_state_dict(torch.load('{file}')); torch.onnx.export(net.eval(), (example_input,), "
       "'{onnx}')"},
      {"torch-folder", "an unpacked PyTorch archive",
       "Export the module that was saved: torch.onnx.export(module, (example_input,), '{onnx}')"},
      {"executorch", "an ExecuTorch program: it cannot be converted back",
       "Export the PyTorch module that it was made from: torch.onnx.export(module, "
       "(example_input,), '{onnx}')"},
      {"safetensors", "a safetensors file: weights without the network",
       "Export the model that the weights belong to, for one of Hugging Face: optimum-cli export "
       "onnx --model {folder} onnx/"},
      {"hugging-face", "the configuration of a Hugging Face model, without the network",
       "Export the model: optimum-cli export onnx --model {folder} onnx/"},
      {"hugging-face-folder", "a folder of a Hugging Face model",
       "Export the model: optimum-cli export onnx --model {file} onnx/"},

      // TensorFlow and Keras.
      {"saved-model", "a TensorFlow SavedModel (folder)",
       "Convert it: python -m tf2onnx.convert --saved-model {file} --output {onnx}"},
      {"saved-model-pb", "the graph of a TensorFlow SavedModel (saved_model.pb)",
       "Convert the folder that it is in: python -m tf2onnx.convert --saved-model {folder} "
       "--output "
       "{onnx}"},
      {"frozen-graph", "a TensorFlow graph (GraphDef)",
       "Convert it, with the names of its inputs and outputs: python -m tf2onnx.convert --graphdef "
       "{file} --inputs input:0 --outputs output:0 --output {onnx}"},
      {"graphdef-text", "a TensorFlow graph as text (GraphDef)",
       "Write it as a binary file (google.protobuf.text_format), then: python -m tf2onnx.convert "
       "--graphdef FILE.pb --inputs input:0 --outputs output:0 --output {onnx}"},
      {"tf-meta", "the graph of a TensorFlow checkpoint (.meta)",
       "Convert it, with the names of its inputs and outputs: python -m tf2onnx.convert "
       "--checkpoint "
       "{file} --inputs input:0 --outputs output:0 --output {onnx}"},
      {"tf-checkpoint", "part of a TensorFlow checkpoint: weights without the network",
       "Convert the .meta file of the checkpoint: python -m tf2onnx.convert --checkpoint FILE.meta "
       "--inputs input:0 --outputs output:0 --output {onnx}"},
      {"tflite", "a TensorFlow Lite model",
       "Convert it: python -m tf2onnx.convert --tflite {file} --output {onnx}"},
      {"tfjs", "a TensorFlow.js model",
       "Convert it: python -m tf2onnx.convert --tfjs {file} --output {onnx}"},
      {"keras", "a Keras model (.keras)",
       "Export it: python -c \"import keras; keras.models.load_model('{file}').export('{onnx}', "
       "format='onnx')\""},
      {"keras-h5", "a Keras model (HDF5)",
       "Export it: python -c \"import keras; keras.models.load_model('{file}').export('{onnx}', "
       "format='onnx')\""},
      {"keras-weights", "a file of Keras weights, without the network",
       "Build the network in Python, load the weights and export it: model.load_weights('{file}'); "
       "model.export('{onnx}', format='onnx')"},
      {"keras-json", "a Keras model as JSON, without weights",
       "Load the layers and the weights and export the model: model = "
       "keras.models.model_from_json(open('{file}').read()); model.load_weights(...); "
       "model.export('{onnx}', format='onnx')"},
      {"hdf5", "an HDF5 file", "If it holds a model, export that from its framework as ONNX"},

      // Other frameworks.
      {"gguf", "a GGUF file (llama.cpp): quantized weights without a graph",
       "Export the original model: optimum-cli export onnx --model MODEL_ID onnx/"},
      {"ggml", "a GGML file: weights without a graph",
       "Export the original model: optimum-cli export onnx --model MODEL_ID onnx/"},
      {"openvino", "an OpenVINO IR model: it cannot be converted back",
       "Give the ONNX file that it was made from (ovc), or export that from the framework"},
      {"openvino-folder", "a folder of an OpenVINO IR model: it cannot be converted back",
       "Give the ONNX file that it was made from (ovc), or export that from the framework"},
      {"openvino-weights", "a file without a header, such as the weights of an OpenVINO IR model",
       "Give the ONNX file of the model, or export that from the framework", kRaw},
      {"tensorrt", "a TensorRT engine: machine code without a graph",
       "Give the ONNX file that it was built from (trtexec --onnx=FILE)"},
      {"ort", "a model in ONNX Runtime's own format (.ort)",
       "Give the ONNX file that it was made from "
       "(onnxruntime.tools.convert_onnx_models_to_ort)"},
      {"coreml", "a Core ML model (.mlmodel)",
       "Convert it if it is a neural network: python -c \"import coremltools, onnxmltools, onnx; "
       "onnx.save(onnxmltools.convert_coreml(coremltools.utils.load_spec('{file}')), '{onnx}')\"; "
       "else export the original model as ONNX"},
      {"coreml-package", "a Core ML package (.mlpackage, .mlmodelc): it cannot be converted back",
       "Export the model that it was made from: torch.onnx.export(module, (example_input,), "
       "'{onnx}')"},
      {"mlir", "an MLIR module (text)",
       "Export the model as ONNX from the framework that wrote the module, for PyTorch: "
       "torch.onnx.export(module, (example_input,), '{onnx}')"},
      {"mlir-bytecode", "an MLIR module (bytecode)",
       "Export the model as ONNX from the framework that wrote the module, for PyTorch: "
       "torch.onnx.export(module, (example_input,), '{onnx}')"},
      {"hlo", "an XLA module (HLO text)",
       "Export the model as ONNX from its framework, for TensorFlow or JAX by way of a SavedModel: "
       "python -m tf2onnx.convert --saved-model FOLDER --output {onnx}"},
      {"llvm", "an LLVM module: code without a graph",
       "Give the model file that the code was generated from"},
      {"relay-json", "a Relay module as JSON",
       "Print it as Relay text: python -c \"import tvm; open('{plain}.relay', "
       "'w').write(tvm.ir.load_json(open('{file}').read()).astext(show_meta_data=False))\""},
      {"tvm-graph-json",
       "a graph compiled by TVM (graph executor): calls of kernels, not operators",
       "Give the ONNX file or the Relay text that it was compiled from"},
      {"tvm-script", "a TVMScript module",
       "Export the model as ONNX from the framework that it comes from"},
      {"tvm-params", "parameters saved by TVM: weights without the network",
       "Give the Relay text or the ONNX file of the network"},
      {"mxnet-json", "an MXNet graph",
       "Convert it, with the shape of your input: python -c \"import mxnet, numpy; "
       "mxnet.onnx.export_model('{file}', 'FILE.params', [(1, 3, 224, 224)], numpy.float32, "
       "'{onnx}')\""},
      {"mxnet-params", "a file of MXNet weights",
       "Convert the model, with the shape of your input: python -c \"import mxnet, numpy; "
       "mxnet.onnx.export_model('FILE-symbol.json', '{file}', [(1, 3, 224, 224)], numpy.float32, "
       "'{onnx}')\""},
      {"caffe-prototxt", "a Caffe network (.prototxt), without weights",
       "Convert the network: python -m caffe2onnx.convert --prototxt {file} --caffemodel "
       "FILE.caffemodel --onnx {onnx}"},
      {"caffemodel", "a file of Caffe weights (.caffemodel)",
       "Convert the network: python -m caffe2onnx.convert --prototxt FILE.prototxt --caffemodel "
       "{file} --onnx {onnx}"},
      {"paddle", "a Paddle model (.pdmodel)",
       "Convert it: paddle2onnx --model_dir {folder} --model_filename {name} --params_filename "
       "FILE.pdiparams --save_file {onnx}"},
      {"paddle-folder", "a folder of a Paddle model",
       "Convert it: paddle2onnx --model_dir {file} --model_filename FILE.pdmodel "
       "--params_filename FILE.pdiparams --save_file {onnx}"},
      {"darknet", "a Darknet configuration, without weights",
       "Convert the network to PyTorch with its weights, then: torch.onnx.export(net, "
       "(example_input,), '{onnx}')"},
      {"ncnn", "an ncnn network: it cannot be converted back",
       "Give the ONNX file that it was made from (onnx2ncnn, pnnx)"},

      // ONNX, and other forms of it.
      {"onnx", "an ONNX model", "Compile it: tilewright compile {file} -o {so}", kModel},
      {"onnx-text", "an ONNX model as text",
       "Convert it: python -c \"import onnx; onnx.save(onnx.load('{file}', format='onnxtxt'), "
       "'{onnx}')\""},
      {"onnx-textproto", "an ONNX model as Protobuf text",
       "Convert it: python -c \"import onnx; onnx.save(onnx.load('{file}', format='textproto'), "
       "'{onnx}')\""},
      {"onnx-json", "an ONNX model as JSON",
       "Convert it: python -c \"import onnx; onnx.save(onnx.load('{file}', format='json'), "
       "'{onnx}')\""},
      {"onnx-graph", "an ONNX graph (GraphProto) without the model around it",
       "Wrap it: python -c \"import onnx; g = onnx.GraphProto(); g.ParseFromString(open('{file}', "
       "'rb').read()); onnx.save(onnx.helper.make_model(g), '{onnx}')\""},
      {"onnx-tensor", "an ONNX tensor (TensorProto), such as test data",
       "Give the model file; a tensor is an input of it: python -c \"import onnx, numpy; "
       "numpy.save('{plain}.npy', onnx.numpy_helper.to_array(onnx.load_tensor('{file}')))\", then "
       "tilewright run ... --input {plain}.npy"},
      {"onnx-weights", "a file without a header, such as the external weights of an ONNX model",
       "Give the .onnx file that names them; it reads them from the same folder", kRaw},
      {"onnx-folder", "a folder with ONNX files in it", "Give one of the files: ls {file}/*.onnx"},

      // Files of this program.
      {"library", "a library that `tilewright compile` made",
       "Run it: tilewright run {file}; to compile again, give the model file that it was made "
       "from"},
      {"bundle", "a folder that `tilewright compile` made",
       "Run it: tilewright run {file}; to compile again, give the model file that it was made "
       "from"},
      {"record-store", "a record store (SQLite)",
       "Give it to --records, next to a model: tilewright query MODEL.onnx --records {file}"},
      {"package", "a package of records", "Install it: tilewright package install {file}"},
      {"job", "a tuning job (JSON)", "Run it: tilewright tune --job {file}"},
      {"autotvm-log", "an AutoTVM log",
       "Import its records: tilewright records import {file} --records records.db"},

      // Everything else.
      {"elf", "a library or program (ELF)", "Give the model file that it was compiled from"},
      {"ar", "a static library or a Debian package (ar archive)", "Give a model file"},
      {"windows", "a Windows library or program", "Give the model file that it was compiled from"},
      {"mach-o", "a macOS library or program", "Give the model file that it was compiled from"},
      {"npy", "a NumPy array: a tensor, not a network",
       "Give the model file; the array is an input of it: tilewright run ... --input {file}"},
      {"npz", "a file of NumPy arrays (.npz): tensors, not a network",
       "Give the model file; arrays are inputs of it or calibration data (--data {file})"},
      {"picture", "a picture",
       "Give the model file; the picture is an input of it: tilewright run ... --input {file}"},
      {"pickle", "a Python pickle",
       "If it holds a model, export that: for PyTorch torch.onnx.export(model, (example_input,), "
       "'{onnx}'), for scikit-learn skl2onnx.to_onnx(model, X[:1])"},
      {"python", "a Python program",
       "Export the network that it builds: torch.onnx.export(net, (example_input,), '{onnx}')"},
      {"pdf", "a PDF document", "Give a model file"},
      {"json", "a JSON text that is not a model", "Give an ONNX file or Relay text"},
      {"xml", "an XML text that is not a model", "Give an ONNX file or Relay text"},
      {"empty", "an empty file", "Check the program that wrote it, or download it again", kWrapper},
      {"empty-folder", "an empty folder", "Check the path"},
      {"folder", "a folder", "Give a file in it: ls {file}"},
  });
};

}  // namespace

std::span<const FileKind> FileKinds() { return Kinds::kRows; }

}  // namespace tilewright

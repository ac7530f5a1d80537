#pragma once

#include <string>
#include <string_view>
#include <vector>

// Files that users give to the program instead of a model, with bytes as their formats have them.
// The signatures were compared with files of PyTorch 2.15, TensorFlow 2.21, Keras 3.15, OpenVINO
// 2026.4, coremltools 9.0, ONNX 1.23, gguf and safetensors 0.8.

namespace tilewright {

struct WrongFile {
  std::string kind;    ///< FileKind::name
  std::string name;    ///< of the file
  std::string bytes;   ///< contents
  std::string advice;  ///< part of the next step; {} stands for the path
};

struct WrongFolder {
  std::string kind, name;
  std::vector<std::string> files;  ///< names in it
  std::string advice;
};

inline std::string Bytes(std::string_view bytes) { return std::string(bytes); }

/// Little-endian number.
inline std::string Number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

/// Zip archive whose entries are stored without compression.
inline std::string Zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string file, directory;
  for (const auto& [name, contents] : entries) {
    const std::string sizes = Number(0, 4) + Number(contents.size(), 4) +
                              Number(contents.size(), 4) + Number(name.size(), 2) + Number(0, 2);
    directory += "PK\x01\x02" + Number(20, 2) + Number(20, 2) + Number(0, 8) + sizes +
                 Number(0, 10) + Number(file.size(), 4) + name;
    file += "PK\x03\x04" + Number(20, 2) + Number(0, 8) + sizes + name + contents;
  }
  const std::size_t start = file.size();
  return file + directory + "PK\x05\x06" + Number(0, 4) + Number(entries.size(), 2) +
         Number(entries.size(), 2) + Number(directory.size(), 4) + Number(start, 4) + Number(0, 2);
}

/// Protobuf fields. contents: shorter than 128 bytes.
inline std::string Varint(int field, int value) {
  return std::string{static_cast<char>(field << 3), static_cast<char>(value)};
}
inline std::string Message(int field, const std::string& contents) {
  std::string key;
  for (unsigned rest = static_cast<unsigned>(field) << 3 | 2U;; rest >>= 7) {
    key += static_cast<char>(rest < 128 ? rest : (rest & 127U) | 128U);
    if (rest < 128) break;
  }
  return key + static_cast<char>(contents.size()) + contents;
}

inline std::vector<WrongFile> WrappedFiles() {
  using namespace std::string_literals;  // NOLINT: bytes contain zeros
  return {
      {"git-lfs", "lfs.onnx",
       "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4\n", "git lfs pull"},
      {"git-annex", "annex.onnx", "/annex/objects/SHA256E-s4--4d7a.onnx\n", "git annex get {}"},
      {"web-page", "page.onnx", "\n<!DOCTYPE html>\n<html><head></head></html>\n", "curl -L -o {}"},
      {"web-page", "page2.onnx", "<HTML><body>Sign in</body></HTML>", "/resolve/"},
      {"web-page", "page3.onnx", "<?xml version=\"1.0\"?>\n<html xmlns=\"x\"></html>", "curl -L"},
      {"failed-download", "denied.onnx",
       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code></Error>",
       "curl -fL -o {}"},
      {"failed-download", "error.onnx", "{\"error\":\"Repository not found\"}", "head -c 500 {}"},
      {"failed-download", "missing.onnx", "404: Not Found", "curl -fL -o {}"},
      {"failed-download", "entry.onnx", "Entry not found", "curl -fL"},
      {"tar-gz", "net.tar.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "tar xzf {}"},
      {"tar-gz", "net.tgz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "tar xzf {}"},
      {"gzip", "net.onnx.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "gunzip -c {} > "},
      {"gzip", "packed.onnx", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "gunzip -c {} > {}.out"},
      {"xz", "net.onnx.xz", "\xfd\x37zXZ\0\0\x04"s, "xz -dc {} > "},
      {"zstd", "net.onnx.zst", "\x28\xb5\x2f\xfd\x04\0\x01"s, "zstd -dc {} > "},
      {"bzip2", "net.onnx.bz2", "BZh91AY&SY", "bunzip2 -c {} > "},
      {"lz4", "net.onnx.lz4", "\x04\x22\x4d\x18\x64\x40", "lz4 -dc {} > "},
      {"7z", "net.7z", "7z\xbc\xaf\x27\x1c\0\x04"s, "7z x {}"},
      {"rar", "net.rar", "Rar!\x1a\x07\x01\0"s, "unrar x {}"},
      {"tar", "net.tar", "net.onnx" + std::string(249, '\0') + "ustar" + std::string(250, '\0'),
       "tar xf {}"},
      {"zip-onnx", "release.zip", Zip({{"net/model.onnx", "x"}}), "unzip {}"},
      {"zip", "other.zip", Zip({{"readme.md", "x"}}), "unzip {}"},
      {"zip", "none.zip", Zip({}), "unzip {}"},
      {"empty", "empty.onnx", "", "download it again"},
  };
}

inline std::vector<WrongFile> PyTorchFiles() {
  using namespace std::string_literals;  // NOLINT: bytes contain zeros
  const std::string state = "\x80\x02}q\0X\x06\0\0\00.weight"s;
  return {
      {"torch-checkpoint", "state.pt",
       Zip({{"state/data.pkl", state}, {"state/version", "3"}, {"state/data/0", "wwww"}}),
       "net.load_state_dict(torch.load('{}'))"},
      {"torch-checkpoint", "pytorch_model.bin", Zip({{"archive/data.pkl", state}}),
       "torch.onnx.export"},
      {"torch-checkpoint", "old.pth",
       "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."s, "load_state_dict"},
      {"torch-module", "module.pt",
       Zip({{"m/data.pkl",
             "\x80\x02"
             "ctorch.nn.modules.container\nSequential\n"}}),
       "torch.load('{}', weights_only=False)"},
      {"torchscript", "script.pt",
       Zip({{"s/data.pkl", state}, {"s/code/__torch__/net.py", "x"}, {"s/constants.pkl", "x"}}),
       "torch.jit.load('{}')"},
      {"torch-export", "net.pt2",
       Zip({{"net/data/sample_inputs/model.pt", Zip({{"archive/data.pkl", state}})},
            {"net/models/model.json", "{}"},
            {"net/archive_format", "pt2"}}),
       "torch.export.load('{}')"},
      {"torch-export", "older.pt2", Zip({{"serialized_exported_program.json", "{}"}}),
       "torch.export.load('{}')"},
      {"aot-inductor", "aoti.pt2",
       Zip({{"a/data/aotinductor/model/c.so", "x"}, {"a/archive_format", "pt2"}}),
       "torch.onnx.export"},
      {"executorch", "net.pte", "\x20\0\0\0ET12\0\0"s, "torch.onnx.export"},
      {"safetensors", "model.safetensors",
       Number(64, 8) + "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
       "optimum-cli export onnx"},
      {"hugging-face", "config.json", "{\n  \"architectures\": [\"BertModel\"]\n}",
       "optimum-cli export onnx"},
      {"pickle", "model.pkl", "\x80\x04\x95\x0a\0\0\0\0\0\0\0}\x94."s, "torch.onnx.export"},
      {"pickle", "old.pkl", "(dp0\nVa\np1\nI1\ns.", "skl2onnx"},
      {"python", "net.py", "import torch\n\nclass Net(torch.nn.Module): pass\n",
       "torch.onnx.export"},
  };
}

inline std::vector<WrongFile> TensorFlowFiles() {
  using namespace std::string_literals;  // NOLINT: bytes contain zeros
  const std::string hdf5 = "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0"s;
  const std::string node = Message(1, Message(1, "x") + Message(2, "Placeholder"));
  return {
      {"saved-model-pb", "saved_model.pb", Varint(1, 1) + Message(2, Message(1, Message(5, "1.0"))),
       "--saved-model"},
      {"frozen-graph", "frozen.pb", node + node + Message(4, Varint(1, 27)), "--graphdef {}"},
      {"graphdef-text", "frozen.pbtxt", "node {\n  name: \"x\"\n  op: \"Placeholder\"\n}\n",
       "--graphdef"},
      {"tf-meta", "model.meta",
       Message(1, Message(2, Message(1, "Add"))) + Message(2, node) +
           Message(3, Message(1, "save")),
       "--checkpoint {}"},
      {"tf-checkpoint", "checkpoint", "model_checkpoint_path: \"model\"\n",
       "--checkpoint FILE.meta"},
      {"tf-checkpoint", "model.data-00000-of-00001", "\x9e\x9e\x3a\x3f\xdc\xae", "--checkpoint"},
      {"tf-checkpoint", "model.index", "\0\0\x06\x08\x01\x1a\x02"s, "--checkpoint"},
      {"tflite", "net.tflite", "\x1c\0\0\0TFL3\x14\0\x20\0"s, "--tflite {}"},
      {"tfjs", "model.json", "{\"format\": \"graph-model\", \"modelTopology\": {}}", "--tfjs {}"},
      {"keras", "net.keras", Zip({{"config.json", "{}"}, {"model.weights.h5", hdf5}}),
       "keras.models.load_model('{}')"},
      {"keras-h5", "net.h5", hdf5 + "keras_version model_config", "keras.models.load_model('{}')"},
      {"keras-weights", "w.h5", hdf5 + "layer_names", "model.load_weights('{}')"},
      {"keras-weights", "net.weights.h5", hdf5 + "layers", "model.load_weights('{}')"},
      {"keras-json", "layers.json", "{\"module\": \"keras\", \"class_name\": \"Sequential\"}",
       "model_from_json"},
      {"hdf5", "data.h5", hdf5, "ONNX"},
  };
}

inline std::vector<WrongFile> OtherModelFiles() {
  using namespace std::string_literals;  // NOLINT: bytes contain zeros
  return {
      {"gguf", "llama.gguf", "GGUF\x03\0\0\0\x01\0"s, "optimum-cli"},
      {"ggml", "old.ggml", "lmgg\x01\0\0\0"s, "optimum-cli"},
      {"openvino", "ir.xml", "<?xml version=\"1.0\"?>\n<net name=\"net\" version=\"11\">", "ovc"},
      {"openvino-weights", "ir.bin", "\x01\x3c\0\x3c\0\x3c"s, "Give the ONNX file"},
      {"tensorrt", "net.engine", "ftrt\x61\0\0\0\x01\0\0\0"s, "trtexec"},
      {"tensorrt", "net.plan", "ptrt\0\0\0\0\x01\0\0\0"s, "trtexec"},
      {"ort", "net.ort", "\x20\0\0\0ORTM\0\0"s, "convert_onnx_models_to_ort"},
      {"coreml", "net.mlmodel",
       Varint(1, 4) + Message(2, Message(1, "x")) + Message(500, Message(1, "layer")),
       "convert_coreml"},
      {"coreml-package", "packed.mlpackage.zip", Zip({{"net.mlpackage/Manifest.json", "{}"}}),
       "torch.onnx.export"},
      {"mlir", "net.mlir", "module {\n  func.func @main() {\n  }\n}\n", "torch.onnx.export"},
      {"mlir", "locations.mlir", "#loc = loc(unknown)\nmodule @jit_f {}\n", "torch.onnx.export"},
      {"mlir-bytecode", "net.mlirbc", "ML\xefR\x01MLIR17\0"s, "torch.onnx.export"},
      {"hlo", "net.hlo", "HloModule jit_f, entry_computation_layout={}\n", "--saved-model"},
      {"llvm", "net.bc", "BC\xc0\xde\x35\x14", "generated from"},
      {"llvm", "net.ll", "; ModuleID = 'net'\n", "generated from"},
      {"relay-json", "relay.json", "{\"root\": 1, \"attrs\": {\"tvm_version\": \"0.8.0\"}}",
       "tvm.ir.load_json(open('{}').read())"},
      {"tvm-graph-json", "graph.json", "{\"nodes\": [{\"op\": \"tvm_op\"}], \"arg_nodes\": []}",
       "Relay text"},
      {"tvm-script", "net.tvm.py", "# from tvm.script import ir as I\n", "ONNX"},
      {"tvm-params", "net.params", "\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7\0\0"s, "Relay text"},
      {"mxnet-json", "net-symbol.json", "{\"nodes\": [], \"arg_nodes\": [0], \"heads\": []}",
       "mxnet.onnx.export_model('{}'"},
      {"mxnet-params", "net-0000.params", "\x12\x01\0\0\0\0\0\0\0\0"s, "export_model"},
      {"caffe-prototxt", "net.prototxt", "name: \"net\"\nlayer {\n  type: \"Input\"\n}\n",
       "--prototxt {}"},
      {"caffemodel", "net.caffemodel", Message(1, "net") + Message(100, Message(1, "data")),
       "--caffemodel {}"},
      {"paddle", "inference.pdmodel",
       Message(1, Varint(1, 0) + Varint(2, 0) + Message(3, "x")) + Message(4, Varint(1, 0)),
       "paddle2onnx"},
      {"darknet", "yolo.cfg", "[net]\nbatch=1\n", "torch.onnx.export"},
      {"ncnn", "net.param", "7767517\n3 3\n", "onnx2ncnn"},
  };
}

inline std::vector<WrongFile> OnnxFiles() {
  return {
      {"onnx-text", "net.onnxtxt", "<\n  ir_version: 8,\n  opset_import: [\"\": 17]\n>\ng () {}\n",
       "format='onnxtxt'"},
      {"onnx-textproto", "net.textproto", "ir_version: 8\ngraph {\n}\n", "format='textproto'"},
      {"onnx-json", "onnx.json", "{\n  \"irVersion\": \"8\",\n  \"graph\": {}\n}", "format='json'"},
      {"onnx-graph", "graph.pb",
       Message(1, Message(1, "x") + Message(4, "Relu")) + Message(2, "g") + Message(11, "x"),
       "onnx.helper.make_model"},
      {"onnx-tensor", "input_0.pb", Varint(1, 2) + Varint(2, 1) + Message(9, "wwwwwwww"),
       "onnx.numpy_helper.to_array"},
      {"onnx-weights", "net.onnx.data", "\x01\x02\x03\x04", "Give the .onnx file"},
      {"onnx-weights", "net.onnx_data", "\x01\x02\x03\x04", "Give the .onnx file"},
  };
}

inline std::vector<WrongFile> OtherFiles() {
  using namespace std::string_literals;  // NOLINT: bytes contain zeros
  return {
      {"library", "net.so", "\177ELF\x02\x01\x01\0..tilewright_model\0"s, "tilewright run {}"},
      {"record-store", "records.db", "SQLite format 3\0\x10\0\x01\x01"s, "--records {}"},
      {"package", "cuda.twpkg", "TWPKG\r\n\x1a\x01\0\0\0"s, "tilewright package install {}"},
      {"job", "job.json", "{\n  \"graph\": \"net.onnx\",\n  \"trials\": 8\n}", "tune --job {}"},
      {"autotvm-log", "tuning.log", "{\"input\": [\"llvm\", \"dense_nopack.x86\", []]}",
       "records import {}"},
      {"autotvm-log", "tophub.log", "# Pre-tuned\n{\"input\": [\"llvm\"]}", "records import {}"},
      {"elf", "program", "\177ELF\x02\x01\x01\0\0"s, "compiled from"},
      {"ar", "lib.a", "!<arch>\nnet.o/", "model file"},
      {"windows", "net.dll", "MZ\x90\0\x03...This program cannot be run in DOS mode."s, "compiled"},
      {"mach-o", "net.dylib", "\xcf\xfa\xed\xfe\x07\0\0\x01"s, "compiled from"},
      {"npy", "x.npy", "\x93NUMPY\x01\0v\0{'descr': '<f4'}"s, "--input {}"},
      {"npz", "x.npz", Zip({{"x.npy", "\x93NUMPY"}}), "--data {}"},
      {"picture", "cat.png", "\x89PNG\r\n\x1a\n\0\0"s, "--input {}"},
      {"picture", "cat.jpg", "\xff\xd8\xff\xe0\0\x10JFIF"s, "--input {}"},
      {"pdf", "paper.pdf", "%PDF-1.7\n", "model file"},
      {"json", "other.json", "{\"a\": 1}", "Relay text"},
      {"json", "list.json", "[1, 2]", "Relay text"},
      {"xml", "other.xml", "<?xml version=\"1.0\"?><a/>", "Relay text"},
  };
}

/// Returns at least one file of each kind that is a file.
inline std::vector<WrongFile> WrongFiles() {
  std::vector<WrongFile> all;
  for (const auto& part : {WrappedFiles(), PyTorchFiles(), TensorFlowFiles(), OtherModelFiles(),
                           OnnxFiles(), OtherFiles()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

inline std::vector<WrongFolder> WrongFolders() {
  return {
      {"saved-model", "saved", {"saved_model.pb", "variables"}, "--saved-model {}"},
      {"coreml-package", "net.mlpackage", {"Manifest.json", "Data"}, "torch.onnx.export"},
      {"coreml-package", "net.mlmodelc", {"coremldata.bin", "model.mil"}, "torch.onnx.export"},
      {"bundle", "net", {"graph.json", "net.so", "net.params"}, "tilewright run {}"},
      {"onnx-folder", "zoo", {"net.onnx", "README.md"}, "ls {}/*.onnx"},
      {"hugging-face-folder", "bert", {"config.json", "model.safetensors"}, "--model {} onnx/"},
      {"hugging-face-folder", "diffuser", {"model_index.json", "unet"}, "--model {} onnx/"},
      {"openvino-folder", "ir", {"net.xml", "net.bin"}, "ovc"},
      {"tf-checkpoint", "train", {"checkpoint", "model.index"}, "--checkpoint"},
      {"paddle-folder", "paddle", {"inference.pdmodel"}, "paddle2onnx --model_dir {}"},
      {"torch-folder", "archive", {"data.pkl", "version"}, "torch.onnx.export"},
      {"empty-folder", "nothing", {}, "Check the path"},
      {"folder", "others", {"a", "b"}, "ls {}"},
  };
}

}  // namespace tilewright

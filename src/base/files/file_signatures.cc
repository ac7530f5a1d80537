#include "src/base/files/file_signatures.h"

#include <array>

namespace tilewright {
namespace {

using namespace std::string_view_literals;  // NOLINT: patterns contain zero bytes
struct Signatures {
  using enum SignaturePart;
  static constexpr auto kRows = std::to_array<FileSignature>({
      // Files that stand for another one.
      {"git-lfs", kText, "version https://git-lfs"},
      {"git-annex", kText, "/annex/objects/"},
      {"web-page", kText, "<!doctype html"},
      {"web-page", kText, "<html"},
      {"web-page", kText, "<head"},
      {"web-page", kText, "<?xml", 0, "<html"},
      {"failed-download", kText, "<?xml", 0, "<Error>"},
      {"failed-download", kText, "{\"error\":"},
      {"failed-download", kText, "{\"message\":"},
      {"failed-download", kText, "404: not found"},
      {"failed-download", kText, "404 not found"},
      {"failed-download", kText, "not found"},
      {"failed-download", kText, "entry not found"},
      {"failed-download", kText, "access denied"},
      {"failed-download", kText, "access to model"},
      {"failed-download", kText, "invalid username or password"},
      {"failed-download", kText, "invalid credentials"},
      {"tar-gz", kBytes, "\x1f\x8b", 0, "", ".tar.gz"},
      {"tar-gz", kBytes, "\x1f\x8b", 0, "", ".tgz"},
      {"gzip", kBytes, "\x1f\x8b"},
      {"xz", kBytes, "\xfd\x37zXZ\0"sv},
      {"zstd", kBytes, "\x28\xb5\x2f\xfd"},
      {"bzip2", kBytes, "BZh"},
      {"lz4", kBytes, "\x04\x22\x4d\x18"},
      {"7z", kBytes, "7z\xbc\xaf\x27\x1c"},
      {"rar", kBytes, "Rar!\x1a\x07"},
      {"tar", kBytes, "ustar", 257},

      // PyTorch.
      {"aot-inductor", kZipEntry, "/archive_format\n", 0, "/aotinductor/"},
      {"torch-export", kZipEntry, "/archive_format\n"},
      {"torch-export", kZipEntry, "serialized_exported_program.json\n"},
      {"torchscript", kZipEntry, "/constants.pkl\n"},
      {"torchscript", kZipEntry, "/code/__torch__"},
      {"torch-module", kZipEntry, "/data.pkl\n", 0, "ctorch.nn.modules"},
      {"torch-checkpoint", kZipEntry, "/data.pkl\n"},
      {"torch-checkpoint", kBytes, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"},
      {"executorch", kBytes, "ET1", 4},
      {"safetensors", kBytes, "\0\0{"sv, 6, "\"data_offsets\""},

      // TensorFlow and Keras.
      {"keras", kZipEntry, "\nmodel.weights.h5\n"},
      {"keras-h5", kBytes, "\x89HDF\r\n\x1a\n", 0, "model_config"},
      {"keras-weights", kBytes, "\x89HDF\r\n\x1a\n", 0, "layer_names"},
      {"keras-weights", kBytes, "\x89HDF\r\n\x1a\n", 0, "", ".weights.h5"},
      {"hdf5", kBytes, "\x89HDF\r\n\x1a\n"},
      {"tflite", kBytes, "TFL3", 4},
      {"tf-checkpoint", kText, "model_checkpoint_path:"},
      {"tf-checkpoint", kEnding, ".data-00000-of-00001"},
      {"tf-checkpoint", kEnding, ".index"},
      {"tfjs", kText, "{", 0, "\"modelTopology\""},
      {"keras-json", kText, "{", 0, "\"class_name\""},
      {"graphdef-text", kText, "node {", 0, "  op: \""},

      // Other frameworks.
      {"gguf", kBytes, "GGUF"},
      {"ggml", kBytes, "lmgg"},
      {"ggml", kBytes, "tjgg"},
      {"openvino", kText, "<?xml", 0, "<net name="},
      {"openvino", kText, "<net name="},
      {"tensorrt", kBytes, "ftrt"},
      {"tensorrt", kBytes, "ptrt"},
      {"ort", kBytes, "ORTM", 4},
      {"coreml-package", kZipEntry, ".mlpackage/"},
      {"mlir-bytecode", kBytes, "ML\xefR"},
      {"mlir", kText, "module {"},
      {"mlir", kText, "module @"},
      {"mlir", kText, "module attributes"},
      {"mlir", kText, "builtin.module"},
      {"mlir", kText, "func.func"},
      {"mlir", kText, "#loc"},
      {"hlo", kText, "hlomodule"},
      {"llvm", kBytes, "BC\xc0\xde"},
      {"llvm", kText, "; moduleid"},
      {"relay-json", kText, "{", 0, "\"tvm_version\""},
      {"tvm-graph-json", kText, "{", 0, "\"tvm_op\""},
      {"tvm-script", kText, "# from tvm.script"},
      {"tvm-params", kBytes, "\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7"},
      {"mxnet-json", kText, "{", 0, "\"arg_nodes\""},
      {"mxnet-params", kBytes, "\x12\x01\0\0\0\0\0\0"sv},
      {"caffe-prototxt", kText, "name:", 0, "layer"},
      {"caffe-prototxt", kText, "layer {"},
      {"caffe-prototxt", kText, "layer{"},
      {"caffe-prototxt", kText, "input:", 0, "layer"},
      {"darknet", kText, "[net]"},
      {"ncnn", kText, "7767517"},
      {"hugging-face", kText, "{", 0, "\"architectures\""},
      {"hugging-face", kText, "{", 0, "\"model_type\""},

      // Other forms of ONNX.
      {"onnx-text", kText, "<", 0, "ir_version:"},
      {"onnx-textproto", kText, "ir_version:"},
      {"onnx-json", kText, "{", 0, "\"irVersion\""},

      // Files of this program.
      {"record-store", kBytes, "SQLite format 3\0"sv},
      {"package", kBytes, "TWPKG\r\n\x1a"},
      {"job", kText, "{", 0, "\"graph\":"},
      {"autotvm-log", kText, "{\"input\":"},
      {"autotvm-log", kText, "{\"i\":"},
      {"autotvm-log", kText, "#", 0, "{\"input\":"},
      {"library", kBytes, "\177ELF", 0, "tilewright_model"},
      {"elf", kBytes, "\177ELF"},

      // Everything else that is often at hand.
      {"npy", kBytes, "\x93NUMPY"},
      {"pickle", kText, "(dp"},
      {"pickle", kText, "(lp"},
      {"pickle", kText, "ccopy_reg"},
      {"npz", kZipEntry, ".npy\n"},
      {"zip-onnx", kZipEntry, ".onnx\n"},
      {"zip", kBytes, "PK\x03\x04"},
      {"zip", kBytes, "PK\x05\x06"},
      {"ar", kBytes, "!<arch>\n"},
      {"windows", kBytes, "MZ", 0, "This program"},
      {"mach-o", kBytes, "\xcf\xfa\xed\xfe"},
      {"picture", kBytes, "\x89PNG\r\n"},
      {"picture", kBytes, "\xff\xd8\xff"},
      {"picture", kBytes, "GIF8"},
      {"pdf", kBytes, "%PDF-"},
      {"python", kText, "#!/usr/bin/env python"},
      {"python", kText, "import "},
      {"python", kText, "from ", 0, "import "},
      {"json", kText, "{"},
      {"json", kText, "["},
      {"xml", kText, "<?xml"},
      {"openvino-weights", kEnding, ".bin"},
      {"onnx-weights", kEnding, ".data"},
      {"onnx-weights", kEnding, "_data"},
      {"onnx-weights", kEnding, ".weight"},
      {"onnx-weights", kEnding, ".weights"},

      // Folders.
      {"saved-model", kFolder, "\nsaved_model.pb\n"},
      {"coreml-package", kFolder, "\nManifest.json\n", 0, "\nData\n"},
      {"coreml-package", kFolder, "\ncoremldata.bin\n"},
      {"bundle", kFolder, "\ngraph.json\n"},
      {"onnx-folder", kFolder, ".onnx\n"},
      {"hugging-face-folder", kFolder, "\nconfig.json\n"},
      {"hugging-face-folder", kFolder, "\nmodel_index.json\n"},
      {"openvino-folder", kFolder, ".xml\n", 0, ".bin\n"},
      {"tf-checkpoint", kFolder, "\ncheckpoint\n"},
      {"paddle-folder", kFolder, ".pdmodel\n"},
      {"torch-folder", kFolder, "\ndata.pkl\n"},
      {"empty-folder", kFolder, "\n\n"},
      {"folder", kFolder, "\n"},
  });
};

}  // namespace

std::span<const FileSignature> FileSignatures() { return Signatures::kRows; }

}  // namespace tilewright

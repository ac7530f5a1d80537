#include "src/base/files/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "src/base/files/file.h"
#include "src/base/files/file_signatures.h"
#include "tests/support/wrong_files.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

std::string NameOf(const FileKind* kind) { return kind == nullptr ? "" : std::string(kind->name); }

TEST(FileKindTest, EveryKindIsRecognized) {
  std::set<std::string> seen;
  for (const WrongFile& file : WrongFiles()) {
    EXPECT_EQ(NameOf(IdentifyBytes(file.bytes, "folder/" + file.name)), file.kind) << file.name;
    seen.insert(file.kind);
  }
  for (const WrongFolder& folder : WrongFolders()) seen.insert(folder.kind);
  EXPECT_GE(WrongFiles().size(), 40U);
  for (const FileKind& kind : FileKinds()) {
    EXPECT_TRUE(seen.contains(std::string(kind.name)) || kind.role == FileRole::kModel)
        << kind.name << ": no file of it in tests/support/wrong_files.h";
  }
}

TEST(FileKindTest, TheTablesAgree) {
  std::set<std::string_view> names;
  for (const FileKind& kind : FileKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name << " is there twice";
    EXPECT_NE(kind.what, "") << kind.name;
    EXPECT_NE(kind.next, "") << kind.name;
  }
  for (const FileSignature& signature : FileSignatures()) {
    EXPECT_TRUE(names.contains(signature.kind)) << signature.kind;
    EXPECT_NE(signature.pattern, "") << signature.kind;
  }
}

TEST(FileKindTest, ModelsAndUnknownBytes) {
  const std::string model =
      Varint(1, 8) + Message(2, "pytorch") + Message(7, Message(1, Message(4, "Relu")));
  EXPECT_EQ(NameOf(IdentifyBytes(model, "net.onnx")), "onnx");
  EXPECT_EQ(NameOf(IdentifyBytes(model, "net.bin")), "onnx");
  EXPECT_EQ(IdentifyBytes("\x01\x02\x03", "net.onnx"), nullptr);
  EXPECT_EQ(IdentifyBytes("hello", "net.onnx"), nullptr);
  EXPECT_EQ(IdentifyBytes("fn (%x: Tensor[(4), float32]) {}", "net.relay"), nullptr);
}

TEST(FileKindTest, NoTruncatedFileIsAProblem) {
  for (const WrongFile& file : WrongFiles()) {
    for (std::size_t size = 0; size < file.bytes.size(); ++size) {
      IdentifyBytes(std::string_view(file.bytes).substr(0, size), file.name);
    }
  }
}

TEST(FileKindTest, FilesAndFolders) {
  const auto folder = ScopedTempDir::Create("file-kind");
  ASSERT_TRUE(folder.ok());
  const std::string root = folder->path() + "/";
  for (const WrongFolder& wrong : WrongFolders()) {
    std::filesystem::create_directory(root + wrong.name);
    for (const std::string& name : wrong.files) {
      ASSERT_TRUE(WriteFile(root + wrong.name + "/" + name, "x").ok());
    }
    EXPECT_EQ(NameOf(IdentifyFile(root + wrong.name)), wrong.kind) << wrong.name;
  }
  ASSERT_EQ(::mkfifo((root + "pipe").c_str(), 0600), 0);
  EXPECT_EQ(IdentifyFile(root + "pipe"), nullptr);
  EXPECT_EQ(IdentifyFile(root + "nosuch"), nullptr);
  // A large archive is known by the names at its end.
  const std::string weights(std::size_t{9} << 20, 'w');
  ASSERT_TRUE(WriteFile(root + "large.pt", Zip({{"s/data/0", weights}, {"s/data.pkl", "x"}})).ok());
  EXPECT_EQ(NameOf(IdentifyFile(root + "large.pt")), "torch-checkpoint");
}

TEST(FileKindTest, MessagesSayWhatWasExpectedAndWhatToDo) {
  const Status error = InvalidArgument("net.gz: cut off");
  const ExpectedFile model = {"an ONNX file", true}, store = {"a record store"};
  const FileKind* gzip = IdentifyBytes("\x1f\x8b\x08", "net.gz");
  EXPECT_EQ(ExplainWrongFile(error, gzip, "net.gz", store).message(),
            "net.gz: expected a record store; this is a file compressed by gzip.\n"
            "  Unpack it: gunzip -c net.gz > net");
  const FileKind* tflite = IdentifyBytes("\x1c\x01\x01\x01TFL3", "a/b");
  EXPECT_EQ(ExplainWrongFile(error, tflite, "a/b.tflite", model).message(),
            "a/b.tflite: expected an ONNX file; this is a TensorFlow Lite model.\n"
            "  Convert it: python -m tf2onnx.convert --tflite a/b.tflite --output a/b.onnx");
  EXPECT_EQ(ExplainWrongFile(error, tflite, "b.onnx", model).message(),
            "b.onnx: expected an ONNX file; this is a TensorFlow Lite model.\n"
            "  Convert it: python -m tf2onnx.convert --tflite b.onnx --output b.converted.onnx");
  EXPECT_EQ(ExplainWrongFile(error, tflite, "b.tflite", store).message(),
            "b.tflite: expected a record store; this is a TensorFlow Lite model");
  EXPECT_THAT(ExplainWrongFile(error, tflite, "my $(net).tflite", model).message(),
              HasSubstr("--tflite FILE --output FILE.onnx"));
  EXPECT_EQ(ExplainWrongFile(error, nullptr, "net.gz", model).message(), error.message());
  const FileKind* raw = IdentifyBytes("\x01\x02", "ir.bin");
  EXPECT_EQ(ExplainWrongFile(error, raw, "ir.bin", store).message(), error.message());
  EXPECT_EQ(ExplainWrongFile(Corrupt("x"), gzip, "x", store).code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace tilewright

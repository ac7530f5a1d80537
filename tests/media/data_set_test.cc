#include "src/media/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/media/npy.h"

namespace tilewright::quantize {
namespace {

using testing::HasSubstr;

class DataSetTest : public testing::Test {
 protected:
  DataSetTest() : folder_(*ScopedTempDir::Create("tilewright_data")) {}

  std::string Write(const std::string& name, std::string_view contents) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(WriteFile(path, contents).ok());
    return path;
  }
  std::string WriteArray(const std::string& name, std::vector<std::int64_t> shape, DataType dtype) {
    Tensor array(TensorType{std::move(shape), dtype});
    for (std::int64_t i = 0; i < array.elements(); ++i) array.Set(i, static_cast<double>(i % 100));
    return Write(name, FormatNpy(array));
  }
  /// Writes an uncompressed .npz file of float arrays.
  std::string WriteArrays(const std::string& name, const std::vector<std::string>& arrays,
                          const std::vector<std::int64_t>& shape) {
    std::string members, directory;
    const auto number = [](std::size_t value, int bytes) {
      std::string text;
      for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
      return text;
    };
    for (const std::string& array : arrays) {
      const std::string contents = FormatNpy(Tensor(TensorType{shape, kFloat32}));
      const std::string file = array + ".npy";
      const std::string common = number(20, 2) + std::string(8, '\0') +
                                 number(Crc32(std::as_bytes(std::span(contents))), 4) +
                                 number(contents.size(), 4) + number(contents.size(), 4) +
                                 number(file.size(), 2) + number(0, 2);
      directory += "PK\1\2" + number(20, 2) + common + std::string(10, '\0') +
                   number(members.size(), 4) + file;
      members += "PK\3\4" + common + file + contents;
    }
    const std::string count = number(arrays.size(), 2);
    return Write(name, members + directory + "PK\5\6" + std::string(4, '\0') + count + count +
                           number(directory.size(), 4) + number(members.size(), 4) + number(0, 2));
  }
  static Graph Input(std::vector<std::int64_t> shape) {
    Graph graph;
    graph.AddInput("x", {std::move(shape), kFloat32});
    return graph;
  }
  std::string Message(const std::vector<std::string>& files, const Graph& graph) {
    return LoadDataSet(files, graph, {}).status().message();
  }

  ScopedTempDir folder_;
};

TEST_F(DataSetTest, CutsArraysAlongTheirFirstDimension) {
  const auto five = WriteArray("five.npy", {5, 2, 3}, kUInt8);
  const auto one = WriteArray("one.npy", {2, 3}, kFloat32);
  auto single = LoadDataSet({five, one}, Input({1, 2, 3}), {});
  ASSERT_TRUE(single.ok()) << single.status().message();
  ASSERT_EQ(single->size(), 6U);
  EXPECT_EQ((*single)[1][0].At(0), 6);
  auto pairs = LoadDataSet({five}, Input({2, 2, 3}), {});
  ASSERT_TRUE(pairs.ok()) << pairs.status().message();
  EXPECT_EQ(pairs->size(), 2U);  // one is unused
  DataSetOptions options;
  options.limit = 3;
  EXPECT_EQ(LoadDataSet({five}, Input({1, 2, 3}), options)->size(), 3U);
}

TEST_F(DataSetTest, NormalizesPictures) {
  const auto image = Write("p.ppm", std::string("P6 2 1 255\n\xFF\x00\x33\x00\xFF\x33", 17));
  DataSetOptions options;
  options.image.mean = {0, 0, 0.2};
  options.image.stddev = {1, 2, 1};
  auto nchw = LoadDataSet({image}, Input({1, 3, 1, 2}), options);
  ASSERT_TRUE(nchw.ok()) << nchw.status().message();
  EXPECT_THAT((*nchw)[0][0].As<float>(),
              testing::Pointwise(testing::FloatNear(1e-6F), {1.F, 0.F, 0.F, 0.5F, 0.F, 0.F}));
  auto nhwc = LoadDataSet({image}, Input({1, 1, 2, 3}), options);
  ASSERT_TRUE(nhwc.ok()) << nhwc.status().message();
  EXPECT_THAT((*nhwc)[0][0].As<float>(),
              testing::Pointwise(testing::FloatNear(1e-6F), {1.F, 0.F, 0.F, 0.F, 0.5F, 0.F}));
}

TEST_F(DataSetTest, SaysWhatFillsNoBatch) {
  const auto image = Write("p.pgm", "P2 1 1 255 7");
  const auto array = WriteArray("five.npy", {5, 1, 1, 1}, kFloat32);
  DataSetOptions options;
  std::vector<std::string> notes;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  options.image.mean = {0, 0, 0};
  options.image.stddev = {1, 1, 1};
  auto batch = LoadDataSet({image, image, image, array}, Input({2, 1, 1, 1}), options);
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  EXPECT_EQ(batch->size(), 3U);
  EXPECT_THAT(notes, testing::ElementsAre(
                         "1 of 5 samples of an array are unused: the batch size of input x is 2",
                         "1 of 3 images are unused: the batch size of input x is 2"));
  notes.clear();
  auto few = LoadDataSet({image, image, image}, Input({8, 1, 1, 1}), options);
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.status().message(),
            "3 images, expected at least 8: the batch size of input x is "
            "8");
  ASSERT_TRUE(LoadDataSet({image, array}, Input({1, 1, 1, 1}), options).ok());
  EXPECT_TRUE(notes.empty());
}

TEST_F(DataSetTest, ReadsTheFilesOfAFolder) {
  const std::string images = folder_.path() + "/images";
  ASSERT_TRUE(std::filesystem::create_directories(images + "/inner"));
  Write("images/b.pgm", "P2 1 1 255 51");
  Write("images/a.pgm", "P2 2 2 255 255 255 255 255");
  Write("images/.hidden", "no image");
  DataSetOptions options;
  options.image.mean = {0, 0, 0};
  options.image.stddev = {1, 1, 1};
  options.image.fit = ImageFit::kStretch;
  auto samples = LoadDataSet({images}, Input({1, 1, 1, 1}), options);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_FLOAT_EQ((*samples)[0][0].As<float>()[0], 1.F);
  EXPECT_FLOAT_EQ((*samples)[1][0].As<float>()[0], 0.2F);
}

TEST_F(DataSetTest, TakesArraysByTheNamesOfTheInputs) {
  DataSetOptions options;
  std::vector<std::string> notes;
  options.note = [&](const std::string& text) { notes.push_back(text); };
  for (const char* name : {"x", "arr_0"}) {
    auto one = LoadDataSet({WriteArrays("one.npz", {name}, {3, 2})}, Input({1, 2}), options);
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ(one->size(), 3U);
  }
  EXPECT_TRUE(notes.empty());
  EXPECT_THAT(Message({WriteArrays("other.npz", {"y"}, {3, 2})}, Input({1, 2})),
              HasSubstr("other.npz: no array for input x, found: y"));
  const auto both =
      LoadDataSet({WriteArrays("two.npz", {"x", "y"}, {3, 2})}, Input({1, 2}), options);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_THAT(notes, testing::ElementsAre("array y is skipped: no input has this name"));
}

TEST_F(DataSetTest, NamesTheFileAndWhatItExpects) {
  EXPECT_THAT(
      Message({WriteArray("a.npy", {5, 2, 4}, kFloat32)}, Input({1, 2, 3})),
      AllOf(HasSubstr("a.npy: input x: array float32[5,2,4]"), HasSubstr("float32[1,2,3]")));
  EXPECT_THAT(Message({Write("p.pgm", "P2 1 1 255 7")}, Input({1, 3, 1, 2})),
              AllOf(HasSubstr("p.pgm"), HasSubstr("image of 1 x 1 pixels in 1 channels")));
  EXPECT_THAT(Message({Write("t.txt", "hello")}, Input({1, 2})), HasSubstr("expected a .npy"));
  EXPECT_FALSE(LoadDataSet({folder_.path() + "/none.npy"}, Input({1, 2}), {}).ok());
}

}  // namespace
}  // namespace tilewright::quantize

#include "src/media/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;

/// Returns a .npy file of version 1.0 with this header.
std::string File(std::string header, std::string_view elements) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return file + header + std::string(elements);
}

std::string Header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
}

TEST(NpyTest, ReadsWhatItWrites) {
  for (const DataType dtype : {kFloat32, kInt8, kUInt8, kInt64, kFloat16, kBool}) {
    Tensor tensor(TensorType{{2, 3}, dtype});
    for (std::int64_t i = 0; i < 6; ++i) tensor.Set(i, i % 2 == 0 ? 1 : 0);
    const std::string bytes = FormatNpy(tensor);
    EXPECT_TRUE(IsNpy(bytes));
    auto read = ParseNpy(bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->type(), tensor.type());
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(read->At(i), tensor.At(i));
  }
}

TEST(NpyTest, ReadsScalarsAndBytesWithAnOrder) {
  auto scalar = ParseNpy(File(Header("<i2", "False", ""), std::string("\x02\x01", 2)));
  ASSERT_TRUE(scalar.ok()) << scalar.status().message();
  EXPECT_TRUE(scalar->shape().empty());
  EXPECT_EQ(scalar->At(0), 258);
  auto bytes = ParseNpy(File(Header("<u1", "False", "2,"), "\xFF\x01"));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(bytes->At(0), 255);
}

TEST(NpyTest, ReadsManyDimensionsAndNoElements) {
  const auto many = ParseNpy(
      File(Header("<f4", "False", "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"), "1234"));
  ASSERT_TRUE(many.ok()) << many.status().message();
  EXPECT_EQ(many->shape().size(), 16u);
  const Tensor none(TensorType{{0, 3}, kFloat32});
  const auto read = ParseNpy(FormatNpy(none));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->type(), none.type());
}

TEST(NpyTest, RefusesWhatItCannotRead) {
  const auto message = [](const std::string& file) { return ParseNpy(file).status().message(); };
  EXPECT_THAT(message("not"), HasSubstr("not a .npy file"));
  EXPECT_THAT(message(File(Header(">f4", "False", "1,"), "1234")), HasSubstr("type >f4"));
  EXPECT_THAT(message(File(Header("<f4", "True", "1,"), "1234")), HasSubstr("ascontiguousarray"));
  EXPECT_THAT(message(File(Header("<f4", "False", "2,"), "1234")),
              HasSubstr("4 bytes of elements, expected 8"));
  EXPECT_THAT(message(File(Header("<f4", "False", "-1,"), "")), HasSubstr("shape (-1,)"));
  for (const char* shape : {"99999999999, 99999999999", "0, 99999999999, 99999999999",
                            "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"}) {
    EXPECT_THAT(message(File(Header("<f4", "False", shape), "")),
                HasSubstr("at most 16 sizes of 0 and more"));
  }
  EXPECT_THAT(message(File("{}", "")), HasSubstr("type ?"));
  std::string cut = File(Header("<f4", "False", "1,"), "1234");
  EXPECT_THAT(message(cut.substr(0, 30)), HasSubstr("truncated"));
  cut[6] = 9;
  EXPECT_THAT(message(cut), HasSubstr("version 9"));
}

}  // namespace
}  // namespace tilewright

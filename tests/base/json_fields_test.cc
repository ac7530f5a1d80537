#include "src/base/json_fields.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

enum class Color { kRed, kGreen };
constexpr std::array<const char*, 2> kColors = {"red", "green"};

struct Inner {
  int number = 0;
  std::string text;
};

struct Outer {
  bool flag = false;
  std::uint64_t ticket = 0;
  std::vector<Inner> list;
  std::vector<Inner> tuples;
  std::array<int, 2> pair = {1, 2};
  Color color = Color::kGreen;
  std::optional<double> nullable, optional;
  int extra = 0;
};

void Describe(auto& fields, DescribedAs<Inner> auto& inner) {
  fields("number", inner.number, RangeCodec<int>{0, 9});
  fields("text", inner.text);
}

void Describe(auto& fields, DescribedAs<Outer> auto& outer) {
  fields("flag", outer.flag);
  fields("ticket", outer.ticket);
  fields("list", outer.list, ListCodec(PlainCodec(), 2));
  fields("tuples", outer.tuples, ListCodec<TupleCodec>());
  fields("pair", outer.pair);
  fields("color", outer.color, EnumCodec{kColors});
  fields("nullable", outer.nullable, NullableCodec<>());
  fields.Optional("optional", outer.optional);
  fields.Optional("extra", outer.extra != 0, outer.extra);
  fields.Require(!outer.flag || outer.ticket > 0, "a flag without a ticket");
}

constexpr const char* kText =
    R"({"flag":true,"ticket":7,"list":[{"number":1,"text":"a"}],"tuples":[[2,"b"]],)"
    R"("pair":[3,4],"color":"red","nullable":null,"optional":0.5})";

TEST(JsonFields, AStructIsReadAndWrittenByOneDescription) {
  const auto outer = ReadJson<Outer>(*ParseJson(kText), "here");
  ASSERT_TRUE(outer.ok()) << outer.status().message();
  EXPECT_EQ(outer->tuples[0].text, "b");
  EXPECT_EQ(outer->color, Color::kRed);
  EXPECT_EQ(outer->optional, 0.5);
  EXPECT_EQ(DumpJson(WriteJson(*outer)), kText);
  EXPECT_EQ(DumpJson(WriteJson(Inner{1, "a"}, Json{{"type", "inner"}})),
            R"({"type":"inner","number":1,"text":"a"})");
}

TEST(JsonFields, ErrorsNameTheMember) {
  const struct {
    const char* place;
    Json value;
    const char* error;
  } cases[] = {{"/flag", 1, "here: field flag is of the wrong type"},
               {"/ticket", 0.5, "here: field ticket is of the wrong type"},
               {"/ticket", 0, "here: a flag without a ticket"},
               {"/list", 1, "here: field list is of the wrong type"},
               {"/list", {1}, "here: field list is of the wrong type"},
               {"/list", {1, 2, 3}, "here: too many list"},
               {"/list/0/number", 10, "here: field number is out of range"},
               {"/list/0/number", std::int64_t{1} << 40, "here: field number is out of range"},
               {"/tuples/0", {1}, "here: field text is missing"},
               {"/tuples/0", {1, "a", 2}, "here: field tuples is of the wrong type"},
               {"/pair", {1, 2, 3}, "here: field pair is of the wrong type"},
               {"/color", "blue", "here: field color is not known"},
               {"/optional", "x", "here: field optional is of the wrong type"}};
  for (const auto& one : cases) {
    Json json = *ParseJson(kText);
    json[Json::json_pointer(one.place)] = one.value;
    EXPECT_EQ(ReadJson<Outer>(json, "here").status().message(), one.error) << one.place;
  }
  EXPECT_EQ(ReadJson<Outer>(Json::object(), "here").status().message(),
            "here: field flag is missing");
  EXPECT_EQ(ReadJson<Outer>(Json::array(), "here").status().message(), "here: expected an object");
  EXPECT_EQ(ReadJson<Outer>(Json(3), "here").status().message(), "here: expected an object");
}

}  // namespace
}  // namespace tilewright

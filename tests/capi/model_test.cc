// Compiled models through the C interface. The model is hand-written (model/tiny_model.c);
// tests/compiler checks that the compiler's models have the same form.

#include <gmock/gmock.h>

#include <array>

#include "tests/capi/capi_fixture.h"

namespace tilewright::capi {
namespace {

Owned<tw_model> Open(const char* path, tw_error& error) {
  tw_model* model = nullptr;
  const tw_code code = tw_model_open(path, &model, &error);
  EXPECT_EQ(code == TW_OK, model != nullptr);
  return Owned<tw_model>(model);
}

TEST(ModelTest, DescribesItselfAndRuns) {
  tw_error error = TW_ERROR_INIT;
  const auto model = Open(TINY_MODEL, error);
  ASSERT_NE(model, nullptr) << error.message;
  EXPECT_STREQ(tw_model_name(model.get()), "tiny");
  EXPECT_STREQ(tw_model_target(model.get()), "llvm");
  ASSERT_EQ(tw_model_input_count(model.get()), 1U);
  ASSERT_EQ(tw_model_output_count(model.get()), 1U);
  tw_tensor_info info = TW_TENSOR_INFO_INIT;
  ASSERT_EQ(tw_model_output(model.get(), 0, &info, &error), TW_OK);
  EXPECT_STREQ(info.name, "y");
  ASSERT_EQ(tw_model_input(model.get(), 0, &info, &error), TW_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.dtype, "float32");
  ASSERT_EQ(info.rank, 2U);
  EXPECT_EQ(info.shape[1], 3);
  EXPECT_EQ(info.bytes, 24U);
  EXPECT_EQ(tw_model_input(model.get(), 1, &info, &error), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "input 1, the model has 1");

  std::array<float, 6> x = {1, 2, 3, 4, 5, 6}, y = {};
  const tw_buffer in = {x.data(), sizeof x}, out = {y.data(), sizeof y};
  ASSERT_EQ(tw_model_set_threads(model.get(), 2, &error), TW_OK) << error.message;
  ASSERT_EQ(tw_model_run(model.get(), &in, 1, &out, 1, &error), TW_OK) << error.message;
  EXPECT_EQ(x, y);
}

TEST(ModelTest, RefusesWrongBuffers) {
  tw_error error = TW_ERROR_INIT;
  const auto model = Open(TINY_MODEL, error);
  ASSERT_NE(model, nullptr) << error.message;
  std::array<float, 6> x = {};
  const tw_buffer good = {x.data(), sizeof x}, small = {x.data(), 20}, null = {nullptr, 24};
  EXPECT_EQ(tw_model_run(model.get(), &small, 1, &good, 1, &error), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "input 'x': 20 bytes, expected 24");
  EXPECT_EQ(tw_model_run(model.get(), &good, 1, &null, 1, &error), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "output 'y': no memory given");
  EXPECT_EQ(tw_model_run(model.get(), nullptr, 0, &good, 1, &error), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "0 inputs, expected 1");
  EXPECT_EQ(tw_model_set_threads(model.get(), 0, &error), TW_INVALID_ARGUMENT);
}

TEST(ModelTest, RefusesWhatIsNoModel) {
  tw_error error = TW_ERROR_INIT;
  EXPECT_EQ(Open("/nowhere/model.so", error), nullptr);
  EXPECT_EQ(error.code, TW_NOT_FOUND);
  EXPECT_EQ(Open(OTHER_VERSION_MODEL, error), nullptr);
  EXPECT_EQ(error.code, TW_UNSUPPORTED);
  EXPECT_THAT(error.message, testing::HasSubstr("interface version 3, expected 2"));
  EXPECT_EQ(Open("/proc/self/exe", error), nullptr);
  EXPECT_EQ(error.code, TW_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tilewright::capi

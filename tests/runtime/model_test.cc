// The functions of compiled models, on a hand-written table: one kernel that adds one.

#include "src/runtime/model.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

namespace tilewright {
namespace {

constexpr std::int64_t kCount = 64;
std::int32_t threads_seen = 0;

std::int32_t AddOne(void* const* arguments, void* /*workspace*/, const TwParallel* parallel) {
  threads_seen = parallel == nullptr ? 1 : parallel->threads;
  const TwParallelBody body = [](void* closure, std::int64_t begin, std::int64_t end,
                                 std::int32_t) -> std::int32_t {
    auto* const* places = static_cast<void* const*>(closure);
    const auto* in = static_cast<const float*>(places[0]);
    for (std::int64_t i = begin; i < end; ++i) static_cast<float*>(places[1])[i] = in[i] + 1;
    return 0;
  };
  auto* closure = const_cast<void**>(arguments);
  if (parallel == nullptr) return body(closure, 0, kCount, 0);
  return parallel->launch(parallel->context, body, closure, kCount);
}

class ModelFunctions : public testing::Test {
 protected:
  ModelFunctions() {
    model_.version = TW_MODEL_VERSION;
    model_.name = "hand";
    model_.target = "llvm";
    model_.inputs = &value_;
    model_.outputs = &value_;
    model_.input_count = model_.output_count = model_.step_count = 1;
    model_.steps = &step_;
    model_.constants = kConstants;
    model_.threads = 1;
    model_.state = &state_;
  }
  ~ModelFunctions() override { TwModelUnload(&model_); }

  std::int32_t Run(TwObserver observer = nullptr) {
    const void* inputs[] = {in_};
    void* outputs[] = {out_};
    return TwModelRun(&model_, inputs, outputs, observer, &model_);
  }

  static constexpr unsigned char kConstants[1] = {};
  static constexpr std::int64_t kShape[1] = {kCount};
  TwValue value_ = {"x", "float32", kShape, 1, kCount * 4};
  TwPlace places_[2] = {{TW_INPUT, 0, 0}, {TW_OUTPUT, 0, 0}};
  TwKernelInfo info_ = {TW_ABI_VERSION, 2, 0, 64};
  TwStep step_ = {AddOne, &info_, places_, 2, &value_, "add", "", "", kCount * 4, 0, 0, 0};
  TwModelState* state_ = nullptr;
  TwModel model_ = {};
  alignas(64) float in_[kCount] = {1};
  alignas(64) float out_[kCount] = {};
};

TEST_F(ModelFunctions, ANumberOfThreadsThatFailsChangesNothing) {
  ASSERT_EQ(TwModelSetThreads(&model_, 2), 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(TwModelSetThreads(&model_, 5000), TW_MODEL_NO_THREADS);
    EXPECT_EQ(Run(), 0);
    EXPECT_EQ(threads_seen, 2);
  }
  info_.workspace_bytes_per_thread = std::numeric_limits<std::int64_t>::max() / 3;
  EXPECT_EQ(TwModelSetThreads(&model_, 3), TW_MODEL_NO_MEMORY);
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(threads_seen, 2);
}

TEST_F(ModelFunctions, AReleaseKeepsTheNumberOfThreads) {
  ASSERT_EQ(TwModelSetThreads(&model_, 3), 0);
  ASSERT_EQ(Run(), 0);
  TwModelRelease(&model_);
  ASSERT_EQ(Run(), 0);
  EXPECT_EQ(threads_seen, 3);
  EXPECT_EQ(out_[0], 2);
}

TEST_F(ModelFunctions, MemoryBeyondAllAddressesIsRefused) {
  model_.arena_bytes = std::numeric_limits<std::int64_t>::max() - 8;
  EXPECT_EQ(Run(), TW_MODEL_NO_MEMORY);
  model_.arena_bytes = 64;
  EXPECT_EQ(Run(), 0);
}

TEST_F(ModelFunctions, AnObserverCannotChangeItsRun) {
  static std::int32_t codes[3];
  const TwObserver observer = [](void* context, std::int64_t, const void*, double) {
    const auto* model = static_cast<const TwModel*>(context);
    const void* inputs[] = {model};
    void* outputs[] = {context};
    codes[0] = TwModelRun(model, inputs, outputs, nullptr, nullptr);
    codes[1] = TwModelSetThreads(model, 2);
    TwModelRelease(model);
    return 0;
  };
  EXPECT_EQ(Run(observer), 0);
  EXPECT_EQ(codes[0], TW_MODEL_BUSY);
  EXPECT_EQ(codes[1], TW_MODEL_BUSY);
  EXPECT_EQ(out_[0], 2);
  EXPECT_EQ(Run(), 0) << "the lock is free";
}

#ifndef __SANITIZE_THREAD__  // forked processes cannot start threads under it
TEST_F(ModelFunctions, AForkedProcessHasThreadsOfItsOwn) {
  ASSERT_EQ(TwModelSetThreads(&model_, 2), 0);
  ASSERT_EQ(Run(), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(30);  // for a run that does not end
    out_[0] = out_[kCount - 1] = 0;
    const bool right = Run() == 0 && threads_seen == 2 && out_[0] == 2 && out_[kCount - 1] == 1;
    TwModelRelease(&model_);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Run(), 0) << "the parent has its own";
}
#endif

}  // namespace
}  // namespace tilewright

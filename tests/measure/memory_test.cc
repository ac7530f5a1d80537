#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "measure/evaluate/guarded_memory.h"
#include "measure/evaluate/inputs.h"
#include "measure/evaluate/operand_cache.h"
#include "src/base/files/file.h"
#include "src/base/sanitizer.h"
#include "src/tensor/expression/expression.h"

namespace tilewright::measure {
namespace {

TEST(GuardedMemory, IsAlignedAndIntact) {
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 4095, 4096, 4097, 100'000}) {
    auto memory = GuardedMemory::Create(bytes);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 64, 0U) << bytes;
    memory->Poison(0xA5);
    EXPECT_EQ(memory->FindDamage(), GuardedMemory::kIntact) << bytes;
  }
}

TEST(GuardedMemory, ShowsWritesJustOutside) {
  auto memory = GuardedMemory::Create(100);
  ASSERT_TRUE(memory.ok());
  memory->data()[-3] = std::byte{0};
  EXPECT_EQ(memory->FindDamage(), -3);
  memory->data()[-3] = std::byte{0xC7};
  memory->data()[101] = std::byte{0};
  EXPECT_EQ(memory->FindDamage(), 101);
}

TEST(GuardedMemoryDeathTest, FaultsBeyondTheEndAndWhenReadOnly) {
  auto memory = GuardedMemory::Create(128);
  ASSERT_TRUE(memory.ok());
  volatile std::byte* data = memory->data();
  EXPECT_DEATH(data[128] = std::byte{1}, "");
  memory->SetReadOnly(true);
  EXPECT_DEATH(data[0] = std::byte{1}, "");
  memory->SetReadOnly(false);
  data[0] = std::byte{1};
}

TEST(GuardedMemory, KnowsItsAddresses) {
  auto memory = GuardedMemory::Create(128);
  ASSERT_TRUE(memory.ok());
  std::int64_t offset = 0;
  EXPECT_TRUE(memory->Covers(memory->data() + 130, &offset));
  EXPECT_EQ(offset, 130);
  EXPECT_TRUE(memory->Covers(memory->data() - 10, &offset));
  EXPECT_EQ(offset, -10);
  EXPECT_FALSE(memory->Covers(&offset, &offset));
}

Workload Parsed(const char* key) {
  auto workload = Workload::Parse(key);
  TW_CHECK(workload.ok(), workload.status().message());
  return *workload;
}

TEST(Inputs, AreTheSameEveryTimeAndDifferentPerSet) {
  const Workload workload = Parsed("dense(int8[2,8]MK,int8[4,8]NK)->int32");
  const Epilogue epilogue = *Epilogue::Parse("add(channel:int32);shift_right(channel:int32)");
  auto first = MakeAnchorInputs(workload, epilogue, InputSet::kExtreme);
  auto second = MakeAnchorInputs(workload, epilogue, InputSet::kExtreme);
  auto random = MakeAnchorInputs(workload, epilogue, InputSet::kRandom);
  auto zero = MakeAnchorInputs(workload, epilogue, InputSet::kZeroPoint);
  ASSERT_TRUE(first.ok() && second.ok() && random.ok() && zero.ok());
  ASSERT_EQ(first->operands.size(), 2U);
  bool extremes = false, differ = false;
  for (std::int64_t i = 0; i < first->data.elements(); ++i) {
    EXPECT_EQ(first->data.At(i), second->data.At(i));
    extremes |= first->data.At(i) == -128;
    differ |= first->data.At(i) != random->data.At(i);
    EXPECT_EQ(zero->data.At(i), 0);
  }
  EXPECT_TRUE(extremes && differ);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_GE(first->operands[1].At(i), 0) << "a shift is within the type";
    EXPECT_LT(first->operands[1].At(i), 16);
  }
}

// Sums that go through float32 somewhere come out wrong then.
TEST(Inputs, ExtremeSumsOfBytesPassWhatFloatsHold) {
  for (const char* key :
       {"dense(int8[1,2048]MK,int8[8,2048]NK)->int32",
        "batch_matmul(uint8[2,3,2048]BMK,int8[2,8,2048]BNK)->int32",
        "conv2d(int8[1,256,5,5]NCHW,int8[8,256,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32"}) {
    auto expected = EvaluateExpected(Parsed(key), Epilogue(), 1);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const Tensor& sums = (*expected)[static_cast<std::size_t>(InputSet::kExtreme)].value;
    bool lost = false, negative = false;
    for (std::int64_t i = 0; i < sums.elements(); ++i) {
      lost |= static_cast<double>(static_cast<float>(sums.At(i))) != sums.At(i);
      negative |= sums.At(i) < 0;
    }
    EXPECT_TRUE(lost && negative) << key;
  }
}

// Sums of two products that saturate at 16 bits are as large as narrow weights make them.
TEST(Inputs, NarrowWeightsAreNarrowAndMeetTheLargestData) {
  const Workload workload = Parsed("dense(uint8[1,512]MK,int8[64,512]NK,w64)->int32");
  bool largest = false, least = false;
  for (const InputSet set : kInputSets) {
    const auto inputs = MakeAnchorInputs(workload, Epilogue(), set);
    ASSERT_TRUE(inputs.ok()) << inputs.status().message();
    const auto data = inputs->data.As<std::uint8_t>();
    const auto weight = inputs->weight.As<std::int8_t>();
    for (std::size_t i = 0; i < weight.size(); i += 2) {
      const int first = weight[i], second = weight[i + 1];
      ASSERT_LE(std::max(std::abs(first), std::abs(second)), kReducedRangeMagnitude);
      const bool full = data[i % 512] == 255 && data[i % 512 + 1] == 255;
      largest |= full && first == kReducedRangeMagnitude && second == kReducedRangeMagnitude;
      least |= full && first == -kReducedRangeMagnitude && second == -kReducedRangeMagnitude;
    }
  }
  EXPECT_TRUE(largest && least);
}

TEST(Inputs, OfMoreBytesThanThereAreAreRefusedBeforeTheyAreMade) {
  const Workload small = Parsed("dense(float32[2,8]MK,float32[4,8]NK)->float32");
  const Epilogue epilogue = *Epilogue::Parse("add(tensor:float32);add(channel:float32)");
  // 64 bytes of data and 32 of the operand six times, 128 of weights five, 32 of results four
  // times.
  const std::int64_t needed = 6 * (64 + 32) + 5 * 128 + 4 * 32;
  EXPECT_TRUE(CheckInputMemory(small, epilogue, needed).ok());
  EXPECT_EQ(CheckInputMemory(small, epilogue, needed - 1).code(), StatusCode::kUnsupported);
  const Workload huge =
      Parsed("dense(float32[1000000,1000000]MK,float32[1000000,1000000]NK)->float32");
  const Status status = MakeAnchorInputs(huge, Epilogue(), InputSet::kRandom).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), testing::HasSubstr(" takes 60000.0 GB of memory, there are "));
}

TEST(Inputs, ExpectedResultsComeBackFromTheirFile) {
  const Workload workload = Parsed("dense(float32[2,8]MK,float32[4,8]NK)->float32");
  const Epilogue epilogue = *Epilogue::Parse("relu");
  auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/expected";
  auto expected = EvaluateExpected(workload, epilogue, 1);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_TRUE(WriteExpected(path, workload, epilogue, *expected).ok());
  auto back = ReadExpected(path, workload, epilogue);
  ASSERT_TRUE(back.ok()) << back.status().message();
  for (std::size_t set = 0; set < kInputSets.size(); ++set) {
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ((*back)[set].value.At(i), (*expected)[set].value.At(i));
  }
  EXPECT_EQ(ReadExpected(path, workload, Epilogue()).status().code(), StatusCode::kCorrupt);
  ASSERT_EQ(::truncate(path.c_str(), 60), 0);
  EXPECT_EQ(ReadExpected(path, workload, epilogue).status().code(), StatusCode::kCorrupt);
}

TEST(Inputs, TheFreshCheckIsAnotherOneEachTimeAndComesBackFromItsFile) {
  const Workload workload = Parsed("dense(float32[8,64]MK,float32[4,64]NK)->float32");
  const auto expected = EvaluateExpected(workload, Epilogue(), 1);
  const auto random = MakeAnchorInputs(workload, Epilogue(), InputSet::kRandom);
  auto fresh = MakeFreshCheck(workload, Epilogue(), 1);
  const auto other = MakeFreshCheck(workload, Epilogue(), 1);
  ASSERT_TRUE(expected.ok() && random.ok() && fresh.ok() && other.ok());
  int changed = 0, differ = 0;
  for (std::int64_t i = 0; i < 8 * 64; ++i) {
    changed += fresh->data.At(i) != random->data.At(i) ? 1 : 0;
    differ += fresh->data.At(i) != other->data.At(i) ? 1 : 0;
  }
  EXPECT_GT(changed, 16);
  EXPECT_LT(changed, 256) << "most elements are those of the random set";
  EXPECT_GT(differ, 16);
  int results = 0;
  for (std::int64_t i = 0; i < 8 * 4; ++i) {
    results += fresh->expected.value.At(i) != (*expected)[0].value.At(i) ? 1 : 0;
  }
  EXPECT_GT(results, 24);
  auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/expected";
  ASSERT_TRUE(WriteExpected(path, workload, Epilogue(), *expected, &*fresh).ok());
  FreshCheck back;
  ASSERT_TRUE(ReadExpected(path, workload, Epilogue(), &back).ok());
  for (std::int64_t i = 0; i < 8 * 64; ++i) EXPECT_EQ(back.data.At(i), fresh->data.At(i));
  for (std::int64_t i = 0; i < 8 * 4; ++i) {
    EXPECT_EQ(back.expected.value.At(i), fresh->expected.value.At(i));
  }
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(std::filesystem::file_size(path) - 1)), 0);
  EXPECT_EQ(ReadExpected(path, workload, Epilogue()).status().code(), StatusCode::kCorrupt);
}

// A candidate's process that found it could give the right result back without computing.
TEST(OperandCacheDeathTest, ProcessesDoNotInheritTheFreshCheck) {
  KernelSpec kernel;
  kernel.workload = Parsed("dense(float32[8,64]MK,float32[4,64]NK)->float32");
  kernel.signature.parameters = {{ParameterRole::kData, {{8, 64}, kFloat32}, "MK", -1, 0},
                                 {ParameterRole::kWeight, {{4, 64}, kFloat32}, "NK", -1, 0},
                                 {ParameterRole::kResult, {{8, 4}, kFloat32}, "MN", -1, 0}};
  kernel.signature.layouts.data = "MK";
  kernel.signature.layouts.weight = "NK";
  kernel.signature.layouts.output = "MN";
  auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/expected";
  const auto expected = EvaluateExpected(kernel.workload, Epilogue(), 1);
  const auto fresh = MakeFreshCheck(kernel.workload, Epilogue(), 1);
  ASSERT_TRUE(expected.ok() && fresh.ok());
  ASSERT_TRUE(WriteExpected(path, kernel.workload, Epilogue(), *expected, &*fresh).ok());
  OperandCache operand_cache(std::int64_t{1} << 20);
  operand_cache.Begin();
  const auto kernel_operands = operand_cache.Prepare(kernel, path);
  ASSERT_TRUE(kernel_operands.ok()) << kernel_operands.status().message();
  ASSERT_NE(kernel_operands->fresh_expected, nullptr);
  ASSERT_EQ(kernel_operands->fresh.size(), 2U);
  ASSERT_NE(kernel_operands->fresh[0], nullptr);
  EXPECT_EQ(kernel_operands->fresh[1], nullptr);
  const volatile std::byte* places[] = {kernel_operands->fresh[0]->data(),
                                        kernel_operands->fresh_expected->value.data()};
  for (const volatile std::byte* place : places) {
    (void)*place;  // here it is
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::signal(SIGSEGV, SIG_DFL);
      (void)*place;
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(kHasShadowMemory || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
  }
}

TEST(Inputs, OtherRightPositionsComeBackFromTheirFile) {
  using Positions = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const Workload workload = Workload::FromExpression(
      *ParseExpression("input X: float32[3, 4]\nI[i: 3] = argmax(j: 4) X[i, j] * 0.1"));
  auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/expected";
  auto expected = EvaluateExpected(workload, Epilogue(), 1);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const Positions others = {{0, 1}, {0, 3}, {2, 0}};
  (*expected)[1].other_positions = others;
  ASSERT_TRUE(WriteExpected(path, workload, Epilogue(), *expected).ok());
  auto back = ReadExpected(path, workload, Epilogue());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ((*back)[0].other_positions, (*expected)[0].other_positions);
  EXPECT_EQ((*back)[1].other_positions, others);
  const auto corrupt = [&] {
    return ReadExpected(path, workload, Epilogue()).status().code() == StatusCode::kCorrupt;
  };
  for (const Positions& wrong :
       {Positions{others[1], others[0]}, Positions{{3, 0}}, Positions{{-1, 0}}}) {
    (*expected)[1].other_positions = wrong;
    ASSERT_TRUE(WriteExpected(path, workload, Epilogue(), *expected).ok());
    EXPECT_TRUE(corrupt());
  }
  (*expected)[1].other_positions = others;
  ASSERT_TRUE(WriteExpected(path, workload, Epilogue(), *expected).ok());
  const std::string whole = *ReadFile(path);
  for (std::size_t less = 1; less <= 80; ++less) {
    ASSERT_TRUE(WriteFile(path, whole.substr(0, whole.size() - less)).ok());
    EXPECT_TRUE(corrupt()) << less;
  }
  ASSERT_TRUE(WriteFile(path, whole + "x").ok());
  EXPECT_TRUE(corrupt());
}

}  // namespace
}  // namespace tilewright::measure

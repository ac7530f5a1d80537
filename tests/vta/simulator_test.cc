#include "src/vta/simulator/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "src/base/json.h"
#include "src/vta/encoding.h"
#include "src/vta/simulator/timing.h"
#include "src/vta/simulator/trace.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

using testing::HasSubstr;

constexpr Tokens kPopNext = {false, true, false, false};
constexpr Tokens kPopPrev = {true, false, false, false};
constexpr Tokens kPushNext = {false, false, false, true};

Transfer Copy(Memory memory, std::uint32_t sram, std::uint32_t dram, std::uint32_t elements) {
  Transfer t;
  t.is_store = memory == Memory::kOut;
  t.memory = memory;
  t.sram_base = sram;
  t.dram_base = dram;
  t.y_size = 1;
  t.x_size = t.x_stride = elements;
  return t;
}

Transfer Idle(Engine engine) {
  Transfer t;
  t.is_store = engine == Engine::kStore;
  t.memory = engine == Engine::kLoad      ? Memory::kInp
             : engine == Engine::kCompute ? Memory::kUop
                                          : Memory::kOut;
  return t;
}

/// A hand-written stream with its own buffers.
class Lab {
 public:
  explicit Lab(Design design = Design::Default()) : design_(std::move(design)) {}

  /// Creates a buffer and returns its element address.
  template <typename T>
  std::uint32_t Buffer(Memory memory, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return static_cast<std::uint32_t>(dram_.Allocate("buffer", bytes, false) /
                                      design_.ElementBytes(memory));
  }
  std::uint32_t Output(std::int64_t elements) {
    output_bytes_ = elements * design_.ElementBytes(Memory::kOut);
    output_ = dram_.Allocate("output", output_bytes_, true);
    return static_cast<std::uint32_t>(output_ / design_.ElementBytes(Memory::kOut));
  }
  std::uint32_t Uops(const std::vector<Uop>& uops) {
    std::vector<std::uint32_t> words;
    for (const Uop& uop : uops) words.push_back(*Encoding(design_).Encode(uop));
    return Buffer(Memory::kUop, words);
  }
  Lab& Add(const auto& operation, const Tokens& tokens = {}) {
    instructions_.push_back(Make(operation, tokens));
    return *this;
  }
  /// Ends the launch after the last store.
  void StoreAndFinish(const Transfer& store) {
    instructions_.back().tokens.push_next = true;
    Add(store, {true, false, true, false});
    Add(Idle(Engine::kCompute), kPopNext).Add(Finish());
  }
  RunResult RunAll(const RunOptions& options = {}) {
    return RunStream(design_, instructions_, &dram_, options);
  }
  std::vector<std::int8_t> Result() {
    std::vector<std::int8_t> values;
    for (const std::byte b : dram_.Bytes(output_, output_bytes_)) {
      values.push_back(static_cast<std::int8_t>(b));
    }
    return values;
  }

  std::vector<Instruction> instructions_;
  Dram dram_;

 private:
  Design design_;
  std::int64_t output_ = 0, output_bytes_ = 0;
};

std::int32_t Exact(AluOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case AluOp::kMin:
      return static_cast<std::int32_t>(std::min(a, b));
    case AluOp::kMax:
      return static_cast<std::int32_t>(std::max(a, b));
    case AluOp::kAdd:
      return static_cast<std::int32_t>(a + b);
    case AluOp::kMul:
      return static_cast<std::int32_t>(a * b);
    case AluOp::kShr:
      if (b >= 32) return a < 0 ? -1 : 0;
      if (b <= -32) return 0;
      return static_cast<std::int32_t>(b >= 0 ? a >> b : a * (std::int64_t{1} << -b));
  }
  return 0;
}

TEST(SimulatorTest, EveryAluOperation) {
  constexpr int kElements = 16;
  Random random(5);
  std::vector<std::int32_t> a(kElements), b(kElements);
  for (int lane = 0; lane < kElements; ++lane) {
    a[lane] = static_cast<std::int32_t>(random.Next());
    b[lane] = static_cast<std::int32_t>(random.Next());
  }
  a[0] = b[1] = std::numeric_limits<std::int32_t>::min();
  a[1] = b[0] = std::numeric_limits<std::int32_t>::max();
  for (int which = 0; which < kAluOpCount; ++which) {
    const auto op = static_cast<AluOp>(which);
    if (op == AluOp::kShr) {
      for (int lane = 0; lane < kElements; ++lane) b[lane] = 5 * lane - 37;
    }
    for (const bool immediate : {false, true}) {
      // A store keeps eight bits; shifts make the others visible.
      for (int shift = 0; shift < 32; shift += 8) {
        Lab lab;
        const std::uint32_t uops = lab.Uops({{0, 1, 0}});
        const std::uint32_t at_a = lab.Buffer(Memory::kAcc, a);
        const std::uint32_t at_b = lab.Buffer(Memory::kAcc, b);
        const std::uint32_t out = lab.Output(1);
        Alu alu;
        alu.loop = {0, 1, 1, 1};
        alu.op = op;
        alu.use_immediate = immediate;
        alu.immediate = op == AluOp::kShr ? 7 : -12345;
        Alu shifted;
        shifted.loop = alu.loop;
        shifted.op = AluOp::kShr;
        shifted.use_immediate = true;
        shifted.immediate = static_cast<std::int16_t>(shift);
        lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(Copy(Memory::kAcc, 0, at_a, 1));
        lab.Add(Copy(Memory::kAcc, 1, at_b, 1)).Add(alu).Add(shifted);
        lab.StoreAndFinish(Copy(Memory::kOut, 0, out, 1));
        const RunResult run = lab.RunAll();
        ASSERT_TRUE(run.status().ok()) << run.status().message();
        EXPECT_EQ(run.summary.statistics.alu_counter, 2);
        for (int lane = 0; lane < kElements; ++lane) {
          const std::int32_t expected = Exact(op, a[lane], immediate ? alu.immediate : b[lane]);
          EXPECT_EQ(lab.Result()[lane], static_cast<std::int8_t>(expected >> shift))
              << AluOpName(op) << (immediate ? " immediate, lane " : ", lane ") << lane;
        }
      }
    }
  }
}

TEST(SimulatorTest, LoadsWithPaddingAndStrides) {
  // A 2 x 3 window of a 4 x 5 image of int8 tiles, with zeros around it.
  Random random(6);
  const auto image = RandomValues(random, 4 * 5 * 16);
  Lab lab;
  const std::uint32_t uops = lab.Uops({{0, 0, 0}});
  const std::uint32_t at = lab.Buffer(Memory::kAccInt8, image);
  Transfer load = Copy(Memory::kAccInt8, 0, at + 6, 3);
  load.y_size = 2;
  load.x_stride = 5;
  load.y_pad_0 = 1;
  load.y_pad_1 = 2;
  load.x_pad_0 = 2;
  load.x_pad_1 = 1;
  const std::uint32_t out = lab.Output(40);
  Alu add;
  add.loop = {0, 1, 30, 1};
  add.dst = {1, 0};
  add.use_immediate = true;
  lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(load).Add(add);
  // Rows of 6 stored 8 apart.
  Transfer store = Copy(Memory::kOut, 0, out, 6);
  store.y_size = 5;
  store.x_stride = 8;
  lab.StoreAndFinish(store);
  const RunResult run = lab.RunAll();
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  EXPECT_EQ(run.summary.statistics.acc_load_nbytes, 6 * 64);
  EXPECT_EQ(run.summary.statistics.out_store_nbytes, 30 * 16);
  EXPECT_EQ(run.summary.dram_bytes, 4 + 6 * 16 + 30 * 16);
  const auto result = lab.Result();
  for (int row = 0; row < 5; ++row) {
    for (int x = 0; x < 8; ++x) {
      const bool inside = row >= 1 && row < 3 && x >= 2 && x < 5;
      for (int lane = 0; lane < 16; ++lane) {
        const int expected = inside ? image[((row - 1 + 1) * 5 + x - 2 + 1) * 16 + lane] : 0;
        EXPECT_EQ(result[(row * 8 + x) * 16 + lane], expected) << row << ' ' << x << ' ' << lane;
      }
    }
  }
}

TEST(SimulatorTest, NarrowScalars) {
  // 4-bit activations and 2-bit weights; results have 4 bits again.
  const auto design = Design::Parse(
      R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 2, "LOG_WGT_WIDTH": 1,
          "LOG_ACC_WIDTH": 5, "LOG_BATCH": 1, "LOG_BLOCK": 2, "LOG_UOP_BUFF_SIZE": 12,
          "LOG_INP_BUFF_SIZE": 8, "LOG_WGT_BUFF_SIZE": 8, "LOG_ACC_BUFF_SIZE": 10})",
      "narrow.json");
  ASSERT_TRUE(design.ok()) << design.status().message();
  Random random(9);
  const auto inp = RandomValues(random, 8, 4);
  const auto wgt = RandomValues(random, 16, 2);
  const auto pack = [](const std::vector<std::int8_t>& values, int bits) {
    std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(bits) / 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t bit = i * static_cast<std::size_t>(bits);
      bytes[bit / 8] |= static_cast<std::uint8_t>((values[i] & ((1 << bits) - 1)) << (bit % 8));
    }
    return bytes;
  };
  Lab lab(*design);
  const std::uint32_t uops = lab.Uops({{3, 2, 1}});
  const std::uint32_t at_inp = lab.Buffer(Memory::kInp, pack(inp, 4));
  const std::uint32_t at_wgt = lab.Buffer(Memory::kWgt, pack(wgt, 2));
  const std::uint32_t out = lab.Output(1);
  Gemm gemm;
  gemm.loop = {0, 1, 1, 1};
  Gemm reset = gemm;
  reset.reset = true;
  lab.Add(Copy(Memory::kInp, 2, at_inp, 1)).Add(Copy(Memory::kWgt, 1, at_wgt, 1), kPushNext);
  lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(reset).Add(gemm, kPopPrev);
  lab.StoreAndFinish(Copy(Memory::kOut, 3, out, 1));
  const RunResult run = lab.RunAll();
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  std::vector<std::int8_t> expected(8);
  for (int b = 0; b < 2; ++b) {
    for (int o = 0; o < 4; ++o) {
      for (int i = 0; i < 4; ++i) expected[b * 4 + o] += inp[b * 4 + i] * wgt[o * 4 + i];
    }
  }
  const auto packed = pack(expected, 4);
  const auto result = lab.Result();
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_EQ(static_cast<std::uint8_t>(result[i]), packed[i]);
  }
}

TEST(SimulatorTest, AccumulatorsWrapAround) {
  const std::vector<std::int32_t> start(16, std::numeric_limits<std::int32_t>::max());
  const std::vector<std::int8_t> inp(16, 1);
  const std::vector<std::int8_t> wgt(256, 1);
  Lab lab;
  const std::uint32_t uops = lab.Uops({{0, 0, 0}});
  const std::uint32_t at_acc = lab.Buffer(Memory::kAcc, start);
  const std::uint32_t at_inp = lab.Buffer(Memory::kInp, inp);
  const std::uint32_t at_wgt = lab.Buffer(Memory::kWgt, wgt);
  const std::uint32_t out = lab.Output(1);
  Gemm gemm;
  gemm.loop = {0, 1, 1, 1};
  Alu shift;
  shift.loop = gemm.loop;
  shift.op = AluOp::kShr;
  shift.use_immediate = true;
  shift.immediate = 24;
  lab.Add(Copy(Memory::kInp, 0, at_inp, 1)).Add(Copy(Memory::kWgt, 0, at_wgt, 1), kPushNext);
  lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(Copy(Memory::kAcc, 0, at_acc, 1));
  lab.Add(gemm, kPopPrev).Add(shift);
  lab.StoreAndFinish(Copy(Memory::kOut, 0, out, 1));
  const RunResult run = lab.RunAll();
  ASSERT_TRUE(run.status().ok()) << run.status().message();
  // 2^31 - 1 + 16 is -2^31 + 15: its top byte is -128
  EXPECT_THAT(lab.Result(), testing::Each(-128));
}

/// Two activations multiplied in sequence through one buffer: the smallest stream that needs tokens
/// in all four directions.
struct PingPong {
  Lab lab;
  PingPong() {
    Random random(11);
    const std::uint32_t uops = lab.Uops({{0, 0, 0}});
    const std::uint32_t inp = lab.Buffer(Memory::kInp, RandomValues(random, 32));
    const std::uint32_t wgt = lab.Buffer(Memory::kWgt, RandomValues(random, 256));
    const std::uint32_t out = lab.Output(2);
    Gemm gemm;
    gemm.loop = {0, 1, 1, 1};
    Gemm reset = gemm;
    reset.reset = true;
    lab.Add(Copy(Memory::kWgt, 0, wgt, 1));                                  // 0
    lab.Add(Copy(Memory::kInp, 0, inp, 1), kPushNext);                       // 1
    lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(reset);                      // 2, 3
    lab.Add(gemm, {true, false, true, true});                                // 4
    lab.Add(Copy(Memory::kOut, 0, out, 1), {true, false, true, false});      // 5
    lab.Add(Copy(Memory::kInp, 0, inp + 1, 1), {false, true, false, true});  // 6
    lab.Add(reset, kPopNext);                                                // 7
    lab.Add(gemm, {true, false, false, true});                               // 8
    lab.Add(Copy(Memory::kOut, 0, out + 1, 1), {true, false, true, false});  // 9
    lab.Add(Idle(Engine::kCompute), kPopNext).Add(Finish());                 // 10, 11
  }
  Tokens& tokens(int i) { return lab.instructions_[static_cast<std::size_t>(i)].tokens; }
  Transfer& transfer(int i) {
    return std::get<Transfer>(lab.instructions_[static_cast<std::size_t>(i)].operation);
  }
  Gemm& gemm(int i) {
    return std::get<Gemm>(lab.instructions_[static_cast<std::size_t>(i)].operation);
  }
};

struct FaultCase {
  const char* name;
  void (*break_it)(PingPong&);
  FaultKind kind;
  std::int64_t instruction;
  const char* message;
};

class FaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultTest, NamesTheInstruction) {
  const FaultCase& c = GetParam();
  PingPong test;
  const RunResult good = test.lab.RunAll();
  ASSERT_TRUE(good.status().ok()) << good.status().message();
  c.break_it(test);
  const RunResult run = test.lab.RunAll();
  ASSERT_TRUE(run.fault) << Listing(test.lab.instructions_);
  EXPECT_EQ(FaultKindName(run.fault->kind), FaultKindName(c.kind)) << run.fault->message;
  EXPECT_EQ(run.fault->instruction, c.instruction) << run.fault->message;
  EXPECT_THAT(run.fault->message, HasSubstr(c.message));
  EXPECT_THAT(run.status().message(), HasSubstr(FaultKindName(c.kind)));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultTest,
    testing::Values(
        FaultCase{"LoadOverwritesWhatIsRead",
                  [](PingPong& p) { p.tokens(4).push_prev = p.tokens(6).pop_next = false; },
                  FaultKind::kRace, 4, "expected one on the way from compute to load"},
        FaultCase{"GemmReadsWhatIsLoaded",
                  [](PingPong& p) { p.tokens(1).push_next = p.tokens(4).pop_prev = false; },
                  FaultKind::kRace, 4, "no token orders them"},
        FaultCase{"ResetOverwritesWhatIsStored",
                  [](PingPong& p) { p.tokens(5).push_prev = p.tokens(7).pop_next = false; },
                  FaultKind::kRace, 5, "expected one on the way from store to compute"},
        FaultCase{"StoreReadsWhatIsComputed",
                  [](PingPong& p) { p.tokens(4).push_next = p.tokens(5).pop_prev = false; },
                  FaultKind::kRace, 5, "expected one on the way from compute to store"},
        FaultCase{"Deadlock",
                  [](PingPong& p) {
                    p.tokens(1).pop_next = true;
                    p.tokens(6).pop_next = false;
                  },
                  FaultKind::kDeadlock, 1, "load waits at instruction 1 (load.inp sram=0"},
        FaultCase{"Underflow", [](PingPong& p) { p.tokens(6).push_next = false; },
                  FaultKind::kTokenUnderflow, 8,
                  "waits for token 2 of load>compute, but the stream pushes only 1"},
        FaultCase{"TokensLeft", [](PingPong& p) { p.tokens(10).push_prev = true; },
                  FaultKind::kTokensLeft, 11, "1 tokens compute>load were pushed and never taken"},
        FaultCase{"NoSuchNeighbour", [](PingPong& p) { p.tokens(1).push_prev = true; },
                  FaultKind::kBadToken, 1, "the load engine has no previous neighbour"},
        FaultCase{"NoSuchNeighbourOfStore", [](PingPong& p) { p.tokens(5).pop_next = true; },
                  FaultKind::kBadToken, 5, "the store engine has no next neighbour"},
        FaultCase{"InputBeyondItsMemory", [](PingPong& p) { p.transfer(1).sram_base = 2048; },
                  FaultKind::kBufferOverrun, 1,
                  "reaches element 2048 of INP, expected at most 2047"},
        FaultCase{"MicroOpBeyondItsMemory", [](PingPong& p) { p.gemm(4).loop.uop_end = 8193; },
                  FaultKind::kBufferOverrun, 4, "reaches micro-op 8192, expected at most 8191"},
        FaultCase{"IndexBeyondItsMemory",
                  [](PingPong& p) {
                    p.gemm(4).loop.iter_out = 3;
                    p.gemm(4).wgt.out = 512;
                  },
                  FaultKind::kNotWritten, 4, "reads WGT 512, which nothing has written"},
        FaultCase{"AccumulatorBeyondItsMemory",
                  [](PingPong& p) {
                    p.gemm(3).loop.iter_out = 3;
                    p.gemm(3).dst.out = 1024;
                  },
                  FaultKind::kBufferOverrun, 3,
                  "a micro-op reaches element 2048 of ACC, expected at most 2047"},
        FaultCase{"AddressOutsideBuffers", [](PingPong& p) { p.transfer(6).dram_base += 1; },
                  FaultKind::kBadAddress, 6, "which no buffer holds"},
        FaultCase{"StoreOutsideBuffers", [](PingPong& p) { p.transfer(9).dram_base += 1; },
                  FaultKind::kBadAddress, 9, "which no buffer holds"},
        FaultCase{"StoreIntoInput",
                  [](PingPong& p) { p.transfer(9).dram_base = p.transfer(6).dram_base; },
                  FaultKind::kBadAddress, 9, "which is only read"},
        FaultCase{"MicroOpNotLoaded", [](PingPong& p) { p.transfer(2).sram_base = 1; },
                  FaultKind::kNotWritten, 3, "reads UOP 0, which nothing has written"},
        FaultCase{"GemmBeforeItsToken",
                  [](PingPong& p) { std::swap(p.gemm(3).reset, p.gemm(4).reset); },
                  FaultKind::kRace, 3, "reads INP 0, which instruction 1 (load.inp"},
        FaultCase{"PaddedStore", [](PingPong& p) { p.transfer(5).x_pad_0 = 1; },
                  FaultKind::kBadInstruction, 5, "a store takes no padding"},
        FaultCase{"RowsOfNothing", [](PingPong& p) { p.transfer(1).y_size = 0; },
                  FaultKind::kBadInstruction, 1, "set x_size to 0"},
        FaultCase{"FinishWaits", [](PingPong& p) { p.tokens(11).pop_next = true; },
                  FaultKind::kBadFinish, 11, "must not wait for a token"},
        FaultCase{"FinishTooEarly",
                  [](PingPong& p) { p.tokens(9).push_prev = p.tokens(10).pop_next = false; },
                  FaultKind::kBadFinish, 11, "does not wait for instruction 9 (store.out"},
        FaultCase{"NoFinish", [](PingPong& p) { p.lab.instructions_.pop_back(); },
                  FaultKind::kBadFinish, 10, "has no finish at its end"},
        FaultCase{"FinishTwice", [](PingPong& p) { p.lab.Add(Finish()); }, FaultKind::kBadFinish,
                  11, "is followed by 1 more instructions"}),
    [](const auto& tested) { return tested.param.name; });

TEST(SimulatorTest, StoreOfALoadIsStaleOnHardware) {
  Lab lab;
  const std::uint32_t acc = lab.Buffer(Memory::kAcc, std::vector<std::int32_t>(16, 3));
  const std::uint32_t out = lab.Output(1);
  lab.Add(Copy(Memory::kAcc, 0, acc, 1));
  lab.StoreAndFinish(Copy(Memory::kOut, 0, out, 1));
  const RunResult run = lab.RunAll();
  ASSERT_TRUE(run.fault);
  EXPECT_EQ(run.fault->kind, FaultKind::kStaleOutput);
  EXPECT_THAT(run.fault->message, HasSubstr("instruction 0 (load.acc"));
  RunOptions options;
  options.check_hazards = false;
  EXPECT_TRUE(lab.RunAll(options).status().ok());
  EXPECT_THAT(lab.Result(), testing::Each(3));
}

TEST(SimulatorTest, ALoadOfStoredDataNeedsATokenToo) {
  for (const bool ordered : {true, false}) {
    Lab lab;
    const std::uint32_t uops = lab.Uops({{0, 0, 0}});
    const std::uint32_t acc = lab.Buffer(Memory::kAcc, std::vector<std::int32_t>(16, 3));
    const std::uint32_t out = lab.Output(2);
    Alu add;
    add.loop = {0, 1, 1, 1};
    add.use_immediate = true;
    add.immediate = 4;
    lab.Add(Copy(Memory::kUop, 0, uops, 1)).Add(Copy(Memory::kAcc, 0, acc, 1));
    lab.Add(add, kPushNext);
    lab.Add(Copy(Memory::kOut, 0, out, 1), {true, false, true, false});
    // The accumulator is loaded from the stored result, into another element.
    lab.Add(Copy(Memory::kAccInt8, 0, out, 1), ordered ? kPopNext : Tokens());
    if (!ordered) lab.instructions_[4].operation = Copy(Memory::kAccInt8, 1, out, 1);
    lab.Add(add);
    if (!ordered) lab.instructions_[5].tokens = kPopNext;
    lab.StoreAndFinish(Copy(Memory::kOut, 0, out + 1, 1));
    const RunResult run = lab.RunAll();
    if (ordered) {
      ASSERT_TRUE(run.status().ok()) << run.status().message();
      EXPECT_EQ(lab.Result()[16], 11);
    } else {
      ASSERT_TRUE(run.fault);
      EXPECT_EQ(run.fault->kind, FaultKind::kRace) << run.fault->message;
      EXPECT_THAT(run.fault->message, HasSubstr("DRAM byte"));
    }
  }
}

TEST(SimulatorTest, TokensAgainstTheStreamAreFound) {
  // The second load is executed first: the tokens order the two, but not in the order of the
  // stream.
  PingPong test;
  auto& all = test.lab.instructions_;
  std::swap(all[1].operation, all[6].operation);
  EXPECT_TRUE(test.lab.RunAll().status().ok());
  std::swap(all[1].operation, all[6].operation);
  // The first product reads data of the later load.
  std::rotate(all.begin() + 1, all.begin() + 2, all.begin() + 5);
  const RunResult run = test.lab.RunAll();
  ASSERT_TRUE(run.fault);
  EXPECT_EQ(run.fault->kind, FaultKind::kWrongOrder) << run.fault->message;
  EXPECT_THAT(run.fault->message, HasSubstr("the tokens put the later instruction first"));
}

TEST(SimulatorTest, ForgedLoopsEnd) {
  PingPong test;
  test.gemm(3).loop.iter_out = test.gemm(3).loop.iter_in = 16383;
  RunOptions options;
  options.max_uops = 1000;
  const RunResult run = test.lab.RunAll(options);
  ASSERT_TRUE(run.fault);
  EXPECT_THAT(run.fault->message, HasSubstr("more than 1000 micro-ops in one launch"));
}

TEST(SimulatorTest, StatisticsAndTiming) {
  PingPong test;
  const Design design = Design::Default();
  const RunResult run = test.lab.RunAll();
  ASSERT_TRUE(run.status().ok());
  const Statistics expected = {.inp_load_nbytes = 32,
                               .wgt_load_nbytes = 256,
                               .uop_load_nbytes = 4,
                               .out_store_nbytes = 32,
                               .gemm_counter = 2};
  EXPECT_EQ(run.summary.statistics, expected);
  EXPECT_EQ(run.summary.dram_bytes, 32 + 256 + 4 + 32);
  EXPECT_EQ(run.summary.counts.gemm, 4);
  EXPECT_EQ(run.summary.counts.idle, 1);
  EXPECT_EQ(run.summary.counts.Total(), 12);
  EXPECT_THAT(ToString(run.summary.statistics), HasSubstr("wgt_load_nbytes 256\n"));

  // Computed by hand with rtl durations: weights 30 + 2 + 32, activations 30 + 2 + 2, micro-op 30 +
  // 2 + 0.5, GEMM 13, store 30 + 2 + 16 / 5.33.
  const double store = 32 + 16 / 5.33;
  const Timing timing =
      Simulate(design, test.lab.instructions_, run.pipeline, CycleModel::Rtl(), true);
  const double first_gemm = 64 + 34 + 13;
  // The second load, then the second product; the reset waits for the first store.
  const double second_gemm = std::max(first_gemm + 34, first_gemm + store + 13) + 13;
  EXPECT_DOUBLE_EQ(timing.cycles, 100 + second_gemm + store + 3 + 3);
  const auto& load = timing.engines[0];
  const auto& compute = timing.engines[1];
  EXPECT_DOUBLE_EQ(load.busy, 64 + 34 + 34);
  EXPECT_DOUBLE_EQ(load.stalled, 13);
  EXPECT_DOUBLE_EQ(load.starved, 0);
  EXPECT_DOUBLE_EQ(compute.starved, 64 + 34 - 32.5 - 13);
  EXPECT_DOUBLE_EQ(compute.stalled, 2 * store);
  for (const EngineTime& time : timing.engines) {
    EXPECT_NEAR(time.busy + time.starved + time.stalled + time.idle, timing.cycles - 100, 1e-9);
  }
  ASSERT_EQ(timing.timeline.size(), 12u);
  TraceWriter writer;
  writer.Add("first \"launch\"", test.lab.instructions_, timing);
  writer.Add("second", test.lab.instructions_, timing);
  const std::string trace = std::move(writer).Finish();
  const auto json = ParseJson(trace);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_DOUBLE_EQ((*json)["otherData"]["cycles"].get<double>(), 2 * timing.cycles);
  EXPECT_THAT(trace, HasSubstr(R"("name":"gemm.reset")"));
  EXPECT_THAT(trace, HasSubstr(R"("args":{"name":"store"})"));
}

TEST(SimulatorTest, TransfersShareTheBus) {
  PingPong test;
  const Design design = Design::Default();
  const RunResult run = test.lab.RunAll();
  ASSERT_TRUE(run.status().ok());
  CycleModel model = CycleModel::Rtl();
  const double alone = Simulate(design, test.lab.instructions_, run.pipeline, model).cycles;
  model.bus_bytes_per_cycle = 1000;  // enough for all
  EXPECT_NEAR(Simulate(design, test.lab.instructions_, run.pipeline, model).cycles, alone, 1e-9);
  // The micro-op's half cycle of data overlaps the weights' 32 cycles: for one cycle both transfer
  // at half their speed. The two cycles of the second activation overlap the three cycles of the
  // first store, and together they need 13.33 of 8 bytes per cycle.
  model.bus_bytes_per_cycle = 8;
  const Timing timing = Simulate(design, test.lab.instructions_, run.pipeline, model, true);
  EXPECT_EQ(timing.timeline.size(), 12u);
  EXPECT_NEAR(timing.engines[0].busy, 64 + 0.5 + 34 + 32 + 2 * 13.33 / 8, 1e-9);
  EXPECT_NEAR(timing.engines[1].busy, 32 + 1 + 4 * 13 + 3 + 3, 1e-9);
  // During the transfer of the activation's 16 bytes, 10.66 of the store's 16 bytes are
  // transferred.
  EXPECT_NEAR(timing.engines[2].busy, 64 + 2 * 13.33 / 8 + 5.34 / 5.33 + 16 / 5.33, 1e-9);
}

TEST(SimulatorTest, TimingAloneNeedsNoMemory) {
  PingPong test;
  const RunResult full = test.lab.RunAll();
  const RunResult timing = RunStream(Design::Default(), test.lab.instructions_, nullptr);
  ASSERT_TRUE(timing.status().ok());
  EXPECT_EQ(timing.summary.statistics, full.summary.statistics);
  EXPECT_EQ(timing.pipeline.order.size(), full.pipeline.order.size());
}

}  // namespace
}  // namespace tilewright::vta
